// SPDX-License-Identifier: MIT
/*
    waits.cpp - What keeps threads waiting is named.
 */
#include "mpr/gc/waits.hpp"

#include "mpr/os/log.hpp"

namespace mpr::gc {

bool Waits::awaitSweep(std::uint64_t limit, std::uint64_t callLimit) {
    const auto over = [&] { return !cycle_.isReclaiming(); };
    return awaitProgress(over, limit, callLimit) || over();
}

void Waits::watchMarking(CallWatch& watch, std::uint64_t& warnAfter) {
    const std::uint64_t nap = markingNap();
    const std::uint64_t call = tracing_.traced();
    if (watch.seen(call, true) * nap < warnAfter) {
        return;
    }
    nameMarking(warnAfter);
    warnAfter *= 2; // the message comes again, ever more rarely
}

void Waits::nameMarking(std::uint64_t waited) {
    // Only one of the waiting threads says it.
    std::uint64_t now = os::now();
    std::uint64_t last = markingNamed_.load(std::memory_order_relaxed);
    if (now - last < waited / 2 || !markingNamed_.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
        return;
    }
    tracing_.forEachMarker([waited](const Marker& marker) {
        if (marker.traced() != 0) {
            os::Message message;
            message << "a manager's MPR_MANAGE_MARK call has not returned for " << waited / 1'000'000 << " ms";
            marker.describeTraced(message);
            os::log(os::Level::warning, message << "; threads wait for it");
        }
    });
}

void Waits::nameFreeing() const {
    os::Message message;
    os::log(os::Level::warning, message << "a manager's MPR_MANAGE_FREE call takes longer than "
                                        << deadline_ / 1'000'000 << " ms; a wait for the collection ends early");
}

} // namespace mpr::gc
