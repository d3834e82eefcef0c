// SPDX-License-Identifier: MIT
/*
    stacks.cpp - Reading the stacks of threads that have stopped for the addresses of dying blocks.
 */
#include "mpr/gc/stacks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mpr/gc/naming.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

namespace {

/** Whether a frame keeps where its function returns to below its variables (AAPCS64, 6.4.6), so that what is nearest below
    them is in the caller. */
#ifdef __aarch64__
constexpr bool returnsBelow = true;
#else
constexpr bool returnsBelow = false;
#endif

/** Read a word. A thread that has yielded for long may be writing to it, and sanitizers forbid what lies between variables. */
__attribute__((no_sanitize("thread"), no_sanitize("address"))) const void* wordOn(const void* const* stack) {
    return *static_cast<const void* const volatile*>(stack);
}
} // namespace

void Stacks::Below::add(const void* address) {
    std::copy_backward(code, std::end(code) - 1, std::end(code));
    code[0] = address;
}

const void* Stacks::Below::function() const {
    const void* callers = nullptr;
    for (const void* each : code) {
        if (each && !os::isEntry(each) && (!returnsBelow || std::exchange(callers, each))) {
            return each;
        }
    }
    return callers ? callers : code[0];
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
    Below code{{site}}; // below the frame of who yields: registers that the runtime has saved
    bool below = std::any_of(begin, end, [site](const void* const& word) { return wordOn(&word) == site; });
    for (Word word = begin; word < end && founds_ < mostInCollection; ++word) {
        const void* const value = wordOn(word);
        below = below && value != site;
        if (const heap::Place dying = named_.dyingAt(heap_, value); dying.region) {
            if (isNew(code.code[0])) {
                Found& found = found_[founds_++];
                std::copy_n(m.name, sizeof(m.name), found.thread);
                found.site = site;
                found.below = code;
                found.dying = dying;
            }
        } else if (!below && os::isCode(value)) {
            code.add(value);
        }
    }
}

bool Stacks::isNew(const void* function) {
    return std::find(named_.begin(), named_.end(), function) == named_.end() && named_.add(function);
}

void Stacks::say(const Found& found) {
    const void* const function = found.below.function();
    if (function != found.below.code[0] && !isNew(function)) {
        return;
    }
    os::Message message;
    message << "check: local variable without a root? The stack of thread " << found.thread
            << " has, in or near a frame of ";
    message.code(function);
    message << ", the address of a block about to be freed, ";
    nameBlock(message, found.dying);
    message << "; is it used after the yield at ";
    message.code(found.site);
    suspect(message << "?", found.dying);
}

} // namespace mpr::gc
