// SPDX-License-Identifier: MIT
/*
    hash.cpp - Hash tables.

    An entry is a block of its own, so that pointers to it stay valid. The table refers to two arrays: `entries`, in the
    order of addition with gaps where keys were removed, which is what the collector marks and iteration follows; and
    the index, open addressing with linear probing, which marks nothing: its pointers are those of `entries` once more,
    and one that was replaced keeps them for those who still read it. When either is full the gaps are closed or a fresh
    pair replaces both. A table of one user has no index while it has few entries: they are compared one by one, which
    takes less than a hash.

    Lookups take no lock. They read an index that was complete when it was published. Within one, a slot goes from empty
    to a key to removed to another key, and to empty only where no probe goes on behind it. A lookup that meets a slot
    in use again may miss the key that came or the one that went, as if it had run before or after. What it finds was in
    the table at that moment, and stays a block until its thread yields.
 */
#include "mpr/hash.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>

#include "mpr/barrier.h"
#include "mpr/base/guard.hpp"
#include "mpr/base/hash.hpp"
#include "mpr/base/references.hpp"
#include "mpr/base/siphash.hpp"
#include "mpr/format.h"
#include "mpr/gc/census.hpp"
#include "mpr/gc/shortage.hpp"
#include "mpr/gc/unmarked.hpp"
#include "mpr/list.h"
#include "mpr/lock.h"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"

using mpr::base::Guard;
using mpr::base::mayUse;
using mpr::base::References;
using mpr::base::referring;
using mpr::base::Unguarded;
namespace os = mpr::os;

namespace {

using Hash = std::uintptr_t;

// ---- The index --------------------------------------------------------------------------------------------------

struct Slot {
    Hash hash;   // valid once there is a key
    MprKey* key; // nullptr: never used
};

struct alignas(Slot) Index {
    std::size_t mask; // slots - 1: slots are a power of two

    Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
};

void manageIndex(void*, int) {}
const mpr::gc::ManagerName namedIndex(manageIndex, "MprHash's index");
const mpr::gc::UnmarkedBlock unmarkedIndex(manageIndex);

constexpr std::size_t leastSlots = 8;
constexpr int fewKeys = 8; // of a table that needs no index
constexpr std::size_t mostSlots = std::size_t{1} << (sizeof(void*) == 8 ? 30 : 26);

/** Keys, present or removed, that an index of so many slots takes: never all, so that a probe ends. */
constexpr int capacityOf(std::size_t slots) {
    return static_cast<int>(slots / 4 * 3);
}

/** Stands in a slot whose key was removed. */
MprKey* removedMark() {
    return reinterpret_cast<MprKey*>(alignof(MprKey));
}

MprKey* keyIn(const Slot& slot) {
    return __atomic_load_n(&slot.key, __ATOMIC_ACQUIRE);
}

/**
    Put a key into the first slot that is empty or, with `reuse`, whose key was removed. A key that is there already
    must not be overtaken by another entry of its name: for that, only an empty slot will do.
    @return Whether the slot was empty.
 */
bool fill(Index* index, Hash hash, MprKey* key, bool reuse) {
    std::size_t at = hash & index->mask;
    MprKey* there;
    while ((there = keyIn(index->slots()[at])) && !(reuse && there == removedMark())) {
        at = (at + 1) & index->mask;
    }
    Slot& slot = index->slots()[at];
    __atomic_store_n(&slot.hash, hash, __ATOMIC_RELAXED);
    __atomic_store_n(&slot.key, key, __ATOMIC_RELEASE);
    return there == nullptr;
}

// ---- The table --------------------------------------------------------------------------------------------------

/** What stands behind the public part. */
struct Table : MprHash {
    void** entries; // of MprKey
    Index* index;   // with the entries, or none: see fewKeys
    int used;       // entries in use, gaps included
    int slotsUsed;  // slots of the index in use, removed ones included
    int first;      // before this there are only gaps
    unsigned changes;
    os::Lock lock;

    bool caseless() const { return (flags & MPR_HASH_CASELESS) != 0; }
    bool managedKeys() const { return (flags & MPR_HASH_STATIC_KEYS) == 0; }
    bool managedValues() const { return (flags & MPR_HASH_STATIC_VALUES) == 0; }
    bool isShared() const { return (flags & MPR_HASH_STABLE) == 0; }
    /** Whether its keys are found by their hashes. Of a shared table the index says it, and may come meanwhile. */
    bool hashes() const { return isShared() || index; }

    void countChange() { __atomic_store_n(&changes, changes + 1, __ATOMIC_RELEASE); }
    MprKey* entry(int i) const { return static_cast<MprKey*>(entries[i]); }
};

/** One that several threads may use has room for the lock that programs take. */
struct SharedTable : Table {
    MprMutex programs;
};

Table* whole(MprHash* table) {
    return static_cast<Table*>(table);
}

class Changing : public Guard {
public:
    explicit Changing(Table* table) : Guard(table->lock, table->isShared()) {}
};

void manageHash(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* table = static_cast<Table*>(ptr);
        mprMarkRef(&table->entries);
        mprMarkRef(&table->index);
        if (table->mutex != &static_cast<SharedTable*>(table)->programs) {
            mprMarkRef(&table->mutex); // the program has set one of its own
        }
    }
}
const mpr::gc::ManagerName namedHash(manageHash, "MprHash");

/** An entry does not know its table: what is managed in it is known by which manager it has. */
template <bool managedKey, bool managedValue>
void manageKey(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* key = static_cast<MprKey*>(ptr);
        if constexpr (managedKey) {
            mprMarkRef(&key->key);
        }
        if constexpr (managedValue) {
            mprMarkRef(&key->data);
        }
    }
}
const mpr::gc::ManagerName namedKeys[] = {
    {manageKey<true, true>, "MprKey"}, {manageKey<true, false>, "MprKey"}, {manageKey<false, true>, "MprKey"}};

MprKey* allocateEntry(const Table* table) {
    MprManager manager = table->managedKeys()
                             ? (table->managedValues() ? manageKey<true, true> : manageKey<true, false>)
                             : manageKey<false, true>;
    void* block = table->managedKeys() || table->managedValues() ? mprAllocManaged(sizeof(MprKey), manager, referring)
                                                                 : mprAlloc(sizeof(MprKey));
    return static_cast<MprKey*>(block);
}

// ---- Hashing and comparing --------------------------------------------------------------------------------------

mpr::base::SipKey processKey;
constinit std::atomic<bool> processKeyDrawn{false};
os::Lock processKeyLock;

void drawProcessKey() {
    os::Locked locked(processKeyLock);
    if (!processKeyDrawn.load(std::memory_order_relaxed)) {
        os::seed(&processKey, sizeof(processKey));
        processKeyDrawn.store(true, std::memory_order_release);
    }
}

void ensureProcessKey() {
    if (!processKeyDrawn.load(std::memory_order_acquire)) {
        drawProcessKey();
    }
}

Hash hashOf(const Table* table, const char* text, std::size_t length) {
    using namespace mpr::base;
    return static_cast<Hash>(table->caseless() ? SipHash<Small>::of(processKey, text, length)
                                               : SipHash<AsIs>::of(processKey, text, length));
}

constexpr char small(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool matches(const Table* table, const char* one, const char* other) {
    if (!table->caseless()) {
        return std::strcmp(one, other) == 0;
    }
    while (small(*one) == small(*other)) {
        if (*one == '\0') {
            return true;
        }
        ++one;
        ++other;
    }
    return false;
}

/** Where a key is. Without the lock it may be removed before one looks at it again. */
struct Found {
    MprKey* key; // nullptr: there is none of that name
    Slot* slot;  // nullptr: the table has no index
};

/** Look for a key in the index. */
Found findByHash(const Table* table, Hash hash, const char* text) {
    Index* index = __atomic_load_n(&table->index, __ATOMIC_ACQUIRE);
    if (!index) {
        return {};
    }
    for (std::size_t at = hash & index->mask;; at = (at + 1) & index->mask) {
        Slot& slot = index->slots()[at];
        MprKey* key = keyIn(slot);
        if (!key) {
            return {};
        }
        if (__atomic_load_n(&slot.hash, __ATOMIC_RELAXED) == hash && key != removedMark() &&
            matches(table, __atomic_load_n(&key->key, __ATOMIC_ACQUIRE), text)) {
            return {key, &slot};
        }
    }
}

/** Look for a key among the entries, of which there are few. */
Found findByName(const Table* table, const char* text) {
    for (int i = table->first; i < table->used; ++i) {
        MprKey* key = table->entry(i);
        if (key && matches(table, key->key, text)) {
            return {key, nullptr};
        }
    }
    return {};
}

/** The hash of a key, where keys are found by it; else 0. */
Hash hashFor(const Table* table, const char* text) {
    return table->hashes() ? hashOf(table, text, std::strlen(text)) : 0;
}

/** @param hash See hashFor. */
Found find(const Table* table, Hash hash, const char* text) {
    return table->hashes() ? findByHash(table, hash, text) : findByName(table, text);
}

// ---- Growing and shrinking --------------------------------------------------------------------------------------

struct Arrays {
    void** entries = nullptr; // nullptr: there was no memory
    Index* index = nullptr;
    int capacity = 0; // keys that they take
};

/** Slots for a table of `live` keys with room for half as many more. */
std::size_t slotsFor(int live) {
    return std::max(leastSlots, std::bit_ceil(static_cast<std::size_t>(live) * 2));
}

/** Empty arrays, with an index of so many slots. */
Arrays allocateArrays(std::size_t slots) {
    if (slots > mostSlots) {
        return {};
    }
    void** entries = mpr::base::allocateReferences(capacityOf(slots), true).items;
    const std::size_t size = sizeof(Index) + slots * sizeof(Slot);
    auto* index =
        static_cast<Index*>(entries ? mprAllocManaged(size, manageIndex, referring | MPR_ALLOC_ZERO) : nullptr);
    if (!index) {
        return {};
    }
    index->mask = slots - 1;
    return {entries, index, capacityOf(slots)};
}

/** Empty arrays for a table that has so many keys and is to take more. */
Arrays allocateArraysFor(const Table* table, int live) {
    if (table->hashes() || live >= fewKeys) {
        return allocateArrays(slotsFor(live));
    }
    return {mpr::base::allocateReferences(fewKeys, true).items, nullptr, fewKeys};
}

/** Close the gaps of the entries. @param gone A key just removed: iteration goes on behind it. */
int copyEntries(const Table* table, void** to, MprKey* gone) {
    int count = 0;
    for (int i = table->first; i < table->used; ++i) {
        if (gone && gone->position == i) {
            gone->position = count - 1;
            gone = nullptr;
        }
        if (MprKey* key = table->entry(i)) {
            key->position = count;
            to[count++] = key;
        }
    }
    if (gone && gone->position < table->first) {
        gone->position = -1;
    }
    return count;
}

/** Keys of one hash keep their order: the walk begins behind an empty slot, so that it meets them as a probe does. */
void copyIndex(Index* from, Index* to) {
    std::size_t start = 0;
    while (keyIn(from->slots()[start])) {
        ++start;
    }
    for (std::size_t i = 0; i <= from->mask; ++i) {
        const Slot& slot = from->slots()[(start + i) & from->mask];
        if (MprKey* key = keyIn(slot); key && key != removedMark()) {
            fill(to, slot.hash, key, false);
        }
    }
}

/** Fill the first index of a table. */
void makeIndex(const Table* table, Index* to) {
    for (int i = table->first; i < table->used; ++i) {
        if (MprKey* key = table->entry(i)) {
            fill(to, hashOf(table, key->key, std::strlen(key->key)), key, false);
        }
    }
}

/** Replace the table's arrays by fresh ones. The guard is held. */
void adopt(Table* table, const Arrays& fresh, MprKey* gone) {
    void** oldEntries = table->entries;
    Index* oldIndex = table->index;
    if (oldIndex) {
        copyIndex(oldIndex, fresh.index);
    } else if (fresh.index) {
        makeIndex(table, fresh.index);
    }
    const int count = oldEntries ? copyEntries(table, fresh.entries, gone) : 0;
    mpr::base::setRef(table, table->entries, fresh.entries);
    mpr::base::setRef(table, table->index, fresh.index);
    table->used = count;
    table->slotsUsed = fresh.index ? count : 0;
    table->first = 0;
    table->size = fresh.capacity;
    table->countChange();
    if (!table->isShared()) {
        mprFree(oldEntries); // elsewhere a reader may be in them
        mprFree(oldIndex);
    }
}

bool isFull(const Table* table) {
    return table->used >= table->size || table->slotsUsed >= table->size;
}

/** Close the gaps of the entries where they are. The index does not know positions. */
void closeGaps(Table* table) {
    void** entries = table->entries;
    const bool many = mpr::base::takesMany(entries);
    int count = 0;
    for (int i = table->first; i < table->used; ++i) {
        MprKey* key = table->entry(i);
        if (key && i != count) {
            key->position = count;
            many ? mpr::base::storeReference(entries + count, key) : mpr::base::setRef(entries, entries[count], key);
            mpr::base::storeReference(entries + i, nullptr);
        }
        count += key != nullptr;
    }
    mpr::base::storedMany(entries);
    table->used = count;
    table->first = 0;
}

/** Close gaps by a copy into a fresh array. The guard is held. */
void closeGaps(Table* table, References fresh) {
    void** old = table->entries;
    table->used = copyEntries(table, fresh.items, nullptr);
    table->first = 0;
    mpr::base::setRef(table, table->entries, fresh.items);
    if (!table->isShared()) {
        mprFree(old);
    }
}

/**
    Whether it is the array of entries that is full, with gaps for a quarter of all: closing them costs as many
    additions little. Of few entries, with any.
 */
bool hasGaps(const Table* table) {
    const int most = table->hashes() ? table->size / 4 * 3 : table->size - 1;
    return isFull(table) && table->slotsUsed < table->size && table->length <= most;
}

/** Close them. The guard is left meanwhile when that takes a fresh array. */
void makeGapless(Table* table, Guard& guard) {
    References fresh;
    if (!mpr::base::takesMany(table->entries)) {
        const int size = table->size;
        Unguarded unguarded(guard);
        fresh = mpr::base::allocateReferences(size, true);
    }
    if (!hasGaps(table)) {
        return;
    }
    if (fresh.capacity >= table->size) {
        closeGaps(table, fresh);
    } else {
        closeGaps(table);
    }
}

/** Have room for one more entry. The guard is left meanwhile. */
bool ensureRoom(Table* table, Guard& guard) {
    while (isFull(table)) {
        if (hasGaps(table)) {
            makeGapless(table, guard);
            continue;
        }
        const int live = table->length;
        Arrays fresh;
        {
            Unguarded unguarded(guard);
            fresh = allocateArraysFor(table, live);
        }
        if (!fresh.entries) {
            return false;
        }
        if (isFull(table) && table->length < fresh.capacity) {
            adopt(table, fresh, nullptr);
        }
    }
    return true;
}

/** After a removal: give memory back when little of it is in use, and space when nothing is. */
void tidy(Table* table, MprKey* gone, Guard& guard) {
    constexpr int little = 24;
    if (table->size > little && table->length < table->size / 8) {
        const std::size_t slots = slotsFor(table->length);
        Arrays fresh;
        {
            Unguarded unguarded(guard);
            const mpr::gc::Optional optional;
            fresh = allocateArrays(slots);
        }
        if (fresh.entries && table->length < fresh.capacity && fresh.capacity < table->size) {
            adopt(table, fresh, gone);
        }
    } else if (table->length == 0 && table->used > table->size / 2) {
        for (std::size_t i = 0; table->index && i <= table->index->mask; ++i) {
            __atomic_store_n(&table->index->slots()[i].key, nullptr, __ATOMIC_RELEASE);
        }
        table->used = table->slotsUsed = table->first = 0;
        gone->position = -1;
    }
}

// ---- Adding and removing ----------------------------------------------------------------------------------------

enum class Mode { replace, unique, duplicate };

void setLength(Table* table, int length) {
    __atomic_store_n(&table->length, length, __ATOMIC_RELAXED);
    table->countChange();
}

void setValue(const Table* table, MprKey* entry, const void* value) {
    if (table->managedValues()) {
        mpr::base::setRef(entry, entry->data, value);
    } else {
        __atomic_store_n(&entry->data, value, __ATOMIC_RELEASE);
    }
}

/** The key exists. A static one may have been part of the value that goes. */
MprKey* update(const Table* table, MprKey* entry, const char* text, const void* value, Mode mode) {
    if (mode == Mode::unique) {
        return nullptr;
    }
    setValue(table, entry, value);
    if (!table->managedKeys()) {
        __atomic_store_n(&entry->key, const_cast<char*>(text), __ATOMIC_RELEASE);
    }
    return entry;
}

MprKey* makeEntry(const Table* table, const char* text, std::size_t length, const void* value) {
    MprKey* entry = allocateEntry(table);
    if (!entry) {
        return nullptr;
    }
    // No yield has come since: plain stores.
    entry->key = table->managedKeys() ? static_cast<char*>(mprMemdup(text, length + 1)) : const_cast<char*>(text);
    entry->data = value;
    entry->type = 0;
    if (!entry->key) {
        mprFree(entry);
        return nullptr;
    }
    return entry;
}

void append(Table* table, Hash hash, MprKey* entry, Mode mode) {
    const int position = table->used++;
    entry->position = position;
    mpr::base::setRef(table->entries, table->entries[position], entry);
    if (table->index) {
        table->slotsUsed += fill(table->index, hash, entry, mode != Mode::duplicate);
    }
    setLength(table, table->length + 1);
}

MprKey* add(Table* table, const char* text, const void* value, Mode mode) {
    const std::size_t length = std::strlen(text);
    const bool hashed = table->hashes();
    Hash hash = hashed ? hashOf(table, text, length) : 0;
    const unsigned seen = __atomic_load_n(&table->changes, __ATOMIC_ACQUIRE);
    const auto existing = [&] { return mode != Mode::duplicate ? find(table, hash, text).key : nullptr; };
    if (MprKey* there = existing()) {
        return update(table, there, text, value, mode);
    }
    MprKey* entry = makeEntry(table, text, length, value);
    if (!entry) {
        return nullptr;
    }
    Changing guard(table);
    if (!ensureRoom(table, guard)) {
        mprFree(entry->key == text ? nullptr : entry->key);
        mprFree(entry);
        return nullptr;
    }
    if (!hashed && table->index) { // the table has just got one
        hash = hashOf(table, text, length);
    }
    if (MprKey* there = table->changes != seen ? existing() : nullptr) {
        return update(table, there, text, value, mode); // another thread was faster; what was made is garbage
    }
    append(table, hash, entry, mode);
    return entry;
}

/** Mark a slot as removed; or as empty where no probe goes on behind it, and so those before it that were marked. */
void clear(Table* table, Slot* slot) {
    __atomic_store_n(&slot->key, removedMark(), __ATOMIC_RELEASE);
    Index* index = table->index;
    auto at = static_cast<std::size_t>(slot - index->slots());
    if (keyIn(index->slots()[(at + 1) & index->mask])) {
        return;
    }
    while (keyIn(index->slots()[at]) == removedMark()) {
        __atomic_store_n(&index->slots()[at].key, nullptr, __ATOMIC_RELEASE);
        --table->slotsUsed;
        at = (at - 1) & index->mask;
    }
}

void remove(Table* table, Found found, Guard& guard) {
    MprKey* entry = found.key;
    if (found.slot) {
        clear(table, found.slot);
    }
    mpr::base::storeReference(table->entries + entry->position, nullptr); // makes nothing reachable
    while (table->first < table->used && !table->entries[table->first]) {
        ++table->first;
    }
    setLength(table, table->length - 1);
    tidy(table, entry, guard);
}

/** Whether a call has what it needs; if not, it is named. */
bool complete(const char* function, const MprHash* table, const void* key) {
    if (table && key) {
        return mpr::gc::admitRunning(function);
    }
    os::Message message;
    os::log(os::Level::error, message << function << ": no " << (table ? "key" : "table"));
    return false;
}

/** All entries of one moment, in order. */
bool copyEntries(Table* table, References& copy, int& count) {
    Changing guard(table);
    while (table->length > copy.capacity || !copy.items) {
        const int length = table->length;
        Unguarded unguarded(guard);
        copy = mpr::base::allocateReferences(std::max(length, 1), true);
        if (!copy.items) {
            return false;
        }
    }
    count = 0;
    for (int i = table->first; i < table->used; ++i) {
        if (void* entry = table->entries[i]) {
            copy.items[count++] = entry;
        }
    }
    return true;
}

/** Add the entries of one table to another. @return to, or nullptr when memory is short. */
MprHash* addAll(MprHash* to, MprHash* from, Mode mode) {
    References copy;
    int count = 0;
    if (!to || !copyEntries(whole(from), copy, count)) {
        return nullptr;
    }
    for (int i = 0; i < count; ++i) {
        const auto* entry = static_cast<const MprKey*>(copy.items[i]);
        MprKey* added = add(whole(to), entry->key, entry->data, mode);
        if (!added) {
            return nullptr;
        }
        added->type = entry->type;
    }
    mprFree(copy.items);
    return to;
}
} // namespace

std::size_t mpr::base::hashOfKey(std::string_view text) {
    ensureProcessKey();
    return static_cast<std::size_t>(SipHash<AsIs>::of(processKey, text.data(), text.size()));
}

unsigned long long mprHashText(const char* text, size_t length) {
    return mpr::base::hashOfKey({text, length});
}

// ---- The API ----------------------------------------------------------------------------------------------------

MprHash* mprCreateHash(int hashSize, int flags) {
    ensureProcessKey();
    const bool shared = (flags & MPR_HASH_STABLE) == 0;
    auto* table = static_cast<Table*>(
        mprAllocManaged(shared ? sizeof(SharedTable) : sizeof(Table), manageHash, referring | MPR_ALLOC_ZERO));
    if (table) {
        table->flags = flags;
        table->mutex = shared ? &static_cast<SharedTable*>(table)->programs : nullptr;
        if (hashSize > 0) {
            const auto keys = std::min(static_cast<std::size_t>(hashSize), mostSlots / 2);
            const auto slots = std::max(leastSlots, std::bit_ceil(keys / 3 * 4 + 4));
            const Arrays fresh = !shared && hashSize <= fewKeys ? allocateArraysFor(table, 0) : allocateArrays(slots);
            if (!fresh.entries) {
                return nullptr;
            }
            adopt(table, fresh, nullptr);
        }
    }
    return table;
}

MprHash* mprCloneHash(MprHash* table) {
    return mayUse(table) ? addAll(mprCreateHash(mprGetHashLength(table), table->flags), table, Mode::duplicate)
                         : nullptr;
}

MprHash* mprBlendHash(MprHash* target, MprHash* other) {
    return mayUse(target) && other ? addAll(target, other, Mode::replace) : target;
}

MprKey* mprAddKey(MprHash* table, cvoid* key, cvoid* ptr) {
    if (!complete("mprAddKey", table, key)) {
        return nullptr;
    }
    const bool unique = (table->flags & MPR_HASH_UNIQUE) != 0;
    return add(whole(table), static_cast<const char*>(key), ptr, unique ? Mode::unique : Mode::replace);
}

MprKey* mprAddKeyWithType(MprHash* table, cvoid* key, cvoid* ptr, int type) {
    MprKey* entry = mprAddKey(table, key, ptr);
    if (entry) {
        entry->type = type;
    }
    return entry;
}

MprKey* mprAddKeyFmt(MprHash* table, cvoid* key, cchar* fmt, ...) {
    if (!complete("mprAddKeyFmt", table, key)) {
        return nullptr;
    }
    if (!whole(table)->managedValues()) {
        os::Message message;
        os::log(os::Level::error, message << "mprAddKeyFmt: the table does not retain values (MPR_HASH_STATIC_VALUES)");
        return nullptr;
    }
    va_list args;
    va_start(args, fmt);
    const char* text = sfmtv(fmt, args);
    va_end(args);
    return text ? mprAddKey(table, key, text) : nullptr;
}

MprKey* mprAddDuplicateKey(MprHash* table, cvoid* key, cvoid* ptr) {
    return complete("mprAddDuplicateKey", table, key)
               ? add(whole(table), static_cast<const char*>(key), ptr, Mode::duplicate)
               : nullptr;
}

int mprRemoveKey(MprHash* table, cvoid* key) {
    if (!mayUse(table) || !key) {
        return MPR_ERR_CANT_FIND;
    }
    const auto* text = static_cast<const char*>(key);
    const Hash hash = hashFor(whole(table), text);
    Changing guard(whole(table));
    const Found found = find(whole(table), hash, text);
    if (!found.key) {
        return MPR_ERR_CANT_FIND;
    }
    remove(whole(table), found, guard);
    return 0;
}

MprKey* mprLookupKeyEntry(MprHash* table, cvoid* key) {
    const auto* text = static_cast<const char*>(key);
    return mayUse(table) && key ? find(whole(table), hashFor(whole(table), text), text).key : nullptr;
}

void* mprLookupKey(MprHash* table, cvoid* key) {
    const MprKey* entry = mprLookupKeyEntry(table, key);
    return entry ? const_cast<void*>(__atomic_load_n(&entry->data, __ATOMIC_ACQUIRE)) : nullptr;
}

int mprGetHashLength(MprHash* table) {
    return mayUse(table) ? __atomic_load_n(&table->length, __ATOMIC_RELAXED) : 0;
}

MprKey* mprGetFirstKey(MprHash* table) {
    return mayUse(table) ? mprGetNextKey(table, nullptr) : nullptr;
}

MprKey* mprGetNextKey(MprHash* table, MprKey* last) {
    if (!mayUse(table)) {
        return nullptr;
    }
    const Table* t = whole(table);
    Changing guard(whole(table));
    for (int i = std::max(last ? last->position + 1 : 0, t->first); i < t->used; ++i) {
        if (MprKey* entry = t->entry(i)) {
            return entry;
        }
    }
    return nullptr;
}

namespace {
/** Join keys or values. @param text What of an entry. */
char* joinEntries(MprHash* hash, cchar* join, cchar* (*text)(const MprKey*),
                  const char* function = __builtin_FUNCTION()) {
    References copy;
    int count = 0;
    // The entries stay while this thread does not yield.
    MprList* texts = mayUse(hash, function)
                         ? mprCreateList(mprGetHashLength(hash), MPR_LIST_STABLE | MPR_LIST_STATIC_VALUES)
                         : nullptr;
    if (!texts || !copyEntries(whole(hash), copy, count)) {
        return nullptr;
    }
    for (int i = 0; i < count; ++i) {
        if (mprAddItem(texts, text(static_cast<const MprKey*>(copy.items[i]))) < 0) {
            return nullptr;
        }
    }
    mprFree(copy.items);
    return mprListToString(texts, join);
}
} // namespace

char* mprHashKeysToString(MprHash* hash, cchar* join) {
    return joinEntries(hash, join, [](const MprKey* entry) -> cchar* { return entry->key; });
}

char* mprHashToString(MprHash* hash, cchar* join) {
    return joinEntries(hash, join, [](const MprKey* entry) {
        const auto* value = static_cast<cchar*>(entry->data);
        return value ? value : "";
    });
}

MprHash* mprCreateHashFromWords(cchar* str) {
    MprList* words = mprCreateListFromWords(str);
    MprHash* table = words ? mprCreateHash(mprGetListLength(words), 0) : nullptr;
    for (int i = 0; table && i < mprGetListLength(words); ++i) {
        const void* word = mprGetItem(words, i);
        if (!mprAddKey(table, word, word)) {
            return nullptr;
        }
    }
    return table;
}
