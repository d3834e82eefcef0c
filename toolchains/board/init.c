/* SPDX-License-Identifier: MIT */
/*
    init.c - The first and only process of a simulated board: runs what /programs lists, one command a line, then ends.

    A program is removed when it has run: the file system is in memory, and what it took is room for the next.

    Prints "board: COMMAND: status N, at most M KB" after each command, M being its resident memory, and "board: end" when
    all have run.
 */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The demo talks to itself over the loopback device. */
static void raiseLoopback(void) {
    struct ifreq request;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    memset(&request, 0, sizeof(request));
    strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) != 0) {
        puts("board: no loopback device");
    }
    close(fd);
}

/* Words are separated by single spaces. */
static void execute(char *command) {
    char *words[32];
    int count = 0;
    for (char *word = strtok(command, " "); word && count < 31; word = strtok(NULL, " ")) {
        words[count++] = word;
    }
    words[count] = NULL;
    if (count > 0) {
        execv(words[0], words);
    }
    perror("board: cannot execute");
    _exit(127);
}

int main(void) {
    char line[512];
    setvbuf(stdout, NULL, _IOLBF, 0);
    mkdir("/proc", 0755);
    mkdir("/dev", 0755);
    mkdir("/tmp", 0777);
    mount("proc", "/proc", "proc", 0, "");
    mount("devtmpfs", "/dev", "devtmpfs", 0, "");
    raiseLoopback();
    setenv("MPR_TEST_SLOW", "1", 1);

    FILE *programs = fopen("/programs", "r");
    while (programs && fgets(line, sizeof(line), programs)) {
        int status = 0;
        struct rusage usage;
        line[strcspn(line, "\n")] = '\0';
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            execute(line);
        }
        wait4(pid, &status, 0, &usage);
        printf("board: %s: status %d, at most %ld KB\n", line,
               WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), usage.ru_maxrss);
        line[strcspn(line, " ")] = '\0';
        unlink(line);
    }
    puts("board: end");
    fflush(stdout);
    sync();
    reboot(RB_AUTOBOOT); /* QEMU is told not to: it ends */
    for (;;) {
        pause();
    }
}
