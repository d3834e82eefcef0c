/* SPDX-License-Identifier: MIT */
/*
    http_microhttpd.c - libmicrohttpd beside http_mpr: `http_microhttpd PORT DOCUMENTS`. /1k from memory, others are files.

    One thread, epoll, answers without a copy: what its manual says is fastest.
 */
#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char kilobyte[1024];
static const char *documents;

static enum MHD_Result sendFile(struct MHD_Connection *connection, const char *url) {
    char path[1024];
    struct stat info;
    struct MHD_Response *response;
    enum MHD_Result result;
    int fd;
    snprintf(path, sizeof(path), "%s%s", documents, url);
    fd = strstr(url, "..") ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0) {
        response = MHD_create_response_from_buffer(0, kilobyte, MHD_RESPMEM_PERSISTENT);
        result = MHD_queue_response(connection, 404, response);
    } else {
        response = MHD_create_response_from_fd((size_t) info.st_size, fd);
        result = MHD_queue_response(connection, 200, response);
    }
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer(void *data, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *size, void **state) {
    static int seen;
    struct MHD_Response *response;
    enum MHD_Result result;
    (void) data, (void) method, (void) version, (void) upload, (void) size;
    if (!*state) {
        *state = &seen;
        return MHD_YES;
    }
    if (strcmp(url, "/1k") != 0) {
        return sendFile(connection, url);
    }
    response = MHD_create_response_from_buffer(sizeof(kilobyte), kilobyte, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, "Content-Type", "text/plain");
    result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: http_microhttpd PORT DOCUMENTS\n");
        return 2;
    }
    documents = argv[2];
    memset(kilobyte, 'k', sizeof(kilobyte));
    if (!MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO, (uint16_t) atoi(argv[1]), NULL, NULL, answer,
                          NULL, MHD_OPTION_CONNECTION_LIMIT, 20000u, MHD_OPTION_CONNECTION_TIMEOUT, 600u,
                          MHD_OPTION_END)) {
        return 1;
    }
    for (;;) {
        pause();
    }
}
