// SPDX-License-Identifier: MIT
/*
    code.hpp - Whether the collector may yet call code in a range of addresses: before that is unloaded.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpr::gc {

/** That could not be found out, because another thread does not yield. */
inline constexpr std::size_t unknownBlocks = ~std::size_t{0};

/**
    How many blocks have a manager in a range of addresses: alive, or dead and not freed yet. All other threads are
    stopped while blocks are counted, if there was ever such a manager.
 */
std::size_t blocksManagedIn(std::uintptr_t begin, std::uintptr_t end);

} // namespace mpr::gc
