// SPDX-License-Identifier: MIT
/*
    test/metal/worst.cpp - The worst case of mprAlloc and mprFree on a Cortex-M, in instructions.
 */
#include <mpr.h>

#include "test/metal/worst.hpp"

namespace {
Cost allocation{"alloc"}, release{"free"};
bool notified = false;
std::size_t heapSize = 0;
alignas(16) char buffer[1024 * 1024];
} // namespace

void* allocate(std::size_t size) {
    void* block = nullptr;
    // The budget is spent for long; the collector learns that anew, from the allocation that is measured.
    mprEnableGC(false);
    mprEnableGC(true);
    notified = false;
    const std::uint32_t count = instructions([&] { block = mprAlloc(size); });
    if (!notified) { // the notifier is the program's: of a refusal, and once after it, that memory is well
        allocation.note(count);
    }
    return block;
}

void give(void* block) {
    release.note(instructions([&] { mprFree(block); }));
}

bool hasRoom() {
    return mprGetMemStats()->bytesLive < heapSize - heapSize / 4;
}

int main() {
    if (!calibrate()) {
        return 1;
    }
    for (const std::size_t size : {std::size_t{16}, std::size_t{32}, std::size_t{128}, std::size_t{1024}}) {
        heapSize = size * 1024;
        if (!mprCreateInBuffer(buffer, heapSize, 0)) {
            return 1;
        }
        // The collector is on, so that an allocation may have to ask for a collection; without a yield it does not come.
        mprSetMemNotifier([](int, int, std::size_t, std::size_t) { notified = true; });
        seek();
        if (mprVerifyHeap() != 0 || !mprDestroy()) {
            return 1;
        }
    }
    allocation.report();
    release.report();
    return allocation.worst <= bound && release.worst <= bound ? 0 : 1;
}
