// SPDX-License-Identifier: MIT
/*
    shortage.hpp - What is done when memory cannot be had: the same steps for whoever needs it, a program's blocks or
    what the runtime has to remember.
 */
#pragma once

#include <cstddef>
#include <utility>

#include "mpr/gc/mutator.hpp"
#include "mpr/heap/heap.hpp"

namespace mpr::gc {

/** A try to have memory. It is repeated after each step. The shortage is that of the last try. */
struct Attempt {
    bool again() { return tryNow(*this); }

    bool (*tryNow)(Attempt& self);
    std::size_t bytes;
    heap::Shortage shortage;
};

/**
    Steps of a thread that is counted as running: wait for the end of a sweep; make usable what is free but kept apart,
    and ask for a collection; give back pages in pieces; tell the notifier, if the thread may be told.
    The first try has failed. @return false when no other has succeeded, which is counted as an allocation that failed.
 */
[[gnu::cold, gnu::noinline]] bool relieve(Mutator& m, Attempt& attempt);

/**
    Steps of any other thread: wait for the end of a sweep, and for a collection, but not for long: the caller may have
    locks that others wait for, and pauses may already wait for it.
 */
[[gnu::cold, gnu::noinline]] bool relieveOutside(Attempt& attempt);

/**
    What the calling thread allocates while one of these lives it can do without: where there is no memory nothing is done
    to have it, nobody is told, and no policy ends the program.
 */
class Optional {
public:
    Optional() : m_(attached), before_(m_ && std::exchange(m_->canDoWithout, true)) {}
    ~Optional() {
        if (m_) {
            m_->canDoWithout = before_;
        }
    }
    Optional(const Optional&) = delete;
    Optional& operator=(const Optional&) = delete;

private:
    Mutator* const m_;
    const bool before_;
};

/** A try by f(shortage), which says whether there was memory, or why not. */
template <typename F>
struct Trying : Attempt {
    Trying(std::size_t size, F function, heap::Shortage first = heap::Shortage::none)
        : Attempt{tryNow, size, first}, f(function) {}

    static bool tryNow(Attempt& self) {
        self.shortage = heap::Shortage::none;
        return static_cast<Trying&>(self).f(self.shortage);
    }
    F f;
};

} // namespace mpr::gc
