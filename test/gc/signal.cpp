// SPDX-License-Identifier: MIT
/*
    test/gc/signal.cpp - Signals belong to the program: the collector's threads take none.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include <signal.h>
#include <unistd.h>

#include <string>

using namespace test;

namespace {

/* Threads of this process by the beginning of their name, and those of them that do not block a signal. */
struct Threads {
    int count = 0, taking = 0;
};

Threads threadsNamed(const std::string &name, int signo) {
    Threads found;
    DIR *tasks = opendir("/proc/self/task");
    while (const dirent *entry = tasks ? readdir(tasks) : nullptr) {
        FILE *file = fopen((std::string("/proc/self/task/") + entry->d_name + "/status").c_str(), "r");
        char line[256];
        bool counts = false;
        while (file && fgets(line, sizeof(line), file)) {
            unsigned long long blocked = 0;
            if (std::string(line).rfind("Name:\t" + name, 0) == 0) {
                counts = true;
                found.count++;
            } else if (counts && sscanf(line, "SigBlk: %llx", &blocked) == 1) {
                found.taking += (blocked >> (signo - 1) & 1) == 0;
            }
        }
        if (file) {
            fclose(file);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    return found;
}

} // namespace

TEST_CASE("signal waited for: child", "[.][child]") {
    mprCreate(0, nullptr, 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    kill(getpid(), SIGUSR1);
    int got = 0;
    sigwait(&set, &got);
    mark(got == SIGUSR1 ? "got it by sigwait" : "got another");
    mprDestroy();
    _exit(0);
}

TEST_CASE("a signal that the program waits for by sigwait comes there", "[gc][signal]") {
    const Ended ended = runChild("signal waited for: child");
    CHECK(ended.exited(0));
    CHECK(ended.wrote("got it by sigwait"));
}

TEST_CASE("the collector and its markers take signals of their own making, and the profiler's", "[gc][signal]") {
    if (emulator()) {
        WARN("not tried: an emulator has threads of its own");
        return;
    }
    Runtime runtime("markers=4");
    Root root;
    for (uintptr_t i = 0; i < heavy(200000); i++) {
        root.set(makeNode(root.as<Node>(), nullptr, i));
    }
    until([] {
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        return threadsNamed("mpr-marker", SIGUSR1).count > 0;
    });
    // A thread has the name of the one that started it until it gets the processor for the first time.
    CHECK(until([] { return threadsNamed("mpr-collector", SIGUSR1).count == 1; }));
    CHECK(threadsNamed("mpr-marker", SIGUSR1).count > 0);
    for (int signo : {SIGUSR1, SIGTERM, SIGINT, SIGCHLD, SIGALRM, SIGRTMIN}) {
        CAPTURE(signo);
        CHECK(threadsNamed("mpr-", signo).taking == 0);
    }
    for (int signo : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF}) {
        CAPTURE(signo);
        const Threads threads = threadsNamed("mpr-", signo);
        CHECK(threads.taking == threads.count);
    }
}
