// SPDX-License-Identifier: MIT
/*
    broken_pipe.hpp - SIGPIPE kept from the program where a call of the system has no flag for that. For rooms that have signals.
 */
#pragma once

#include <signal.h>

namespace mpr::os {

/** While it exists the calling thread gets no SIGPIPE. One that comes of its own call is taken away: see set(). */
class BrokenPipe {
public:
    BrokenPipe();
    ~BrokenPipe();
    BrokenPipe(const BrokenPipe&) = delete;
    BrokenPipe& operator=(const BrokenPipe&) = delete;

    /**
        Say how the call ended. @param error The system's number, which errno has afterwards; 0: none. @param isCut It may have
        written fewer bytes than it was given, or none: the other end may have left, and then the signal comes, too.
     */
    void set(int error, bool isCut) { error_ = error, isCut_ = isCut; }

private:
    sigset_t broken_, before_;
    int error_ = 0;
    bool isCut_ = false;
};

} // namespace mpr::os
