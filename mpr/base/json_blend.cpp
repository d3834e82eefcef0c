// SPDX-License-Identifier: MIT
/*
    json_blend.cpp - One tree of JSON merged into another. See mprBlendJson in mpr/json.h.

    Pairs of nodes that are to be merged wait on a stack, so that depth costs no calls. Prefixes allow properties of the
    same name in one object. They are merged in their order: while one of them waits, the next waits behind it.
*/
#include <climits>
#include <utility>

#include "mpr/base/json.hpp"

using namespace mpr::base;
using namespace mpr::base::json;

namespace {

constexpr int modes = MPR_JSON_OVERWRITE | MPR_JSON_APPEND | MPR_JSON_REPLACE | MPR_JSON_CREATE;

/** In a node's type while something waits to be merged into it. */
constexpr int awaits = 0x1000;
static_assert((awaits & (MPR_JSON_OBJ_TYPE | MPR_JSON_DATA_TYPE)) == 0);

/** In a pair's flags: the second is a property that comes after one of the same name, not an object to be merged. */
constexpr int twins = 0x1000;

class Blend {
public:
    bool begin(MprJson* dest, const MprJson* src, int flags) {
        return postpone(dest, src, isObject(dest) ? flags & ~twins : flags | twins);
    }
    /** @return 0 or MPR_ERR_MEMORY. */
    int run();

private:
    struct Pair {
        MprJson* dest;
        const MprJson* src;
        int flags;
    };

    bool postpone(MprJson* dest, const MprJson* src, int flags) {
        const bool done = pairs_.push({dest, src, flags});
        dest->type |= done ? awaits : 0;
        return done;
    }
    bool merge(MprJson* dest, const MprJson* src, int flags);
    bool mergeObjects(const Pair& pair);
    bool addProperty(MprJson* dest, const char* name, const MprJson* src, int flags);
    bool takeOver(MprJson* dest, const MprJson* src, int flags);
    bool appendTo(MprJson* dest, const MprJson* src);
    bool takeOut(MprJson* dest, const MprJson* src);

    Stack<Pair, 8> pairs_;
};

/** What a prefix of a name asks for; 0: it is none. */
int modeOf(char prefix) {
    switch (prefix) {
    case '+': return MPR_JSON_APPEND;
    case '=': return MPR_JSON_OVERWRITE;
    case '-': return MPR_JSON_REPLACE;
    case '?': return MPR_JSON_CREATE;
    default: return 0;
    }
}

bool setText(MprJson* node, const char* text) {
    if (text) {
        setReference(node, &node->value, text);
        node->type = MPR_JSON_VALUE | MPR_JSON_STRING;
    }
    return text != nullptr;
}

/** Make a node a copy of another. Names inside may have prefixes, which are heeded. */
bool Blend::takeOver(MprJson* dest, const MprJson* src, int flags) {
    const bool prefixed = isObject(src) && (flags & MPR_JSON_COMBINE) != 0;
    MprJson* copy = prefixed ? makeNode(MPR_JSON_OBJ) : mprCloneJson(const_cast<MprJson*>(src));
    if (!copy) {
        return false;
    }
    become(dest, copy);
    return !prefixed || postpone(dest, src, flags);
}

bool appendCopy(MprJson* array, const MprJson* element) {
    MprJson* copy = mprCloneJson(const_cast<MprJson*>(element));
    return copy && putAt(array, array->length, copy) == 0;
}

bool Blend::appendTo(MprJson* dest, const MprJson* src) {
    if (!isArray(dest)) {
        return setText(dest, sjoin(dest->value, " ", src->value, nullptr));
    }
    if (!isArray(src)) {
        return appendCopy(dest, src);
    }
    for (const MprJson* element = src->children; element; element = element->next) {
        if (!appendCopy(dest, element)) {
            return false;
        }
    }
    return true;
}

bool addName(MprJson* object, const char* name) {
    MprJson* property = makeNode(MPR_JSON_VALUE, name);
    if (property) {
        append(object, property);
    }
    return property != nullptr;
}

/** Take out of an array what has a value that elements of another, or a single value, have. Linear in both. */
bool takeOutEqual(MprJson* array, const MprJson* src) {
    MprJson* values = makeNode(MPR_JSON_OBJ); // values are its names
    for (const MprJson* each = isArray(src) ? src->children : src; each; each = isArray(src) ? each->next : nullptr) {
        if (!values || (each->value && !find(values, each->value) && !addName(values, each->value))) {
            return false;
        }
    }
    for (MprJson* at = array->children; at;) {
        MprJson* next = at->next;
        if (at->value && find(values, at->value)) {
            unlink(array, at);
        }
        at = next;
    }
    return true;
}

bool Blend::takeOut(MprJson* dest, const MprJson* src) {
    if (!isArray(dest)) {
        return std::strstr(dest->value, src->value) == nullptr ||
               setText(dest, sreplace(dest->value, src->value, nullptr));
    }
    return takeOutEqual(dest, src);
}

/** Merge into a node that exists. @return false when memory is short. */
bool Blend::merge(MprJson* dest, const MprJson* src, int flags) {
    if (dest->type & awaits) {
        return postpone(dest, src, flags | twins);
    }
    if (isObject(dest) && isObject(src) && (flags & MPR_JSON_OVERWRITE) == 0) {
        return postpone(dest, src, flags);
    }
    const bool combinable = !isObject(dest) && !isObject(src) && (isArray(dest) || !isArray(src));
    if ((flags & (MPR_JSON_CREATE | MPR_JSON_OVERWRITE)) == 0 && combinable) {
        if (flags & MPR_JSON_APPEND) {
            return appendTo(dest, src);
        }
        if (flags & MPR_JSON_REPLACE) {
            return takeOut(dest, src);
        }
    }
    return (flags & (MPR_JSON_CREATE | MPR_JSON_REPLACE)) != 0 || takeOver(dest, src, flags);
}

bool Blend::addProperty(MprJson* dest, const char* name, const MprJson* src, int flags) {
    MprJson* fresh = makeNode(MPR_JSON_VALUE, name);
    if (!fresh || dest->length == INT_MAX || !takeOver(fresh, src, flags)) {
        return false;
    }
    append(dest, fresh);
    return true;
}

bool Blend::mergeObjects(const Pair& pair) {
    std::size_t waiting = pairs_.size();
    for (const MprJson* property = pair.src->children; property; property = property->next) {
        const int mode = (pair.flags & MPR_JSON_COMBINE) != 0 ? modeOf(*property->name) : 0;
        const int flags = mode != 0 ? (pair.flags & ~modes) | mode : pair.flags;
        const char* name = mode != 0 ? sclone(property->name + 1) : property->name;
        if (!name) {
            return false;
        }
        MprJson* before = find(pair.dest, name);
        const bool done = before ? merge(before, property, flags)
                                 : (flags & MPR_JSON_REPLACE) != 0 || addProperty(pair.dest, name, property, flags);
        if (!done) {
            return false;
        }
    }
    for (std::size_t end = pairs_.size(); waiting < end; waiting++) { // the first is done first
        std::swap(pairs_[waiting], pairs_[--end]);
    }
    return true;
}

int Blend::run() {
    int result = 0;
    while (!pairs_.empty()) {
        const Pair pair = pairs_.top();
        pairs_.pop();
        pair.dest->type &= ~awaits; // also when the rest is left as it is
        if (result == 0 &&
            !((pair.flags & twins) != 0 ? merge(pair.dest, pair.src, pair.flags & ~twins) : mergeObjects(pair))) {
            result = MPR_ERR_MEMORY;
        }
    }
    return result;
}
} // namespace

int mprBlendJson(MprJson* dest, MprJson* src, int flags) {
    if (!mayUse(dest)) {
        return MPR_ERR_BAD_ARGS;
    }
    if (!src || src == dest) {
        return 0;
    }
    if ((dest->type & src->type & MPR_JSON_OBJ_TYPE) == 0) {
        return MPR_ERR_BAD_TYPE;
    }
    const MprJson* apart = adopted(src, dest);
    Blend blend;
    return apart && blend.begin(dest, apart, flags) ? blend.run() : MPR_ERR_MEMORY;
}
