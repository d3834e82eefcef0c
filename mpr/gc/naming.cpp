// SPDX-License-Identifier: MIT
/*
    naming.cpp - What messages say of blocks.
 */
#include "mpr/gc/naming.hpp"

#include <algorithm>
#include <string_view>

#include "mpr/gc/census.hpp"
#include "mpr/gc/manager.hpp"
#include "mpr/gc/type_name.hpp"

namespace mpr::gc {

namespace {

/** The first bytes of a leaf. Its owner may be writing them, or about to get the block. */
class Beginning {
public:
    MPR_USES_FREE_MEMORY [[gnu::no_sanitize_thread]] explicit Beginning(const void* leaf, std::size_t size)
        : size_(std::min(size, most)) {
        for (std::size_t i = 0; i < size_; ++i) {
            bytes_[i] = static_cast<const volatile char*>(leaf)[i]; // in a loop, for memcpy is checked by sanitizers
        }
    }
    /** The text that it begins with, if it seems to be one. */
    std::string_view text() const {
        constexpr std::size_t least = 3;
        std::size_t length = 0;
        while (length < size_ && bytes_[length] >= ' ' && bytes_[length] <= '~') {
            ++length;
        }
        return {bytes_, length >= least ? length : 0};
    }

private:
    static constexpr std::size_t most = 24;
    std::size_t size_;
    char bytes_[most];
};
} // namespace

void nameManager(os::Message& message, MprManager manager) {
    constexpr std::size_t most = 60; // a line has room for two, and what is said about them
    if (const char* name = census.nameOf(manager)) {
        const std::string_view type = typeIn(name);
        message << std::string_view(type.data(), std::min(type.size(), most));
    } else {
        message << "manager ";
        message.code(reinterpret_cast<const void*>(manager));
    }
}

void nameBlock(os::Message& message, const heap::Heap::Inside& at) {
    const auto [block, n, h] = at;
    const std::size_t size = n << heap::granuleShift;
    message << block << " (" << size << " bytes, ";
    if (MprManager manager = nullptr; !heap::head::isLeaf(h)) {
        if (!peekManager(block, n, manager)) {
            message << "its manager was overwritten";
        } else if (manager) {
            nameManager(message, manager);
        } else {
            message << "its manager was never set";
        }
    } else {
        const Beginning leaf(block, size);
        if (const std::string_view text = leaf.text(); !text.empty()) {
            message << "text \"" << text << "\"";
        } else {
            message << "no manager";
        }
    }
    message << ")";
}

void nameBlock(os::Message& message, heap::Place at) {
    nameBlock(message, {static_cast<heap::Byte*>(at.address()), at.region->blockSize(at.granule), at.head()});
}

void nameBlock(os::Message& message, const heap::Heap& heap, const void* block) {
    heap::Region* region = heap.find(block);
    region ? nameBlock(message, heap::Place::of(region, block)) : void(message << block);
}

} // namespace mpr::gc
