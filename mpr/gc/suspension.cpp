// SPDX-License-Identifier: MIT
/*
    suspension.cpp - Handlers are told, time is accounted. The part of the C API of mpr/suspend.h that has no file.
 */
#include "mpr/gc/suspension.hpp"

#include <algorithm>
#include <utility>

#include "mpr/gc/guard.hpp"
#include "mpr/gc/runtime.hpp"

namespace mpr::gc {

constinit Suspensions suspensions;

namespace {

/** While this exists a handler runs on the calling thread, which may then neither run nor yield. */
class Telling {
public:
    Telling() : was_(std::exchange(current, nullptr)) { attached->suspended.told = Told::handler; }
    ~Telling() {
        attached->suspended.told = Told::nobody;
        current = was_;
    }
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;

private:
    Mutator* was_;
};
} // namespace

// ---- Handlers ------------------------------------------------------------------------------------------------------

unsigned Suspensions::find(Handler handler) const {
    unsigned i = 0;
    while (i < places && (added_[i].load() == 0 || handlers_[i].load() != handler)) {
        ++i;
    }
    return i;
}

int Suspensions::add(Handler handler) {
    const os::Locked locked(changing_);
    if (find(handler) != places) {
        return MPR_ERR_ALREADY_EXISTS;
    }
    for (unsigned i = 0; i < places; ++i) {
        if (added_[i].load() == 0) {
            additions_ += additions_ + 1 != 0 ? 1 : 2;
            handlers_[i].store(handler);
            added_[i].store(additions_);
            count_.fetch_add(1);
            return 0;
        }
    }
    return MPR_ERR_TOO_MANY;
}

int Suspensions::remove(Handler handler) {
    constexpr std::uint64_t poll = 50'000; // nanoseconds
    unsigned place = places;
    {
        const os::Locked locked(changing_);
        place = find(handler);
        if (place == places) {
            return MPR_ERR_CANT_FIND;
        }
        added_[place].store(0);
        count_.fetch_sub(1);
    }
    os::Word never{0};
    while (calling_[place].load() != 0) {
        os::wait(never, 0, poll);
    }
    return 0;
}

/** Call with each handler that heard of the beginning and is still there. */
template <typename Call>
void Suspensions::callEach(const Heard& heard, Call&& call) {
    const Telling telling;
    for (unsigned i = 0; i < places; ++i) {
        if (const std::uint32_t added = heard.added[i]) {
            calling_[i].fetch_add(1);
            const Handler handler = handlers_[i].load(); // first: another comes into the place behind a 0 only
            if (added_[i].load() == added) {
                call(*handler);
            }
            calling_[i].fetch_sub(1);
        }
    }
}

template <typename Call>
void Suspensions::begin(Heard& heard, Call&& call) {
    for (unsigned i = 0; i < places; ++i) {
        heard.added[i] = added_[i].load();
    }
    callEach(heard, call);
}

void Suspensions::forget() {
    total_.forget();
    generation_.store(MPR_GENERATION_NONE, std::memory_order_relaxed);
}

// ---- The world -----------------------------------------------------------------------------------------------------

void Suspensions::begin(bool collects) {
    begun_ = true;
    collects_ = collects;
    begin(heard_, [](const MprSuspensionHandler& handler) {
        if (handler.begins) {
            handler.begins(handler.data);
        }
    });
    if (collects) {
        const std::uint64_t sum = paused_.load(std::memory_order_relaxed) >> 1;
        paused_.store((sum - os::now()) << 1 | 1, std::memory_order_release);
    }
}

void Suspensions::end(int generation) {
    begun_ = false;
    callEach(heard_, [=](const MprSuspensionHandler& handler) {
        if (handler.ends) {
            handler.ends(handler.data, generation);
        }
    });
    if (collects_) {
        generation_.store(generation, std::memory_order_relaxed); // released by the count of pauses
        paused_.store(pausedUntil(os::now()) << 1, std::memory_order_release);
    }
}

// ---- Threads -------------------------------------------------------------------------------------------------------

void Suspensions::tellBlocks(Mutator&, Heard& heard) {
    begin(heard, [](const MprSuspensionHandler& handler) {
        if (handler.blocks) {
            handler.blocks(handler.data);
        }
    });
}

void Suspensions::tellResumes(Mutator& m, const Heard& heard, const MprSuspension& suspension) {
    m.suspended.lost.add(suspension.lost);
    total_.add(suspension.lost);
    callEach(heard, [&](const MprSuspensionHandler& handler) {
        if (handler.resumes) {
            handler.resumes(handler.data, &suspension);
        }
    });
}

void Suspension::begin(Loss cause, std::uint64_t now) {
    begun_ = true;
    m_.suspended.in = this;
    cause_ = cause;
    pauses_ = cycle_.pauses().load(std::memory_order_acquire);
    record_ = {};
    record_.thread = m_.name;
    record_.number = m_.number;
    record_.begin = since_ = now != 0 ? now : os::now();
    pausedSince_ = suspensions.pausedUntil(since_);
    suspensions.tellBlocks(m_, heard_);
}

void Suspension::end(std::uint64_t now) {
    begun_ = false;
    accountUntil(now);
    MprLostTime& lost = record_.lost;
    lost.count = 1;
    lost.total = lost.others + lost.marking + lost.assisting + lost.memory;
    const bool collected = cycle_.pauses().load(std::memory_order_acquire) != pauses_;
    record_.generation = collected ? suspensions.generation() : MPR_GENERATION_NONE;
    m_.suspended.in = nullptr;
    suspensions.tellResumes(m_, heard_, record_);
}

Loss Suspension::change(Loss cause) {
    accountUntil(os::now());
    return std::exchange(cause_, cause);
}

void Suspension::accountUntil(std::uint64_t now) {
    constexpr unsigned shift = 1; // the sum has 63 bits
    const std::uint64_t paused = suspensions.pausedUntil(now);
    const std::uint64_t took = now - std::min(now, since_);
    const auto grown = static_cast<std::int64_t>((paused - pausedSince_) << shift) >> shift;
    const std::uint64_t marking = std::min(took, static_cast<std::uint64_t>(std::max<std::int64_t>(grown, 0)));
    MprLostTime& lost = record_.lost;
    lost.marking += marking;
    (cause_ == Loss::others ? lost.others : cause_ == Loss::assisting ? lost.assisting : lost.memory) += took - marking;
    since_ = now;
    pausedSince_ = paused;
}

} // namespace mpr::gc

using namespace mpr::gc;

int mprAddSuspensionHandler(const MprSuspensionHandler* handler) {
    if (!admitAlways("mprAddSuspensionHandler")) {
        return MPR_ERR_BAD_STATE;
    }
    return handler ? suspensions.add(handler) : MPR_ERR_BAD_ARGS;
}

int mprRemoveSuspensionHandler(const MprSuspensionHandler* handler) {
    if (!admitAlways("mprRemoveSuspensionHandler")) {
        return MPR_ERR_BAD_STATE;
    }
    if (attached && attached->suspended.told == Told::handler) {
        refuse("mprRemoveSuspensionHandler"); // it would wait for the caller's return
        return MPR_ERR_BAD_STATE;
    }
    return handler ? suspensions.remove(handler) : MPR_ERR_CANT_FIND;
}

void mprGetLostTime(MprLostTime* lost) {
    if (mayFill("mprGetLostTime", lost)) {
        suspensions.read(*lost);
    }
}

int mprGetLostTimes(MprThreadLostTime* threads, int count) {
    if (count > 0 && !mayFill("mprGetLostTimes", threads)) {
        return 0;
    }
    return inAnyState("mprGetLostTimes", [=] { return runtime().collector.lostTimes(threads, count); });
}
