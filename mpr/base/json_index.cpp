// SPDX-License-Identifier: MIT
/*
    json_index.cpp - Finds the children of large objects by name, and those of large arrays by their place.

    An object's index is a hash table of its properties with linear probing (D. Knuth, TAOCP vol. 3, 6.4), by a hash whose
    key the process draws: whoever chooses the names cannot make it slow. That of an array is a row of its elements.
    Children are retained by their links, so an index is a block that references nothing.
 */
#include <bit>

#include "mpr/base/hash.hpp"
#include "mpr/base/json.hpp"
#include "mpr/base/references.hpp"

namespace mpr::base::json {

/** Slots follow. Empty ones are nullptr, as are those of an array behind its elements. */
struct Index {
    MprJson** slots() { return reinterpret_cast<MprJson**>(this + 1); }
    /** The slot of a name: that of its property, or the empty one where it belongs. */
    MprJson** slotOf(std::string_view name) {
        std::size_t i = hashOfKey(name);
        while (slots()[i & mask] && name != slots()[i & mask]->name) {
            ++i;
        }
        return slots() + (i & mask);
    }
    void removeSlot(std::size_t at);

    std::size_t mask; // slots, a power of two, less one; of an object a quarter of them is free at least
    bool twins;       // there are properties of one name, of which it has the first
};

/** An entry may not be found when a slot between its own and the one by its hash is empty: such ones move up. */
void Index::removeSlot(std::size_t at) {
    MprJson** const all = slots();
    all[at] = nullptr;
    for (std::size_t i = (at + 1) & mask; all[i]; i = (i + 1) & mask) {
        const std::size_t home = hashOfKey(all[i]->name) & mask;
        const bool passesHole = ((i - home) & mask) >= ((i - at) & mask);
        if (passesHole) {
            all[at] = all[i];
            all[i] = nullptr;
            at = i;
        }
    }
}

namespace {

/** Whether there is room for as many children. */
bool hasRoom(const MprJson* parent, const Index* index, int children) {
    const std::size_t slots = index->mask + 1, wanted = static_cast<std::size_t>(children);
    return wanted <= (isObject(parent) ? slots / 4 * 3 : slots);
}

/** Where a node has its index; nullptr for one that was a simple value and has become more. */
Index** fieldOf(const MprJson* node) {
    auto* whole = const_cast<Container*>(reinterpret_cast<const Container*>(node));
    return indexIsFree || mprGetBlockSize(node) >= sizeof(Container) ? &whole->index : nullptr;
}

/** The index that an object or array has, or nullptr. */
Index* existing(const MprJson* parent) {
    Index** field = parent->length > manyChildren ? fieldOf(parent) : nullptr;
    return field ? __atomic_load_n(field, __ATOMIC_ACQUIRE) : nullptr;
}

void setIndex(const MprJson* parent, Index* index) {
    if (Index** field = fieldOf(parent)) {
        setReference(const_cast<MprJson*>(parent), field, index);
    }
}

void enter(Index* index, MprJson* property) {
    MprJson** slot = index->slotOf(property->name);
    index->twins = index->twins || *slot;
    *slot = *slot ? *slot : property;
}

/** An index of all children. @return nullptr when memory is short, or its notifier has changed them. */
Index* makeIndex(const MprJson* parent) {
    const int length = parent->length;
    const auto children = static_cast<std::size_t>(length);
    const std::size_t slots = std::bit_ceil(isObject(parent) ? children + children / 3 + 2 : children + 1);
    auto* index = static_cast<Index*>(mprAlloc(sizeof(Index) + slots * sizeof(MprJson*)));
    if (!index || parent->length != length) {
        mprFree(index);
        return nullptr;
    }
    *index = {slots - 1, false};
    MprJson** at = index->slots();
    std::memset(at, 0, slots * sizeof(MprJson*));
    for (MprJson* child = parent->children; child; child = child->next) {
        if (isArray(parent)) {
            *at++ = child;
        } else {
            enter(index, child);
        }
    }
    return index;
}

/** The index of an object or array that has many children. Several threads may read one tree: the last one's stays. */
Index* indexed(const MprJson* parent) {
    if (parent->length <= manyChildren || !fieldOf(parent)) {
        return nullptr;
    }
    Index* index = existing(parent);
    if (!index && (index = makeIndex(parent))) {
        setIndex(parent, index);
    }
    return index;
}
} // namespace

MprJson* find(const MprJson* parent, std::string_view name) {
    if (isArray(parent)) {
        return childAt(parent, indexOf(name));
    }
    if (Index* index = indexed(parent)) {
        return *index->slotOf(name);
    }
    for (MprJson* child = parent->children; child; child = child->next) {
        if (child->name && name == child->name) {
            return child;
        }
    }
    return nullptr;
}

MprJson* childAt(const MprJson* parent, std::ptrdiff_t place) {
    if (place < 0 || place >= parent->length) {
        return nullptr;
    }
    if (place == parent->length - 1) {
        return parent->children->prev;
    }
    // The first are found as fast without, and whoever takes them out one by one has no index then.
    if (Index* index = place > manyChildren && isArray(parent) ? indexed(parent) : nullptr) {
        return index->slots()[place];
    }
    MprJson* child = parent->children;
    while (place-- > 0) {
        child = child->next;
    }
    return child;
}

void indexAppended(MprJson* parent, MprJson* child) {
    Index* index = existing(parent);
    if (!index) {
        return;
    }
    if (!hasRoom(parent, index, parent->length)) {
        setIndex(parent, nullptr); // whoever looks next makes a larger one
    } else if (isArray(parent)) {
        index->slots()[parent->length - 1] = child;
    } else {
        enter(index, child);
    }
}

void indexRemoving(MprJson* parent, const MprJson* child) {
    Index* index = existing(parent);
    if (!index) {
        return;
    }
    const bool few = parent->length - 1 <= manyChildren;
    if (few || index->twins || (isArray(parent) && child != parent->children->prev)) {
        setIndex(parent, nullptr);
    } else if (isArray(parent)) {
        index->slots()[parent->length - 1] = nullptr;
    } else {
        index->removeSlot(static_cast<std::size_t>(index->slotOf(child->name) - index->slots()));
    }
}

void indexReplaced(MprJson* parent, const MprJson* old, MprJson* fresh, std::ptrdiff_t place) {
    Index* index = existing(parent);
    if (!index) {
        return;
    }
    MprJson** slot = !isArray(parent) ? index->slotOf(fresh->name) : place >= 0 ? index->slots() + place : nullptr;
    if (slot && *slot == old) {
        *slot = fresh;
    } else {
        setIndex(parent, nullptr); // a second of its name, or an element whose place is not known
    }
}

void dropIndex(MprJson* parent) {
    if (parent->length > manyChildren) {
        setIndex(parent, nullptr);
    }
}

void moveIndex(MprJson* to, const MprJson* from) {
    if (Index* index = existing(from)) {
        setIndex(to, index);
    }
}

} // namespace mpr::base::json
