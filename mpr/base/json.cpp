// SPDX-License-Identifier: MIT
/*
    json.cpp - Trees of JSON: nodes made, linked, copied, read and written by name. See mpr/json.h, and json.hpp for how
    nodes are linked.
 */
#include "mpr/base/json.hpp"

#include <climits>
#include <iterator>

#include "mpr/barrier.h"
#include "mpr/base/ascii.hpp"
#include "mpr/base/guard.hpp"
#include "mpr/base/references.hpp"
#include "mpr/base/string.hpp"
#include "mpr/gc/census.hpp"

using namespace mpr::base::json;
using mpr::base::isDigit;
using mpr::base::newString;
using mpr::base::storeReference;

namespace mpr::base::json {

namespace {

void manageValue(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, offsetof(MprJson, type) / sizeof(void*));
    }
}
static_assert(offsetof(MprJson, name) == 0 && offsetof(MprJson, type) == 5 * sizeof(void*));

void manageContainer(void* ptr, int flags) {
    manageValue(ptr, flags);
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<Container*>(ptr)->index);
    }
}
const mpr::gc::ManagerName namedValue(manageValue, "MprJson"), namedContainer(manageContainer, "MprJson");

/** Kinds that a text tells, and what stands for a value of which only the kind is known. The last is for all others. */
constexpr struct {
    std::string_view text;
    int kind;
} words[] = {{"true", MPR_JSON_TRUE}, {"false", MPR_JSON_FALSE}, {"undefined", MPR_JSON_UNDEFINED},
             {"0", MPR_JSON_NUMBER},  {"", MPR_JSON_STRING},     {"null", MPR_JSON_NULL}};

const char* textOf(int type) {
    const auto* word = words;
    while (word + 1 != std::end(words) && (type & word->kind) == 0) {
        ++word;
    }
    return word->text.data();
}

MprJson* copyNode(const MprJson* node) {
    return makeNode(node->type, node->name, node->value);
}
} // namespace

[[gnu::noinline]] bool mayUse(const void* object, const char* function) {
    return base::mayUse(object, function);
}

void setReference(MprJson* owner, void* field, const void* value) {
    if (value) {
        mprSetRef(owner, field, value);
    } else {
        storeReference(static_cast<void**>(field), nullptr); // makes nothing reachable
    }
}

// ---- Making -----------------------------------------------------------------------------------------------------

MprJson* makeNode(int type, const char* name, const char* value) {
    const MprJson fresh = {name, value, nullptr, nullptr, nullptr, type, 0};
    if (!indexIsFree && (type & (MPR_JSON_OBJ | MPR_JSON_ARRAY)) == 0) {
        auto* node = static_cast<MprJson*>(mprAllocManaged(sizeof(MprJson), manageValue, referring));
        return node ? static_cast<MprJson*>(std::memcpy(node, &fresh, sizeof(fresh))) : nullptr;
    }
    auto* container = static_cast<Container*>(mprAllocManaged(sizeof(Container), manageContainer, referring));
    if (!container) [[unlikely]] {
        return nullptr;
    }
    *container = {fresh, nullptr};
    return &container->node;
}

int kindOf(std::string_view text) {
    for (const auto& word : words) {
        if (text.size() == word.text.size() && std::memcmp(text.data(), word.text.data(), text.size()) == 0) {
            return word.kind;
        }
    }
    return isNumber(text) ? MPR_JSON_NUMBER : MPR_JSON_STRING;
}

MprJson* makeValue(const char* text, int type) {
    type &= MPR_JSON_DATA_TYPE;
    if (!text) {
        type = type ? type : MPR_JSON_NULL;
        text = textOf(type);
    }
    const std::string_view whole = text;
    if (type == 0) {
        type = kindOf(whole);
    } else if ((type & MPR_JSON_NUMBER) && !isNumber(whole)) {
        type = MPR_JSON_STRING;
    }
    char* copy = newString(whole.data(), whole.size());
    return copy ? makeNode(MPR_JSON_VALUE | type, nullptr, copy) : nullptr;
}

// ---- Links ------------------------------------------------------------------------------------------------------

void append(MprJson* parent, MprJson* child) {
    if (MprJson* first = parent->children) {
        MprJson* last = first->prev;
        setReference(child, &child->prev, last);
        setReference(last, &last->next, child);
        setReference(first, &first->prev, child);
    } else {
        setReference(child, &child->prev, child);
        setReference(parent, &parent->children, child);
    }
    ++parent->length;
    indexAppended(parent, child);
}

namespace {
/** A node stands alone from here on. */
void setAlone(MprJson* node) {
    setReference(node, &node->next, nullptr);
    setReference(node, &node->prev, nullptr);
}
} // namespace

void unlink(MprJson* parent, MprJson* child) {
    indexRemoving(parent, child);
    MprJson* next = child->next;
    if (parent->children == child) {
        setReference(parent, &parent->children, next);
    } else {
        setReference(child->prev, &child->prev->next, next);
    }
    if (MprJson* neighbour = next ? next : parent->children) {
        setReference(neighbour, &neighbour->prev, child->prev);
    }
    setAlone(child);
    --parent->length;
}

void replace(MprJson* parent, MprJson* old, MprJson* fresh, std::ptrdiff_t place) {
    MprJson* next = old->next;
    MprJson* prev = old->prev;
    setReference(fresh, &fresh->next, next);
    setReference(fresh, &fresh->prev, prev == old ? fresh : prev);
    if (parent->children == old) {
        setReference(parent, &parent->children, fresh);
    } else {
        setReference(prev, &prev->next, fresh);
    }
    if (MprJson* neighbour = next ? next : parent->children; neighbour != fresh) {
        setReference(neighbour, &neighbour->prev, fresh);
    }
    setAlone(old);
    indexReplaced(parent, old, fresh, place);
}

void clear(MprJson* parent) {
    MprJson* child = parent->children;
    dropIndex(parent);
    setReference(parent, &parent->children, nullptr);
    parent->length = 0;
    while (child) {
        MprJson* next = child->next;
        setAlone(child);
        child = next;
    }
}

void become(MprJson* node, const MprJson* other) {
    clear(node);
    node->type = other->type;
    node->length = other->length;
    setReference(node, &node->value, other->value);
    setReference(node, &node->children, other->children);
    moveIndex(node, other);
}

// ---- Finding ----------------------------------------------------------------------------------------------------

int indexOf(std::string_view text) {
    int index = 0;
    for (char c : text) {
        if (!isDigit(c) || __builtin_mul_overflow(index, 10, &index) ||
            __builtin_add_overflow(index, c - '0', &index)) {
            return -1;
        }
    }
    return text.empty() ? -1 : index;
}

int putAt(MprJson* parent, int index, MprJson* child) {
    if (index < 0 || index > parent->length || parent->length == INT_MAX) {
        return MPR_ERR_BAD_ARGS;
    }
    __atomic_store_n(&child->name, nullptr, __ATOMIC_RELEASE);
    if (MprJson* old = childAt(parent, index)) {
        replace(parent, old, child, index);
    } else {
        append(parent, child);
    }
    return 0;
}

int put(MprJson* parent, std::string_view name, MprJson* child) {
    if (isArray(parent)) {
        return putAt(parent, name.empty() || isOnly('$', name) ? parent->length : indexOf(name), child);
    }
    MprJson* old = find(parent, name);
    const char* text = old ? old->name : newString(name.data(), name.size());
    if (!text || parent->length == INT_MAX) {
        return MPR_ERR_MEMORY;
    }
    setReference(child, &child->name, text);
    if (old) {
        replace(parent, old, child, -1);
    } else {
        append(parent, child);
    }
    return 0;
}

namespace {

/** Whether a node is another or below it. @return -1 when memory is short. */
int contains(MprJson* tree, const MprJson* node) {
    Walk walk(tree);
    do {
        if (walk.at() == node) {
            return 1;
        }
    } while (walk.next());
    return walk.failed() ? -1 : 0;
}
} // namespace

MprJson* adopted(MprJson* node, const MprJson* below) {
    const int contained = isLinked(node) || node == below ? 1 : isLinked(below) ? contains(node, below) : 0;
    return contained < 0 ? nullptr : contained ? mprCloneJson(node) : node;
}

// ---- Ways -------------------------------------------------------------------------------------------------------

bool growStack(void** items, const void* first, std::size_t& room, std::size_t itemSize) {
    const bool within = *items == first;
    void* larger = room <= SIZE_MAX / 2 / itemSize ? prealloc(within ? nullptr : *items, 2 * room * itemSize) : nullptr;
    if (!larger) {
        return false;
    }
    if (within) {
        std::memcpy(larger, first, room * itemSize);
    }
    *items = larger;
    room *= 2;
    return true;
}

bool Walk::next() {
    left_ = 0;
    entered_ = at_->children != nullptr;
    if (entered_) {
        failed_ = !open_.push(at_);
        at_ = at_->children;
        return !failed_;
    }
    MprJson* at = at_;
    for (; !open_.empty() && !at->next; ++left_) {
        at = open_.top();
        open_.pop();
    }
    at_ = at->next;
    return !open_.empty();
}

} // namespace mpr::base::json

// ---- The API ----------------------------------------------------------------------------------------------------

MprJson* mprCreateJson(int type) {
    type = type ? type : MPR_JSON_OBJ;
    return type & (MPR_JSON_OBJ | MPR_JSON_ARRAY) ? makeNode(type & MPR_JSON_OBJ_TYPE) : makeValue(nullptr, type);
}

MprJson* mprCreateJsonValue(cchar* value, int type) {
    return makeValue(value, type);
}

MprJson* mprCloneJson(MprJson* obj) {
    if (!mayUse(obj)) {
        return nullptr;
    }
    Walk walk(obj);
    Nodes around;
    MprJson* const copy = copyNode(obj);
    MprJson* to = copy;
    while (to && walk.next()) {
        if (!walk.entered()) {
            around.pop(walk.left());
        } else if (!around.push(to)) {
            return nullptr;
        }
        to = copyNode(walk.at());
        if (to) {
            append(around.top(), to);
        }
    }
    return to && !walk.failed() ? copy : nullptr;
}

ssize mprGetJsonLength(MprJson* obj) {
    return mayUse(obj) ? obj->length : 0;
}

cchar* mprReadJson(MprJson* obj, cchar* name) {
    MprJson* found = mayUse(obj) && name ? find(obj, name) : nullptr;
    return found ? found->value : nullptr;
}

MprJson* mprReadJsonObj(MprJson* obj, cchar* name) {
    return mayUse(obj) && name ? find(obj, name) : nullptr;
}

MprJson* mprReadJsonValue(MprJson* obj, cchar* value) {
    MprJson* child = mayUse(obj) && value ? obj->children : nullptr;
    while (child && !(child->value && std::strcmp(child->value, value) == 0)) {
        child = child->next;
    }
    return child;
}

namespace {
/** Whether a child can be written under a key. */
bool mayWrite(MprJson* obj, cchar* key, const char* function = __builtin_FUNCTION()) {
    return mayUse(obj, function) && isContainer(obj) && (key || isArray(obj));
}
} // namespace

int mprWriteJson(MprJson* obj, cchar* key, cchar* value, int type) {
    if (!mayWrite(obj, key)) {
        return MPR_ERR_BAD_ARGS;
    }
    MprJson* child = makeValue(value, type);
    return child ? put(obj, key ? key : "", child) : MPR_ERR_MEMORY;
}

int mprWriteJsonObj(MprJson* obj, cchar* key, MprJson* value) {
    if (!mayWrite(obj, key) || !value) {
        return MPR_ERR_BAD_ARGS;
    }
    MprJson* child = adopted(value, obj);
    return child ? put(obj, key ? key : "", child) : MPR_ERR_MEMORY;
}

MprJson* mprRemoveJsonChild(MprJson* obj, MprJson* child) {
    if (!mayUse(obj) || !child) {
        return nullptr;
    }
    MprJson* at = isObject(obj) && child->name ? find(obj, child->name) : nullptr;
    for (at = at ? at : obj->children; at && at != child;) {
        at = at->next;
    }
    if (at) {
        unlink(obj, child);
    }
    return at;
}
