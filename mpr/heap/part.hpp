// SPDX-License-Identifier: MIT
/*
    part.hpp - What the heap's parts have in common: they are used while the heap's lock is held, and have none of their
    own. Checked builds know which lock that is, and assert it; others keep nothing.
 */
#pragma once

#include <type_traits>

#include "mpr/os/lock.hpp"

namespace mpr::heap {

class Part {
public:
    constexpr explicit Part(const os::Lock& lock) : lock_{lock} {}

protected:
    void assertHeld() const { lock_.assertHeld(); }

private:
    struct Known {
        const os::Lock& lock;
        void assertHeld() const { os::assertHeld(lock); }
    };
    struct Unknown {
        constexpr Unknown(const os::Lock&) {}
        void assertHeld() const {}
    };
    [[no_unique_address]] std::conditional_t<os::checked, Known, Unknown> lock_;
};

} // namespace mpr::heap
