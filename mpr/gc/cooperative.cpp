/*
    cooperative.cpp - The collector without a thread of its own: a collection runs, whole, inside a yield.

    The phases are those of collector.hpp and so is every step of a collection; only who executes it differs. For as long
    as it lasts the one thread counts as waiting, and acts as the collector's: what managers call from MPR_MANAGE_FREE
    meets the same rules as there. A request never collects by itself; it is seen to at the next yield, mprGC included.
    So nothing is reclaimed between two yields here either.
 */
#include "mpr/gc/collector.hpp"

namespace mpr::gc {

/** Run the collection that is requested, if any. @return Blocks freed. */
std::size_t Collector::collectHere(Mutator& m) {
    if (phase() != Phase::requested || m.isCollector) {
        return 0;
    }
    const std::uint64_t begin = os::now();
    const std::size_t before = freedBlocks_.load(std::memory_order_relaxed);
    const bool running = m.state.load(std::memory_order_relaxed) == Mutator::State::running;
    if (running) {
        m.state.store(Mutator::State::waiting, std::memory_order_relaxed);
        rendezvous_.leave();
    }
    current = &own_;
    cycle();
    current = &m;
    if (running) {
        resume(m);
    }
    stats_.pause.record(os::now() - begin);
    return freedBlocks_.load(std::memory_order_relaxed) - before;
}

/** A yield: nobody else can be waited for. */
void Collector::yieldHere(Mutator& m, int flags) {
    collectHere(m);
    if (flags & MPR_YIELD_STICKY) {
        m.state.store(Mutator::State::yielded, std::memory_order_relaxed);
        rendezvous_.leave();
    }
}

} // namespace mpr::gc
