// SPDX-License-Identifier: MIT
/*
    test/gc/embed_random.cpp - Random graphs with an embedder's hooks, collected step by step in all scopes, beside a model
    that knows what must live: roots by callback, weak pairs and finalizers of the embedder's, stores that it hands over as
    changed memory, blocks that it makes in pieces and names late. MPR_EMBED_SEED sets the first seed, MPR_EMBED_RUNS how many follow.
 */
#include "mpr/embed.h"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <random>
#include <vector>

using test::Runtime;

namespace {

constexpr int most = 3;

/* A block: its references, and which node of the model it is. */
struct Block {
    Block *refs[most];
    uintptr_t number, check;
};

void manageBlock(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, most);
    }
}

class Model {
public:
    explicit Model(unsigned seed) : random(seed) {
        table.data = this;
        for (size_t i = 0; i < std::size(kinds); i++) {
            REQUIRE(mprSetBlockKind(&blockKinds[i], manageBlock, kinds[i]) == 0);
        }
        table.stop = [](void *data) { static_cast<Model *>(data)->nameAll(); };
        table.roots = [](void *data, int) { static_cast<Model *>(data)->markRoots(); };
        table.marked = [](void *data, int, int) { static_cast<Model *>(data)->markMore(); };
        table.clear = [](void *data, int) { static_cast<Model *>(data)->dropDead(); };
        REQUIRE(mprSetEmbedder(&table) == 0);
    }
    ~Model() { mprSetEmbedder(nullptr); }
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;

    /* @return What is wrong first, or nullptr. */
    cchar *run(int steps) {
        for (int i = 0; i < steps && !wrong; i++) {
            for (int n = pick(60); n >= 0; n--) {
                change();
            }
            ready.clear(); // finalized
            if (pick(3) == 0) {
                nameAll();
            }
            const int sort = pick(6);
            if (sort == 0) {
                mprYield(0); // whatever is wanted
            } else {
                mprGC((sort < 4 ? MPR_GC_MINOR : MPR_GC_MAJOR) | MPR_GC_COMPLETE);
            }
            look();
        }
        return wrong;
    }
    long finalized = 0, dropped = 0;

private:
    struct Node {
        uintptr_t hidden;
        int refs[most] = {-1, -1, -1};
        bool root = false, finalize = false, exists = true;
        bool named = true;    /* False: it lies in the piece, and no one has said so */
        bool reached = false; /* By the model */
    };
    struct Pair {
        int key, value;
    };

    int pick(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
    Node &at(int i) { return nodes[static_cast<size_t>(i)]; }
    Block *block(int i) { return reinterpret_cast<Block *>(~at(i).hidden); }
    void fail(cchar *what) { wrong = wrong ? wrong : what; }

    /* What the program can reach, so that it may use it: from roots, finalizers that are ready, and pairs. */
    void reach(int i) {
        std::vector<int> todo{i};
        while (!todo.empty()) {
            const int n = todo.back();
            todo.pop_back();
            if (n < 0 || at(n).reached) {
                continue;
            }
            at(n).reached = true;
            todo.insert(todo.end(), at(n).refs, at(n).refs + most);
        }
    }
    void reachAll() {
        for (Node &node : nodes) {
            node.reached = false;
        }
        for (size_t i = 0; i < nodes.size(); i++) {
            if (nodes[i].exists && nodes[i].root) {
                reach(static_cast<int>(i));
            }
        }
        for (const int i : ready) {
            reach(i);
        }
        for (bool more = true; more;) {
            more = false;
            for (const Pair &pair : pairs) {
                if (at(pair.key).reached && !at(pair.value).reached) {
                    reach(pair.value);
                    more = true;
                }
            }
        }
    }
    int anyUsable() {
        for (int tries = 0; tries < 20 && !nodes.empty(); tries++) {
            const int i = pick(static_cast<int>(nodes.size()));
            if (at(i).exists && at(i).reached) {
                return i;
            }
        }
        return -1;
    }

    /* A block that is not named yet. */
    Block *makeInPiece(const MprBlockKind *kind) {
        constexpr size_t granule = size_t{1} << MPR_GRANULE_SHIFT;
        const size_t gap = pick(4) == 0 ? static_cast<size_t>(pick(9)) * granule : 0;
        const size_t size = sizeof(Block) + static_cast<size_t>(pick(10) == 0 ? pick(3000) : 0);
        const size_t whole = (size + kind->extra + granule - 1) / granule * granule;
        if (!piece || used + gap + whole > left) {
            nameAll();
            piece = mprAllocPiece();
            left = MPR_PIECE_SIZE;
            if (!piece) {
                return nullptr;
            }
        }
        auto made = reinterpret_cast<Block *>(static_cast<char *>(piece) + used + gap);
        used += gap + whole;
        unnamed.push_back({made, size, kind});
        return made;
    }
    /* By this thread while it runs, and in the callback stop. */
    void nameAll() {
        if (piece && mprNameBlocks(&piece, used, unnamed.data(), unnamed.size()) != 0) {
            fail("blocks could not be named");
        }
        left -= used;
        used = 0;
        unnamed.clear();
        for (Node &node : nodes) {
            node.named = true;
        }
    }
    void store(int from, int field, Block *value) {
        if (at(from).named) {
            return mprSetRef(block(from), &block(from)->refs[field], value);
        }
        block(from)->refs[field] = value;
    }

    void make() {
        const int kind = pick(3);
        const bool inPiece = pick(3) == 0;
        auto made = inPiece ? makeInPiece(&blockKinds[kind])
                            : static_cast<Block *>(mprAllocManaged(sizeof(Block), manageBlock, kinds[kind]));
        if (!made) {
            return fail("no memory");
        }
        *made = {{}, nodes.size(), ~nodes.size()};
        Node node;
        node.hidden = ~reinterpret_cast<uintptr_t>(made);
        node.root = pick(3) == 0;
        node.finalize = pick(4) == 0;
        node.reached = true; // until the next collection
        node.named = !inPiece;
        nodes.push_back(node);
    }
    void change() {
        const int what = pick(10);
        if (what < 3) {
            return make();
        }
        const int from = anyUsable(), to = anyUsable();
        if (from < 0 || to < 0) {
            return make();
        }
        const int field = pick(most);
        switch (what) {
        case 3:
        case 4:
        case 5: // by the barrier
            at(from).refs[field] = to;
            return store(from, field, block(to));
        case 6: // past it, handed over
            at(from).refs[field] = to;
            __atomic_store_n(&block(from)->refs[field], block(to), __ATOMIC_RELEASE);
            return mprNoteChanged(&block(from)->refs[field], &block(from)->refs[field] + 1);
        case 7: at(from).refs[field] = -1; return store(from, field, nullptr);
        case 8: pairs.push_back({from, to}); return;
        default: at(from).root = !at(from).root; return;
        }
    }

    /* The hooks. */
    void markRoots() {
        mprMark(piece);
        for (size_t i = 0; i < nodes.size(); i++) {
            if (nodes[i].exists && nodes[i].root) {
                mprMark(block(static_cast<int>(i)));
            }
        }
        for (const int i : ready) {
            mprMark(block(i));
        }
    }
    void markMore() {
        for (const Pair &pair : pairs) {
            if (mprIsMarked(block(pair.key))) {
                mprMark(block(pair.value));
            }
        }
        for (size_t i = 0; i < nodes.size(); i++) {
            if (nodes[i].exists && nodes[i].finalize && !mprIsMarked(block(static_cast<int>(i)))) {
                nodes[i].finalize = false;
                finalized++;
                ready.push_back(static_cast<int>(i));
                mprMark(block(static_cast<int>(i)));
            }
        }
    }
    void dropDead() {
        std::erase_if(pairs, [&](const Pair &pair) { return !mprIsMarked(block(pair.key)); });
        for (size_t i = 0; i < nodes.size(); i++) {
            if (nodes[i].exists && !mprIsMarked(block(static_cast<int>(i)))) {
                nodes[i].exists = false;
                dropped++;
            }
        }
    }

    void look() {
        nameAll();
        reachAll();
        for (size_t i = 0; i < nodes.size(); i++) {
            const Node &node = nodes[i];
            if (node.reached && !node.exists) {
                return fail("what can be reached was found dead");
            }
            if (!node.exists) {
                continue;
            }
            const Block *const b = block(static_cast<int>(i));
            if (!mprIsValid(b) || b->number != i || b->check != ~i) {
                return fail("a block that was not found dead is gone");
            }
            for (int k = 0; node.reached && k < most; k++) {
                if (b->refs[k] != (node.refs[k] < 0 ? nullptr : block(node.refs[k]))) {
                    return fail("a field has changed");
                }
            }
            if (mprBlockOf(&b->refs[2]) != b) {
                return fail("the block around a field was not found");
            }
        }
    }

    static constexpr int kinds[] = {MPR_ALLOC_BARRIER, MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE, 0};
    std::minstd_rand random;
    MprEmbedder table{};
    MprBlockKind blockKinds[3];
    void *piece = nullptr;
    size_t used = 0, left = 0;
    std::vector<MprNamed> unnamed;
    std::vector<Node> nodes;
    std::vector<Pair> pairs;
    std::vector<int> ready;
    cchar *wrong = nullptr;
};

unsigned environment(cchar *name, unsigned otherwise) {
    const char *const value = getenv(name);
    return value ? static_cast<unsigned>(atoi(value)) : otherwise;
}

} // namespace

TEST_CASE("random graphs with an embedder's hooks agree with a model", "[gc][embed][random]") {
    const unsigned first = environment("MPR_EMBED_SEED", 1), runs = environment("MPR_EMBED_RUNS", 8);
    long finalized = 0, dropped = 0;
    for (unsigned seed = first; seed < first + runs; seed++) {
        cchar *const options[] = {"check=1", "young=65536", "check=1,everyyield=1", "check=1,everyalloc=7"};
        Runtime runtime(options[seed % 4]);
        Model model(seed);
        cchar *const wrong = model.run(40);
        INFO("seed " << seed);
        CHECK(wrong == nullptr);
        finalized += model.finalized;
        dropped += model.dropped;
    }
    CHECK(finalized > 0);
    CHECK(dropped > 0);
}
