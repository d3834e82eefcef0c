// SPDX-License-Identifier: MIT
/*
    mailbox.hpp - What foreign threads post, until the thread that services events makes events of it.

    Letters stand in bundles, oldest first. Foreign threads add to the last bundle under a lock held for a few
    instructions; the reader takes all bundles at once and reads them without it. The collector looks at letters while
    foreign threads post, without the lock: a letter is there before the count says so.

    The gate keeps foreign threads, for whom no rendezvous waits, away from a runtime that ends.
 */
#pragma once

#include <atomic>
#include <span>

#include "mpr/event.h"
#include "mpr/os/lock.hpp"

namespace mpr::task {

class Mailbox {
public:
    struct Letter {
        MprDispatcher* dispatcher; // nullptr: the main one
        MprEventProc proc;
        void* data;
    };

    /** If admitted, a visitor is inside while this exists, and the runtime does not end meanwhile. Any thread. */
    class Visit {
    public:
        explicit Visit(Mailbox& mailbox) : mailbox_(mailbox.enter() ? &mailbox : nullptr) {}
        ~Visit() {
            if (mailbox_) {
                mailbox_->gate_.fetch_sub(2, std::memory_order_release);
            }
        }
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;
        explicit operator bool() const { return mailbox_ != nullptr; }

    private:
        Mailbox* mailbox_;
    };

    void open() { gate_.store(1, std::memory_order_release); }
    /** Let nobody in any more, and wait until those inside have left. */
    void shut();
    /** Give back all memory. @return How many letters were not read. */
    int close();

    /** During a visit. @return false when memory is short. */
    bool post(const Letter& letter);
    /** Whether nothing was posted since the reader last took it. Any thread. */
    bool isEmpty() const { return !posted_.load(std::memory_order_seq_cst); }
    /** How many letters have been posted so far; wraps. Any thread. */
    std::size_t posted() const { return count_.load(std::memory_order_relaxed); }

    // ---- The reader ----
    /**
        The oldest letters, up to the end of their bundle; empty when there is none. They stay until read() says more.
     */
    std::span<const Letter> unread();
    /** The first of the unread have been read. */
    void read(std::size_t count);
    /** Whether there is something that was unread at the last look. */
    bool hasUnread() const { return taken_ != nullptr; }
    /** Whether as many have been read as posted() said. */
    bool hasRead(std::size_t posted) const { return static_cast<std::ptrdiff_t>(read_ - posted) >= 0; }

    /** Mark what letters refer to that are here now. */
    void mark() const;

private:
    static constexpr unsigned bundleSize = 62; // letters: a bundle has 1.5 KiB
    static constexpr int mostSpare = 16;       // bundles: a thousand letters come and go without an allocation

    struct Bundle {
        // Written under the lock, and released with what they lead to. The reader looks without order at what it has
        // taken from posted_, which is behind all that was written; a pause acquires.
        std::atomic<Bundle*> next;
        std::atomic<unsigned> count;
        Letter letters[bundleSize];
    };

    bool enter();
    Bundle* roomy() MPR_REQUIRES(lock_);
    void keep(Bundle* bundle) MPR_REQUIRES(lock_);
    void check() const MPR_REQUIRES(lock_);

    std::atomic<std::uint32_t> gate_{0}; // bit 0: open; above: how many are inside
    mutable os::Lock lock_;
    std::atomic<Bundle*> posted_{nullptr};
    std::atomic<std::size_t> count_{0}; // written under the lock; a number: orders nothing
    Bundle* last_ MPR_GUARDED_BY(lock_) = nullptr;
    Bundle* spare_ MPR_GUARDED_BY(lock_) = nullptr;
    int spareCount_ MPR_GUARDED_BY(lock_) = 0;

    // The reader's:
    Bundle* taken_ = nullptr;
    unsigned at_ = 0; // of the first one
    std::size_t read_ = 0;
};

} // namespace mpr::task
