// SPDX-License-Identifier: MIT
/*
    mailbox.cpp - Posting and reading. What may be posted, and by whom, is said in mpr/event.h.
 */
#include "mpr/task/mailbox.hpp"

#include <utility>

#include "mpr/gc/marker.hpp"
#include "mpr/memory.h"

namespace mpr::task {

bool Mailbox::enter() {
    std::uint32_t seen = gate_.load(std::memory_order_relaxed);
    do {
        if ((seen & 1) == 0) {
            return false;
        }
    } while (!gate_.compare_exchange_weak(seen, seen + 2, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
}

void Mailbox::shut() {
    gate_.fetch_and(~1u, std::memory_order_acq_rel);
    while (const std::uint32_t inside = gate_.load(std::memory_order_acquire)) {
        os::wait(gate_, inside, 1'000'000);
    }
}

int Mailbox::close() {
    int lost = 0;
    while (!unread().empty()) {
        lost += static_cast<int>(unread().size());
        read(unread().size());
    }
    Bundle* spare = nullptr;
    {
        os::Locked locked(lock_);
        spare = std::exchange(spare_, nullptr);
        spareCount_ = 0;
    }
    while (Bundle* bundle = spare) { // not under the lock: to free may have something to tell
        spare = bundle->next.load(std::memory_order_relaxed);
        pfree(bundle);
    }
    return lost;
}

/** A bundle at the end that has room, or nullptr. */
Mailbox::Bundle* Mailbox::roomy() {
    check();
    if (last_ && last_->count.load(std::memory_order_relaxed) < bundleSize) {
        return last_;
    }
    Bundle* bundle = spare_;
    if (bundle) {
        spare_ = bundle->next.load(std::memory_order_relaxed);
        --spareCount_;
        bundle->next.store(nullptr, std::memory_order_relaxed);
        bundle->count.store(0, std::memory_order_relaxed);
        (last_ ? last_->next : posted_).store(bundle, std::memory_order_seq_cst);
        last_ = bundle;
    }
    return bundle;
}

/** There is a last bundle exactly when there is a first, and nothing behind it. */
void Mailbox::check() const {
    os::assertHeld(lock_);
    MPR_ASSERT((last_ != nullptr) == (posted_.load(std::memory_order_relaxed) != nullptr));
    MPR_ASSERT(!last_ || !last_->next.load(std::memory_order_relaxed));
    MPR_ASSERT((spareCount_ == 0) == (spare_ == nullptr) && spareCount_ >= 0);
}

/** Keep it for others. */
void Mailbox::keep(Bundle* bundle) {
    os::assertHeld(lock_);
    bundle->next.store(spare_, std::memory_order_relaxed);
    spare_ = bundle;
    ++spareCount_;
}

bool Mailbox::post(const Letter& letter) {
    mprPublish(letter.dispatcher);
    mprPublish(letter.data);
    for (Bundle* fresh = nullptr;;) {
        {
            os::Locked locked(lock_);
            if (fresh) {
                keep(fresh);
            }
            if (Bundle* bundle = roomy()) {
                const unsigned at = bundle->count.load(std::memory_order_relaxed);
                bundle->letters[at] = letter;
                bundle->count.store(at + 1, std::memory_order_release);
                count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                return true;
            }
        }
        fresh = static_cast<Bundle*>(palloc(sizeof(Bundle)));
        if (!fresh) {
            return false;
        }
    }
}

std::span<const Mailbox::Letter> Mailbox::unread() {
    if (!taken_) {
        if (isEmpty()) {
            return {};
        }
        os::Locked locked(lock_);
        taken_ = posted_.exchange(nullptr, std::memory_order_acquire);
        last_ = nullptr;
    }
    return {taken_->letters + at_, taken_->count.load(std::memory_order_relaxed) - at_};
}

void Mailbox::read(std::size_t count) {
    read_ += count;
    at_ += static_cast<unsigned>(count);
    Bundle* bundle = taken_;
    MPR_ASSERT(bundle && at_ <= bundle->count.load(std::memory_order_relaxed));
    if (at_ < bundle->count.load(std::memory_order_relaxed)) {
        return;
    }
    at_ = 0;
    taken_ = bundle->next.load(std::memory_order_relaxed);
    {
        os::Locked locked(lock_);
        if (spareCount_ < mostSpare) {
            keep(bundle);
            return;
        }
    }
    pfree(bundle);
}

void Mailbox::mark() const {
    const Bundle* posted = nullptr;
    const Bundle* last = nullptr;
    {
        os::Locked locked(lock_);
        check();
        posted = posted_.load(std::memory_order_relaxed);
        last = last_;
    }
    for (const Bundle* list : {static_cast<const Bundle*>(taken_), posted}) {
        // Not beyond the last: foreign threads may post faster than this marks, and the pause would not end.
        for (const Bundle* bundle = list; bundle;
             bundle = bundle == last ? nullptr : bundle->next.load(std::memory_order_acquire)) {
            const unsigned count = bundle->count.load(std::memory_order_acquire);
            for (unsigned i = bundle == taken_ ? at_ : 0; i < count; ++i) {
                gc::markLoose(&bundle->letters[i].dispatcher);
                gc::markLoose(&bundle->letters[i].data);
            }
        }
    }
}

} // namespace mpr::task
