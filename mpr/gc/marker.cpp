// SPDX-License-Identifier: MIT
/*
    marker.cpp - The mark loop.
 */
#include "mpr/gc/marker.hpp"

#include <algorithm>
#include <bit>

#include "mpr/barrier.h"
#include "mpr/collect.h"
#include "mpr/gc/guard.hpp"
#include "mpr/gc/manager.hpp"
#include "mpr/gc/naming.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::GranuleMap;
using heap::Region;
namespace head = heap::head;
namespace swar = heap::swar;

namespace {
// Per thread, so that mprMark on another thread does nothing, and helpers may mark later.
constinit MPR_PER_THREAD Marker* activeMarker = nullptr;

constexpr std::size_t noEnd = ~std::size_t{0};
} // namespace

Marker* Marker::active() {
    return activeMarker;
}

bool Marker::open(void* memory, std::size_t bytes, const MarkArea* area) {
    if constexpr (os::cooperative) {
        return stacks_[now].open(memory, bytes);
    }
    auto* at = static_cast<Byte*>(memory);
    const std::size_t part = bytes / 4 & ~(sizeof(MarkEntry) - 1);
    bool opened = true;
    for (MarkStack& stack : stacks_) {
        // The stack for plain blocks gets twice as much.
        const std::size_t size = &stack == &stackOf(plainWaiting) ? 2 * part : part;
        opened = stack.open(at, size, area) && opened;
        at += size;
    }
    return opened;
}

/** See reached(). */
Byte Marker::compute(Byte h) const {
    if constexpr (os::cooperative) {
        return colours_.marked(h) ? Byte{0} : colours_.survivor(h);
    }
    if (marking_ >= Marking::check) {
        return h;
    }
    const bool old = (h & head::old) != 0;
    if (colours_.marked(h) || (old ? marking_ == Marking::again : oldOnly())) {
        return 0;
    }
    // An old block that is in the remembered set and not traced in this pause stays there: the young blocks that it
    // references must be reached, and while threads run it may be written again after it has been traced.
    const bool waits = old && marking_ != Marking::all;
    return static_cast<Byte>(colours_.survivor(h) | (waits ? h & head::remembered : 0));
}

void Marker::begin(Marking marking, const BlockFilter* filter, bool defers) {
    setTraced({});
    colours_ = heap_.colours();
    if constexpr (os::hasThreads) { // elsewhere there is one way to mark
        filter_ = filter;
        defers_ = defers;
        marking_ = marking;
        contested_ = marking == Marking::concurrent ? head::inUse : head::held;
    }
    for (unsigned h = head::inUse; h < sizeof(reached_); ++h) {
        reached_[h] = compute(static_cast<Byte>(h));
    }
    seen_.forget();
    activeMarker = this;
    current = nullptr; // so that whatever a manager calls is refused
    if constexpr (!os::hasThreads) {
        reports_ = 0;
    }
}

void Marker::beginRoots() {
    begin(Marking::concurrent);
    mayLeaveGrey_ = left_ = false;
}

bool Marker::endRoots() {
    end();
    mayLeaveGrey_ = true;
    return !left_;
}

void Marker::beginCheck(Watch& check) {
    watch_ = &check;
    begin(Marking::check);
}

void Marker::openPublishing() {
    if constexpr (!os::cooperative) {
        static constinit Watch publishes{publishReference};
        watch_ = &publishes;
        marking_ = Marking::publish;
        for (unsigned h = head::inUse; h < sizeof(reached_); ++h) {
            reached_[h] = static_cast<Byte>(h);
        }
    }
}

Marker* Marker::exchangeActive(Marker* marker) {
    return std::exchange(activeMarker, marker);
}

void Marker::end() {
    if constexpr (!os::cooperative) {
        markFetched();
        watch_ = nullptr;
        setTraced({});
    }
    activeMarker = nullptr;
    // A thread that marks in place of the collector has stopped, so it does not run.
    current = os::cooperative || (attached && attached->isCollector) ? attached : nullptr;
}

// The hot path of a collection: some thirty instructions for a reference to a block that is reached already. Unusual
// cases lead to report(), which looks again.
MPR_INLINE void Marker::mark(const void* pointer, bool loose) {
    if (!os::cooperative && filter_ && filter_->passesOver(pointer)) {
        return;
    }
    if (!os::cooperative && marking_ == Marking::concurrent) {
        heap_.fetchHead(pointer);
        Fetched& fetched = fetched_[fetchTurn_];
        fetchTurn_ = (fetchTurn_ + 1) % ahead;
        if (const void* before = std::exchange(fetched.block, pointer)) {
            look(before, loose);
        }
        fetched.by = traced();
        return;
    }
    look(pointer, loose);
}

MPR_INLINE void Marker::look(const void* pointer, bool loose) {
    Region* region = heap_.table().candidate(pointer);
    if (!region) [[unlikely]] {
        return lookElsewhere(pointer, loose);
    }
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(region);
    // Rotated, so that an unaligned address is out of range, too.
    const std::size_t g = std::rotr(offset, heap::granuleShift);
    if (g >= region->endGranule) [[unlikely]] {
        return lookElsewhere(pointer, loose);
    }
    const Byte h = region->map().get(g);
    if (this->reached(h) == 0) {
        return (h & head::inUse) || loose ? void() : report(pointer);
    }
    reach(region, g, h, pointer, loose);
}

/** No region of the heap has this address: it may be that of a pinned block in memory of the program's. */
void Marker::lookElsewhere(const void* pointer, bool loose) {
    const heap::Annex* annex = heap_.annex();
    if constexpr (!os::hasThreads) {
        if (annex && annex->mark(pointer)) {
            return;
        }
    } else if (annex) {
        if (const heap::Place at = annex->find(pointer); at.region) {
            if (const Byte h = at.head(); this->reached(h) != 0) {
                reach(at.region, at.granule, h, pointer, loose);
            }
            return;
        }
    }
    if (!loose) {
        report(pointer);
    }
}

/** Mark the blocks in the ring of fetched heads. @return Whether there were any. */
bool Marker::markFetched() {
    bool any = false;
    for (std::size_t i = 0; i < ahead; ++i) {
        if (const void* block = std::exchange(fetched_[i].block, nullptr)) {
            fetchTurn_ = (i + 1) % ahead;
            look(block, false);
            any = true;
        }
    }
    return any;
}

/** Reach a block, whose head is given. */
void Marker::reach(Region* region, std::size_t g, Byte h, const void* pointer, bool loose) {
    if (!os::cooperative && watch_) [[unlikely]] {
        return reachWatched(region, g, h, pointer, loose);
    }
    Byte* map = region->map().at(g);
    if ((h & head::old) == 0) {
        if (region->spans.isUncleared(g)) [[unlikely]] {
            return loose ? void() : report(pointer);
        }
        region->spans.keep(g);
    }
    if (!os::cooperative && (h & contested_) != 0) {
        // Holds, the barrier and frees change heads, too. The changed block may still have to be reached.
        Byte reached = this->reached(h);
        while (!std::atomic_ref<Byte>(*map).compare_exchange_weak(h, reached, std::memory_order_relaxed)) {
            reached = this->reached(h);
            if (reached == 0) {
                return;
            }
        }
    } else {
        GranuleMap::store(map, this->reached(h));
    }
    if constexpr (os::hasGenerations) {
        ++count_.blocks;
    }
    if (!head::isLeaf(h)) {
        push(map, h, pointer);
    }
}

/** Apart, so that reaching a block saves no registers where nobody watches. */
[[gnu::noinline]] void Marker::reachWatched(Region* region, std::size_t g, Byte h, const void* pointer, bool loose) {
    if (!watch_->reached(*watch_, h, pointer)) {
        Watch* const watch = std::exchange(watch_, nullptr);
        reach(region, g, h, pointer, loose);
        watch_ = watch;
    }
}

/** Push a block with a manager. The head is that before it was marked. */
MPR_INLINE void Marker::push(Byte* map, Byte before, const void* block) {
    const MarkEntry entry(block, GranuleMap::shortSizeBehind(map));
    if constexpr (os::hasGenerations) {
        const bool plain = head::isPlain(before);
        count_.plain += plain;
        const bool waits = marking_ != Marking::all && (before & head::old);
        if (waits || defers_) {
            // Plain blocks need not wait: the last pause traces all that are marked.
            if (!stackOf(plain ? plainWaiting : barrierWaiting).push(entry) && !plain) [[unlikely]] {
                return overflow(heap_.find(block), map, block);
            }
            if (waits) {
                return;
            }
        }
    }
    if (!stacks_[now].push(entry)) [[unlikely]] {
        overflow(heap_.find(block), map, block);
    }
}

/** Include granule g in the range of a region's grey blocks. Other markers may do so at the same time. */
static void widen(Region* region, std::uint32_t g) {
    os::Shared<std::uint32_t>&from = region->greyFrom, &to = region->greyTo;
    for (auto seen = from.load(std::memory_order_relaxed);
         g < seen && !from.compare_exchange_weak(seen, g, std::memory_order_relaxed);) {}
    for (auto seen = to.load(std::memory_order_relaxed);
         g >= seen && !to.compare_exchange_weak(seen, g + 1, std::memory_order_relaxed);) {}
}

void Marker::overflow(Region* region, Byte* map, const void* block) {
    const Byte unmarkedOld = head::old | (colours_.oldParity ^ head::parity);
    const Byte colour = !os::hasGenerations || mayLeaveGrey_ ? colours_.grey(!oldOnly()) : unmarkedOld;
    // A block that was freed by hand meanwhile is a leaf, and stays as it is.
    GranuleMap::update(
        map, [&](Byte h) { return head::isLeaf(h) ? Byte{0} : static_cast<Byte>((h & ~head::colourMask) | colour); });
    overflows_.fetch_add(1, std::memory_order_relaxed);
    if (os::hasGenerations && !mayLeaveGrey_) {
        left_ = true;
        return;
    }
    widen(region, static_cast<std::uint32_t>(region->granuleOf(block)));
    grey_ = true;
}

void Marker::markRoot(const void* block, bool loose) {
    if (block) {
        mark(block, loose);
    }
}

void Marker::retrace(Region* region, std::size_t g) {
    Byte* map = region->map().at(g);
    const MarkEntry entry(region->address(g), GranuleMap::shortSizeBehind(map));
    bool pushed = true;
    if constexpr (os::hasGenerations) {
        // A block that has not been reached is traced when it is reached, if ever.
        pushed = !defers_ || !colours_.marked(region->map().get(g)) || stackOf(barrierWaiting).push(entry);
    }
    if (!pushed || !stackNow().push(entry)) {
        overflow(region, map, region->address(g));
    }
}

inline std::size_t Marker::sizeOf(MarkEntry entry) const {
    if (entry.granules() != 0) [[likely]] {
        return entry.granules();
    }
    Region* region = heap_.find(entry.block());
    return region->blockSize(region->granuleOf(entry.block()));
}

/** Whether a block was freed by hand while it waited, so that its manager may not be called: see Heap::freeTraced. */
bool Marker::isGone(MarkEntry entry) const {
    Region* region = heap_.find(entry.block());
    return head::isLeaf(region->map().get(region->granuleOf(entry.block())));
}

/** Trace a block of n granules. */
MPR_INLINE void Marker::trace(MarkEntry entry, std::size_t n) {
    setTraced(entry);
    if constexpr (os::hasThreads) {
        position_ = 0;
    }
    os::assertUnlocked();
    if (const MprManager manager = seen_.of(entry.block(), n)) {
        manager(entry.block(), MPR_MANAGE_MARK);
    }
}

inline void Marker::trace(MarkEntry entry) {
    if (os::cooperative || marking_ != Marking::slice || !isGone(entry)) {
        trace(entry, sizeOf(entry));
    }
}

/**
    The managers are called in address order, so no cache miss depends on another. Of each block the lines are fetched in
    which it begins and ends, where its manager stands: most managers look at the first fields.
 */
void Marker::retraceOld(Region* region, unsigned chunk, Retrace which) {
    struct Next {
        Byte* block;
        std::size_t n;
    };
    constexpr std::size_t most = 16; // blocks; with half as many the memory is not there in time
    Next fetched[most] = {};
    std::size_t turn = 0;
    const auto traceNext = [&](Next next) {
        const Next before = std::exchange(fetched[turn++ % most], next);
        if (before.block) {
            trace(MarkEntry::of(before.block, before.n), before.n);
        }
    };
    const auto wanted = [which, colours = colours_](std::size_t, auto words) {
        const auto found = swar::old(words) & (which.barrier ? ~swar::leaf(words) : swar::plain(words));
        return which.markedOnly ? found & swar::marked(words, colours) : found;
    };
    region->forEach(chunk, wanted, [&](std::size_t g) {
        const std::size_t n = region->blockSize(g);
        if (which.barrier) { // what it was remembered in may be lost
            region->map().update(g, [](Byte h) { return head::isBarrier(h) ? h & ~head::remembered : h; });
        }
        Byte* const block = region->address(g);
        __builtin_prefetch(block);
        __builtin_prefetch(block + (n << heap::granuleShift) - 1);
        traceNext({block, n});
    });
    for (std::size_t i = 0; i < most; ++i) {
        traceNext({});
    }
}

void Marker::markRow(const void* fields, std::size_t count) {
    if constexpr (!os::hasThreads) {
        return markFields({static_cast<const void* const*>(fields), count, nullptr, 0, 0});
    }
    Row row{static_cast<const void* const*>(fields), count, MarkEntry::word(traced()).block(), position_, pause_};
    position_ += count;
    if (resumed_) {
        // Only the part that was asked for. References that a thread has moved elsewhere are found by the last pause.
        const std::size_t wantedEnd = resumed_->position + resumed_->count;
        const std::size_t begin = std::max(row.position, resumed_->position);
        const std::size_t end = std::min(position_, wantedEnd);
        if (begin >= end) {
            return;
        }
        row = row.from(begin - row.position);
        row.count = end - begin;
    }
    markFields(row);
}

/** Mark one piece of a long row now, and the rest when the stack has been emptied down to it. */
void Marker::markFields(const Row& row) {
    std::size_t count = row.count;
    if (os::hasThreads && count > rowPiece && marking_ != Marking::check && stackNow().pushRow(row.from(rowPiece))) {
        count = rowPiece;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (const void* ref = __atomic_load_n(row.fields + i, __ATOMIC_ACQUIRE)) {
            mark(ref, false);
        }
    }
}

/**
    The top of the stack is a row. Its owner may have been freed by hand while the row waited, and after that what the row
    references: whatever stands there now is not the owner's.
 */
void Marker::traceRow(MarkStack& stack) {
    Row row = stack.popRow();
    const MarkEntry owner(row.owner, 0);
    if (owner && isGone(owner)) {
        return;
    }
    setTraced(owner);
    if (marking_ == Marking::slice && row.pause != pause_) {
        return resumeRow(row);
    }
    // A row lies below everything that it leads to, so it would be given last; and it may be most of the work.
    const std::size_t half = row.count / 2;
    if (shared_ && shared_->wanted() && row.count >= 4 * rowPiece && shared_->giveRow(row.from(half))) {
        row.count = half;
    }
    markFields(row);
}

/** A row of a plain block comes from an earlier pause: its manager says where the references are now. */
void Marker::resumeRow(const Row& row) {
    resumed_ = &row;
    trace(MarkEntry(row.owner, 0));
    resumed_ = nullptr;
}

bool Marker::drainStack(MarkStack& stack, std::size_t budget) {
    if constexpr (os::cooperative) {
        // There is no cache to prefetch into, and there are no rows; a full stack is not worth more code.
        while (!stack.empty()) {
            trace(stack.pop());
        }
        return true;
    }
    std::size_t turn = 0;
    std::size_t waiting = 0; // entries in the ring
    for (;;) {
        MarkEntry entry;
        if (!stack.empty() && budget > 0) {
            if (!os::cooperative && shared_ && shared_->wanted() && stack.size() > fewEntries) [[unlikely]] {
                shared_->give(stack);
            }
            const MarkEntry next = stack.pop();
            if (next.isRow()) [[unlikely]] {
                stack.push(next);
                traceRow(stack);
                budget -= std::min(budget, rowPiece);
                continue;
            }
            if (waiting == 0 && stack.empty()) {
                trace(next); // a list: nothing else to do while it is fetched
                --budget;
                continue;
            }
            __builtin_prefetch(next.block());
            __builtin_prefetch(next.block() + (next.granules() << heap::granuleShift) - sizeof(MprManager));
            entry = ring_[turn];
            ring_[turn] = next;
            turn = (turn + 1) % ahead;
            if (!entry) {
                ++waiting;
                continue;
            }
            --budget;
        } else if (waiting > 0) {
            entry = ring_[turn];
            ring_[turn] = MarkEntry();
            turn = (turn + 1) % ahead;
            if (!entry) {
                continue;
            }
            --waiting;
        } else if (marking_ == Marking::concurrent && markFetched()) {
            continue;
        } else {
            return stack.empty();
        }
        trace(entry);
    }
}

/** Trace the blocks that were left grey in a region. Tracing may leave others grey, here or elsewhere. */
void Marker::recoverGrey(Region* region) {
    const GranuleMap map = region->map();
    const std::size_t from = region->greyFrom.exchange(~0u, std::memory_order_relaxed);
    const std::size_t to = region->greyTo.exchange(0, std::memory_order_relaxed);
    const Byte colour = colours_.grey(!oldOnly());
    for (std::size_t at = from & ~std::size_t{swar::bytes - 1}; at < to; at += swar::bytes) {
        if (region->spans.isUncleared(at)) {
            continue;
        }
        const swar::Word word = map.word(at);
        const swar::Word other = word ^ swar::spread(colour);
        swar::Word grey = swar::heads(word) & ~(other | other >> 1);
        for (; grey != 0; grey &= grey - 1) {
            const std::size_t g = at + swar::first(grey);
            bool left = false;
            map.update(g, [&](Byte h) {
                // A leaf of this colour was made by a thread that is not in the rendezvous (palloc).
                left = !head::isLeaf(h) && (h & head::colourMask) == colour;
                // A pause that is no slice has read the remembered set.
                const Byte remembered = oldOnly() ? static_cast<Byte>(h & head::remembered) : Byte{0};
                return left ? static_cast<Byte>(colours_.survivor(h) | remembered) : Byte{0};
            });
            if (!left) {
                continue; // freed by hand just now
            }
            retrace(region, g);
            drainStack(stackNow(), noEnd);
        }
    }
}

void Marker::drainGrey() {
    while (grey_) {
        grey_ = false;
        for (Region* region = heap_.firstRegion(); region; region = heap_.nextRegion(region)) {
            if (region->greyFrom.load(std::memory_order_relaxed) < region->greyTo.load(std::memory_order_relaxed)) {
                recoverGrey(region);
            }
        }
    }
}

void Marker::drain() {
    if constexpr (os::hasGenerations) {
        // Grey blocks had no room to wait, so nothing that they reference may be passed over.
        filter_ = nullptr;
        defers_ = false;
    }
    drainStack(stacks_[now], noEnd);
    if (!os::cooperative && marking_ == Marking::all) {
        takeWaiting();
    }
    drainGrey();
    setTraced({});
}

void Marker::drainShared(const Until& until) {
    if constexpr (os::cooperative) {
        return;
    }
    if (marking_ == Marking::all) {
        takeWaiting();
    }
    do {
        if (!oldOnly()) {
            drainStack(stacks_[now], noEnd);
            setTraced({}); // from here on it may wait for others
            continue;
        }
        while (advance()) {
            if ((shared_ && shared_->closed()) || until.passed()) {
                return shared_ ? shared_->quit() : void();
            }
        }
    } while (shared_ && shared_->take(stackNow()));
}

/** Take over a stack. Blocks that find no room are treated as in push; a row that finds none is marked at once. */
void Marker::inherit(MarkStack& left, unsigned stack) {
    while (!left.empty() && left.moveTo(stacks_[stack])) {}
    if (stack == plainWaiting) {
        left.clear();
    }
    while (!left.empty()) {
        if (left.isRowOnTop()) {
            traceRow(left);
            continue;
        }
        const MarkEntry entry = left.pop();
        Region* region = heap_.find(entry.block());
        overflow(region, region->map().at(region->granuleOf(entry.block())), entry.block());
    }
}

void Marker::absorb(Marker& other) {
    if constexpr (os::cooperative) {
        return;
    }
    for (const unsigned i : {barrierWaiting, plainWaiting}) {
        inherit(other.stacks_[i], i);
    }
    const Reached counted = other.takeReached();
    count_.blocks += counted.blocks;
    count_.plain += counted.plain;
    grey_ = std::exchange(other.grey_, false) || grey_;
    overflows_.fetch_add(other.overflows_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    other.overflows_.store(0, std::memory_order_relaxed);
}

/** Trace the blocks that waited for the threads to run. */
void Marker::takeWaiting() {
    MarkStack& stack = stackOf(barrierWaiting);
    while (!stack.empty()) {
        const MarkEntry entry = stack.pop();
        if (entry.isRow()) {
            stack.push(entry);
            traceRow(stack);
        } else if (!isGone(entry)) {
            trace(entry);
        }
        drainStack(stacks_[now], noEnd);
    }
}

bool Marker::advance() {
    constexpr std::size_t blocks = 256; // some tens of microseconds, after which a wanted pause is noticed
    MarkStack& stack = stackNow();
    bool left = !drainStack(stack, blocks);
    // Only a single marker recovers grey blocks.
    if (!left && grey_ && marking_ == Marking::concurrent && !shared_) {
        drainGrey();
        left = !stack.empty();
    }
    setTraced({});
    return left;
}

inline void Marker::describe(os::Message& message, MarkEntry entry) const {
    if (entry) {
        message << "; by the manager of block ";
        if constexpr (os::hasThreads) {
            return nameBlock(message, heap_, entry.block());
        }
        message << static_cast<const void*>(entry.block()) << ", ";
        message.code(reinterpret_cast<const void*>(gc::managerOf(entry.block(), sizeOf(entry))));
    }
}

/** Where a pointer stands that was marked, and which block it points into, if it does. */
void Marker::tellMore([[maybe_unused]] os::Message& message, [[maybe_unused]] const void* pointer,
                      [[maybe_unused]] MarkEntry by) const {
    if constexpr (os::hasThreads) {
        if (by) {
            auto* const fields = static_cast<const void* const*>(static_cast<const void*>(by.block()));
            const std::size_t words = (sizeOf(by) << heap::granuleShift) / sizeof(void*) - 1;
            const auto i = static_cast<std::size_t>(std::find(fields, fields + words, pointer) - fields);
            if (i < words) {
                message << ", at offset " << i * sizeof(void*);
            }
        }
        if (void* const around = heap_.blockAround(pointer)) {
            nameBlock(message << "; it points into block ", heap_, around);
        }
    }
}

void Marker::say(const void* pointer, MarkEntry by) const {
    os::Message message;
    message << "mprMark(" << pointer << ") is not the start of a block; ignored";
    describe(message, by);
    tellMore(message, pointer, by);
    writeMisuse(pointer, message, false);
}

void Marker::report(const void* pointer) {
    if (!os::cooperative && marking_ >= Marking::check) {
        return; // the check does not report it
    }
    const MarkEntry by = MarkEntry::word(traced());
    if constexpr (os::hasThreads) {
        if (oldOnly()) { // a block that was just freed by hand, perhaps, or what its memory became
            const bool fetched = marking_ == Marking::concurrent;
            return doubts_->lookAgain(fetched ? MarkEntry::word(fetched_[(fetchTurn_ + ahead - 1) % ahead].by) : by);
        }
        return doubts_->add(pointer, by); // roots are walked under locks
    }
    countMisuses(1);
    if (reports_ < mostReports) {
        ++reports_;
        say(pointer, by);
    }
}

void Marker::traceAgain(const void* block, std::size_t n) {
    trace(MarkEntry::of(block, n), n);
    drain();
}

void Marker::describeTraced(os::Message& message) const {
    if constexpr (os::hasThreads) {
        describe(message, MarkEntry::word(traced()));
    }
}

} // namespace mpr::gc

using mpr::gc::Marker;

void mprMark(cvoid* ptr) {
    if (ptr) {
        if (Marker* marker = mpr::gc::activeMarker) {
            marker->mark(ptr, false);
        }
    }
}

void mprMarkRef(cvoid* field) {
    mprMark(__atomic_load_n(static_cast<void* const*>(field), __ATOMIC_ACQUIRE));
}

void mprMarkRefs(cvoid* fields, size_t count) {
    if (Marker* marker = mpr::gc::activeMarker) {
        marker->markRow(fields, count);
    }
}
