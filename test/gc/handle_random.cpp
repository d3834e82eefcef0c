// SPDX-License-Identifier: MIT
/*
    test/gc/handle_random.cpp - Random graphs with handles of all types, collected step by step in all scopes, beside a
    model that knows what must live and what must be cleared. MPR_HANDLE_SEED sets the first seed, MPR_HANDLE_RUNS how
    many follow.
 */
#include "mpr/gc/handle_store.hpp"
#include "test/support/stepped_collection.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>

using mpr::gc::handleStore;
using mpr::gc::HandleStore;
using mpr::gc::Scope;
using mpr::gc::Wish;
using mpr::heap::Kind;
using test::Refs;
using test::SteppedCollection;

namespace {

/* The program, and what has to be true of it. */
class Model {
public:
    explicit Model(unsigned seed) : random(seed) { handleStore.open(c.stepped.heap(), c.roots); }
    ~Model() { handleStore.close(); }

    /* @return A description of the first thing that is wrong, or nullptr. */
    const char *run(int steps) {
        for (int i = 0; i < steps && !wrong; i++) {
            for (int n = pick(40); n >= 0; n--) {
                change();
            }
            collect();
        }
        return wrong;
    }

    bool sabotaged = false; /* Handles are not told of collections */

private:
    static constexpr int none = -1;
    struct Node {
        Refs *block;
        Kind kind;
        int refs[Refs::most];
        bool root = false, exists = true, usable = true, required = false;
    };
    struct Handle {
        MprHandle number;
        int type;
        intptr_t extra;
        int target, value;
    };

    int pick(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
    Node &at(int i) { return nodes[static_cast<size_t>(i)]; }
    int make() {
        const Kind kind = pick(4) ? Kind::barrier : Kind::plain;
        nodes.push_back({c.make(kind), kind, {none, none, none, none}});
        return static_cast<int>(nodes.size()) - 1;
    }
    /* A node that the program can name: reachable, weakly too, or new. */
    int any() {
        for (int tries = 0; tries < 20 && !nodes.empty(); tries++) {
            const int i = pick(static_cast<int>(nodes.size()));
            if (at(i).exists && at(i).usable) {
                return i;
            }
        }
        return make();
    }
    void *blockOf(int i) { return i == none ? nullptr : at(i).block; }

    void change() {
        switch (pick(12)) {
        case 0:
        case 1:
        case 2: return setRef(any(), pick(5) ? make() : any());
        case 3: return setRef(any(), none);
        case 4: return setRef(any(), any());
        case 5: return setRoot(any());
        case 6:
        case 7: return createHandle();
        case 8: return handles.empty() ? void() : destroyHandle();
        default: return handles.empty() ? void() : changeHandle();
        }
    }
    void setRef(int from, int to) {
        const auto i = static_cast<size_t>(pick(static_cast<int>(Refs::most)));
        at(from).refs[i] = to;
        if (at(from).kind == Kind::barrier) {
            c.store(at(from).block, i, static_cast<Refs *>(blockOf(to)));
        } else {
            at(from).block->refs[i] = static_cast<Refs *>(blockOf(to));
        }
    }
    void setRoot(int i) {
        Node &node = at(i);
        node.root ? c.removeRoot(node.block) : c.addRoot(node.block);
        node.root = !node.root;
        if (std::count_if(nodes.begin(), nodes.end(), [](const Node &n) { return n.root; }) > 6) {
            setRoot(static_cast<int>(std::find_if(nodes.begin(), nodes.end(), [](const Node &n) { return n.root; }) -
                                     nodes.begin()));
        }
    }
    void createHandle() {
        const int type = pick(3) ? pick(MPR_HANDLE_TYPES) : MPR_HANDLE_DEPENDENT;
        const int target = any(), value = type == MPR_HANDLE_DEPENDENT ? any() : none;
        const intptr_t extra = type == MPR_HANDLE_REFCOUNTED || type == MPR_HANDLE_VARIABLE ? pick(3) : 0;
        handleStore.refer(blockOf(target));
        handleStore.refer(blockOf(value));
        void *const further = value != none ? blockOf(value) : reinterpret_cast<void *>(extra);
        handles.push_back(
            {handleStore.create(nullptr, type, blockOf(target), {further, 0, nullptr}), type, extra, target, value});
        if (handles.size() > 60) {
            destroyHandle();
        }
    }
    void destroyHandle() {
        const auto i = static_cast<size_t>(pick(static_cast<int>(handles.size())));
        if (!handleStore.destroy(nullptr, handles[i].number) || HandleStore::find(handles[i].number)) {
            wrong = "a handle could not be destroyed";
        }
        handles[i] = handles.back();
        handles.pop_back();
    }
    void changeHandle() {
        Handle &h = handles[static_cast<size_t>(pick(static_cast<int>(handles.size())))];
        Slot *slot = HandleStore::find(h.number);
        if (h.type == MPR_HANDLE_DEPENDENT) {
            if (h.target != none) {
                h.value = any();
                handleStore.refer(blockOf(h.value));
                slot->extra = blockOf(h.value);
                HandleStore::setDirty(slot);
            }
            return;
        }
        h.target = any();
        handleStore.refer(blockOf(h.target));
        HandleStore::set(slot, blockOf(h.target));
        if (h.type == MPR_HANDLE_REFCOUNTED || h.type == MPR_HANDLE_VARIABLE) {
            h.extra = pick(3);
            slot->extra = reinterpret_cast<void *>(h.extra);
        }
    }
    static bool isStrong(const Handle &h) {
        switch (h.type) {
        case MPR_HANDLE_VARIABLE: return h.extra == MPR_HANDLE_STRONG;
        case MPR_HANDLE_REFCOUNTED: return h.extra > 0;
        default:
            return h.type != MPR_HANDLE_WEAK_SHORT && h.type != MPR_HANDLE_WEAK_LONG && h.type != MPR_HANDLE_DEPENDENT;
        }
    }

    using Slot = MprHandleSlot;

    void reach(int i, bool Node::*flag) {
        std::vector<int> stack{i};
        while (!stack.empty()) {
            const int next = stack.back();
            stack.pop_back();
            if (next == none || at(next).*flag) {
                continue;
            }
            at(next).*flag = true;
            stack.insert(stack.end(), at(next).refs, at(next).refs + Refs::most);
        }
    }
    /* Set a flag for all that roots and handles lead to; weak ones, too. */
    void closure(bool Node::*flag, bool weak) {
        for (Node &node : nodes) {
            node.*flag = false;
        }
        for (size_t i = 0; i < nodes.size(); i++) {
            if (nodes[i].root) {
                reach(static_cast<int>(i), flag);
            }
        }
        for (const Handle &h : handles) {
            if (isStrong(h) || weak) {
                reach(h.target, flag);
            }
        }
        for (bool more = true; more;) {
            more = false;
            for (const Handle &h : handles) {
                if (h.value != none && h.target != none && at(h.target).*flag && !(at(h.value).*flag)) {
                    reach(h.value, flag);
                    more = true;
                }
            }
        }
    }

    void collect() {
        closure(&Node::required, false);
        if (sabotaged) {
            c.roots.setHandles(nullptr);
        }
        const bool tracing = c.cycle.major().isTracing();
        switch (pick(tracing ? 4 : 8)) {
        case 0:
            if (!tracing) {
                return finish(Wish::urgent);
            }
            c.collection.tracing().advance(mpr::os::now() + 1);
            return finish(Wish::slice);
        case 1:
            if (!tracing) {
                c.budget.generations().setTrial(true); // a major one begins
                finish(Wish::minor);
                c.budget.generations().setTrial(false);
                return;
            }
            c.collection.tracing().advance();
            return finish(Wish::slice);
        default: return finish(Wish::minor);
        }
    }
    void finish(Wish wish) {
        c.pause(wish);
        const bool sliced = c.cycle.scope() == Scope::slice; // a minor one that was wished for is still to come
        const Scope scope = c.cycle.scope();
        if (!sliced) {
            for (const Handle &h : handles) {
                // Before any manager is called or anything is swept.
                const Slot *slot = MPR_HANDLE_SLOT(h.number);
                if (slot->block && !HandleStore::isDying(h.number) && isDead(slot->block)) {
                    wrong = "a handle refers to what is being swept";
                }
            }
            c.reclaim();
        }
        for (Node &node : nodes) {
            const bool lives = node.exists && c.lives(node.block);
            if (node.required && !lives) {
                wrong = "what can be reached has been freed";
            } else if (scope == Scope::full && !sliced && lives != (node.required && node.exists)) {
                wrong = "a full collection has left garbage";
            }
            node.exists = lives;
        }
        for (Handle &h : handles) {
            settle(h);
        }
        closure(&Node::usable, true);
    }
    bool isDead(const void *block) {
        const mpr::heap::Byte h = c.stepped.head(block);
        return h == 0 || c.stepped.heap().dead(h);
    }
    void settle(Handle &h) {
        const void *block = MPR_HANDLE_SLOT(h.number)->block, *extra = MPR_HANDLE_SLOT(h.number)->extra;
        if (HandleStore::isDying(h.number)) {
            wrong = "a handle is still dying";
        }
        if (h.target == none || !at(h.target).exists) {
            wrong = block ? "a handle was not cleared" : wrong;
            wrong = h.type == MPR_HANDLE_DEPENDENT && extra ? "a value was not cleared" : wrong;
            h.target = h.value = none;
        } else if (block != at(h.target).block) {
            wrong = at(h.target).required ? "a handle was cleared too early" : wrong;
            wrong = block ? "a handle refers to something else" : wrong;
            h.target = h.value = none; // dead, and swept later
        } else if (h.value != none && (extra != at(h.value).block || !at(h.value).exists)) {
            wrong = "a value has gone before its key";
        }
    }

    SteppedCollection c;
    std::mt19937 random;
    std::vector<Node> nodes;
    std::vector<Handle> handles;
    const char *wrong = nullptr;
};

unsigned fromEnvironment(const char *name, unsigned otherwise) {
    const char *value = getenv(name);
    return value ? static_cast<unsigned>(strtoul(value, nullptr, 10)) : otherwise;
}

} // namespace

TEST_CASE("random graphs with handles: what lives and what is cleared is as a model says", "[gc][handle]") {
    const unsigned first = fromEnvironment("MPR_HANDLE_SEED", 1), runs = fromEnvironment("MPR_HANDLE_RUNS", 30);
    for (unsigned seed = first; seed < first + runs; seed++) {
        INFO("MPR_HANDLE_SEED=" << seed);
        Model model(seed);
        const char *const wrong = model.run(100);
        INFO((wrong ? wrong : ""));
        REQUIRE(wrong == nullptr);
    }
}

TEST_CASE("random graphs with handles: collections that do not know of handles are found out", "[gc][handle]") {
    unsigned found = 0;
    for (unsigned seed = 1; seed <= 5; seed++) {
        Model model(seed);
        model.sabotaged = true;
        found += model.run(100) != nullptr;
    }
    CHECK(found == 5);
}
