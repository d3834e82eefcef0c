// SPDX-License-Identifier: MIT
/*
    mpr/cpp/detail/check.hpp - Checks of arguments in programs that are built without NDEBUG. Not assert: its message would
    have a board link the C library's output.
 */
#ifndef MPR_CPP_DETAIL_CHECK_HPP
#define MPR_CPP_DETAIL_CHECK_HPP

namespace mpr::detail {

/** Stop the program where a condition does not hold: a debugger, or a board's handler of faults, shows the place. */
inline void check([[maybe_unused]] bool holds) noexcept {
#ifndef NDEBUG
    if (!holds) {
        __builtin_trap();
    }
#endif
}

} // namespace mpr::detail

#endif /* MPR_CPP_DETAIL_CHECK_HPP */
