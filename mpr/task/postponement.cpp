// SPDX-License-Identifier: MIT
/*
    postponement.cpp - When a collection may wait for the queue.
 */
#include "mpr/task/postponement.hpp"

namespace mpr::task {

/** Whether all other attached threads are in waits of the runtime. */
bool Postponement::isAlone() {
    return gc::runtime().collector.threads() == Waiting::threads() + 1;
}

bool Postponement::begins() {
    auto& collector = gc::runtime().collector;
    ended_ = Waiting::ended();
    allocated_ = gc::runtime().heap.allocatedSince();
    if (allocated_ < collector.trigger() || !isAlone()) {
        return false;
    }
    begin_ = os::now();
    errors_ = gc::runtime().depletion.errors();
    count_ = 0;
    return true;
}

bool Postponement::goesOn() const {
    gc::Runtime& runtime = gc::runtime();
    // A pause in between, and there is less than there was.
    const std::size_t allocated = runtime.heap.allocatedSince() - allocated_;
    return Waiting::ended() == ended_ && allocated <= runtime.collector.trigger() / 4 &&
           runtime.depletion.errors() == errors_ && os::now() - begin_ < longest && isAlone();
}

} // namespace mpr::task
