// SPDX-License-Identifier: MIT
/*
    origins.cpp - A table of where blocks were allocated.
 */
#include "mpr/gc/origins.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

#include "mpr/heap/granule.hpp"
#include "mpr/memory.h"
#include "mpr/os/os.hpp"

namespace mpr::gc {

constinit Origins origins;

namespace {

/** The address of a call is before that to which it returns, which may be in the next line or function. */
const void* callBefore(const void* returnAddress) {
    return static_cast<const char*>(returnAddress) - 1;
}

/** Whether a description is that of a function of this library: mprAlloc, mpr::make. They say nothing of the program. */
bool isOwn(std::string_view code) {
    const bool begins = code.size() > 3 && std::memcmp(code.data(), "mpr", 3) == 0;
    return begins && (code[3] == ':' || (code[3] >= 'A' && code[3] <= 'Z'));
}
} // namespace

void Origins::open() {
    const void* known[3];
    if (os::callers(known, std::size(known)) < std::size(known)) {
        os::Message message;
        os::log(os::Level::warning,
                message << "check=where: nothing is known, because mpr was built without unwind tables");
        return;
    }
    origins_ = static_cast<Origin*>(os::map(count * sizeof(Origin), MPR_MAP_READ | MPR_MAP_WRITE));
}

void Origins::close() {
    if (origins_) {
        os::release(origins_, count * sizeof(Origin));
    }
    origins_ = nullptr;
}

Origins::Origin& Origins::placeOf(const void* block) const {
    const std::uintptr_t granule = reinterpret_cast<std::uintptr_t>(block) >> heap::granuleShift;
    return origins_[(granule ^ granule / count) % count];
}

void Origins::note(const void* block) {
    constexpr std::size_t inner = 2; // this function and its caller
    const void* callers[depth + inner] = {};
    os::callers(callers, depth + inner);
    const os::Locked locked(lock_);
    Origin& origin = placeOf(block);
    origin.block = block;
    std::copy_n(callers + inner, depth, origin.callers);
}

/** A signal handler may have interrupted who holds the lock. */
bool Origins::find(const void* block, Origin& found) {
    if (!lock_.tryLock()) {
        return false;
    }
    found = placeOf(block);
    lock_.unlock();
    return found.block == block;
}

void Origins::tell(const void* block) {
    constexpr unsigned most = 4;
    Origin origin;
    if (!block || !find(block, origin)) {
        return;
    }
    os::Message message;
    message << "check: " << block << " was allocated by ";
    unsigned told = 0;
    for (std::size_t i = 0; i < depth && origin.callers[i] && told < most; ++i) {
        os::Message code;
        code.code(callBefore(origin.callers[i]));
        if (!isOwn(code.view())) {
            message << (told++ > 0 ? ", called by " : "") << code.view();
        }
    }
    if (told > 0) {
        os::log(os::Level::warning, message);
    }
}

} // namespace mpr::gc
