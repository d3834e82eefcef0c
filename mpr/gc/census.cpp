// SPDX-License-Identifier: MIT
/*
    census.cpp - Counting blocks by kind, and printing the kinds.
 */
#include "mpr/gc/census.hpp"

#include <algorithm>
#include <bit>

#include "mpr/gc/manager.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/gc/type_name.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

namespace head = heap::head;

constinit Census census;

// ---- Counting -------------------------------------------------------------------------------------------------------

namespace {

void add(Census::Tally& tally, std::size_t bytes) {
    ++tally.blocks;
    tally.bytes += bytes;
}

/** Put a row where it belongs in an order of a few, the greatest first. The last one is dropped. */
template <std::size_t N, typename Key>
void insert(Census::Row (&rows)[N], const Census::Row& row, Key&& key) {
    if (key(row) <= key(rows[N - 1])) {
        return;
    }
    std::size_t at = N - 1;
    for (; at > 0 && key(rows[at - 1]) < key(row); --at) {
        rows[at] = rows[at - 1];
    }
    rows[at] = row;
}
} // namespace

std::size_t Census::homeOf(MprManager manager) {
    constexpr auto golden = static_cast<std::uintptr_t>(0x9E37'79B9'7F4A'7C15);
    const std::uintptr_t mixed = reinterpret_cast<std::uintptr_t>(manager) * golden;
    return mixed >> (8 * sizeof(mixed) - std::countr_zero(places));
}

/** The place of a manager, which is taken if it has none. @return nullptr when all are. */
Census::Kind* Census::find(MprManager manager) {
    const std::size_t home = homeOf(manager);
    for (std::size_t i = 0; i < places; ++i) {
        Kind& kind = kinds_[(home + i) % places];
        MprManager there = kind.manager.load(std::memory_order_relaxed);
        if (there == manager || (!there && kind.manager.compare_exchange_strong(there, manager)) || there == manager) {
            return &kind;
        }
    }
    return nullptr;
}

void Census::name(MprManager manager, const char* name) {
    if (manager) {
        if (Kind* kind = find(manager)) {
            kind->name.store(name, std::memory_order_release);
        }
    }
}

const char* Census::nameOf(MprManager manager) const {
    const std::size_t home = homeOf(manager);
    for (std::size_t i = 0; i < places; ++i) {
        const Kind& kind = kinds_[(home + i) % places];
        const MprManager there = kind.manager.load(std::memory_order_relaxed);
        if (!there || there == manager) {
            return there ? kind.name.load(std::memory_order_acquire) : nullptr;
        }
    }
    return nullptr;
}

Census::Tally& Census::tallyOf(heap::Byte* block, std::size_t n, heap::Byte h) {
    if (head::isLeaf(h)) {
        const std::size_t bytes = n << heap::granuleShift;
        const auto order = static_cast<unsigned>(std::bit_width(bytes - 1));
        return h & head::held ? rest_[permanent]
                              : leaves_[std::clamp(order, leastOrder, leastOrder + orders - 1) - leastOrder];
    }
    MprManager manager = nullptr;
    if (!peekManager(block, n, manager)) {
        return rest_[overwritten];
    }
    if (!manager) {
        return rest_[unset];
    }
    Kind* kind = find(manager);
    return kind ? kind->now : rest_[others];
}

void Census::count(void* self, heap::Byte* block, std::size_t n, heap::Byte h) {
    if (!head::isGone(h)) {
        add(static_cast<Census*>(self)->tallyOf(block, n, h), n << heap::granuleShift);
    }
}

template <typename F>
void Census::forEach(F&& f) {
    for (Kind& kind : kinds_) {
        if (const MprManager manager = kind.manager.load(std::memory_order_relaxed)) {
            f(kind.now, kind.before, Row{{}, {}, manager, 0, kind.name.load(std::memory_order_acquire)});
        }
    }
    for (unsigned i = 0; i < orders; ++i) {
        f(leaves_[i], leavesBefore_[i], Row{{}, {}, nullptr, std::size_t{1} << (i + leastOrder), nullptr});
    }
    constexpr const char* names[rests] = {"permanent memory (palloc), or held without a manager", "manager not set",
                                          "manager word overwritten", "other managers"};
    for (unsigned i = 0; i < rests; ++i) {
        f(rest_[i], restBefore_[i], Row{{}, {}, nullptr, 0, names[i]});
    }
}

void Census::take(heap::Heap& heap, Rows& rows) {
    forEach([](Tally& now, Tally& before, const Row&) {
        before = now;
        now = {};
    });
    heap.forEachBlock(count, this);
    rows.isFirst = !isTaken_;
    isTaken_ = true;
    forEach([&](const Tally& now, const Tally& before, Row row) {
        row.now = now;
        row.before = before;
        insert(rows.largest, row, [](const Row& r) { return r.now.bytes; });
        insert(rows.grown, row, [](const Row& r) { return r.grown(); });
    });
}

void Census::forget() {
    forEach([](Tally& now, Tally& before, const Row&) { now = before = {}; });
    isTaken_ = false;
}

// ---- Printing -------------------------------------------------------------------------------------------------------

namespace {

/** Why the calling thread cannot have all others stopped, or nullptr. */
const char* whyNotCounted() {
    return !running()             ? "there is no runtime"
           : !current             ? "the calling thread is not attached, has yielded, or is inside MPR_MANAGE_MARK"
           : current->isCollector ? "a manager is called by the collector's thread"
           : os::isLogging()      ? "the log's handler is called"
                                  : nullptr;
}

void writeLine(os::Message& message) {
    message << "\n";
    os::write(message.text(), message.length());
}

/** A number that ends in a column, with a sign before it. */
void column(os::Message& message, std::size_t number, std::string_view sign = "") {
    constexpr std::size_t width = 13;
    os::Message digits;
    digits << sign << std::uint64_t{number};
    for (std::size_t i = digits.length(); i < width; ++i) {
        message << " ";
    }
    message << std::string_view(digits.text(), digits.length());
}

/** Two columns are written. A name of any length leaves room for the line's end. */
void describe(os::Message& message, const Census::Row& row) {
    message << "  ";
    if (row.name) {
        constexpr std::size_t most = 200;
        const std::string_view name = typeIn(row.name);
        message << std::string_view(name.data(), std::min(name.size(), most));
    } else if (row.manager) {
        message << "manager ";
        message.code(reinterpret_cast<const void*>(row.manager));
    } else {
        message << "no manager, up to " << std::uint64_t{row.upTo} << " bytes";
    }
    writeLine(message);
}
} // namespace

void printCensus() {
    Census::Rows rows;
    os::Message title;
    const char* whyNot = whyNotCounted();
    if (!whyNot && !runtime().collector.stopOthers([&] { census.take(runtime().heap, rows); })) {
        whyNot = "another thread does not yield";
    }
    if (whyNot) {
        writeLine(title << "  blocks by kind: not counted, " << whyNot);
        return;
    }
    writeLine(title << "         blocks        bytes  what has the most bytes, garbage included");
    for (const Census::Row& row : rows.largest) {
        if (row.now.bytes > 0) {
            os::Message message;
            column(message, row.now.blocks);
            column(message, row.now.bytes);
            describe(message, row);
        }
    }
    if (rows.isFirst) {
        return;
    }
    title = {};
    writeLine(title << (rows.grown[0].grown() > 0 ? "         blocks        bytes  what has grown since the last call"
                                                  : "  nothing has grown since the last call"));
    for (const Census::Row& row : rows.grown) {
        if (row.grown() > 0) {
            const bool more = row.now.blocks >= row.before.blocks;
            os::Message message;
            column(message, more ? row.now.blocks - row.before.blocks : row.before.blocks - row.now.blocks,
                   more ? "+" : "-");
            column(message, row.grown(), "+");
            describe(message, row);
        }
    }
}

} // namespace mpr::gc
