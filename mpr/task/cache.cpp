// SPDX-License-Identifier: MIT
/*
    cache.cpp - Caches: what is read, written and forgotten. See mpr/cache.h.

    A value is a leaf that nobody writes to: a change makes another. A change therefore looks at the item, makes what
    it needs without the lock, and looks again; if the item is another by then it begins anew.

    Items are forgotten one at a time, each under a lock of its own (trim). What there is to do at once beyond some
    steps is left to later writes and to the timer.
 */
#include "mpr/cache.h"

#include <climits>
#include <cstring>
#include <new>
#include <utility>

#include "mpr/base/guard.hpp"
#include "mpr/base/hash.hpp"
#include "mpr/base/references.hpp"
#include "mpr/base/string.hpp"
#include "mpr/collect.h"
#include "mpr/event.h"
#include "mpr/gc/census.hpp"
#include "mpr/gc/keepers.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/limits.h"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/shutdown.h"
#include "mpr/string.h"
#include "mpr/task/cache.hpp"
#include "mpr/task/callback.hpp"
#include "mpr/task/events.hpp"
#include "mpr/time.h"

using namespace mpr::task;
namespace base = mpr::base;
namespace gc = mpr::gc;
namespace os = mpr::os;
using mpr::base::mayUse;

/** A cache's place in the list of all. In permanent memory: a finalizer looks at no other cache. */
struct Listed {
    MprCache* cache;
    Listed* next;
    Listed** place;
    unsigned visited; // the last round of the pruner
};

struct MprCache {
    static constexpr std::size_t unlimited = ~std::size_t{0};
    static constexpr MprTicks usualResolution = 10'000;

    os::Lock lock;
    ItemTable table MPR_GUARDED_BY(lock); // has the one reference
    ItemWheel wheel MPR_GUARDED_BY(lock);
    ItemOrder order MPR_GUARDED_BY(lock);
    std::size_t memory MPR_GUARDED_BY(lock) = 0;         // bytes of items and values
    std::size_t target MPR_GUARDED_BY(lock) = unlimited; // what the pruner wants of it
    std::size_t mostMemory MPR_GUARDED_BY(lock) = unlimited;
    std::size_t mostItems MPR_GUARDED_BY(lock) = unlimited;
    MprTicks lifespan MPR_GUARDED_BY(lock) = 0;
    MprTicks resolution MPR_GUARDED_BY(lock) = usualResolution;
    long long greatest MPR_GUARDED_BY(lock) = 0; // version so far
    long long retired MPR_GUARDED_BY(lock) = 0;  // the greatest version of items that are gone
    MprCacheProc notify MPR_GUARDED_BY(lock) = nullptr;
    MprTicks timer MPR_GUARDED_BY(lock) = 0; // when it runs next; 0: it does not
    int timers MPR_GUARDED_BY(lock) = 0;     // events for it; more than one when the resolution was made finer

    Listed* listed = nullptr; // its place in the list of all; nullptr: it has none

    Item* findLive(std::size_t hash, const char* key, MprTicks now, Item*& expired) MPR_REQUIRES(lock);
    void remove(Item* item) MPR_REQUIRES(lock);
    bool isFull() MPR_REQUIRES(lock) { return table.count() > mostItems || memory > mostMemory; }
    /** Whether a timer is wanted by a time, and none is that will run by then. */
    bool needsTimer(MprTicks by) MPR_REQUIRES(lock) {
        return (memory > target || !wheel.empty()) && (timer == 0 || timer > by);
    }
};

namespace {

/** Items or ticks that a write looks at, besides what exceeds a limit; a run of the timer; a call of the pruner. */
constexpr int stepsOfWrite = 4, stepsOfTimer = 256, stepsOfPruner = 1024;

/** Segments of a table, at first. */
constexpr std::size_t firstRoom = 2;

/** All caches that are alive, or dead and not yet finalized. */
struct Caches {
    os::Lock lock;
    Listed* first MPR_GUARDED_BY(lock) = nullptr;
    MprCache* shared = nullptr; // written under the lock by threads that run; a pause is ordered after them
    unsigned round MPR_GUARDED_BY(lock) = 0;
    bool pruned MPR_GUARDED_BY(lock) = false; // the pruner is registered

    bool enter(MprCache& cache);
    void leave(MprCache& cache);
    void close();
    MprCache* next(unsigned of);
    unsigned nextRound();
    MprCache* getShared(MprCache* made);
    void disown(const MprCache* cache);
};
constinit Caches caches;

gc::Service service{[] { mprMark(caches.shared); }, [](std::uint64_t) { return true; }, [] { caches.close(); }};

void manageItem(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(&static_cast<Item*>(ptr)->value, 2);
    }
}
void clear(MprCache* cache);

/** A program has freed a cache, which the pruner does not know any more: it has no items, and so no more timers. */
void endByHand(MprCache* cache) {
    caches.disown(cache);
    mprSetCacheNotify(cache, nullptr);
    clear(cache);
    gc::leaveToCollector(cache);
}

void manageCache(void* ptr, int flags) MPR_UNANALYSED {
    auto* cache = static_cast<MprCache*>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        cache->table.mark();
    } else if (flags & MPR_MANAGE_FREE) {
        caches.leave(*cache);
        if (gc::isFreedByHand(cache)) {
            endByHand(cache);
        }
    }
}
const gc::ManagerName namedItem(manageItem, "items of caches");
const gc::ManagerName namedCache(manageCache, "MprCache");

std::size_t sizeOf(const Item* item) {
    return mprGetBlockSize(item) + mprGetBlockSize(item->value);
}

bool isDue(const Item* item, MprTicks now) {
    return item->expires != 0 && item->expires <= now;
}

/** A time so many milliseconds from now; 0: never. */
MprTicks after(MprTicks now, MprTicks lifespan) {
    MprTicks time = 0;
    return lifespan > 0 && !__builtin_add_overflow(now, lifespan, &time) ? time : 0;
}

/** Tell the program that an item is gone. */
void tell(MprCache* cache, MprCacheProc notify, const Item* item) {
    if (notify && item) {
        os::assertUnlocked();
        callProgram({"cache callback", nullptr, false},
                    [=] { notify(cache, item->key, item->value, MPR_CACHE_NOTIFY_REMOVE); });
    }
}
} // namespace

/** The item of a key. @param expired Set to one that had expired and is gone: the caller is to tell. */
Item* MprCache::findLive(std::size_t hash, const char* key, MprTicks now, Item*& expired) {
    Item* item = *table.find(hash, key);
    if (item && isDue(item, now)) {
        remove(item);
        expired = item;
        return nullptr;
    }
    return item;
}

void MprCache::remove(Item* item) {
    table.remove(table.find(item->hash, item->key));
    wheel.remove(item);
    order.remove(item);
    memory -= sizeOf(item);
    retired = item->version > retired ? item->version : retired;
}

namespace {

/**
    A cache is locked, and an item looked up in it, for as long as this exists. At its end the program is told of one that
    has gone: it had expired, or is dropped.
 */
class MPR_SCOPED_CAPABILITY Found {
public:
    Found(MprCache* cache, std::size_t hash, const char* key, MprTicks now) MPR_ACQUIRES(cache->lock);
    ~Found() MPR_RELEASES();
    Found(const Found&) = delete;
    Found& operator=(const Found&) = delete;

    Item* operator->() const { return item_; }
    /** @return nullptr: there is none, or it had expired. */
    Item* get() const { return item_; }
    void drop() MPR_UNANALYSED;

private:
    MprCache* const cache_;
    Item* gone_ = nullptr;
    Item* item_ = nullptr;
};

Found::Found(MprCache* cache, std::size_t hash, const char* key, MprTicks now) : cache_(cache) {
    cache_->lock.lock();
    item_ = cache_->findLive(hash, key, now, gone_);
}

Found::~Found() {
    MprCacheProc notify = cache_->notify;
    cache_->lock.unlock();
    tell(cache_, notify, gone_);
}

void Found::drop() {
    os::assertHeld(cache_->lock);
    cache_->remove(item_);
    gone_ = std::exchange(item_, nullptr);
}

// ---- Forgetting -------------------------------------------------------------------------------------------------

/**
    Forget what exceeds the limits, then do some steps of what the pruner wants and of expiry.
    @return Whether there may be more to do.
 */
bool trim(MprCache* cache, int steps) {
    const MprTicks now = mprGetTicks();
    for (bool more = true; more;) {
        MprCacheProc notify = nullptr;
        Item* gone = nullptr;
        {
            os::Locked locked(cache->lock);
            const bool full = cache->isFull();
            if (!full && steps-- == 0) {
                return true;
            }
            if (full) { // what has expired goes before what is good
                gone = !cache->wheel.step(now, gone) && !gone ? cache->order.oldest() : gone;
            } else if (cache->memory > cache->target) {
                gone = cache->order.oldest();
            } else {
                cache->target = MprCache::unlimited;
                more = cache->wheel.step(now, gone);
            }
            if (gone) {
                cache->remove(gone);
            }
            notify = cache->notify;
        }
        tell(cache, notify, gone);
    }
    return false;
}

void runTimer(MprCache* cache, MprEvent*);

/** Have the timer run, unless it will, or the cache is dead and a manager writes to it. @param atOnce Not after a while. */
void startTimer(MprCache* cache, bool atOnce = false) {
    if (gc::isDying(cache) || mprIsStopped()) {
        return;
    }
    const MprTicks now = mprGetTicks();
    MprTicks period = 0;
    {
        os::Locked locked(cache->lock);
        period = atOnce ? 0 : cache->resolution;
        if (!cache->needsTimer(now + period)) {
            return;
        }
        cache->timer = now + period;
        cache->timers += 1;
    }
    if (!mprCreateEvent(nullptr, "cache", period, runTimer, cache, 0)) {
        os::Locked locked(cache->lock);
        cache->timer = 0; // the next write tries again
        cache->timers -= 1;
    }
}

void runTimer(MprCache* cache, MprEvent*) {
    {
        os::Locked locked(cache->lock);
        cache->timers -= 1;
        if (cache->timers > 0 && mprGetTicks() < cache->timer) {
            return; // another has taken this one's place
        }
        cache->timer = 0;
    }
    startTimer(cache, trim(cache, stepsOfTimer));
}

/** @return Whether there was an item. */
bool forgetOldest(MprCache* cache) {
    MprCacheProc notify = nullptr;
    Item* gone = nullptr;
    {
        os::Locked locked(cache->lock);
        gone = cache->order.oldest();
        if (gone) {
            cache->remove(gone);
        }
        notify = cache->notify;
    }
    tell(cache, notify, gone);
    return gone != nullptr;
}

/** Forget all. Without a callback that takes no time: the collector has what was there. */
void clear(MprCache* cache) {
    ItemTable::Room fresh;
    if (!ItemTable::allocate(fresh, firstRoom)) {
        while (forgetOldest(cache)) {}
        return;
    }
    MprCacheProc notify = nullptr;
    const Item* gone = nullptr;
    {
        os::Locked locked(cache->lock);
        notify = cache->notify;
        gone = cache->order.oldest();
        cache->table.reset(cache, fresh);
        cache->wheel = {};
        cache->order = {};
        cache->memory = 0;
        cache->retired = cache->greatest;
    }
    for (; notify && gone; gone = gone->newer) { // all of them stay: this thread does not yield
        tell(cache, notify, gone);
    }
}

// ---- All caches -------------------------------------------------------------------------------------------------

/** Whether a collection has found that nobody references a cache, which is in the list still. */
bool isDead(const MprCache* cache) {
    mpr::heap::Region* region = gc::runtime().heap.find(cache);
    return gc::runtime().collector.isDoomed(region->map().get(region->granuleOf(cache)));
}

/** The pruner, which the heap calls when memory is short. A call drops some items; later writes and the timers drop the rest. */
void prune(void*, int cause) {
    const unsigned round = caches.nextRound();
    while (MprCache* cache = caches.next(round)) {
        {
            os::Locked locked(cache->lock);
            if (cache->target == MprCache::unlimited) {
                cache->target = cache->memory - cache->memory / (cause == MPR_MEM_WARNING ? 3 : 2);
            }
        }
        if (trim(cache, stepsOfPruner) && events().isOpen()) { // which may be waiting for this memory to open
            startTimer(cache, true);
        }
    }
    mprGC(MPR_GC_NO_BLOCK | MPR_GC_FORCE);
}

/** @return false when memory is short. */
bool Caches::enter(MprCache& cache) {
    auto* listed = static_cast<Listed*>(palloc(sizeof(Listed)));
    if (!listed) {
        return false;
    }
    gc::runtime().services.add(service);
    bool isFirst = false;
    {
        os::Locked locked(lock);
        *listed = {&cache, first, &first, 0};
        if (first) {
            first->place = &listed->next;
        }
        first = cache.listed = listed;
        isFirst = !pruned;
        pruned = true;
    }
    if (isFirst && mprAddPruner(prune, nullptr) != 0) {
        os::Message message;
        os::log(os::Level::warning, message << "caches are not pruned at the redline: there are too many pruners");
    }
    return true;
}

void Caches::leave(MprCache& cache) {
    Listed* listed = nullptr;
    {
        os::Locked locked(lock);
        listed = std::exchange(cache.listed, nullptr);
        if (!listed) {
            return;
        }
        *listed->place = listed->next;
        if (listed->next) {
            listed->next->place = listed->place;
        }
    }
    pfree(listed);
}

/** The runtime ends, and finalizes the caches that there are. */
void Caches::close() {
    os::Locked locked(lock);
    for (const Listed* listed = first; listed; listed = listed->next) {
        listed->cache->listed = nullptr;
    }
    first = nullptr;
    shared = nullptr;
    pruned = false;
}

/** The shared cache. @param made It, if there is none; nullptr: none is made. */
MprCache* Caches::getShared(MprCache* made) {
    os::Locked locked(lock);
    if (made && !shared) {
        mprPublish(made);
        shared = made;
    }
    return shared;
}

void Caches::disown(const MprCache* cache) {
    os::Locked locked(lock);
    if (shared == cache) {
        shared = nullptr;
    }
}

unsigned Caches::nextRound() {
    os::Locked locked(lock);
    return ++round;
}

/** A cache that was not visited in a round. It stays: the calling thread does not yield. */
MprCache* Caches::next(unsigned of) {
    os::Locked locked(lock);
    for (Listed* listed = first; listed; listed = listed->next) {
        if (listed->visited != of && !isDead(listed->cache)) {
            listed->visited = of;
            return listed->cache;
        }
    }
    return nullptr;
}

// ---- Writing ----------------------------------------------------------------------------------------------------

struct Change {
    const char* value;
    std::size_t length;
    MprTime modified;
    MprTicks lifespan;
    long long version;
    int options;
    bool counts = false; // add `amount` to the number that is there
    long long amount = 0, sum = 0;

    /** Whether the value depends on the one that is there. */
    bool joins() const { return (options & (MPR_CACHE_APPEND | MPR_CACHE_PREPEND)) != 0; }
    bool isExact() const { return joins() || counts || version != 0 || (options & MPR_CACHE_ADD) != 0; }
};

/** An item as it was at a moment. */
struct Seen {
    const char* value = nullptr;
    std::size_t length = 0;
    long long version = 0; // there was none
};

Seen look(MprCache* cache, std::size_t hash, const char* key, MprTicks now) {
    const Found item(cache, hash, key, now);
    return item.get() ? Seen{item->value, item->length, item->version} : Seen{};
}

/** @return Why a change is not to be made; 0: it is. */
int refusalOf(const Change& change, const Seen& seen) {
    if (change.version != 0 && change.version != seen.version) {
        return MPR_ERR_BAD_STATE;
    }
    return (change.options & MPR_CACHE_ADD) && seen.version != 0 ? MPR_ERR_ALREADY_EXISTS : 0;
}

/** The value that a change makes of another. @return nullptr when memory is short. */
char* makeValue(Change& change, const Seen& seen, std::size_t& length) {
    if (change.counts) {
        const long long old = seen.value ? stoi(seen.value) : 0;
        if (__builtin_add_overflow(old, change.amount, &change.sum)) {
            change.sum = change.amount > 0 ? LLONG_MAX : LLONG_MIN;
        }
        char* text = itos(change.sum);
        length = text ? std::strlen(text) : 0;
        return text;
    }
    const std::size_t old = change.joins() ? seen.length : 0;
    length = old + change.length;
    char* text = mpr::base::newString(length);
    if (text) {
        const bool before = (change.options & MPR_CACHE_PREPEND) != 0;
        if (old > 0) {
            std::memcpy(text + (before ? change.length : 0), seen.value, old);
        }
        std::memcpy(text + (before ? 0 : old), change.value, change.length);
    }
    return text;
}

Item* makeItem(std::size_t hash, const char* key) {
    const std::size_t length = std::strlen(key) + 1;
    auto* item = static_cast<Item*>(
        mprAllocManaged(offsetof(Item, key) + length, manageItem, mpr::base::referring | MPR_ALLOC_ZERO));
    if (item) {
        item->hash = hash;
        std::memcpy(item->key, key, length);
    }
    return item;
}

/** Work that a write leaves for later. */
struct Rest {
    bool trims, times;
};

/** Why put() has written nothing. */
constexpr int changedMeanwhile = 1, roomWanted = 2;

/** Write a value that was made. @param fresh The item, if there was none. @return 0, an error, or one of the above. */
int put(MprCache* cache, Item* fresh, std::size_t hash, const char* key, char* value, std::size_t length,
        const Change& change, const Seen& seen, MprTicks now, Rest& rest) {
    os::Locked locked(cache->lock);
    Item** place = cache->table.find(hash, key);
    Item* item = *place;
    const long long version = item ? item->version : 0;
    if (change.isExact() ? version != seen.version : (version == 0) != (seen.version == 0)) {
        return changedMeanwhile;
    }
    const std::size_t size = mprGetBlockSize(value);
    if (size + mprGetBlockSize(item ? item : fresh) > cache->mostMemory) {
        return MPR_ERR_WONT_FIT;
    }
    if (!item && !cache->table.hasRoom()) {
        return roomWanted;
    }
    const bool setsExpiry = fresh || !change.counts;
    if (item) {
        cache->memory -= mprGetBlockSize(item->value);
        base::setRef(item, item->value, value);
        cache->order.use(item);
    } else {
        item = fresh;
        item->value = value; // no yield has come since it was made
        item->version = cache->retired;
        cache->table.insert(place, item);
        cache->order.add(item);
        cache->memory += mprGetBlockSize(item);
    }
    cache->memory += size;
    cache->greatest = ++item->version > cache->greatest ? item->version : cache->greatest;
    item->modified = change.modified ? change.modified : mprGetTime();
    item->length = length;
    if (setsExpiry) {
        cache->wheel.remove(item);
        cache->wheel.insert(item, after(now, change.lifespan > 0 ? change.lifespan : cache->lifespan), now);
    }
    rest = {cache->isFull() || cache->memory > cache->target || !cache->wheel.empty(),
            cache->needsTimer(now + cache->resolution)};
    return 0;
}

/** Have room for another item. @return false when memory is short. */
bool makeRoom(MprCache* cache) {
    std::size_t pairs = 0;
    {
        os::Locked locked(cache->lock);
        pairs = cache->table.directoryRoom();
    }
    ItemTable::Room room;
    if (!ItemTable::allocate(room, pairs)) {
        return false;
    }
    os::Locked locked(cache->lock);
    cache->table.take(cache, room);
    return true;
}

/** @return 0 or an error. */
int write(MprCache* cache, const char* key, Change& change) {
    const std::size_t hash = mpr::base::hashOfKey(key);
    const MprTicks now = mprGetTicks();
    Rest rest{};
    for (int result = changedMeanwhile; result != 0;) {
        const Seen seen = look(cache, hash, key, now);
        if (const int refusal = refusalOf(change, seen)) {
            return refusal;
        }
        std::size_t length = 0;
        char* value = makeValue(change, seen, length);
        Item* fresh = value && seen.version == 0 ? makeItem(hash, key) : nullptr;
        result = value && (fresh || seen.version != 0)
                     ? put(cache, fresh, hash, key, value, length, change, seen, now, rest)
                     : MPR_ERR_MEMORY;
        if (result != 0) {
            mprFree(fresh);
            mprFree(value);
        }
        if (result == roomWanted && !makeRoom(cache)) {
            result = MPR_ERR_MEMORY;
        }
        if (result < 0) {
            return result;
        }
    }
    if (rest.trims) {
        trim(cache, stepsOfWrite);
    }
    if (rest.times) {
        startTimer(cache);
    }
    return 0;
}

/** @return Whether there is such an item, or was until now. */
bool expire(MprCache* cache, const char* key, MprTicks expires) {
    const std::size_t hash = mpr::base::hashOfKey(key);
    const MprTicks now = mprGetTicks();
    bool there = false, times = false;
    {
        Found item(cache, hash, key, now);
        there = item.get();
        if (there && expires <= now) {
            item.drop();
        } else if (there) {
            cache->wheel.remove(item.get());
            cache->wheel.insert(item.get(), expires, now);
            times = cache->needsTimer(now + cache->resolution);
        }
    }
    if (times) {
        startTimer(cache);
    }
    return there;
}

// ---- Reading ----------------------------------------------------------------------------------------------------

char* read(MprCache* cache, const char* key, MprTime* modified, long long* version, bool uses) {
    const Found item(cache, mpr::base::hashOfKey(key), key, mprGetTicks());
    if (!item.get()) {
        return nullptr;
    }
    if (uses) {
        cache->order.use(item.get());
    }
    if (modified) {
        *modified = item->modified;
    }
    if (version) {
        *version = item->version;
    }
    return item->value;
}

MprCache* makeCache() {
    ItemTable::Room room;
    void* block = ItemTable::allocate(room, firstRoom)
                      ? mprAllocManaged(sizeof(MprCache), manageCache, MPR_ALLOC_MANAGER | MPR_ALLOC_BARRIER)
                      : nullptr;
    if (!block) {
        return nullptr;
    }
    auto* cache = new (block) MprCache;
    {
        os::Locked locked(cache->lock);
        cache->table.reset(cache, room);
    }
    return caches.enter(*cache) ? cache : nullptr;
}

/** For calls that need a key, too. */
bool mayUseItem(const MprCache* cache, const char* key, const char* function = __builtin_FUNCTION()) {
    return key && mayUse(cache, function);
}
} // namespace

// ---- The API ----------------------------------------------------------------------------------------------------

MprCache* mprCreateCache(int options) {
    if (!gc::admitMaking("mprCreateCache")) {
        return nullptr;
    }
    const bool shared = (options & MPR_CACHE_SHARED) != 0;
    MprCache* cache = shared ? caches.getShared(nullptr) : nullptr;
    if (!cache && (cache = makeCache()) && shared) {
        cache = caches.getShared(cache); // another thread may have been first
    }
    return cache;
}

void* mprDestroyCache(MprCache* cache) {
    if (mayUse(cache)) {
        caches.disown(cache);
        clear(cache);
    }
    return nullptr;
}

char* mprReadCache(MprCache* cache, cchar* key, MprTime* modified, int64* version) {
    return mayUseItem(cache, key) ? read(cache, key, modified, version, true) : nullptr;
}

char* mprLookupCache(MprCache* cache, cchar* key, MprTime* modified, int64* version) {
    return mayUseItem(cache, key) ? read(cache, key, modified, version, false) : nullptr;
}

ssize mprWriteCache(MprCache* cache, cchar* key, cchar* value, MprTime modified, MprTicks lifespan, int64 version,
                    int options) {
    constexpr int modes = MPR_CACHE_ADD | MPR_CACHE_APPEND | MPR_CACHE_PREPEND;
    if (!mayUseItem(cache, key) || !value || (options & ~modes) || (options & (options - 1))) {
        return MPR_ERR_BAD_ARGS;
    }
    Change change{value, std::strlen(value), modified, lifespan, version, options};
    const int result = write(cache, key, change);
    return result == 0 ? static_cast<ssize>(change.length) : result;
}

int64 mprIncCache(MprCache* cache, cchar* key, int64 amount) {
    if (!mayUseItem(cache, key)) {
        return 0;
    }
    Change change{nullptr, 0, 0, 0, 0, 0, true, amount};
    return write(cache, key, change) == 0 ? change.sum : 0;
}

bool mprRemoveCache(MprCache* cache, cchar* key) {
    return mayUseItem(cache, key) && expire(cache, key, 0);
}

int mprExpireCacheItem(MprCache* cache, cchar* key, MprTicks expires) {
    return mayUseItem(cache, key) && expire(cache, key, expires) ? 0 : MPR_ERR_CANT_FIND;
}

void mprPruneCache(MprCache* cache) {
    if (!gc::admitRunning("mprPruneCache")) {
        return;
    }
    MprCache* meant = cache ? cache : caches.getShared(nullptr);
    if (meant) {
        clear(meant);
    }
}

void mprSetCacheLimits(MprCache* cache, int64 keys, MprTicks lifespan, int64 memory, int resolution) {
    if (!mayUse(cache)) {
        return;
    }
    const auto limit = [](int64 number) {
        return number == 0 || static_cast<uint64>(number) > MprCache::unlimited ? MprCache::unlimited
                                                                                : static_cast<std::size_t>(number);
    };
    {
        os::Locked locked(cache->lock);
        cache->mostItems = keys < 0 ? cache->mostItems : limit(keys);
        cache->mostMemory = memory < 0 ? cache->mostMemory : limit(memory);
        cache->lifespan = lifespan < 0 ? cache->lifespan : lifespan;
        cache->resolution = resolution < 0    ? cache->resolution
                            : resolution == 0 ? MprCache::usualResolution
                                              : resolution;
    }
    trim(cache, stepsOfWrite);
    startTimer(cache);
}

void mprSetCacheNotify(MprCache* cache, MprCacheProc notify) {
    if (mayUse(cache)) {
        os::Locked locked(cache->lock);
        cache->notify = notify;
    }
}

int mprSetCacheLink(MprCache* cache, cchar* key, void* link) {
    if (!mayUseItem(cache, key)) {
        return MPR_ERR_CANT_FIND;
    }
    const Found item(cache, mpr::base::hashOfKey(key), key, mprGetTicks());
    if (item.get()) {
        base::setRef(item.get(), item->link, link);
    }
    return item.get() ? 0 : MPR_ERR_CANT_FIND;
}

void mprGetCacheStats(MprCache* cache, int* numKeys, ssize* mem) {
    std::size_t count = 0, memory = 0;
    if (mayUse(cache)) {
        os::Locked locked(cache->lock);
        count = cache->table.count();
        memory = cache->memory;
    }
    if (numKeys) {
        *numKeys = static_cast<int>(count);
    }
    if (mem) {
        *mem = static_cast<ssize>(memory);
    }
}
