// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/blocks.cpp - Allocation and references of each kind of block.
 */
#include "test/stress/oracle/blocks.hpp"

#include "test/stress/oracle/fault.hpp"
#include "test/stress/oracle/objects.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace oracle {

namespace {

template <class T>
T *as(const Record &record) {
    return static_cast<T *>(record.ptr);
}

int flagsOf(Kind kind) {
    return kind == Kind::barrier ? MPR_ALLOC_BARRIER : kind == Kind::noFree ? MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE : 0;
}

/* A block in the thread's context, without a call. NULL: not this kind. */
void *allocateInContext(Kind kind, size_t size, Random &random) {
    MprBlockKind what;
    MprContext *const context = mprGetContext();
    const MprManager manager = kind == Kind::leaf ? nullptr : managerOf(kind, random);
    const bool fits = context && (kind == Kind::leaf || kind == Kind::noFree) && size > 0;
    if (!fits || mprSetBlockKind(&what, manager, manager ? MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE : 0) != 0) {
        return nullptr;
    }
    return mprAllocInContext(context, size, &what);
}

void *allocateBytes(Kind kind, size_t size, bool hold, Random &random) {
    const bool zero = random.chance(25);
    const int flags = flagsOf(kind) | (zero ? MPR_ALLOC_ZERO : 0) | (hold ? MPR_ALLOC_HOLD : 0);
    void *ptr = zero || hold || random.chance(70) ? nullptr : allocateInContext(kind, size, random);
    if (ptr) {
        return ptr;
    }
    if (kind != Kind::leaf && random.chance(80)) {
        ptr = mprAllocManaged(size, managerOf(kind, random), flags);
    } else if (kind != Kind::leaf) {
        ptr = mprAllocMem(size, flags | MPR_ALLOC_MANAGER);
        if (ptr && mprSetManager(ptr, managerOf(kind, random)) != ptr) {
            fault("mprSetManager refuses a block with room for a manager");
        }
    } else {
        ptr = flags == 0 && random.chance(50) ? mprAlloc(size) : mprAllocMem(size, flags);
    }
    if (ptr && zero && !test::zeros(ptr, size)) {
        fault("a zeroed %s of %zu bytes is not zero", nameOf(kind), size);
    }
    return ptr;
}

void allocateTable(Record &record, const Shape &shape, Random &random) {
    record.size = sizeof(Table);
    record.ptr = allocateBytes(Kind::table, record.size, shape.hold, random);
    if (record.ptr) {
        setHead(record.ptr, record, 0);
        as<Table>(record)->row = static_cast<void **>(calloc(shape.count + 1, sizeof(void *)));
        as<Table>(record)->count = shape.count;
    }
}

constexpr size_t rangeSize = 1 << 20;
alignas(16) unsigned char range[rangeSize];
bool hasRange;
std::atomic<uint64_t> shortages{0};

void allocatePinned(Record &record, const Shape &shape, Random &random) {
    record.size = shape.size;
    const size_t alignment = size_t{16} << random.below(9);
    const int flags = (random.chance(25) ? MPR_ALLOC_ZERO : 0) | (shape.hold ? MPR_ALLOC_HOLD : 0);
    const bool inRange = hasRange && random.chance(30);
    if (!inRange && random.chance(20)) { // one of several, which die
        void *blocks[8] = {};
        mprAllocPinnedBatch(8, record.size, alignment, flags & ~MPR_ALLOC_HOLD, blocks);
        record.ptr = blocks[random.below(8)];
        if (record.ptr && shape.hold) {
            mprHold(record.ptr);
        }
    } else {
        record.ptr = inRange ? mprAllocPinnedIn("range", record.size, alignment, flags)
                             : mprAllocPinned(record.size, alignment, flags);
    }
    shortages += inRange && !record.ptr;
    if (reinterpret_cast<uintptr_t>(record.ptr) % alignment != 0 || (record.ptr && !mprIsPinned(record.ptr))) {
        fault("a pinned block of %zu bytes at %p has not an alignment of %zu, or is not pinned", record.size,
              record.ptr, alignment);
    }
    if (record.ptr && (flags & MPR_ALLOC_ZERO) && !test::zeros(record.ptr, record.size)) {
        fault("a zeroed pinned block of %zu bytes is not zero", record.size);
    }
    if (record.ptr) {
        fillPattern(record);
    }
}

/* A list of NULLs, or an empty table. */
void allocateContainer(Record &record, size_t count) {
    record.size = 1;
    if (record.kind == Kind::hash) {
        record.ptr = mprCreateHash(static_cast<int>(count), 0);
        return;
    }
    MprList *const list = mprCreateList(static_cast<int>(count), count % 2 ? MPR_LIST_STABLE : 0);
    if (list && count > 0) {
        mprSetItem(list, static_cast<int>(count) - 1, nullptr);
    }
    const bool whole = list && list->length == static_cast<int>(count);
    record.ptr = whole ? list : nullptr;
}

struct Key {
    char text[24];
    explicit Key(size_t at) { snprintf(text, sizeof(text), "%zu", at); }
};

bool storeInHash(Record &record, size_t at, void *value) {
    auto table = as<MprHash>(record);
    const Key key(at);
    if (value) {
        return mprAddKey(table, key.text, value) != nullptr;
    }
    mprRemoveKey(table, key.text);
    return true;
}

template <class T>
void allocateObject(Record &record, size_t count) {
    record.size = sizeof(T);
    auto object = mpr::make<T>(record);
    record.ptr = object;
    if (object) {
        try {
            object->row.resize(count);
        } catch (const std::bad_alloc &) {
            record.refs.resize(object->row.size());
        }
    }
}

void allocateElements(Record &record, size_t count) {
    auto made = mpr::makeArray<Element>(count + 1);
    record.size = made.size_bytes();
    record.ptr = made.data();
    if (record.ptr) {
        made[0].record = &record;
        made[0].serial = record.serial;
    }
}

void allocateBlock(Record &record, const Shape &shape, Random &random) {
    const size_t least = shape.kind == Kind::leaf ? 0 : sizeof(Head) + shape.count * sizeof(void *);
    record.size = shape.size < least ? least : shape.size;
    record.ptr = allocateBytes(shape.kind, record.size, shape.hold, random);
    if (record.ptr) {
        if (shape.kind != Kind::leaf) {
            setHead(record.ptr, record, shape.count);
            memset(static_cast<void *>(as<Head>(record)->fields()), 0, shape.count * sizeof(void *));
        }
        fillPattern(record);
    }
}

template <class T>
bool resizeVector(Record &record, size_t count) {
    auto &row = as<T>(record)->row;
    try {
        std::remove_reference_t<decltype(row)> other;
        other.reserve(count + 1);
        other.assign(row.begin(), row.begin() + static_cast<ptrdiff_t>(std::min(count, row.size())));
        other.resize(count);
        row.swap(other);
        if (!other.empty()) {
            memset(static_cast<void *>(other.data()), 0x11, other.size() * sizeof(Field));
        }
    } catch (const std::bad_alloc &) {
        return false;
    }
    return true;
}

bool resizeTable(Record &record, size_t count) {
    auto table = as<Table>(record);
    auto row = static_cast<void **>(calloc(count + 1, sizeof(void *)));
    memcpy(row, table->row, std::min(count, table->count) * sizeof(void *));
    void **const old = table->row;
    const size_t oldCount = table->count;
    table->row = row;
    table->count = count;
    memset(static_cast<void *>(old), 0x11, oldCount * sizeof(void *));
    free(old);
    return true;
}

void storeBarrier(Record &record, void **field, void *value, Random &random) {
    switch (random.below(5)) {
    case 4: // behind the barrier, and told
        __atomic_store_n(field, value, __ATOMIC_RELEASE);
        mprNoteChanged(field, field + 1);
        break;
    case 0: mprSetRefAt(field, value); break;
    case 1: mprSetRefs(record.ptr, field, &value, 1); break;
    default: mprSetRef(record.ptr, field, value); break;
    }
}

bool storeInMap(Record &record, uint64_t key, Any *value) {
    auto map = as<Map>(record);
    if (value) {
        return map->set(key, value);
    }
    map->remove(key);
    return true;
}

} // namespace

bool allocate(Record &record, const Shape &shape, Random &random) {
    record.kind = shape.kind;
    record.refs.assign(shape.kind == Kind::leaf ? 0 : shape.count, nullptr);
    switch (shape.kind) {
    case Kind::table: allocateTable(record, shape, random); break;
    case Kind::vector: allocateObject<VectorObject>(record, shape.count); break;
    case Kind::pmrVector: allocateObject<PmrObject>(record, shape.count); break;
    case Kind::elements: allocateElements(record, shape.count); break;
    case Kind::list:
    case Kind::hash: allocateContainer(record, shape.count); break;
    case Kind::pinned: allocatePinned(record, shape, random); break;
    case Kind::row:
        record.ptr = mpr::makeArray<Field>(shape.count).data();
        record.size = shape.count * sizeof(Field);
        break;
    case Kind::map:
        record.ptr = mpr::make<Map>();
        record.size = sizeof(Map);
        break;
    default: allocateBlock(record, shape, random); break;
    }
    if (!record.ptr) {
        return false;
    }
    if (reinterpret_cast<uintptr_t>(record.ptr) % (2 * sizeof(void *)) != 0 || !mprIsValid(record.ptr) ||
        mprGetBlockSize(record.ptr) < record.size) {
        fault("a new %s of %zu bytes at %p is misaligned, too short or no block", nameOf(record.kind), record.size,
              record.ptr);
    }
    record.held = shape.hold && (withPattern(shape.kind) || shape.kind == Kind::table);
    return true;
}

void *loadField(const Record &record, size_t at) {
    switch (record.kind) {
    case Kind::table: return as<Table>(record)->row[at];
    case Kind::vector: return as<VectorObject>(record)->row[at].get();
    case Kind::pmrVector: return as<PmrObject>(record)->row[at].get();
    case Kind::row: return as<Field>(record)[at].get();
    case Kind::elements: return as<Element>(record)[at].field.get();
    case Kind::map: return as<Map>(record)->find(at);
    case Kind::list: return mprGetItem(as<MprList>(record), static_cast<int>(at));
    case Kind::hash: return mprLookupKey(as<MprHash>(record), Key(at).text);
    default: return __atomic_load_n(as<Head>(record)->fields() + at, __ATOMIC_RELAXED);
    }
}

bool storeField(Record &record, size_t at, void *value, Random &random, bool fresh) {
    auto any = static_cast<Any *>(value);
    if (!fresh && (record.kind == Kind::table || record.kind == Kind::plain)) {
        mprPublish(value); // the store does not
    }
    switch (record.kind) {
    case Kind::table: __atomic_store_n(as<Table>(record)->row + at, value, __ATOMIC_RELAXED); break;
    case Kind::vector: as<VectorObject>(record)->row[at] = any; break;
    case Kind::pmrVector: as<PmrObject>(record)->row[at] = any; break;
    case Kind::row: as<Field>(record)[at] = any; break;
    case Kind::elements: as<Element>(record)[at].field = any; break;
    case Kind::map: return storeInMap(record, at, any);
    case Kind::list: mprSetItem(as<MprList>(record), static_cast<int>(at), value); break;
    case Kind::hash: return storeInHash(record, at, value);
    default: {
        void **const field = as<Head>(record)->fields() + at;
        if (fresh || record.kind == Kind::plain) {
            __atomic_store_n(field, value, __ATOMIC_RELAXED); // slices may read it while other threads run
        } else {
            storeBarrier(record, field, value, random);
        }
        break;
    }
    }
    return true;
}

void openRange(Random &random) {
    hasRange = random.chance(50) && mprAddPinnedRange("range", range, sizeof(range)) == 0;
    shortages = 0;
}

uint64_t rangeShortages() {
    return shortages;
}

bool resizeRow(Record &record, size_t count) {
    switch (record.kind) {
    case Kind::table: return resizeTable(record, count);
    case Kind::vector: return resizeVector<VectorObject>(record, count);
    case Kind::pmrVector: return resizeVector<PmrObject>(record, count);
    default: return false;
    }
}

void changeManager(const Record &record, Random &random) {
    if (mprSetManager(record.ptr, managerOf(record.kind, random)) != record.ptr) {
        fault("mprSetManager refuses a %s", nameOf(record.kind));
    }
}

void lookAt(const Record &record, bool fields) {
    const char *kind = nameOf(record.kind);
    if (record.freed > 0) {
        fault("MPR_MANAGE_FREE has been called for a %s that is alive", kind);
    }
    if (!mprIsValid(record.ptr)) {
        fault("a %s that is alive is no block any more", kind);
    }
    if (mprGetBlockSize(record.ptr) < record.size) {
        fault("a %s of %zu bytes that is alive has shrunk to %zu", kind, record.size, mprGetBlockSize(record.ptr));
    }
    if (withHead(record.kind) && !headIntact(record.ptr, record)) {
        fault("the head of a %s that is alive is overwritten", kind);
    }
    if (withPattern(record.kind) && !patternIntact(record, record.size)) {
        fault("the contents of a %s that is alive are overwritten", kind);
    }
    for (size_t at = 0; fields && at < record.refs.size(); at++) {
        const Record *target = record.refs[at];
        if (loadField(record, at) != (target ? target->ptr : nullptr)) {
            fault("reference %zu of %zu of a %s that is alive is not what was stored", at, record.refs.size(), kind);
        }
    }
}

} // namespace oracle
