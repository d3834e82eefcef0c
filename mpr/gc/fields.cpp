// SPDX-License-Identifier: MIT
/*
    fields.cpp - Reading living blocks for the addresses of dying ones.
 */
#include "mpr/gc/fields.hpp"

#include "mpr/gc/manager.hpp"
#include "mpr/os/os.hpp"

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

/** The text that a leaf begins with, if it seems to be one. @return Its length. */
std::size_t textOf(const char* bytes, std::size_t size) {
    constexpr std::size_t least = 3, most = 24;
    std::size_t length = 0;
    while (length < size && length < most && bytes[length] >= ' ' && bytes[length] <= '~') {
        ++length;
    }
    return length >= least ? length : 0;
}
} // namespace

void Fields::open() {
    named_ = static_cast<Place*>(os::map(greatest * sizeof(Place), MPR_MAP_READ | MPR_MAP_WRITE));
}

void Fields::close() {
    if (named_) {
        os::release(named_, greatest * sizeof(Place));
    }
    named_ = nullptr;
    places_ = 0;
}

void Fields::checkAll() {
    reports_ = 0;
    const auto wanted = [](std::size_t, auto words) { return swar::heads(words) & ~swar::leaf(words); };
    for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
        for (unsigned chunk = 0; chunk < region->chunkCount() && reports_ < mostInCollection; ++chunk) {
            region->forEach(chunk, wanted, [&](std::size_t g) {
                const Byte h = region->map().get(g);
                if (!region->spans.isUncleared(g) && (!heap_.dead(h) || (h & head::held))) {
                    checkBlock(region, g);
                }
            });
        }
    }
}

void Fields::checkBlock(Region* region, std::size_t g) {
    const std::size_t n = region->blockSize(g);
    const std::size_t size = (n << heap::granuleShift) - sizeof(MprManager);
    Byte* const owner = region->address(g);
    for (std::size_t offset = 0; offset + sizeof(void*) <= size; offset += sizeof(void*)) {
        const void* const word = wordAt(owner, offset);
        Region* const dying = heap_.find(word);
        if (!dying || !dying->isBlock(word)) {
            continue;
        }
        const Byte h = dying->map().get(dying->granuleOf(word));
        const Place place{managerOf(owner, n), offset};
        if (heap_.dead(h) && (h & head::held) == 0 && reports_ < mostInCollection &&
            !endsBuffer(owner, size, offset, dying) && isNew(place)) {
            ++reports_;
            report(region, g, place, dying, word);
        }
    }
}

/**
    Whether a word is the end pointer of a living buffer that fills its block, so that the dying block merely follows
    it. This is so where it stands behind two or more pointers into the buffer, one of them to its start, as in the
    vectors and deques of C++ and in MprBuf. A single pointer before it says nothing: two blocks allocated one after
    another lie side by side, too.
 */
bool Fields::endsBuffer(const Byte* owner, std::size_t size, std::size_t offset, Region* region) const {
    constexpr std::size_t word = sizeof(void*);
    const void* const end = wordAt(owner, offset);
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

/** Note a place. @return Whether it is new and has to be named. */
bool Fields::isNew(Place place) {
    unsigned offsets = 0;
    for (std::size_t i = 0; i < places_; ++i) {
        if (named_[i].manager == place.manager && (named_[i].offset == place.offset || ++offsets == mostOffsets)) {
            return false;
        }
    }
    if (places_ == greatest) {
        return false;
    }
    named_[places_++] = place;
    return true;
}

/** Write a block's size, and its manager or the text in it. */
void Fields::describe(os::Message& message, Region* region, std::size_t g) {
    const std::size_t n = region->blockSize(g);
    const std::size_t size = n << heap::granuleShift;
    void* const block = region->address(g);
    message << block << " (" << size << " bytes, ";
    if (!head::isLeaf(region->map().get(g))) {
        const MprManager manager = managerOf(block, n);
        message << (manager ? "manager " : "its manager was never set");
        if (manager) {
            message.code(reinterpret_cast<const void*>(manager));
        }
    } else if (const std::size_t length = textOf(static_cast<const char*>(block), size)) {
        message << "text \"" << std::string_view(static_cast<const char*>(block), length) << "\"";
    } else {
        message << "no manager";
    }
    message << ")";
}

void Fields::report(Region* region, std::size_t g, Place place, Region* dying, const void* block) const {
    os::Message message;
    message << "check: unmarked field? Block ";
    describe(message, region, g);
    message << " has at offset " << place.offset << " the address of a block about to be freed, ";
    describe(message, dying, dying->granuleOf(block));
    // Whoever wrote this most likely took a hold for a root.
    const bool heldOnly = heap_.dead(region->map().get(g));
    message << (heldOnly ? "; it is only held, which keeps the block alone: should it be a root?"
                         : "; does its manager or trace function mark that field?");
    os::log(os::Level::warning, message);
}

} // namespace mpr::gc
