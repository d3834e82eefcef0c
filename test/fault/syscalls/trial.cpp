// SPDX-License-Identifier: MIT
/*
    test/fault/syscalls/trial.cpp - Runs a program with a library before the C library, waits for its end, judges.
 */
#include "test/fault/syscalls/trial.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <new>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace syscalls {

namespace {

/* A file without a name. */
class Scratch {
public:
    Scratch() : fd_(memfd_create("fault", MFD_CLOEXEC)) {
        if (fd_ < 0) {
            perror("memfd_create");
            exit(2);
        }
    }
    ~Scratch() { close(fd_); }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;

    int fd() const { return fd_; }
    std::string path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_); }
    std::string text() const {
        std::string all;
        char part[4096];
        for (ssize_t got = 0; (got = pread(fd_, part, sizeof(part), static_cast<off_t>(all.size()))) > 0;) {
            all.append(part, static_cast<size_t>(got));
        }
        return all;
    }

private:
    int fd_;
};

/* What both processes map. */
class SharedReport {
public:
    SharedReport() {
        if (ftruncate(file_.fd(), sizeof(Report)) != 0) {
            perror("ftruncate");
            exit(2);
        }
        void *memory = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd(), 0);
        if (memory == MAP_FAILED) {
            perror("mmap");
            exit(2);
        }
        report_ = new (memory) Report;
    }
    ~SharedReport() { munmap(report_, sizeof(Report)); }
    SharedReport(const SharedReport &) = delete;
    SharedReport &operator=(const SharedReport &) = delete;

    Report *operator->() { return report_; }
    std::string path() const { return file_.path(); }

private:
    Scratch file_;
    Report *report_;
};

struct Start {
    std::vector<std::string> words, settings; // of the environment
    std::string folder;
    int output, errors, most;
};

std::vector<char *> pointersTo(const std::vector<std::string> &texts) {
    std::vector<char *> pointers;
    for (const std::string &text : texts) {
        pointers.push_back(const_cast<char *>(text.c_str()));
    }
    pointers.push_back(nullptr);
    return pointers;
}

/* The child. Other threads of this process may hold any lock: it allocates nothing. */
[[noreturn]] void become(const Start &start, char **words, char **settings) {
    const rlimit none{0, 0};
    const rlimit seconds{static_cast<rlim_t>(start.most), static_cast<rlim_t>(start.most) + 2};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &seconds);
    setpgid(0, 0);
    const int input = open("/dev/null", O_RDONLY);
    if (input < 0 || dup2(input, 0) < 0 || dup2(start.output, 1) < 0 || dup2(start.errors, 2) < 0 ||
        chdir(start.folder.c_str()) != 0) {
        _exit(126);
    }
    closefrom(3);
    execve(words[0], words, settings);
    _exit(127);
}

/* @return Whether it had to be killed. */
bool await(pid_t child, int seconds, int &status) {
    const int ends = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    pollfd descriptor{ends, POLLIN, 0};
    const bool late = poll(&descriptor, 1, seconds * 1000) == 0;
    if (late) {
        kill(child, SIGKILL);
    }
    siginfo_t how{};
    waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT); // its number stays its group's until all are gone
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
    close(ends);
    return late;
}

/*
    Whether the messages say what was wrong: the system's word for the error, or memory, threads, descriptors by
    their names.
 */
bool names(const std::string &errors, const Fault &fault) {
    const char *const words[] = {
        "memory", "thread", "descriptor", "cannot be", "cannot listen", "Too many open files", "no space", "lost"};
    if (errors.find(fault.call == callGetaddrinfo ? gai_strerror(fault.error) : strerror(fault.error)) !=
        std::string::npos) {
        return true;
    }
    for (const char *word : words) {
        if (errors.find(word) != std::string::npos) {
            return true;
        }
    }
    return false;
}

/* mpr/event.h: where the first loop of a process is made. The demo has a loop of its own, whose aborts are libuv's. */
bool isListed(const Program &program, const Fault &fault) {
    return fault.call == callPipe || fault.call == callAtfork || (program.ownsLoop && fault.call == callEpollCtl);
}

Verdict judge(const Program &program, const Fault &fault, const Outcome &outcome, bool late) {
    if (late) {
        return hang;
    }
    if (WIFSIGNALED(outcome.status)) {
        const int signal = WTERMSIG(outcome.status);
        return signal == SIGXCPU || signal == SIGKILL               ? spin
               : outcome.abortedByLibuv && isListed(program, fault) ? listed
                                                                    : crash;
    }
    if (WEXITSTATUS(outcome.status) != 0) {
        return names(outcome.errors + outcome.output, fault) ? said : silent;
    }
    return outcome.output.find(program.done) != std::string::npos ? served : lied;
}
} // namespace

Outcome run(const Program &program, const Fault &fault, const std::string &library, const std::string &folder) {
    SharedReport report;
    report->call = fault.call;
    report->error = fault.error;
    report->nth = fault.nth;
    report->on = fault.on;
    const Scratch output, errors;
    Start start{program.words, {}, folder, output.fd(), errors.fd(), program.most};
    start.settings = {"LD_PRELOAD=" + library, "MPR_FAULT=" + report.path(), "PATH=/usr/bin:/bin", "TMPDIR=" + folder};
    const std::vector<char *> words = pointersTo(start.words), settings = pointersTo(start.settings);
    const pid_t child = fork();
    if (child == 0) {
        become(start, const_cast<char **>(words.data()), const_cast<char **>(settings.data()));
    }
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    Outcome outcome;
    const bool late = await(child, program.longest, outcome.status);
    outcome.output = output.text();
    outcome.errors = errors.text();
    outcome.abortedByLibuv = report->abortedByLibuv;
    memcpy(outcome.calls, report->calls, sizeof(outcome.calls));
    outcome.verdict = fault.call != callCount && report->failed == 0 ? unreached : judge(program, fault, outcome, late);
    return outcome;
}

const char *errorName(int error) {
    if (error < 0) {
        return error == EAI_MEMORY ? "EAI_MEMORY" : error == EAI_AGAIN ? "EAI_AGAIN" : "EAI_?";
    }
    return strerrorname_np(error);
}

} // namespace syscalls
