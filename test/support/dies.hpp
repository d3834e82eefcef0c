// SPDX-License-Identifier: MIT
/*
    test/support/dies.hpp - What ends the process, tried in a child that is forked on the spot.

    For assertions: the child is a copy of the calling thread alone, so what it does must not need others.
 */
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "mpr/os/log.hpp"

namespace test {

/* @return Whether the call writes a text to standard error and then aborts. */
template <class Call>
bool failsWith(const char *text, Call call) {
    int ends[2];
    if (pipe(ends) != 0) {
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        mpr::os::setLogHandler(nullptr);
        signal(SIGABRT, SIG_DFL);
        const rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        call();
        _exit(0);
    }
    close(ends[1]);
    std::string said;
    char part[512];
    for (ssize_t got; (got = read(ends[0], part, sizeof(part))) > 0;) {
        said.append(part, static_cast<size_t>(got));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && said.find(text) != std::string::npos;
}

} // namespace test
