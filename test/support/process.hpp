// SPDX-License-Identifier: MIT
/*
    test/support/process.hpp - What the system says of this process, and runs of this test binary as a child.

    A child runs one hidden test case of the same binary, because some rules end the process.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "test/support/sanitizer.hpp"

namespace test {

/* Lines of a file of /proc; each mapping of the process is one in /proc/self/maps. */
inline int countLines(const char *path) {
    int lines = 0;
    if (FILE *file = fopen(path, "r")) {
        for (int c; (c = fgetc(file)) != EOF;) {
            lines += c == '\n';
        }
        fclose(file);
    }
    return lines;
}

/* Entries of a folder; each open descriptor of the process is one in /proc/self/fd, and one is this call's. */
inline int countEntries(const char *path) {
    int entries = 0;
    if (DIR *folder = opendir(path)) {
        while (readdir(folder)) {
            entries++;
        }
        closedir(folder);
    }
    return entries;
}

/* What the process has open, for messages: each descriptor and what it is. */
inline std::string listFiles() {
    std::string all;
    for (int fd = 0; fd < 1024; fd++) {
        char name[64], target[256];
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(name, target, sizeof(target));
        if (length > 0) {
            all += std::to_string(fd) + " " + std::string(target, size_t(length)) + ", ";
        }
    }
    return all;
}

/* Resident bytes by the system's own account. */
inline size_t residentBytes() {
    size_t total = 0, resident = 0;
    if (FILE *file = fopen("/proc/self/statm", "r")) {
        if (fscanf(file, "%zu %zu", &total, &resident) != 2) {
            resident = 0;
        }
        fclose(file);
    }
    return resident * static_cast<size_t>(getauxval(AT_PAGESZ));
}

/* Bytes of private mappings that may be written: what a system charges that promises no more memory than it has. */
inline size_t writableBytes() {
    size_t bytes = 0;
    if (FILE *file = fopen("/proc/self/maps", "r")) {
        for (char line[512]; fgets(line, sizeof(line), file);) {
            uintptr_t begin = 0, end = 0;
            char mode[8] = {};
            if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &begin, &end, mode) == 3 && mode[1] == 'w' &&
                mode[3] == 'p') {
                bytes += end - begin;
            }
        }
        fclose(file);
    }
    return bytes;
}

/* The system's flags of the mapping that an address is in, such as " rd wr mr ": VmFlags of /proc/self/smaps. */
inline std::string mappingFlags(const void *address) {
    std::string flags;
    if (FILE *file = fopen("/proc/self/smaps", "r")) {
        bool inside = false;
        for (char line[512]; fgets(line, sizeof(line), file);) {
            uintptr_t begin = 0, end = 0;
            if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
                const auto at = reinterpret_cast<uintptr_t>(address);
                inside = begin <= at && at < end;
            } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
                flags = line + 8;
            }
        }
        fclose(file);
    }
    return flags;
}

/* Threads of the process. */
inline int threadCount() {
    int threads = 0;
    if (FILE *file = fopen("/proc/self/status", "r")) {
        char line[256];
        while (fgets(line, sizeof(line), file)) {
            if (sscanf(line, "Threads: %d", &threads) == 1) {
                break;
            }
        }
        fclose(file);
    }
    return threads;
}

/* Path of this test binary. */
inline std::string selfPath() {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    return std::string(path, length > 0 ? static_cast<size_t>(length) : 0);
}

/* How a child ended, and what it wrote. */
struct Ended {
    int status = 0;
    std::string output;

    bool exited(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
    bool killed(int signal) const { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
    bool wrote(const char *part) const { return output.find(part) != std::string::npos; }
};

/*
    For a child after fork: become a run of one (hidden) test case of this binary. Without that a child of a process with
    threads cannot start any, as a runtime does, under an emulator or TSan.
 */
[[noreturn]] inline void becomeCase(const std::string &self, const char *testCase) {
    setenv("MPR_TEST_CHILD", "1", 1);
    if (!emulator()) {
        execl(self.c_str(), self.c_str(), testCase, static_cast<char *>(nullptr));
        _exit(127);
    }
    // "$0" keeps its spaces; the emulator's command is split at its own.
    std::string command = std::string("exec ") + emulator() + " \"$0\" \"$1\"";
    execl("/bin/sh", "sh", "-c", command.c_str(), self.c_str(), testCase, static_cast<char *>(nullptr));
    _exit(127);
}

/* Call a function in a child that is forked on the spot: a copy of the calling thread alone. */
template <class Call>
Ended inChild(Call call) {
    Ended ended;
    int fds[2];
    if (pipe(fds) != 0) {
        return ended;
    }
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        dup2(fds[1], 2);
        close(fds[0]);
        close(fds[1]);
        call();
        _exit(0);
    }
    close(fds[1]);
    char text[4096];
    for (ssize_t got; (got = read(fds[0], text, sizeof(text))) > 0;) {
        ended.output.append(text, static_cast<size_t>(got));
    }
    close(fds[0]);
    waitpid(pid, &ended.status, 0);
    return ended;
}

/* Run one (hidden) test case of this binary in a child process of its own. */
inline Ended runChild(const char *testCase) {
    const std::string self = selfPath();
    return inChild([&] { becomeCase(self, testCase); });
}

/* A line that a parent looks for: written at once, whatever state the process is in. */
inline void mark(const char *text) {
    ssize_t ignored = write(1, text, strlen(text));
    ignored = write(1, "\n", 1);
    static_cast<void>(ignored);
}

} // namespace test
