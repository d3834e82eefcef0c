// SPDX-License-Identifier: MIT
/*
    guard.hpp - Who may use a list or hash, and the lock inside it, taken unless the object was declared to have one user at
    a time.

    It is held for the change itself and never over an allocation, a callback or a yield: an allocation may wait for the
    collector, which may wait in a manager for this very lock.
 */
#pragma once

#include "mpr/gc/guard.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::base {

/** Whether the object that a function of the API was given is to be used: there is one, and the calling thread runs. */
inline bool mayUse(const void* object, const char* function = __builtin_FUNCTION()) {
    return object && gc::admitRunning(function);
}

class Guard {
public:
    Guard(os::Lock& lock, bool needed) : lock_(needed ? &lock : nullptr) { take(); }
    ~Guard() { leave(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    void take() MPR_UNANALYSED {
        if (lock_) {
            lock_->lock();
        }
    }
    void leave() MPR_UNANALYSED {
        if (lock_) {
            lock_->unlock();
        }
    }

private:
    os::Lock* lock_;
};

/** Leaves a guard for the time of its scope. */
class Unguarded {
public:
    explicit Unguarded(Guard& guard) : guard_(guard) { guard_.leave(); }
    ~Unguarded() { guard_.take(); }
    Unguarded(const Unguarded&) = delete;
    Unguarded& operator=(const Unguarded&) = delete;

private:
    Guard& guard_;
};

} // namespace mpr::base
