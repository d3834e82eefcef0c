/* SPDX-License-Identifier: MIT */
/*
    http_clients.c - Clients that wrk has none of, for run-http.

    http_clients idle PORT PATH COUNT             connections that ask once, and rest until standard input ends
    http_clients slow PORT PATH COUNT             connections that ask and read 4 KiB each second until standard input ends
    http_clients garbage PORT SECONDS SEED        requests right and wrong in every manner, one after another

    "ready" is printed when all connections stand; by garbage, at its end, how many requests there were.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int port;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/** @param room Of the receive buffer; 0: the system's. */
static int dial(int room) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t) port)};
    const struct timeval patience = {.tv_sec = 10, .tv_usec = 0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && room > 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    }
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    }
    if (fd < 0 || connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0) {
        perror("http_clients: connect");
        exit(1);
    }
    return fd;
}

static void ask(int fd, const char *path) {
    char text[256];
    int length = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    if (send(fd, text, (size_t) length, MSG_NOSIGNAL) != length) {
        perror("http_clients: send");
        exit(1);
    }
}

static int *dialAll(const char *path, int count, int room, int answered) {
    static char answer[65536];
    int *fds = malloc(sizeof(*fds) * (size_t) count);
    enum { batch = 100 }; /* fewer than any server lets wait */
    int i, j;
    for (i = 0; i < count; i += batch) {
        const int end = i + batch < count ? i + batch : count;
        for (j = i; j < end; j++) {
            fds[j] = dial(room);
            ask(fds[j], path);
        }
        for (j = i; j < end && answered; j++) {
            if (recv(fds[j], answer, sizeof(answer), 0) <= 0) {
                fprintf(stderr, "http_clients: connection %d was not answered\n", j);
                exit(1);
            }
        }
    }
    printf("ready\n");
    fflush(stdout);
    return fds;
}

/** Whether standard input ends within some milliseconds. */
static int inputEnds(int milliseconds) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    char c;
    return poll(&input, 1, milliseconds) > 0 && read(0, &c, 1) <= 0;
}

/** Each connection once a second, one after another: clients are not in step, and all at once would keep the processor
    from the client that measures. */
static int readSlowly(int *fds, int count) {
    static char piece[4096];
    const int turns = 100; /* in a second */
    int i, at = 0;
    while (!inputEnds(1000 / turns)) {
        for (i = 0; i < (count + turns - 1) / turns; i++) {
            while (recv(fds[at], piece, sizeof(piece), MSG_DONTWAIT) < 0 && errno == EINTR) {}
            at = (at + 1) % count;
        }
    }
    return 0;
}

/* ---- Garbage ---- */

static unsigned seed;

static unsigned random32(void) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

/* A request each: right ones, wrong ones, and such as never end. */
static const char *const requests[] = {
    "GET /1k HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /text HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n",
    "GET /16k HTTP/1.1\r\nHost: a\r\nRange: bytes=5-99,200-300\r\n\r\n",
    "HEAD /16k HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /none HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /1k?a=b&c=%41%zz HTTP/1.1\r\nHost: a\r\nCookie: x=y; z\r\n\r\n",
    "POST /1k HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789",
    "POST /1k HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\ncut off",
    "POST /1k HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "POST /1k HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    "POST /1k HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /1k HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: "
    "7\r\n\r\na=b&c=d",
    "POST /1k HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: "
    "9\r\n\r\n--x\r\nabcd",
    "GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /1k HTTP/1.1\r\n\r\n",
    "GET /1k HTTP/9.9\r\nHost: a\r\n\r\n",
    "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n",
    "\x16\x03\x01\x02\x01\x01\xfc\x03\x03",
    "GET /1k HTTP/1.1\r\nHost: a\r\nX: ",
    "GET /big HTTP/1.1\r\nHost: a\r\n\r\n",
};

static size_t compose(char *text, size_t room) {
    const unsigned kind = random32() % 16;
    const char *request = requests[random32() % (sizeof(requests) / sizeof(requests[0]))];
    size_t length = 0, each = strlen(request);
    unsigned i;
    if (kind == 0) { /* a head without an end */
        length = (size_t) snprintf(text, room, "GET /1k HTTP/1.1\r\nHost: a\r\nX: ");
        memset(text + length, 'x', 20000);
        return length + 20000;
    }
    if (kind == 1) { /* bytes of all kinds */
        length = random32() % 4000;
        for (i = 0; i < length; i++) {
            text[i] = (char) random32();
        }
        return length;
    }
    for (i = kind == 2 ? 20 : 1; i > 0; i--, length += each) {
        memcpy(text + length, request, each);
    }
    if (kind == 3) { /* one byte is another */
        text[random32() % length] = (char) random32();
    }
    return kind == 4 ? random32() % (length + 1) : length; /* 4: cut off */
}

/** Read until nothing comes, at most a second answer's worth. */
static void readAnswer(int fd) {
    static char answer[65536];
    struct timeval patience = {.tv_sec = 0, .tv_usec = 2000};
    int i;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    for (i = 0; i < 4 && recv(fd, answer, sizeof(answer), 0) > 0; i++) {
        if (random32() % 4) {
            break;
        }
    }
}

static int sendGarbage(double duration) {
    static char text[65536];
    enum { open = 64 }; /* connections that are left as they are for a while */
    int fds[open];
    const double end = seconds() + duration;
    unsigned long count = 0;
    memset(fds, -1, sizeof(fds));
    while (seconds() < end) {
        const unsigned at = random32() % open;
        const unsigned after = random32() % 8;
        if (fds[at] < 0) {
            fds[at] = dial(0);
        }
        ssize_t sent = send(fds[at], text, compose(text, sizeof(text)), MSG_NOSIGNAL);
        count++;
        if (sent > 0 && after < 6) {
            readAnswer(fds[at]);
        }
        if (after == 7) { /* half closed */
            shutdown(fds[at], SHUT_WR);
        } else if (after == 6) { /* reset */
            struct linger reset = {.l_onoff = 1, .l_linger = 0};
            setsockopt(fds[at], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        }
        if (sent <= 0 || after > 2) {
            close(fds[at]);
            fds[at] = -1;
        }
    }
    printf("requests %lu\n", count);
    return 0;
}

int main(int argc, char **argv) {
    struct rlimit files;
    if (argc != 5) {
        fprintf(stderr, "usage: http_clients idle|slow PORT PATH COUNT | http_clients garbage PORT SECONDS SEED\n");
        return 2;
    }
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    port = atoi(argv[2]);
    if (strcmp(argv[1], "garbage") == 0) {
        seed = (unsigned) atoi(argv[4]) * 2654435761u + 1;
        return sendGarbage(atof(argv[3]));
    }
    if (strcmp(argv[1], "slow") == 0) {
        return readSlowly(dialAll(argv[3], atoi(argv[4]), 4096, 0), atoi(argv[4]));
    }
    dialAll(argv[3], atoi(argv[4]), 0, 1);
    while (!inputEnds(1000)) {}
    return 0;
}
