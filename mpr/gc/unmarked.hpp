// SPDX-License-Identifier: MIT
/*
    unmarked.hpp - Fields of the runtime's own blocks, and its static data, that may hold the address of a dead block,
    since nobody follows it then: check=fields and check=globals pass them over. To clear them would cost a store where
    each counts.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/gc/declared.hpp"
#include "mpr/memory.h"

namespace mpr::gc {

/** Declares a field of all blocks of a manager. */
class UnmarkedField : public Declared<UnmarkedField> {
public:
    UnmarkedField(MprManager manager, std::size_t offset) : manager_(manager), offset_(offset) {}
    template <class T, class Field>
    UnmarkedField(MprManager manager, Field T::*field) : UnmarkedField(manager, offsetOf(field)) {}

    /** Whether a word of a manager's blocks is such a field. */
    static bool isAny(MprManager manager, std::size_t offset);

protected:
    static constexpr std::size_t all = SIZE_MAX; // offsets

private:
    /** offsetof is for simpler structures only. */
    template <class T, class Field>
    static std::size_t offsetOf(Field T::*field) {
        alignas(T) static const unsigned char block[sizeof(T)] = {};
        const auto* where = &(reinterpret_cast<const T*>(block)->*field);
        return static_cast<std::size_t>(reinterpret_cast<const unsigned char*>(where) - block);
    }

    const MprManager manager_;
    const std::size_t offset_;
};

/** Declares all of a manager's blocks. */
class UnmarkedBlock : public UnmarkedField {
public:
    explicit UnmarkedBlock(MprManager manager) : UnmarkedField(manager, all) {}
};

/** Declares static data of the runtime's: check=globals passes over what stands in it. */
class OwnData : public Declared<OwnData> {
public:
    OwnData(const void* begin, std::size_t size)
        : begin_(begin), end_(static_cast<const unsigned char*>(begin) + size) {}

    /** Whether an address is in such data. */
    static bool has(const void* address);

private:
    const void* const begin_;
    const void* const end_;
};

} // namespace mpr::gc
