// SPDX-License-Identifier: MIT
/*
    broken_pipe.hpp - SIGPIPE kept from the program where a call of the system has no flag for that. For rooms that have signals.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <cerrno>

namespace mpr::os {

/** While it exists the calling thread gets no SIGPIPE. One that comes of its own call is taken away: see set(). */
class BrokenPipe {
public:
    BrokenPipe() {
        sigemptyset(&broken_);
        sigaddset(&broken_, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &broken_, &before_);
    }
    ~BrokenPipe() {
        if (isCut_ && !sigismember(&before_, SIGPIPE)) {
            const timespec now{};
            sigtimedwait(&broken_, nullptr, &now);
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = error_ ? error_ : errno;
    }
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

/** Write to what may be a pipe that nobody reads any more: that is an error, as of other files, and no signal.
    @param write Returns a negative error of the system, or what was written. */
template <class Write>
auto withoutSignal(Write write) -> decltype(write()) {
    BrokenPipe broken;
    const auto done = write();
    broken.set(done < 0 ? static_cast<int>(-done) : 0, true); // perhaps: how much there was to write is not known here
    return done;
}

} // namespace mpr::os
