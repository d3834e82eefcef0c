// SPDX-License-Identifier: MIT
/*
    fields.cpp - Reading living blocks for the addresses of dying ones.
 */
#include "mpr/gc/fields.hpp"

#include <algorithm>

#include "mpr/gc/manager.hpp"
#include "mpr/gc/naming.hpp"
#include "mpr/gc/unmarked.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::Region;
namespace head = heap::head;
namespace swar = heap::swar;

namespace {

/** Read a word. Yielded threads may be writing to it if it is no reference. */
__attribute__((no_sanitize("thread"))) const void* wordAt(const void* block, std::size_t offset) {
    return *reinterpret_cast<const void* const volatile*>(static_cast<const Byte*>(block) + offset);
}
} // namespace

bool UnmarkedField::isAny(MprManager manager, std::size_t offset) {
    return find([=](const UnmarkedField& field) {
        return field.manager_ == manager && (field.offset_ == offset || field.offset_ == all);
    });
}

void Fields::checkAll() {
    reports_ = 0;
    const auto wanted = [](std::size_t, auto words) { return swar::heads(words); };
    for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
        for (unsigned chunk = 0; chunk < region->chunkCount() && reports_ < mostInCollection; ++chunk) {
            region->forEach(chunk, wanted, [&](std::size_t g) {
                const Byte h = region->map().get(g);
                if (!head::isGone(h) &&
                    (head::isLeaf(h) ? !heap_.dead(h) && !(h & head::held) : !heap_.dead(h) || (h & head::held))) {
                    checkBlock(region, g);
                }
            });
        }
    }
}

void Fields::checkBlock(Region* region, std::size_t g) {
    const std::size_t n = region->blockSize(g);
    const bool isLeaf = head::isLeaf(region->map().get(g));
    const std::size_t size = (n << heap::granuleShift) - (isLeaf ? 0 : sizeof(MprManager));
    Byte* const owner = region->address(g);
    for (std::size_t offset = 0; offset + sizeof(void*) <= size; offset += sizeof(void*)) {
        const heap::Place dying = named_.dyingAt(heap_, wordAt(owner, offset));
        if (!dying.region || reports_ == mostInCollection || endsBuffer(owner, size, offset)) {
            continue;
        }
        const MprManager manager = isLeaf ? nullptr : managerOf(owner, n);
        if (!UnmarkedField::isAny(manager, offset) &&
            isNew({isLeaf ? size : reinterpret_cast<std::uintptr_t>(manager), offset})) {
            ++reports_;
            report({region, g}, offset, dying);
        }
    }
}

/**
    Whether a word is the end pointer of a living buffer that fills its block, so that the dying block merely follows
    it. This is so where it stands behind two or more pointers into the buffer, one of them to its start, as in the
    vectors and deques of C++ and in MprBuf. A single pointer before it says nothing: two blocks allocated one after
    another lie side by side, too.
 */
bool Fields::endsBuffer(const Byte* owner, std::size_t size, std::size_t offset) const {
    constexpr std::size_t word = sizeof(void*);
    const void* const end = wordAt(owner, offset);
    Region* const region = heap_.find(end);
    if (!region) {
        return false; // it has a tag
    }
    const std::size_t g = region->granuleOf(end);
    const std::size_t before = g > region->firstGranule ? region->map().headBefore(g - 1, region->firstGranule) : g;
    if (before >= g || before + region->map().blockSize(before) != g || heap_.dead(region->map().get(before))) {
        return false;
    }
    const void* const begin = region->address(before);
    bool fromBegin = false;
    std::size_t first = offset; // of the pointers into the buffer
    for (; first >= word && first + mostPointers * word > offset; first -= word) {
        const void* const at = wordAt(owner, first - word);
        if (at < begin || at > end) {
            break;
        }
        fromBegin = fromBegin || at == begin;
    }
    const bool isAtEndToo = offset + 2 * word <= size && wordAt(owner, offset + word) == end; // a vector that is full
    return fromBegin && (offset - first >= 2 * word || isAtEndToo);
}

/** Note a field. @return Whether it is new and has to be named. */
bool Fields::isNew(Field field) {
    unsigned offsets = 0;
    const bool isOld = std::any_of(named_.begin(), named_.end(), [&](const Field& known) {
        return known.kind == field.kind && (known.offset == field.offset || ++offsets == mostOffsets);
    });
    return !isOld && named_.add(field);
}

void Fields::report(heap::Place owner, std::size_t offset, heap::Place dying) const {
    os::Message message;
    message << "check: unmarked field? Block ";
    nameBlock(message, owner);
    message << " has at offset " << offset << " the address of a block about to be freed, ";
    nameBlock(message, dying);
    // Whoever wrote this most likely took a hold for a root.
    const bool heldOnly = heap_.dead(owner.head());
    message << (heldOnly                     ? "; it is only held, which keeps the block alone: should it be a root?"
                : head::isLeaf(owner.head()) ? "; it has no manager or trace function that could mark that field"
                                             : "; does its manager or trace function mark that field?");
    suspect(message, dying);
}

} // namespace mpr::gc
