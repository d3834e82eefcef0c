// SPDX-License-Identifier: MIT
/*
    unmarked.hpp - Fields of the runtime's own blocks, and its static data, that may hold the address of a dead block,
    since nobody follows it then: check=fields and check=globals pass them over. To clear them would cost a store where
    each counts.
 */
#pragma once

#include <cstddef>

#include "mpr/memory.h"

namespace mpr::gc {

/** Declares a field of all blocks of a manager, when the program starts. */
struct UnmarkedField {
    UnmarkedField(MprManager manager, std::size_t offset);
    template <class T, class Field>
    UnmarkedField(MprManager manager, Field T::*field) : UnmarkedField(manager, offsetOf(field)) {}

private:
    /** offsetof is for simpler structures only. */
    template <class T, class Field>
    static std::size_t offsetOf(Field T::*field) {
        alignas(T) static const unsigned char block[sizeof(T)] = {};
        const auto* where = &(reinterpret_cast<const T*>(block)->*field);
        return static_cast<std::size_t>(reinterpret_cast<const unsigned char*>(where) - block);
    }
};

/** Declares all of a manager's blocks. */
struct UnmarkedBlock {
    explicit UnmarkedBlock(MprManager manager);
};

/** Declares static data of the runtime's, when the program starts: check=globals passes over what stands in it. */
struct OwnData {
    OwnData(const void* begin, std::size_t size);
};

} // namespace mpr::gc
