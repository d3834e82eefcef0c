// SPDX-License-Identifier: MIT
/*
    stacks.cpp - Reading the stacks of threads that have stopped for the addresses of dying blocks.
 */
#include "mpr/gc/stacks.hpp"

#include <algorithm>

#include "mpr/gc/dying.hpp"
#include "mpr/gc/naming.hpp"
#include "mpr/gc/origins.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

namespace {

/** Read a word. A thread that has yielded for long may be writing to it, and sanitizers forbid what lies between variables. */
__attribute__((no_sanitize("thread"), no_sanitize("address"))) const void* wordOn(const void* const* stack) {
    return *static_cast<const void* const volatile*>(stack);
}
} // namespace

void Stacks::open(std::uintptr_t mask) {
    mask_ = mask;
    named_ = static_cast<const void**>(os::map(greatest * sizeof(*named_), MPR_MAP_READ | MPR_MAP_WRITE));
}

void Stacks::close() {
    if (named_) {
        os::release(named_, greatest * sizeof(*named_));
    }
    named_ = nullptr;
    names_ = 0;
}

void Stacks::checkAll() {
    founds_ = 0;
    {
        const MutatorList::Locked list(mutators_);
        for (const Mutator& m : list) {
            const auto state = m.state.load(std::memory_order_relaxed);
            const auto* top = static_cast<Word>(m.stack.top.load(std::memory_order_relaxed));
            const auto* end = static_cast<Word>(m.stack.end.load(std::memory_order_relaxed));
            if (top && (state == Mutator::State::waiting || state == Mutator::State::yielded)) {
                read(m, top, end);
            }
        }
    }
    std::for_each(found_, found_ + founds_, [this](const Found& found) { say(found); });
}

void Stacks::read(const Mutator& m, Word begin, Word end) {
    const void* const site = m.site.load(std::memory_order_relaxed);
    const void* function = site; // below the frame of who yields: registers that the runtime has saved
    bool below = std::any_of(begin, end, [site](const void* const& word) { return wordOn(&word) == site; });
    for (Word word = begin; word < end && founds_ < mostInCollection; ++word) {
        const void* const value = wordOn(word);
        below = below && value != site;
        if (const heap::Place dying = dyingAt(heap_, value, mask_); dying.region) {
            if (isNew(function)) {
                Found& found = found_[founds_++];
                std::copy_n(m.name, sizeof(m.name), found.thread);
                found.site = site;
                found.function = function;
                found.dying = dying;
            }
        } else if (!below && os::isCode(value)) {
            function = value;
        }
    }
}

bool Stacks::isNew(const void* function) {
    const void** const end = named_ + names_;
    if (names_ == greatest || std::find(named_, end, function) != end) {
        return false;
    }
    named_[names_++] = function;
    return true;
}

void Stacks::say(const Found& found) const {
    os::Message message;
    message << "check: local variable without a root? The stack of thread " << found.thread
            << " has, in or near a frame of ";
    message.code(found.function);
    message << ", the address of a block about to be freed, ";
    nameBlock(message, found.dying);
    message << "; is it used after the yield at ";
    message.code(found.site);
    os::log(os::Level::warning, message << "?");
    tellOrigin(found.dying.address());
    os::afterMistake();
}

} // namespace mpr::gc
