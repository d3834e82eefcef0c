// SPDX-License-Identifier: MIT
/*
    collector.cpp - What is asked of the collector outside yields.
 */
#include "mpr/gc/collector.hpp"

#include <algorithm>

#include "mpr/gc/guard.hpp"
#include "mpr/gc/origins.hpp"
#include "mpr/gc/suspension.hpp"
#include "mpr/os/log.hpp"

namespace mpr::gc {

bool Collector::open(const heap::Options& options, std::size_t fixedHeap) {
    const bool everyYield = options.everyYield == heap::Options::on;
    const bool trial = everyYield || options.everyAlloc > 0;
    const auto processors = static_cast<unsigned>(std::max(os::processors(), 1));
    heap_.setStepping(options.everyAlloc);
    suspensions.forget();
    cycle_.rendezvous().setAlways(everyYield);
    cycle_.assists().open(processors, trial);
    budget_.open(options, fixedHeap, trial);
    waits_.open(options.deadline);
    others_.open(options.deadline);
    safepoint_.open(everyYield, (options.check & heap::Options::stacks) != 0);
    if (!collection_.open(options, fixedHeap, processors, trial)) {
        collection_.close();
        return false;
    }
    heap_.attach(own_.local);
    budget_.repace();
    if (!duty_.open(options.stack)) {
        collection_.close();
        return false;
    }
    if ((options.check & heap::Options::where) != 0) {
        origins.open();
    }
    return true;
}

void Collector::close() {
    if (attached) {
        const Suspension suspension(*attached, cycle_, Loss::others);
        duty_.close();
    } else {
        duty_.close();
    }
    collection_.close();
    origins.close();
    cycle_.rendezvous().setAlways(false); // without a runtime nobody need yield
}

void Collector::freeEverything() {
    heap_.detach(own_.local);
    collection_.freeEverything();
}

// ---- Asking --------------------------------------------------------------------------------------------------------

void Collector::remember(Mutator& m, std::uintptr_t entry) {
    // While a collection sweeps, threads would have to wait for its end. The remembered set can wait.
    if (collection_.tracing().remember(m, entry) && cycle_.phase() == Phase::idle) {
        safepoint_.budgetSpent(Wish::stores);
    }
}

void Collector::rememberBlock(Mutator& m, heap::Region* region, std::size_t g) {
    using namespace heap;
    const Byte before = region->map().update(g, [](Byte h) { return static_cast<Byte>(h | head::remembered); });
    if (before != 0 && (before & head::remembered) == 0) {
        remember(m, RememberedSet::ofBlock(region->address(g)));
    }
}

void Collector::idle() {
    if (cycle_.enabled() && cycle_.phase() == Phase::idle && budget_.halfSpent()) {
        stats_.idle.fetch_add(1, std::memory_order_relaxed);
        cycle_.request(Wish::budget);
    }
}

bool Collector::enable(bool on) {
    const bool was = cycle_.setEnabled(on);
    heap_.setSpans(on);
    if (on && !was) {
        repace();
        cycle_.ring(); // a major collection may be half done
    }
    return was;
}

int Collector::collect(Mutator& m, Wish wish, bool complete, const void* site) {
    m.site.store(site, std::memory_order_relaxed);
    if (m.isCollector || cycle_.ends()) {
        cycle_.request(wish);
        return 0;
    }
    // This thread runs, so no collection is marking. Any collection that marks from here on sees what the caller
    // dropped, as does any major one that begins from here on, whatever the state of the caller.
    const bool running = m.state.load(std::memory_order_relaxed) == Mutator::State::running;
    const bool all = wish >= Wish::full;
    const std::uint32_t target =
        all ? cycle_.major().begun() + 1 : cycle_.marked().load(std::memory_order_acquire) + (running ? 1 : 2);
    const auto& counter = all        ? (complete ? cycle_.major().swept() : cycle_.major().marked())
                          : complete ? cycle_.swept()
                                     : cycle_.marked();
    const std::size_t freedBefore = cycle_.freedBlocks();
    const std::uint64_t begin = os::now();
    const Suspension suspension(m, cycle_, complete ? Loss::memory : Loss::others, begin);
    cycle_.request(wish);
    if (running) {
        safepoint_.stopToWait(m, complete);
    }
    const bool done = waits_.awaitProgress(
        [&] {
            if (Cycle::reached(counter, target)) {
                return true;
            }
            if (all || cycle_.phase() != Phase::idle) {
                return false;
            }
            // A collection may have ended since; it is counted before it is idle. Nobody has asked for another then.
            if (Cycle::reached(counter, target)) {
                return true;
            }
            cycle_.request(wish); // a thread that does not run may need one more
            return false;
        },
        os::forever, waits_.deadline());
    if (running) {
        safepoint_.resume(m);
        stats_.pause.record(os::now() - begin);
    }
    const std::size_t freed = cycle_.freedBlocks() - freedBefore;
    return complete && done ? static_cast<int>(std::min(freed, std::size_t{0x7FFFFFFF})) : 0;
}

// ---- An allocation fails -------------------------------------------------------------------------------------------

bool Collector::awaitSweep(Mutator& m) {
    if (m.isCollector || !cycle_.isReclaiming()) {
        return false;
    }
    const Suspension suspension(m, cycle_, Loss::memory);
    // Wait however long the sweep takes: it waits for nobody, and no other can begin while this thread runs. The same
    // holds for finalizers that return, however late the collector's thread gets a processor to call them.
    waits_.awaitSweep(os::forever, Waits::longestFreeing);
    return true;
}

void Collector::makeWay(Mutator& m) {
    const std::uint32_t sweep = cycle_.swept().load(std::memory_order_relaxed) + 1;
    if (m.local.earmark.wayIn != sweep && !os::waitsInherit() && awaitSweep(m)) {
        m.local.earmark.wayIn = sweep; // once, though a manager may keep the sweep from its end
    }
}

void Collector::noteRefused(Mutator& m, std::size_t n) {
    m.local.earmark.noteRefused(n, cycle_.swept().load(std::memory_order_relaxed));
}

/** Nanoseconds that a thread waits which does not run and needs memory. */
static constexpr std::uint64_t longestOutside = 500'000'000;

/**
    Whether the calling thread, which does not run, keeps nobody who collects: it is not in a pause, nor on duty, nor called
    back by who is, nor has it the lock of libuv's loop.
 */
static bool mayWaitOutside() {
    if (os::isLogging()) {
        return false;
    }
    if (!attached) {
        return true;
    }
    const Mutator::State state = attached->state.load(std::memory_order_relaxed);
    return !attached->isCollector && !attached->callsNobody && !isToldOfPause(*attached) &&
           (state == Mutator::State::yielded || state == Mutator::State::exempt);
}

bool Collector::awaitSweepOutside() {
    return mayWaitOutside() && cycle_.isReclaiming() && waits_.awaitSweep(longestOutside, Waits::longestFreeing);
}

bool Collector::collectOutside() {
    if (!mayWaitOutside() || !cycle_.enabled()) {
        return false;
    }
    heap_.decommitRetired();
    {
        // No pause meanwhile: it would look for dead blocks in spans that have left their list and reached no other yet.
        const os::Locked noPause(cycle_.pausing());
        heap_.retireSpans();
    }
    // A collection that begins from here on finds what is dead now.
    const std::uint32_t target = cycle_.major().begun() + 1;
    cycle_.request(Wish::urgent);
    return waits_.awaitProgress([&] { return Cycle::reached(cycle_.major().swept(), target); }, longestOutside,
                                Waits::longestFreeing);
}

void Collector::emergency(Mutator& m) {
    // The contract forbids reclaiming what a running thread may still use. Without a yield, memory can come only from
    // what the last rendezvous proved dead, once it is swept, from what was freed by hand, and from empty pages.
    heap_.decommitRetired();
    heap_.flushQuickLists(m.local);
    heap_.retireSpans();
    if (cycle_.enabled()) {
        return cycle_.request(Wish::urgent);
    }
    if (!m.callsNobody) { // the log may call the program
        os::Message message;
        message << "memory: it is short, and the collector is off, so an allocation fails unless the program has freed "
                   "something by hand (mprEnableGC, mprFree)";
        writeRepeated(os::Level::warning, message);
    }
}

bool Collector::makeRoom(Mutator& m, std::size_t bytes) {
    if (m.isCollector || os::isLogging()) {
        return false; // on duty already; or it may be, if the collector has called the log's handler
    }
    const std::size_t free = heap_.freeBytes();
    // Up to a chunk, less what a hole behind it takes, finds room in any that is free.
    if (bytes + 2 * heap::granuleSize <= heap_.chunkBytes() || free < bytes) {
        return false;
    }
    const Suspension suspension(m, cycle_, Loss::memory);
    // The duty is given up as soon as its holder gets a processor. Only a manager's FREE call may wait for what this thread holds.
    const bool frees = cycle_.phase() == Phase::freeing;
    if (!others_.park(os::now() + (frees ? Waits::longestFreeing : waits_.deadline()))) {
        return false;
    }
    // Give back more than is asked for: the chunks at both ends of a hole stay.
    heap_.purge((free - bytes) / 2);
    others_.unpark();
    return true;
}

} // namespace mpr::gc
