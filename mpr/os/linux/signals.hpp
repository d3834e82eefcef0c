// SPDX-License-Identifier: MIT
/*
    signals.hpp - Which signals a thread takes: the program's take what the program says, the runtime's own take none of them.
 */
#pragma once

#include <signal.h>

#include <cstdint>

namespace mpr::os {

/** A mask. Signals from 1, bit by bit. */
using SignalBits = std::uint64_t;

/**
    The mask that a thread is to begin with, in the calling thread while this exists: a new thread has its parent's from the
    first instruction on, and nothing that it would set itself is as early.
 */
class MaskOfNew {
public:
    explicit MaskOfNew(bool forRuntime);
    ~MaskOfNew() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    MaskOfNew(const MaskOfNew&) = delete;
    MaskOfNew& operator=(const MaskOfNew&) = delete;

    /** What a thread of the program's would have. */
    SignalBits ofProgram() const;

private:
    sigset_t before_;
};

/** The calling thread begins. @param ofProgram What its mask would be if it were the program's. */
void noteMask(bool isOfRuntime, SignalBits ofProgram);

/** The calling thread has the mask that it would have if it were the program's, while this exists. */
class MaskOfProgram {
public:
    MaskOfProgram();
    ~MaskOfProgram();
    MaskOfProgram(const MaskOfProgram&) = delete;
    MaskOfProgram& operator=(const MaskOfProgram&) = delete;

private:
    sigset_t before_;
};

} // namespace mpr::os
