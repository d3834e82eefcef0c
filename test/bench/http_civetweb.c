/* SPDX-License-Identifier: MIT */
/*
    http_civetweb.c - civetweb beside http_mpr: `http_civetweb PORT DOCUMENTS`. /1k from memory, others are files.

    A connection keeps a thread of its own as long as it lives: there are as many as run-http has connections.
 */
#include <civetweb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char kilobyte[1024];

static int answer(struct mg_connection *connection, void *data) {
    (void) data;
    mg_send_http_ok(connection, "text/plain", sizeof(kilobyte));
    mg_write(connection, kilobyte, sizeof(kilobyte));
    return 200;
}

int main(int argc, char **argv) {
    struct mg_context *context;
    if (argc != 3) {
        fprintf(stderr, "usage: http_civetweb PORT DOCUMENTS\n");
        return 2;
    }
    const char *options[] = {
        "listening_ports",       argv[1], "document_root", argv[2], "num_threads", "100", "enable_keep_alive", "yes",
        "keep_alive_timeout_ms", "60000", "tcp_nodelay",   "1",     NULL};
    memset(kilobyte, 'k', sizeof(kilobyte));
    mg_init_library(0);
    context = mg_start(NULL, NULL, options);
    if (!context) {
        return 1;
    }
    mg_set_request_handler(context, "/1k$", answer, NULL);
    for (;;) {
        pause();
    }
}
