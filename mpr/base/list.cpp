// SPDX-License-Identifier: MIT
/*
    list.cpp - Lists.

    A list block refers to an array block, which refers to the items. Both are barrier blocks, marked while other threads
    run: the array's manager takes its length from the size of its block, whose slack is always NULL; a static list's array
    is a leaf. An array only ever grows, by a larger copy that replaces it. The copy is published before a length that
    needs it, so a reader that takes length first and array second needs no lock.
 */
#include "mpr/list.h"

#include <climits>
#include <cstring>

#include "mpr/barrier.h"
#include "mpr/base/guard.hpp"
#include "mpr/base/references.hpp"
#include "mpr/base/string.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/gc/shortage.hpp"
#include "mpr/lock.h"
#include "mpr/memory.h"
#include "mpr/string.h"

using mpr::base::Guard;
using mpr::base::makeReferring;
using mpr::base::mayUse;
using mpr::base::References;
using mpr::base::referring;
using mpr::base::Unguarded;

namespace {

/** What stands behind the public part. */
struct List : MprList {
    mpr::os::Lock lock;
    unsigned changes; // counted under the lock, for mprSortList

    bool isStatic() const { return (flags & MPR_LIST_STATIC_VALUES) != 0; }
    bool isShared() const { return (flags & MPR_LIST_STABLE) == 0; }
};

/** One that several threads may use has room for the lock that programs take. */
struct SharedList : List {
    MprMutex programs;
};

List* whole(MprList* list) {
    return static_cast<List*>(list);
}

class Changing : public Guard {
public:
    explicit Changing(List* list) : Guard(list->lock, list->isShared()) {}
};

// ---- The fields as other threads see them -----------------------------------------------------------------------

int lengthOf(const MprList* list) {
    return __atomic_load_n(&list->length, __ATOMIC_ACQUIRE);
}

void setLength(List* list, int length) {
    __atomic_store_n(&list->length, length, __ATOMIC_RELEASE);
    ++list->changes;
}

void** itemsOf(const MprList* list) {
    return __atomic_load_n(&list->items, __ATOMIC_ACQUIRE);
}

/** The item at index, which must be below a length read before. */
void* itemAt(const MprList* list, int index) {
    return __atomic_load_n(itemsOf(list) + index, __ATOMIC_ACQUIRE);
}

void store(List* list, int index, const void* item) {
    if (list->isStatic()) {
        mpr::base::storeReference(list->items + index, const_cast<void*>(item));
    } else {
        mpr::base::setRef(list->items, list->items[index], const_cast<void*>(item));
    }
}

/** Move items within the array, as memmove. */
void move(List* list, int to, int from, int count) {
    void** items = list->items;
    if (!list->isStatic()) {
        mpr::base::moveReferences(items, to, from, count);
    } else if (!list->isShared()) {
        std::memmove(items + to, items + from, static_cast<std::size_t>(count) * sizeof(void*));
    } else {
        mpr::base::moveUntold(items, to, from, count);
    }
}

/** NULL what is behind a new, smaller length, and set that. */
void shorten(List* list, int length) {
    for (int i = length; i < list->length; ++i) {
        mpr::base::storeReference(list->items + i, nullptr); // makes nothing reachable
    }
    setLength(list, length);
}

// ---- Managers ---------------------------------------------------------------------------------------------------

void manageList(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* list = static_cast<List*>(ptr);
        mprMarkRef(&list->items);
        if (list->mutex != &static_cast<SharedList*>(list)->programs) {
            mprMarkRef(&list->mutex); // the program has set one of its own
        }
    }
}
const mpr::gc::ManagerName namedList(manageList, "MprList");

// ---- Growth -----------------------------------------------------------------------------------------------------

/** An array of NULLs for at least count items. */
References allocateArray(const List* list, int count) {
    return mpr::base::allocateReferences(count, !list->isStatic());
}

/** Make a larger array that of the list. */
void adopt(List* list, References fresh) {
    void** old = list->items;
    if (old) {
        std::memcpy(fresh.items, old, static_cast<std::size_t>(list->length) * sizeof(void*));
    }
    mpr::base::setRef(list, list->items, fresh.items);
    __atomic_store_n(&list->capacity, fresh.capacity, __ATOMIC_RELAXED);
    if (!list->isShared()) {
        mprFree(old); // elsewhere a reader may be in it
    }
}

/** Have room for count items. The guard is left meanwhile, so that all may have changed. @return 0 or an error. */
int ensure(List* list, int count, Guard& guard) {
    while (count > list->capacity) {
        const int doubled = list->capacity < INT_MAX / 2 ? 2 * list->capacity : INT_MAX;
        const int wanted = count > doubled ? (count > 4 ? count : 4) : doubled;
        References fresh;
        {
            Unguarded unguarded(guard);
            fresh = allocateArray(list, wanted);
        }
        if (!fresh.items) {
            return MPR_ERR_MEMORY;
        }
        if (fresh.capacity > list->capacity) {
            adopt(list, fresh);
        } else {
            mprFree(fresh.items); // another thread was faster
        }
    }
    return 0;
}

/**
    Before many items are moved: a fresh array, if into the present one each store would be told to the collector. The guard
    is left meanwhile, so that all may have changed. @return Whether it was.
 */
bool renew(List* list, int moved, Guard& guard) {
    constexpr int many = 64;
    if (moved < many || list->isStatic() || mpr::base::takesMany(list->items)) {
        return false;
    }
    References fresh;
    {
        const int capacity = list->capacity;
        Unguarded unguarded(guard);
        const mpr::gc::Optional optional;
        fresh = allocateArray(list, capacity);
    }
    if (fresh.capacity >= list->capacity) {
        adopt(list, fresh);
    }
    return true;
}

/** Room for count items, which the list must be allowed to have. */
int admit(List* list, int count, Guard& guard) {
    return count > list->maxSize ? MPR_ERR_TOO_MANY : ensure(list, count, guard);
}

/** Put an item at index, moving those from there on by one if it is to be inserted. Past the end NULLs come between. */
int put(List* list, int index, const void* item, bool insert, void** before) {
    if (index < 0 || index == INT_MAX) {
        return MPR_ERR_BAD_ARGS;
    }
    Changing guard(list);
    for (bool renewed = false;;) {
        const int length = list->length;
        const bool inside = index < length;
        if (inside && insert && length == INT_MAX) {
            return MPR_ERR_TOO_MANY;
        }
        const int needed = inside ? (insert ? length + 1 : length) : index + 1;
        if (needed > length && (needed > list->capacity || needed > list->maxSize)) {
            const int error = admit(list, needed, guard);
            if (error != 0) {
                return error;
            }
            continue; // what was read may have changed
        }
        if (insert && inside && !renewed && renew(list, length - index, guard)) {
            renewed = true;
            continue;
        }
        if (before) {
            *before = inside ? list->items[index] : nullptr;
        }
        if (insert && inside) {
            move(list, index + 1, index, length - index);
        }
        store(list, index, item);
        setLength(list, needed);
        return index;
    }
}

int add(List* list, const void* item) {
    Changing guard(list);
    while (list->length >= list->capacity || list->length >= list->maxSize) {
        const int error = list->length == INT_MAX ? MPR_ERR_TOO_MANY : admit(list, list->length + 1, guard);
        if (error != 0) {
            return error;
        }
    }
    const int index = list->length;
    store(list, index, item);
    setLength(list, index + 1);
    return index;
}

/** Indices of items to be removed; `begin` may be an error instead. */
struct Range {
    int begin, end;
};

/** Remove items. @param locate Says which, under the guard, and again when that was left. @return The first's index or an error. */
template <class Locate>
int removeItems(List* list, Locate locate) {
    Changing guard(list);
    Range range = locate();
    if (range.begin >= 0 && renew(list, list->length - range.end, guard)) {
        range = locate();
    }
    if (range.begin >= 0 && range.begin < range.end) {
        const int length = list->length;
        move(list, range.begin, range.end, length - range.end);
        shorten(list, length - (range.end - range.begin));
    }
    return range.begin;
}

/** The first index whose item satisfies a condition, or an error. */
template <class Condition>
int search(const MprList* list, Condition condition) {
    const int length = lengthOf(list);
    for (int i = 0; i < length; ++i) {
        if (condition(itemAt(list, i))) {
            return i;
        }
    }
    return MPR_ERR_CANT_FIND;
}

template <class Condition>
int removeFirst(List* list, Condition condition) {
    return removeItems(list, [&] {
        const int index = search(list, condition);
        return Range{index, index + 1};
    });
}

auto same(const void* item) {
    return [item](const void* candidate) { return candidate == item; };
}

auto sameText(const char* text) {
    return [text](const void* candidate) {
        return candidate && text && std::strcmp(static_cast<const char*>(candidate), text) == 0;
    };
}

/** A copy of the items in an array of its own, and their number: what the list was at one moment. */
struct Copy {
    References array;
    int length;
    unsigned changes;
};

bool copyItems(List* list, Copy& copy) {
    copy.array = {};
    Changing guard(list);
    while (list->length > copy.array.capacity || !copy.array.items) {
        const int length = list->length;
        Unguarded unguarded(guard);
        copy.array = allocateArray(list, length > 0 ? length : 1);
        if (!copy.array.items) {
            return false;
        }
    }
    copy.length = list->length;
    copy.changes = list->changes;
    if (copy.length > 0) {
        std::memcpy(copy.array.items, list->items, static_cast<std::size_t>(copy.length) * sizeof(void*));
    }
    return true;
}

/** Give the items another order. The guard is held, and the list still has the length of the copy. */
void replace(List* list, const Copy& copy) {
    for (int i = 0; i < copy.length; ++i) {
        store(list, i, copy.array.items[i]);
    }
    ++list->changes;
}

void managePair(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* pair = static_cast<MprKeyValue*>(ptr);
        mprMarkRef(&pair->key);
        mprMarkRef(&pair->value);
    }
}
const mpr::gc::ManagerName namedKeyValue(managePair, "MprKeyValue");

char* cloneText(const char* text) {
    return static_cast<char*>(mprMemdup(text, std::strlen(text) + 1));
}
} // namespace

// ---- Making -----------------------------------------------------------------------------------------------------

MprList* mprCreateList(int size, int flags) {
    const bool shared = (flags & MPR_LIST_STABLE) == 0;
    auto* list = static_cast<List*>(
        mprAllocManaged(shared ? sizeof(SharedList) : sizeof(List), manageList, referring | MPR_ALLOC_ZERO));
    if (list) {
        list->flags = flags;
        list->mutex = shared ? &static_cast<SharedList*>(list)->programs : nullptr;
        list->maxSize = INT_MAX;
        if (size > 0) {
            const References array = allocateArray(list, size);
            if (!array.items) {
                return nullptr;
            }
            adopt(list, array);
        }
    }
    return list;
}

MprList* mprCreateListFromWords(cchar* str) {
    constexpr const char* separators = " \t\r\n\v\f,";
    MprList* list = mprCreateList(0, 0);
    for (const char* at = str; list && at && *(at += std::strspn(at, separators)) != '\0';) {
        const std::size_t length = std::strcspn(at, separators);
        const char* word = mpr::base::newString(at, length);
        if (!word || mprAddItem(list, word) < 0) {
            return nullptr;
        }
        at += length;
    }
    return list;
}

MprList* mprCloneList(MprList* src) {
    return mayUse(src) ? mprAppendList(mprCreateList(0, src->flags), src) : nullptr;
}

int mprCopyListContents(MprList* dest, MprList* src) {
    if (!mayUse(dest) || !mayUse(src)) {
        return MPR_ERR_BAD_ARGS;
    }
    if (dest == src) {
        return 0;
    }
    mprClearList(dest);
    return mprAppendList(dest, src) ? 0 : MPR_ERR_MEMORY;
}

MprList* stolist(cchar* src) {
    return mprCreateListFromWords(src);
}

MprList* mprAppendList(MprList* list, MprList* add) {
    Copy copy;
    if (!mayUse(list) || (add && !copyItems(whole(add), copy))) {
        return nullptr;
    }
    if (!add || copy.length == 0) {
        return list;
    }
    Changing guard(whole(list));
    for (;;) {
        if (list->length > INT_MAX - copy.length || admit(whole(list), list->length + copy.length, guard) != 0) {
            return nullptr;
        }
        if (list->length <= list->capacity - copy.length) {
            break;
        }
    }
    for (int i = 0; i < copy.length; ++i) {
        store(whole(list), list->length + i, copy.array.items[i]);
    }
    setLength(whole(list), list->length + copy.length);
    mprFree(copy.array.items);
    return list;
}

int mprSetListLimits(MprList* list, int initialSize, int maxSize) {
    if (!mayUse(list)) {
        return MPR_ERR_BAD_ARGS;
    }
    Changing guard(whole(list));
    list->maxSize = maxSize > 0 ? maxSize : INT_MAX;
    return ensure(whole(list), initialSize, guard);
}

// ---- Changing ---------------------------------------------------------------------------------------------------

int mprAddItem(MprList* list, cvoid* item) {
    return mayUse(list) ? add(whole(list), item) : MPR_ERR_BAD_ARGS;
}

int mprPushItem(MprList* list, cvoid* item) {
    return mayUse(list) ? mprAddItem(list, item) : MPR_ERR_BAD_ARGS;
}

int mprAddNullItem(MprList* list) {
    if (!mayUse(list)) {
        return MPR_ERR_BAD_ARGS;
    }
    Changing guard(whole(list));
    while (list->length >= list->capacity) {
        const int error = list->length == INT_MAX ? MPR_ERR_TOO_MANY : ensure(whole(list), list->length + 1, guard);
        if (error != 0) {
            return error;
        }
    }
    return list->length; // behind the items all is NULL
}

int mprInsertItemAtPos(MprList* list, int index, cvoid* item) {
    return mayUse(list) ? put(whole(list), index < 0 ? 0 : index, item, true, nullptr) : MPR_ERR_BAD_ARGS;
}

void* mprSetItem(MprList* list, int index, cvoid* item) {
    void* before = nullptr;
    return mayUse(list) && put(whole(list), index, item, false, &before) >= 0 ? before : nullptr;
}

int mprRemoveItem(MprList* list, cvoid* item) {
    return mayUse(list) ? removeFirst(whole(list), same(item)) : MPR_ERR_CANT_FIND;
}

int mprRemoveStringItem(MprList* list, cchar* str) {
    return mayUse(list) ? removeFirst(whole(list), sameText(str)) : MPR_ERR_CANT_FIND;
}

int mprRemoveItemAtPos(MprList* list, int index) {
    if (!mayUse(list)) {
        return MPR_ERR_CANT_FIND;
    }
    return removeItems(whole(list), [&] {
        return index >= 0 && index < list->length ? Range{index, index + 1} : Range{MPR_ERR_CANT_FIND, 0};
    });
}

int mprRemoveRangeOfItems(MprList* list, int start, int end) {
    if (!mayUse(list)) {
        return MPR_ERR_BAD_ARGS;
    }
    const int removed = removeItems(whole(list), [&] {
        const int last = end == -1 ? list->length : end;
        return start < 0 || start > last || last > list->length ? Range{MPR_ERR_BAD_ARGS, 0} : Range{start, last};
    });
    return removed < 0 ? removed : 0;
}

int mprRemoveLastItem(MprList* list) {
    if (!mayUse(list)) {
        return MPR_ERR_CANT_FIND;
    }
    Changing guard(whole(list));
    const int last = list->length - 1;
    if (last < 0) {
        return MPR_ERR_CANT_FIND;
    }
    shorten(whole(list), last);
    return last;
}

void* mprPopItem(MprList* list) {
    if (!mayUse(list)) {
        return nullptr;
    }
    Changing guard(whole(list));
    const int last = list->length - 1;
    if (last < 0) {
        return nullptr;
    }
    void* item = list->items[last];
    shorten(whole(list), last);
    return item;
}

void mprClearList(MprList* list) {
    if (mayUse(list)) {
        Changing guard(whole(list));
        shorten(whole(list), 0);
    }
}

// ---- Reading ----------------------------------------------------------------------------------------------------

void* mprGetItem(MprList* list, int index) {
    return mayUse(list) && index >= 0 && index < lengthOf(list) ? itemAt(list, index) : nullptr;
}

void* mprGetFirstItem(MprList* list) {
    return mayUse(list) ? mprGetItem(list, 0) : nullptr;
}

void* mprGetLastItem(MprList* list) {
    const int length = mayUse(list) ? lengthOf(list) : 0;
    return length > 0 ? itemAt(list, length - 1) : nullptr;
}

int mprGetListLength(MprList* list) {
    return mayUse(list) ? lengthOf(list) : 0;
}

int mprGetListCapacity(MprList* list) {
    return mayUse(list) ? __atomic_load_n(&list->capacity, __ATOMIC_RELAXED) : 0;
}

void* mprGetNextItem(MprList* list, int* lastIndex) {
    const int index = lastIndex ? *lastIndex : -1;
    if (!mayUse(list) || index < 0 || index >= lengthOf(list)) {
        return nullptr;
    }
    *lastIndex = index + 1;
    return itemAt(list, index);
}

void* mprGetNextStableItem(MprList* list, int* lastIndex) {
    return mprGetNextItem(list, lastIndex);
}

void* mprGetPrevItem(MprList* list, int* lastIndex) {
    if (!mayUse(list) || !lastIndex) {
        return nullptr;
    }
    const int length = lengthOf(list);
    const int index = (*lastIndex < 0 || *lastIndex > length ? length : *lastIndex) - 1;
    if (index < 0) {
        return nullptr;
    }
    *lastIndex = index;
    return itemAt(list, index);
}

int mprLookupItem(MprList* list, cvoid* item) {
    return mayUse(list) ? search(list, same(item)) : MPR_ERR_CANT_FIND;
}

int mprLookupStringItem(MprList* list, cchar* str) {
    return mayUse(list) ? search(list, sameText(str)) : MPR_ERR_CANT_FIND;
}

char* mprListToString(MprList* list, cchar* join) {
    Copy copy;
    if (!mayUse(list) || !copyItems(whole(list), copy)) {
        return nullptr;
    }
    const std::size_t gap = std::strlen(join = join ? join : ",");
    std::size_t room = 1;
    bool fits = true; // one text may be in the list many times
    for (int i = 0; i < copy.length && fits; ++i) {
        const auto* text = static_cast<const char*>(copy.array.items[i]);
        fits = !__builtin_add_overflow(room, (text ? std::strlen(text) : 0) + gap, &room);
    }
    auto* result = fits ? static_cast<char*>(mprAlloc(room)) : nullptr;
    if (result) {
        char* at = result;
        for (int i = 0; i < copy.length; ++i) {
            const auto* text = static_cast<const char*>(copy.array.items[i]);
            const std::size_t length = text ? std::strlen(text) : 0;
            if (i > 0) {
                at = static_cast<char*>(std::memcpy(at, join, gap)) + gap;
            }
            if (length > 0) {
                at = static_cast<char*>(std::memcpy(at, text, length)) + length;
            }
        }
        *at = '\0';
    }
    mprFree(copy.array.items);
    return result;
}

// ---- Sorting ----------------------------------------------------------------------------------------------------

MprList* mprSortList(MprList* list, MprSortProc compare, void* ctx) {
    if (!mayUse(list)) {
        return list;
    }
    Copy copy{};
    for (;;) {
        mprFree(copy.array.items);
        if (!copyItems(whole(list), copy)) {
            return nullptr;
        }
        // The copy is nobody else's yet, so it is sorted by plain stores.
        mprSort(copy.array.items, copy.length, sizeof(void*), compare, ctx);
        Changing guard(whole(list));
        if (copy.changes == whole(list)->changes) {
            replace(whole(list), copy);
            break;
        }
    }
    mprFree(copy.array.items);
    return list;
}

MprKeyValue* mprCreateKeyPair(cchar* key, cchar* value, int flags) {
    auto* pair = makeReferring<MprKeyValue>(managePair);
    if (pair) {
        pair->flags = flags;
        if ((key && !(pair->key = cloneText(key))) || (value && !(pair->value = cloneText(value)))) {
            return nullptr;
        }
    }
    return pair;
}
