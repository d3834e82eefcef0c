/* SPDX-License-Identifier: MIT */
/*
    Waiting for a descriptor: events when it can be read, while a thread that knows nothing of mpr writes and posts.

    Rooms: io
 */
#include <mpr.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];     /* Of a pipe: read, write */
static int awaited = 2; /* The end of the text, and the word from outside. Events run on one thread: no lock */

static void oneLess(void) {
    if (--awaited == 0) {
        mprShutdown(MPR_EXIT_NORMAL, 0, -1);
    }
}

static void heard(void *data, MprEvent *event) {
    (void) event;
    printf("from outside: %s\n", (cchar *) data);
    oneLess();
}

/* A thread of its own: it may call mprCreateEventOutside, and nothing else. */
static void *writer(void *data) {
    static const char lines[] = "one\ntwo\nthree\n";
    ssize_t written = write(ends[1], lines, sizeof(lines) - 1);

    (void) data;
    if (written < 0) {
        perror("writer");
    }
    close(ends[1]);
    return mprCreateEventOutside(0, heard, "all written") < 0 || written < 0 ? 0 : ends;
}

/* The handler waits once: to wait for more, say so. The buffer is managed, and the handler retains it. */
static void readable(void *data, MprEvent *event) {
    MprBuf *buf = (MprBuf *) data;
    char bytes[8];
    ssize_t count = read(ends[0], bytes, sizeof(bytes));

    if (count > 0) {
        mprPutBlockToBuf(buf, bytes, count);
    }
    if (count > 0 || (count < 0 && errno == EINTR)) {
        mprWaitOn(event->handler, MPR_READABLE);
    } else {
        mprDestroyWaitHandler(event->handler); /* Before the descriptor is closed */
        close(ends[0]);
        mprAddNullToBuf(buf);
        printf("read: %s", mprGetBufStart(buf));
        oneLess();
    }
}

int main(int argc, char **argv) {
    pthread_t thread;
    void *result = 0;
    MprBuf *buf;

    if (!mprCreate(argc, argv, MPR_USER_EVENTS_THREAD) || mprStart() < 0) {
        return 1; /* The runtime has said why */
    }
    if (pipe(ends) < 0) {
        perror("pipe");
        return 1;
    }
    buf = mprCreateBuf(0, -1);
    if (!buf || !mprCreateWaitHandler(ends[0], MPR_READABLE, 0, readable, buf, 0)) {
        return 1;
    }
    mprAddRoot(buf);
    if (pthread_create(&thread, 0, writer, 0) != 0) {
        fprintf(stderr, "waiting: no thread for the writer\n");
        return 1;
    }
    mprServiceEvents(10000, 0); /* Until mprShutdown, which comes at once */
    if (awaited > 0) {
        fprintf(stderr, "waiting: given up: %d of 2 did not come; the log may say why\n", awaited);
        awaited = -1;
    }
    pthread_join(thread, &result);
    return mprDestroy() && result && awaited == 0 ? 0 : 1;
}
