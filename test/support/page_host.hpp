// SPDX-License-Identifier: MIT
/*
    test/support/page_host.hpp - A host of pages that keeps a ledger of each page, and refuses when it is told to.

    It is stricter than the system: pages that are not committed cannot be written, what is released is gone, and whatever is
    asked against the rules of mpr/host.h is a fault.
 */
#pragma once

#include "test/catch.hpp"

#include "mpr.h"
#include "mpr/host.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace test {

class PageHost {
    enum State { gone, addresses, usable, other };

    template <class F>
    auto locked(F &&f) const {
        std::lock_guard guard(mutex_);
        return f();
    }

public:
    static constexpr long never = -1;

    explicit PageHost(int (*getLoad)(void *, MprMemoryLoad *) = nullptr) {
        host_.getLoad = getLoad;
        host_.size = sizeof(host_);
        host_.data = this;
        host_.reserve = [](void *data, size_t size, size_t alignment, int level) {
            return self(data).reserve(size, alignment, level);
        };
        host_.commit = [](void *data, void *pages, size_t size, int level) {
            return self(data).commit(pages, size, level);
        };
        host_.decommit = [](void *data, void *pages, size_t size) { self(data).decommit(pages, size); };
        host_.release = [](void *data, void *pages, size_t size) { self(data).release(pages, size); };
        host_.protect = [](void *data, void *pages, size_t size, int mode) {
            return self(data).protect(pages, size, mode);
        };
        host_.query = [](void *data, cvoid *address, MprPages *pages) { return self(data).query(address, pages); };
        REQUIRE(mprSetHost(&host_) == 0);
    }
    ~PageHost() { CHECK(mprSetHost(nullptr) == 0); }
    PageHost(const PageHost &) = delete;
    PageHost &operator=(const PageHost &) = delete;

    /* Refuse the n-th request from now on, counted from 0, and with `forever` those after it. never: none. */
    void refuse(long n, bool forever) {
        std::lock_guard guard(mutex_);
        next_ = 0;
        refuseAt_ = n;
        forever_ = forever;
    }
    /* Refuse what is less critical than this. */
    void refuseBelow(int level) {
        std::lock_guard guard(mutex_);
        least_ = level;
    }

    /* Answer no question about pages. */
    void knowNothing(bool on) {
        std::lock_guard guard(mutex_);
        ignorant_ = on;
    }

    /* Requests that could have been refused, since refuse(). */
    long asked() const {
        return locked([this] { return next_; });
    }
    long refused() const {
        return locked([this] { return refused_; });
    }
    /* Of requests that could have been refused, by level, all of them. */
    long byLevel(int level) const {
        return locked([this, level] { return levels_[level]; });
    }
    size_t reserved() const {
        return locked([this] { return bytes([](State) { return true; }); });
    }
    size_t committed() const {
        return locked([this] { return bytes([](State state) { return state != addresses; }); });
    }
    bool has(cvoid *address) const {
        return locked([&] { return stateOf(reinterpret_cast<uintptr_t>(address)) != gone; });
    }
    /* What was asked against the rules; empty: nothing. */
    std::string faults() const {
        return locked([this] { return faults_; });
    }
    /* What is reserved, for messages. */
    std::string text() const {
        std::lock_guard guard(mutex_);
        std::string all;
        for (auto at = states_.begin(); at != states_.end(); ++at) {
            if (at->second != gone) {
                all += describe(at->first, std::next(at)->first - at->first) + " state " + std::to_string(at->second) +
                       "\n";
            }
        }
        return all;
    }

private:
    static PageHost &self(void *data) { return *static_cast<PageHost *>(data); }
    static std::string describe(uintptr_t begin, size_t size) {
        char text[80];
        snprintf(text, sizeof(text), "%llx, %zu bytes", static_cast<unsigned long long>(begin), size);
        return text;
    }
    void fault(cchar *what, cvoid *pages, size_t size) {
        if (faults_.size() < 1000) {
            faults_ += std::string(what) + ": " + describe(reinterpret_cast<uintptr_t>(pages), size) + "\n";
        }
    }

    bool refuses(int level) {
        if (level < 0 || level > MPR_CRITICAL_PROCESS) {
            fault("a level that there is not", nullptr, static_cast<size_t>(level));
            return true;
        }
        levels_[level]++;
        const long mine = next_++;
        const bool refuses =
            level < least_ || (refuseAt_ != never && (mine == refuseAt_ || (forever_ && mine > refuseAt_)));
        refused_ += refuses;
        return refuses;
    }

    /* States by where they begin, up to the next. */
    State stateOf(uintptr_t at) const {
        auto after = states_.upper_bound(at);
        return after == states_.begin() ? gone : std::prev(after)->second;
    }
    void set(uintptr_t begin, size_t size, State state) {
        const uintptr_t end = begin + size;
        const State behind = stateOf(end);
        states_.erase(states_.lower_bound(begin), states_.upper_bound(end));
        states_[begin] = state;
        states_[end] = behind;
    }
    template <class Counts>
    size_t bytes(Counts counts) const {
        size_t sum = 0;
        for (auto at = states_.begin(); at != states_.end(); ++at) {
            sum += at->second != gone && counts(at->second) ? std::next(at)->first - at->first : 0;
        }
        return sum;
    }
    /* Whether all pages of a range are in one of two states. */
    bool all(uintptr_t begin, size_t size, State one, State another) const {
        if (begin % page() != 0 || size % page() != 0 || size == 0) {
            return false;
        }
        State state = stateOf(begin);
        auto at = states_.upper_bound(begin);
        while ((state == one || state == another) && at != states_.end() && at->first < begin + size) {
            state = (at++)->second;
        }
        return state == one || state == another;
    }
    bool isReserved(uintptr_t begin, size_t size) const {
        for (uintptr_t at = begin; at < begin + size; at += page()) {
            if (stateOf(at) == gone) {
                return false;
            }
        }
        return begin % page() == 0 && size % page() == 0 && size > 0;
    }
    static size_t page() { return static_cast<size_t>(mprGetPageSize()); }

    void *reserve(size_t size, size_t alignment, int level) {
        std::lock_guard guard(mutex_);
        if (size == 0 || size % page() != 0 || alignment < page() || (alignment & (alignment - 1)) != 0) {
            fault("reserve", nullptr, size);
        }
        if (refuses(level)) {
            return nullptr;
        }
        void *raw = mmap(nullptr, size + alignment, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (raw == MAP_FAILED) {
            return nullptr;
        }
        const auto begin = reinterpret_cast<uintptr_t>(raw);
        const uintptr_t aligned = (begin + alignment - 1) & ~(alignment - 1);
        if (aligned > begin) {
            munmap(raw, aligned - begin);
        }
        munmap(reinterpret_cast<void *>(aligned + size), begin + alignment - aligned);
        set(aligned, size, addresses);
        return reinterpret_cast<void *>(aligned);
    }
    int commit(void *pages, size_t size, int level) {
        std::lock_guard guard(mutex_);
        const auto begin = reinterpret_cast<uintptr_t>(pages);
        if (!all(begin, size, addresses, addresses)) {
            fault("commit", pages, size);
        }
        if (refuses(level)) {
            return MPR_ERR_MEMORY;
        }
        mprotect(pages, size, PROT_READ | PROT_WRITE);
        set(begin, size, usable);
        return 0;
    }
    void decommit(void *pages, size_t size) {
        std::lock_guard guard(mutex_);
        const auto begin = reinterpret_cast<uintptr_t>(pages);
        if (!isReserved(begin, size)) {
            fault("decommit", pages, size);
        }
        madvise(pages, size, MADV_DONTNEED);
        mprotect(pages, size, PROT_READ);
        set(begin, size, addresses);
    }
    void release(void *pages, size_t size) {
        std::lock_guard guard(mutex_);
        const auto begin = reinterpret_cast<uintptr_t>(pages);
        if (!isReserved(begin, size)) {
            fault("release", pages, size);
        }
        munmap(pages, size);
        set(begin, size, gone);
    }
    int protect(void *pages, size_t size, int mode) {
        std::lock_guard guard(mutex_);
        const auto begin = reinterpret_cast<uintptr_t>(pages);
        if (!(mode == 0 ? all(begin, size, addresses, addresses) : all(begin, size, usable, other))) {
            fault("protect", pages, size);
        }
        if (refuses(MPR_CRITICAL_TASK)) {
            return MPR_ERR_MEMORY;
        }
        mprotect(pages, size,
                 ((mode & MPR_MAP_READ) ? PROT_READ : 0) | ((mode & MPR_MAP_WRITE) ? PROT_WRITE : 0) |
                     ((mode & MPR_MAP_EXECUTE) ? PROT_EXEC : 0));
        if (mode != 0) {
            set(begin, size, mode == (MPR_MAP_READ | MPR_MAP_WRITE) ? usable : other);
        }
        return 0;
    }
    int query(cvoid *address, MprPages *pages) const {
        std::lock_guard guard(mutex_);
        const auto at = reinterpret_cast<uintptr_t>(address);
        auto after = states_.upper_bound(at);
        if (ignorant_ || after == states_.begin() || after == states_.end()) {
            return MPR_ERR_CANT_FIND;
        }
        auto run = std::prev(after);
        pages->base = reinterpret_cast<void *>(run->first);
        pages->size = after->first - run->first;
        pages->reserved = run->second != gone;
        pages->committed = run->second > addresses;
        pages->mode = run->second == usable ? MPR_MAP_READ | MPR_MAP_WRITE : 0;
        return 0;
    }

    mutable std::mutex mutex_;
    MprHost host_{};
    std::map<uintptr_t, State> states_;
    std::string faults_;
    long next_ = 0, refused_ = 0, refuseAt_ = never;
    long levels_[3] = {};
    int least_ = MPR_CRITICAL_TASK;
    bool ignorant_ = false;
    bool forever_ = false;
};

} // namespace test
