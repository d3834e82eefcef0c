// SPDX-License-Identifier: MIT
/*
    json_query.cpp - Paths: what they name in a tree of JSON, got, set and removed. mpr/json.h says how they are
    written.

    A path is read step by step. Each step leads from a set of nodes to the set of those children that it names; a step
    after .. also from all objects and arrays below. Setting makes what a step does not find where that is a single
    thing.

    A set names no node twice, and a node before those below it. So a step after .. passes over what lies below a node
    that it has started from: it has been there. Each step takes time in proportion to the tree, whatever the path is.
*/
#include <algorithm>
#include <climits>
#include <utility>

#include "mpr/base/ascii.hpp"
#include "mpr/base/json.hpp"
#include "mpr/base/part.hpp"
#include "mpr/base/string.hpp"
#include "mpr/log.h"

using namespace mpr::base;
using namespace mpr::base::json;

namespace {

using std::string_view;

// ---- Comparing --------------------------------------------------------------------------------------------------

/** A number of JSON as 0.d1d2d3... times a power of ten, d1 not 0. Exact, however long. */
struct Decimal {
    bool negative;
    const char* digits; // some '.' among them
    const char* end;
    int64 power;

    explicit Decimal(string_view text) : negative(text.front() == '-'), digits(text.data()), end(digits), power(0) {
        const char* const behind = text.data() + text.size();
        while (end != behind && *end != 'e' && *end != 'E') {
            ++end;
        }
        if (end != behind) {
            // Any two such numbers differ in it, or are written with as many digits.
            constexpr int64 beyond = 1000000000000;
            power = std::clamp(stoiradix(end + 1, 10, nullptr), -beyond, beyond);
        }
        const void* found = std::memchr(digits, '.', static_cast<std::size_t>(end - digits));
        const char* point = found ? static_cast<const char*>(found) : end;
        while (digits != end && (*digits < '1' || *digits > '9')) {
            ++digits;
        }
        power += point - digits + (point < digits ? 1 : 0);
    }
    bool isZero() const { return digits == end; }

    /** Take the next digit; 0 behind the last. */
    char take() {
        digits += digits != end && *digits == '.';
        return digits != end ? *digits++ : '0';
    }
};

int sign(bool below) {
    return below ? -1 : 1;
}

int compareNumbers(string_view one, string_view other) {
    Decimal a(one), b(other);
    if (a.isZero() || b.isZero()) {
        return a.isZero() && b.isZero() ? 0 : a.isZero() ? sign(!b.negative) : sign(a.negative);
    }
    if (a.negative != b.negative) {
        return sign(a.negative);
    }
    if (a.power != b.power) {
        return sign((a.power < b.power) != a.negative);
    }
    while (!a.isZero() || !b.isZero()) {
        const char x = a.take(), y = b.take();
        if (x != y) {
            return sign((x < y) != a.negative);
        }
    }
    return 0;
}

int compare(string_view one, string_view other) {
    return isNumber(one) && isNumber(other) ? compareNumbers(one, other) : one.compare(other);
}

bool holds(string_view text, string_view pattern) {
    const string_view behind = part(pattern, 1);
    return pattern.starts_with('^') ? part(text, 0, behind.size()) == behind
                                    : search(text.data(), text.size(), pattern, false) != nullptr;
}

// ---- Paths ------------------------------------------------------------------------------------------------------

struct Step {
    enum Kind { name, any, range, append, condition };

    Kind kind;
    bool deep;        // after ..
    bool index;       // a range of one
    string_view text; // of a name, also that of the property in a condition
    int first, last;  // of a range; below 0: from the end
    unsigned op;      // of a condition: in operators
    string_view value;

    /** Whether it names one thing, which can be made. */
    bool isSingle() const { return !deep && (kind == name || kind == append || index); }
};

class Path {
public:
    explicit Path(const char* key) : at_(key) {}

    /** Read a step. @return false at the end, or where the path is malformed. */
    bool next(Step& step);
    bool malformed() const { return malformed_; }

private:
    bool wrong() {
        malformed_ = true;
        return false;
    }
    bool bracket(Step& step);
    bool range(Step& step);
    bool condition(Step& step);
    bool operand(string_view& text, const char* ends);
    bool take(char c) {
        const bool there = *at_ == c;
        at_ += there;
        return there;
    }
    void skipBlanks() { at_ += std::strspn(at_, " \t"); }

    const char* at_;
    bool first_ = true, malformed_ = false;
};

bool Path::next(Step& step) {
    step = {};
    if (*at_ == '\0') {
        return first_ && wrong();
    }
    const bool first = std::exchange(first_, false), dot = take('.');
    step.deep = dot && take('.');
    if (*at_ == '[') {
        return (!dot || step.deep) && bracket(step) ? true : wrong();
    }
    const std::size_t length = std::strcspn(at_, ".[");
    step.text = {at_, length};
    step.kind = isOnly('*', step.text) ? Step::any : Step::name;
    at_ += length;
    return length > 0 && (step.deep || dot != first) ? true : wrong();
}

/** Read a text, in quotes or up to one of some characters. @return Whether it has quotes. */
bool Path::operand(string_view& text, const char* ends) {
    skipBlanks();
    const char* from = at_;
    const bool quoted = *from == '\'' || *from == '"';
    const char quote[] = {*from, '\0'};
    from += quoted;
    at_ = from + std::strcspn(from, quoted ? quote : ends);
    const char* end = at_;
    while (!quoted && end != from && (end[-1] == ' ' || end[-1] == '\t')) {
        --end;
    }
    text = {from, static_cast<std::size_t>(end - from)};
    if (quoted) {
        malformed_ = malformed_ || *at_ == '\0';
        at_ += *at_ != '\0';
        skipBlanks();
    }
    return quoted;
}

/** @param none What no text means. @return Whether it is an index: from the start or, below 0, from the end. */
bool readIndex(string_view text, int none, int& index) {
    index = none;
    if (text.empty()) {
        return true;
    }
    const bool fromEnd = text[0] == '-';
    const int number = indexOf({text.data() + fromEnd, text.size() - fromEnd});
    index = fromEnd ? -number : number;
    return number >= (fromEnd ? 1 : 0);
}

/** Read what follows the first part of a range. */
bool Path::range(Step& step) {
    step.kind = Step::range;
    step.index = !take(':');
    string_view last = step.text;
    const bool quoted = !step.index && operand(last, "]");
    return !quoted && !(step.index && last.empty()) && readIndex(step.text, 0, step.first) &&
           readIndex(last, -1, step.last);
}

/** How a value must compare: bits for less, equal and greater. None: it must contain a text, or must not. */
constexpr struct {
    char text[2];
    unsigned char orders;
} operators[] = {{{'=', '='}, 2}, {{'!', '='}, 5}, {{'<', '='}, 3}, {{'>', '='}, 6},
                 {{'<', 0}, 1},   {{'>', 0}, 4},   {{'~', 0}, 0},   {{'!', '~'}, 0}};

bool Path::condition(Step& step) {
    step.kind = Step::condition;
    for (const auto& op : operators) {
        if (at_[0] == op.text[0] && (op.text[1] == '\0' || at_[1] == op.text[1])) {
            step.op = static_cast<unsigned>(&op - operators);
            at_ += op.text[1] == '\0' ? 1 : 2;
            operand(step.value, "]");
            return !step.text.empty();
        }
    }
    return false;
}

/** What stands in brackets. */
bool Path::bracket(Step& step) {
    ++at_;
    const bool quoted = operand(step.text, "]=!<>~:");
    bool good = true;
    if (quoted && *at_ == ']') {
        step.kind = Step::name;
    } else if (isOnly('*', step.text) && *at_ == ']') {
        step.kind = Step::any;
    } else if (isOnly('$', step.text) && *at_ == ']') {
        step.kind = Step::append;
    } else if (*at_ == ']' || *at_ == ':') {
        good = !quoted && range(step);
    } else {
        good = *at_ != '\0' && condition(step);
    }
    return good && !malformed_ && take(']');
}

// ---- Searching --------------------------------------------------------------------------------------------------

struct Match {
    MprJson* parent;
    MprJson* node;
    int place = -1; // of an element, if it is known
};
using Matches = Stack<Match, 16>;

/** The nodes of a set, by address: which of them lie below others. */
class Starts {
public:
    Starts() = default;
    ~Starts() { pfree(slots_); }
    Starts(const Starts&) = delete;
    Starts& operator=(const Starts&) = delete;

    /** @return false when memory is short. */
    bool open(Matches& set) {
        std::size_t wanted = 4;
        while (wanted / 2 <= set.size()) {
            wanted *= 2;
        }
        slots_ = wanted <= SIZE_MAX / sizeof(Slot) ? static_cast<Slot*>(palloc(wanted * sizeof(Slot))) : nullptr;
        if (!slots_) {
            return false;
        }
        std::memset(slots_, 0, wanted * sizeof(Slot));
        mask_ = wanted - 1;
        for (const Match& match : set) {
            slotOf(match.node).node = match.node;
        }
        return true;
    }
    /** A walk from another node comes by here. */
    void pass(const MprJson* node) {
        Slot& slot = slotOf(node);
        slot.passed = slot.node != nullptr;
    }
    bool isPassed(const MprJson* node) const { return slotOf(node).passed; }

private:
    struct Slot {
        const MprJson* node;
        bool passed;
    };

    Slot& slotOf(const MprJson* node) const {
        constexpr auto multiplier = static_cast<std::uintptr_t>(0x9E37'79B9'7F4A'7C15);
        const std::uintptr_t product = reinterpret_cast<std::uintptr_t>(node) * multiplier;
        std::size_t i = product ^ product >> (4 * sizeof(product)); // the high bits are the mixed ones
        while (slots_[i & mask_].node && slots_[i & mask_].node != node) {
            ++i;
        }
        return slots_[i & mask_];
    }

    Slot* slots_ = nullptr; // at most half of them in use
    std::size_t mask_ = 0;
};

bool fits(const MprJson* node, const Step& step) {
    const MprJson* property = isOnly('@', step.text) ? node : find(node, step.text);
    if (!property || !property->value) {
        return false;
    }
    const string_view text = property->value;
    const auto& op = operators[step.op];
    if (op.orders == 0) {
        return holds(text, step.value) == (op.text[0] == '~');
    }
    const int order = compare(text, step.value);
    return (op.orders >> (order < 0 ? 0 : order == 0 ? 1 : 2) & 1) != 0;
}

class Search {
public:
    /** What is to be set: a value, or a node and its copies. */
    struct Source {
        const char* text;
        int type;
        MprJson* node;
        bool used = false;

        MprJson* make(const MprJson* below) {
            if (!node) {
                return makeValue(text, type);
            }
            // Others are copies of the one before: what was given may be the whole tree, which grows meanwhile.
            node = used ? mprCloneJson(node) : adopted(node, below);
            used = true;
            return node;
        }
    };

    Search(MprJson* tree, const char* key, const char* function)
        : tree_(tree), path_(key), key_(key), function_(function) {}

    int run(Source* source);

    Matches& found() { return *now_; }

private:
    int step(const Step& step, bool last, const Step& following, Source* source);
    int walk(Source* source);
    bool select(const Step& step, MprJson* from, Starts* starts);
    bool selectHere(const Step& step, MprJson* parent);
    int make(const Step& step, MprJson* parent, MprJson* child);

    MprJson* tree_;
    Path path_;
    const char* key_;
    const char* function_;
    Matches one_, other_;
    Matches* now_ = &one_;
    Matches* next_ = &other_;
    int count_ = 0;
};

/** A place that is counted from the end when it is below 0. */
int fromEnd(int place, const MprJson* parent) {
    return place + (place < 0 ? parent->length : 0);
}

/** Add the children that a step names. @return false when memory is short. */
bool Search::selectHere(const Step& step, MprJson* parent) {
    if (step.kind == Step::name) {
        MprJson* child = find(parent, step.text);
        return !child || next_->push({parent, child, isArray(parent) ? indexOf(step.text) : -1});
    }
    const bool ranged = step.kind == Step::range;
    if (step.kind == Step::append || (ranged && !isArray(parent))) {
        return true;
    }
    const int first = ranged ? std::max(fromEnd(step.first, parent), 0) : 0;
    const int last = ranged ? fromEnd(step.last, parent) : INT_MAX;
    int place = first;
    for (MprJson* child = childAt(parent, first); child && place <= last; child = child->next, ++place) {
        if ((step.kind != Step::condition || fits(child, step)) && !next_->push({parent, child, place})) {
            return false;
        }
    }
    return true;
}

/** Add the children of a node that a step names; after .. also those of all nodes below. @param starts If there may be
    others below. */
bool Search::select(const Step& step, MprJson* from, Starts* starts) {
    if (starts && starts->isPassed(from)) {
        return true;
    }
    Walk walk(from);
    bool more = true;
    do {
        if (!selectHere(step, walk.at())) {
            return false;
        }
        more = step.deep && walk.next();
        if (more && starts) {
            starts->pass(walk.at());
        }
    } while (more);
    return !walk.failed();
}

/** Put a child where a step, which names a single thing, has found none. @return 0 or an error. */
int Search::make(const Step& step, MprJson* parent, MprJson* child) {
    if (!child) {
        return MPR_ERR_MEMORY;
    }
    if (step.kind == Step::name) {
        return put(parent, step.text, child);
    }
    return isArray(parent) ? putAt(parent, step.kind == Step::append ? parent->length : step.first, child)
                           : MPR_ERR_CANT_FIND;
}

/**
    Go from the values found to those that a step names. @param source The value to set; nullptr: none. @return 0 or an error.
 */
int Search::step(const Step& step, bool last, const Step& following, Source* source) {
    Starts starts;
    const bool mayMeet = step.deep && now_->size() > 1;
    if (mayMeet && !starts.open(*now_)) {
        return MPR_ERR_MEMORY;
    }
    next_->clear();
    for (const Match& match : *now_) {
        const std::size_t before = next_->size();
        if (!select(step, match.node, mayMeet ? &starts : nullptr)) {
            return MPR_ERR_MEMORY;
        }
        if (!source || next_->size() > before || !step.isSingle() || !isContainer(match.node)) {
            continue;
        }
        MprJson* child =
            last ? source->make(tree_)
                 : makeNode(following.kind == Step::append || following.index ? MPR_JSON_ARRAY : MPR_JSON_OBJ);
        const int error = make(step, match.node, child);
        if (error == MPR_ERR_MEMORY || (error == 0 && !last && !next_->push({match.node, child}))) {
            return MPR_ERR_MEMORY;
        }
        count_ += error == 0 && last;
    }
    for (std::size_t i = 0; source && last && i < next_->size(); ++i, ++count_) {
        const Match match = (*next_)[i];
        MprJson* child = source->make(tree_);
        if (!child) {
            return MPR_ERR_MEMORY;
        }
        setReference(child, &child->name, match.node->name);
        replace(match.parent, match.node, child, match.place);
    }
    std::swap(now_, next_);
    return 0;
}

int Search::walk(Source* source) {
    Step steps[2];
    int error = now_->push({nullptr, tree_}) ? 0 : MPR_ERR_MEMORY;
    bool more = path_.next(steps[0]);
    for (int i = 0; more && error == 0; i = 1 - i) {
        more = path_.next(steps[1 - i]);
        if (!path_.malformed()) {
            error = step(steps[i], !more, steps[1 - i], source);
        }
    }
    if (path_.malformed()) {
        mprLog("json", 2, "%s: malformed path \"%s\"", function_, key_);
        return MPR_ERR_BAD_ARGS;
    }
    return error;
}

/** Find or set what the path names. @param source nullptr: find. @return How many; or an error. */
int Search::run(Source* source) {
    const int error = walk(source);
    return error != 0 ? error : source ? count_ : static_cast<int>(now_->size());
}

/** A new array of what was found, by copies or by the nodes themselves. */
MprJson* arrayOf(Matches& found, bool copies) {
    MprJson* array = makeNode(MPR_JSON_ARRAY);
    for (const Match& match : found) {
        MprJson* node = !copies ? match.node : array ? mprCloneJson(match.node) : nullptr;
        if (!array || !node) {
            return nullptr;
        }
        if (!copies) {
            unlink(match.parent, node);
        }
        append(array, node);
    }
    return array;
}

int set(MprJson* obj, const char* key, Search::Source source, const char* function = __builtin_FUNCTION()) {
    if (!mayUse(obj, function) || !key) {
        return MPR_ERR_BAD_ARGS;
    }
    const int count = Search(obj, key, function).run(&source);
    return count > 0 ? 0 : count == 0 ? MPR_ERR_CANT_FIND : count;
}

enum class Want { copies, one, removed };

/** The values that a path names, in an array; a single value as it is if that is wanted. */
MprJson* get(MprJson* obj, const char* key, Want want, const char* function = __builtin_FUNCTION()) {
    if (!mayUse(obj, function) || !key) {
        return nullptr;
    }
    Search search(obj, key, function);
    if (search.run(nullptr) < 0) {
        return nullptr;
    }
    Matches& found = search.found();
    if (want == Want::one && found.size() < 2) {
        return found.empty() ? nullptr : found.top().node;
    }
    return arrayOf(found, want != Want::removed);
}
} // namespace

MprJson* mprQueryJson(MprJson* obj, cchar* key, cchar* value, int type) {
    return !value ? get(obj, key, Want::copies) : set(obj, key, {value, type, nullptr}) == 0 ? obj : nullptr;
}

cchar* mprGetJson(MprJson* obj, cchar* key) {
    MprJson* found = get(obj, key, Want::one);
    return found && isContainer(found) ? mprJsonToString(found, 0) : found ? found->value : nullptr;
}

MprJson* mprGetJsonObj(MprJson* obj, cchar* key) {
    return get(obj, key, Want::one);
}

int mprSetJson(MprJson* obj, cchar* key, cchar* value, int type) {
    return set(obj, key, {value, type, nullptr});
}

int mprSetJsonObj(MprJson* obj, cchar* key, MprJson* value) {
    return value ? set(obj, key, {nullptr, 0, value}) : MPR_ERR_BAD_ARGS;
}

MprJson* mprRemoveJson(MprJson* obj, cchar* key) {
    return get(obj, key, Want::removed);
}
