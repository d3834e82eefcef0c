// SPDX-License-Identifier: MIT
/*
    json.hpp - What the files of JSON share: nodes and their links, the rules in force, and a stack outside of the heap.

    A node is a barrier block of five references and two numbers; the manager's word fills its last granule. Names and
    values are leaf blocks of their own, not parts of the node: programs hand them to lists and managers, which mark
    starts of blocks. A parser shares those that repeat.

    Siblings are linked so that the last is found: its `next` is nullptr, and `prev` of the first is the last. A node
    without `prev` therefore stands alone. There is no way up from a node; no node is below itself. Properties have names.

    Large objects and arrays have an index of their children, which whoever looks for one makes. Linking and unlinking
    keep it up, or drop it.
 */
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "mpr/json.h"
#include "mpr/memory.h"
#include "mpr/string.h"

namespace mpr::base::json {

/** As base::mayUse, once for all: there are many callers. */
bool mayUse(const void* object, const char* function = __builtin_FUNCTION());

/** As mprSetRef, of a value that may be nullptr. Once for all: there are many callers. */
void setReference(MprJson* owner, void* field, const void* value);

/** Whether a text is a single character. */
inline bool isOnly(char c, std::string_view text) {
    return text.size() == 1 && text[0] == c;
}

struct Index;

/** A node with what programs do not see of it. */
struct Container {
    MprJson node;
    Index* index;
};
/** Whether all nodes are Containers, since the last granule has room for it. Elsewhere simple values are not. */
inline constexpr bool indexIsFree = sizeof(void*) == 8;
/** Objects and arrays of more children than this have an index. */
inline constexpr int manyChildren = 32;

/** A child has been appended; is about to be unlinked; has taken the place of another, with its name. All are gone. */
void indexAppended(MprJson* parent, MprJson* child);
void indexRemoving(MprJson* parent, const MprJson* child);
void indexReplaced(MprJson* parent, const MprJson* old, MprJson* fresh, std::ptrdiff_t place);
void dropIndex(MprJson* parent);
/** All children of a node that is not used any more have become those of another. */
void moveIndex(MprJson* to, const MprJson* from);

/** What a node is, as one word. */
inline bool isObject(const MprJson* node) {
    return (node->type & MPR_JSON_OBJ) != 0;
}
inline bool isArray(const MprJson* node) {
    return (node->type & MPR_JSON_ARRAY) != 0;
}
inline bool isContainer(const MprJson* node) {
    return (node->type & (MPR_JSON_OBJ | MPR_JSON_ARRAY)) != 0;
}
/** Whether it is some node's child. */
inline bool isLinked(const MprJson* node) {
    return node->prev != nullptr;
}

/** A node that stands alone. @param name,value Managed strings, or nullptr. */
MprJson* makeNode(int type, const char* name = nullptr, const char* value = nullptr);
/** A simple value, as mprCreateJsonValue. */
MprJson* makeValue(const char* text, int type);
/** The kind of a text. @param length All of it. */
int kindOf(std::string_view text);

/** Add a node that stands alone behind the last child. */
void append(MprJson* parent, MprJson* child);
void unlink(MprJson* parent, MprJson* child);
/** Put a node that stands alone, and has the name, in the place of a child. @param place Of an element; -1: not known. */
void replace(MprJson* parent, MprJson* old, MprJson* fresh, std::ptrdiff_t place);
/** Take all children out. */
void clear(MprJson* parent);
/** Give a node everything that another has, except name and place. The other must not be used any more. */
void become(MprJson* node, const MprJson* other);

/** The child of a name, or of an index in decimal; nullptr when there is none. */
MprJson* find(const MprJson* parent, std::string_view name);
MprJson* childAt(const MprJson* parent, std::ptrdiff_t place);
/** An index in decimal; -1 when it is none. */
int indexOf(std::string_view text);
/** Append to an object or array, or replace there. @param index Of an array. @return 0 or an error. */
int put(MprJson* parent, std::string_view name, MprJson* child);
int putAt(MprJson* parent, int index, MprJson* child);

/** A node to be linked below another: itself if it stands alone and does not contain the other, else a copy. */
MprJson* adopted(MprJson* node, const MprJson* below);

/** The rules in force, or those given, with defaults filled in. */
MprJsonRules effective(const MprJsonRules* rules);

/** Whether a text is a JSON number from start to end. */
bool isNumber(std::string_view text);
/** @return The end of the longest JSON number at the start of a text; `at` when there is none. */
const char* skipNumber(const char* at, const char* end);

/**
    Double the room of a stack. @param items Its memory; first, that within it, until it is larger than that.
    @return false when memory is short.
 */
bool growStack(void** items, const void* first, std::size_t& room, std::size_t itemSize);

/**
    A stack of simple values, on the thread's stack until that part is full. Blocks that it holds stay alive, because
    nothing here yields.
 */
template <class T, std::size_t few>
class Stack {
public:
    Stack() = default;
    ~Stack() {
        if (items_ != first_) {
            pfree(items_);
        }
    }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;

    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }
    T& top() { return static_cast<T*>(items_)[count_ - 1]; }
    T& operator[](std::size_t i) { return static_cast<T*>(items_)[i]; }
    T* begin() { return static_cast<T*>(items_); }
    T* end() { return begin() + count_; }
    void pop(std::size_t count = 1) { count_ -= count; }
    void clear() { count_ = 0; }

    /** @return false when memory is short. */
    [[nodiscard]] bool push(const T& item) {
        if (count_ == room_ && !growStack(&items_, first_, room_, sizeof(first_) / few)) {
            return false;
        }
        static_cast<T*>(items_)[count_++] = item;
        return true;
    }

private:
    T first_[few];
    void* items_ = first_;
    std::size_t count_ = 0, room_ = few;
};
using Nodes = Stack<MprJson*, 32>;

/** A way through a tree: a node before its children, these in order. */
class Walk {
public:
    explicit Walk(MprJson* tree) : at_(tree) {}

    MprJson* at() const { return at_; }
    /** Go on. @return false at the end, or when memory is short. */
    bool next();
    bool failed() const { return failed_; }

    /** Objects and arrays around the node; the innermost of them, and one counted from the outermost. */
    std::size_t level() const { return open_.size(); }
    MprJson* around() { return open_.top(); }
    MprJson* around(std::size_t i) { return open_[i]; }
    /** Whether the last step led from a node to its first child; if not, how many levels it left, and which nodes. */
    bool entered() const { return entered_; }
    std::size_t left() const { return left_; }
    MprJson* leftNode(std::size_t i) { return open_[open_.size() + left_ - 1 - i]; }

private:
    MprJson* at_;
    std::size_t left_ = 0;
    bool entered_ = false, failed_ = false;
    Nodes open_;
};

} // namespace mpr::base::json
