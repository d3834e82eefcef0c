// SPDX-License-Identifier: MIT
/*
    redline.cpp - See redline.h.
 */
#include "redline.h"

#include "mpr.h"

#include <algorithm>

namespace service {
namespace {

constexpr std::size_t leastCache = 1024 * 1024;

Board* watched; // By the notifier, which has no parameter for it

void notify(int cause, int, std::size_t, std::size_t total) {
    if (cause == MPR_MEM_WARNING) {
        if (watched->crossings.load(std::memory_order_relaxed) == 0) {
            watched->crossedAt = total;
        }
        bump(watched->crossings);
    } else {
        bump(watched->limitHits);
    }
    mprGC(MPR_GC_NO_BLOCK | MPR_GC_FORCE);
}

void prune(void* data, int cause) {
    auto* content = static_cast<Content*>(data);
    content->limitTo(std::max<std::size_t>(watched->pageBytes / 2, leastCache));
    content->shed(cause == MPR_MEM_WARNING ? watched->pageBytes / 2 : 0);
}

} // namespace

bool Redline::watch(Content& content, Board& board) {
    if (mprAddPruner(prune, &content) != 0) {
        return false;
    }
    content_ = &content;
    watched = &board;
    mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE);
    mprSetMemNotifier(notify);
    return true;
}

void Redline::tick() {
    if (content_->limited()) {
        MprMemStats stats;
        mprReadMemStats(&stats);
        if (stats.heap < stats.warnHeap) {
            content_->limitTo(SIZE_MAX);
        }
    }
}

void Redline::unwatch() {
    mprSetMemNotifier(nullptr);
    mprSetMemPolicy(MPR_ALLOC_POLICY_NOTHING);
    mprRemovePruner(prune, content_);
    watched = nullptr;
}

} // namespace service
