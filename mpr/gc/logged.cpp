// SPDX-License-Identifier: MIT
/*
    logged.cpp - Blocks and fields that the write log names, looked up.
 */
#include "mpr/gc/logged.hpp"

#include <iterator>

namespace mpr::gc {

using heap::Byte;
using heap::GranuleMap;
using heap::Region;
namespace head = heap::head;
namespace swar = heap::swar;

void Logged::mark(const LogChunk& chunk) {
    constexpr std::size_t ahead = 12; // entries; `gc_mpr hash_million`: 0.206 s CPU, with 1 0.221, with 32 0.200
    for (std::size_t i = 0; i < chunk.count; ++i) {
        if (i + ahead < chunk.count) {
            fetch(chunk.entries[i + ahead]);
        }
        const std::uintptr_t entry = chunk.entries[i];
        const void* address = WriteLog::addressOf(entry);
        Region* region = WriteLog::isRun(entry) ? nullptr : heap_.findField(address);
        if (!region) {
            continue; // freed by hand, and its region is gone; or the length of a run, which has been marked
        }
        if (WriteLog::isField(entry)) {
            const bool isRun = i + 1 < chunk.count && WriteLog::isRun(chunk.entries[i + 1]);
            markFields(region, static_cast<void* const*>(address),
                       1 + (isRun ? WriteLog::moreOf(chunk.entries[i + 1]) : 0));
        } else {
            markBlock(region, address);
        }
    }
}

/** Prefetch what an entry leads to. */
void Logged::fetch(std::uintptr_t entry) const {
    if (WriteLog::isRun(entry)) {
        return;
    }
    const void* address = WriteLog::addressOf(entry);
    __builtin_prefetch(address);
    if (!WriteLog::isField(entry)) {
        heap_.fetchHead(address);
    }
}

/** Reach what fields in a row refer to. A run may extend into another block. */
void Logged::markFields(Region* region, void* const* fields, std::size_t count) {
    for (const void* const* field = fields; field < fields + count; ++field) {
        const Byte h = ownerOf(region, region->granuleOf(field));
        if ((h & head::old) && head::isBarrier(h) && (!markedOnly_ || heap_.colours().marked(h))) {
            marker_.markRoot(__atomic_load_n(field, __ATOMIC_RELAXED), true);
        }
    }
}

void Logged::markBlock(Region* region, const void* block) {
    if (!region->isBlock(block)) {
        return;
    }
    const std::size_t g = region->granuleOf(block);
    const Byte h = region->map().get(g);
    if ((h & head::old) && head::isBarrier(h) && (h & head::logged)) {
        region->map().set(g, static_cast<Byte>(h & ~head::logged));
        if (!markedOnly_ || heap_.colours().marked(h)) {
            marker_.retrace(region, g);
        }
    }
}

/** The head of the block that granule g belongs to, 0 when it belongs to none. */
Byte Logged::ownerOf(Region* region, std::size_t g) {
    const Span& span = spanOf(region, g);
    return span.isBlock ? region->map().get(span.from) : Byte{0};
}

/**
    The span around granule g. Where nothing begins, as in a large block that was freed, no granule is looked at twice.
 */
const Logged::Span& Logged::spanOf(Region* region, std::size_t g) {
    const GranuleMap map = region->map();
    Span* before = nullptr; // the nearest span before g that is no block
    for (Span& span : spans_) {
        if (span.region == region && g >= span.from && g < span.to) {
            return span;
        }
        if (span.region == region && !span.isBlock && span.to <= g && (!before || span.to > before->to)) {
            before = &span;
        }
    }
    const std::size_t least = before ? before->to : std::size_t{region->firstGranule};
    const std::size_t head = region->isLarge() ? std::size_t{region->firstGranule}
                                               : map.headBefore(g, least & ~std::size_t{swar::bytes - 1});
    const bool found = head >= least && (map.get(head) & head::inUse) != 0;
    const std::size_t end = found ? head + region->blockSize(head) : 0;
    if (!found && before) {
        before->to = g + 1;
        return *before;
    }
    Span& span = spans_[nextSpan_++ % std::size(spans_)];
    if (g < end) {
        span = {region, head, end, true};
    } else {
        span = {region, found ? end : least, g + 1, false};
    }
    return span;
}

} // namespace mpr::gc
