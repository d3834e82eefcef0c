// SPDX-License-Identifier: MIT
/*
    test/fault/syscalls/planted/misbehaves.cpp - A program that misbehaves when it has no descriptor, as it is told: for the
    test of the one who looks for that.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

static int misbehave(const char *how) {
    if (strcmp(how, "spin") == 0) {
        while (open("/dev/null", O_RDONLY) < 0) {}
    } else if (strcmp(how, "hang") == 0) {
        for (;;) {
            pause();
        }
    } else if (strcmp(how, "crash") == 0) {
        abort();
    } else if (strcmp(how, "said") == 0) {
        perror("misbehaves: /dev/null");
        return 1;
    }
    return strcmp(how, "lied") == 0 ? 0 : 1;
}

int main(int, char **argv) {
    const int first = open("/dev/null", O_RDONLY);
    if (open("/dev/null", O_RDONLY) < 0 && strcmp(argv[1], "served") != 0) {
        return misbehave(argv[1]);
    }
    puts("done");
    return first < 0;
}
