// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/trespass.cpp - The table of calls, and the states that others than the caller bring about.
 */
#include "test/stress/oracle/trespass.hpp"

#include "test/stress/oracle/fault.hpp"
#include "test/stress/oracle/ledger.hpp"

#include "mpr.h"

#include <cstdlib>
#include <ctime>

namespace oracle {

namespace {

void manageNothing(void *, int) {}

int event(void *, MprEvent *) {
    return 0;
}

/* The classes of mpr/gc/guard.hpp: the states in which a function is refused. */
constexpr unsigned everywhere = foreign | yielded | exempt | marking | notified | forked;
constexpr unsigned running = everywhere & ~notified;
constexpr unsigned yielding = everywhere & ~(yielded | exempt);
constexpr unsigned keeping = foreign | marking | forked;
constexpr unsigned anywhere = marking | forked;

struct Call {
    const char *name; /* As the log names it */
    unsigned refusedIn;
    bool (*refused)(const Targets &); /* Make the call. @return Whether it says that it failed, if it can say so */
};

const char *nameOf(Standing standing) {
    switch (standing) {
    case foreign: return "by a thread that is not attached";
    case yielded: return "by a thread that has yielded";
    case exempt: return "by a thread that is exempt";
    case marking: return "in MPR_MANAGE_MARK";
    case notified: return "in the notifier";
    default: return "in a child of fork";
    }
}

const Call calls[] = {
    {"mprAlloc", running, [](const Targets &) { return !mprAlloc(40); }},
    {"mprAlloc", running, [](const Targets &) { return !mprMemdup("abc", 3); }},
    {"mprAllocZeroed", running, [](const Targets &) { return !mprAllocZeroed(40); }},
    {"mprAllocMem", running, [](const Targets &) { return !mprAllocMem(40, MPR_ALLOC_MANAGER); }},
    {"mprAllocMem", running, [](const Targets &) { return !mprAllocManaged(40, manageNothing, 0); }},
    {"mprAllocMem", running, [](const Targets &) { return !mprAllocManaged(40, manageNothing, MPR_ALLOC_HOLD); }},
    {"mprRealloc", running, [](const Targets &t) { return !mprRealloc(t.leaf, 2 * t.size + 100); }},
    {"mprRealloc", running, [](const Targets &t) { return !mprRealloc(t.leaf, t.size); }},
    {"mprFree", running, [](const Targets &t) { return mprFree(t.leaf) != 0; }},
    {"mprFree", running, [](const Targets &t) { return mprFree(t.node) != 0; }},
    {"mprSetManager", running, [](const Targets &t) { return !mprSetManager(t.node, manageNothing); }},
    {"mprSetRefs", running,
     [](const Targets &t) {
         void *none = nullptr;
         mprSetRefs(t.node, t.field, &none, 1);
         return true;
     }},
    {"mprAddRoot", running,
     [](const Targets &t) {
         mprAddRoot(t.leaf);
         return true;
     }},
    {"mprRemoveRoot", running,
     [](const Targets &t) {
         mprRemoveRoot(t.node);
         return true;
     }},
    {"mprVerifyHeap", running, [](const Targets &) { return mprVerifyHeap() == MPR_ERR_BAD_STATE; }},
    {"mprHold", keeping,
     [](const Targets &t) {
         mprHold(t.leaf);
         return true;
     }},
    {"mprRelease", keeping,
     [](const Targets &t) {
         mprRelease(t.permanent);
         return true;
     }},
    {"mprLinkRootRef", keeping,
     [](const Targets &t) {
         MprRootRef ref{&ref, &ref, t.leaf};
         mprLinkRootRef(&ref);
         mprUnlinkRootRef(&ref); // does nothing, and says nothing
         return !ref.next;
     }},
    {"mprYield", yielding,
     [](const Targets &) {
         mprYield(MPR_YIELD_DEFAULT);
         return true;
     }},
    {"mprYield", yielding,
     [](const Targets &) {
         mprYield(MPR_YIELD_COMPLETE);
         return true;
     }},
    {"mprYield", yielding,
     [](const Targets &) {
         mprYield(MPR_YIELD_STICKY);
         return true;
     }},
    {"mprResetYield", yielding,
     [](const Targets &) {
         mprResetYield();
         return true;
     }},
    {"mprGC", yielding, [](const Targets &) { return mprGC(MPR_GC_FORCE) == 0; }},
    {"mprGC", yielding, [](const Targets &) { return mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE) == 0; }},
    {"mprGC", anywhere, [](const Targets &) { return mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK) == 0; }},
    {"mprEnableGC", anywhere, [](const Targets &) { return !mprEnableGC(false); }},
    {"mprDestroy", yielding, [](const Targets &) { return !mprDestroy(); }},
    {"mprDetachThread", yielding, [](const Targets &) { return mprDetachThread() == MPR_ERR_BAD_STATE; }},
    {"mprSetThreadYield", yielding, [](const Targets &) { return !mprSetThreadYield(nullptr, false); }},
    {"mprAttachThread", anywhere, [](const Targets &) { return mprAttachThread("again") == MPR_ERR_BAD_STATE; }},
    {"mprSetMemLimits", anywhere,
     [](const Targets &) {
         mprSetMemLimits(0, 1, 0);
         return true;
     }},
    {"mprSetMemPolicy", anywhere,
     [](const Targets &) {
         mprSetMemPolicy(MPR_ALLOC_POLICY_ABORT);
         return true;
     }},
    {"mprSetMemNotifier", anywhere,
     [](const Targets &) {
         mprSetMemNotifier(nullptr);
         return true;
     }},
    {"palloc", anywhere, [](const Targets &) { return !palloc(40); }},
    {"pfree", anywhere,
     [](const Targets &t) {
         pfree(t.permanent);
         return true;
     }},
    {"prealloc", anywhere, [](const Targets &t) { return !prealloc(t.permanent, 4000); }},
    {"mprTryLock", anywhere,
     [](const Targets &) {
         static MprMutex mutex; // that nobody locks
         return !mprTryLock(&mutex);
     }},
    {"mprCreateEventOutside", anywhere,
     [](const Targets &) { return mprCreateEventOutside(nullptr, MPR_PROC(event), nullptr) != 0; }},
};

/* ---- Pointers ---- */

struct Use {
    const char *name;
    bool takesNull; /* Where nothing is to be said of NULL */
    bool (*refused)(void *ptr);
};

/* Whether it was refused, the log and the blocks tell. */
template <auto call>
bool returnsNothing(void *ptr) {
    call(ptr);
    return true;
}

/* Of what is the start of no block in use. */
const Use uses[] = {
    {"mprFree", true, [](void *ptr) { return mprFree(ptr) == MPR_ERR_BAD_ARGS; }},
    {"mprRealloc", true, [](void *ptr) { return !mprRealloc(ptr, 100); }},
    {"mprSetManager", false, [](void *ptr) { return !mprSetManager(ptr, manageNothing); }},
    {"mprAddRoot", false, returnsNothing<mprAddRoot>},
    {"mprRemoveRoot", false, returnsNothing<mprRemoveRoot>},
    {"mprHold", true, returnsNothing<mprHold>},
    {"mprRelease", true, returnsNothing<mprRelease>},
    {"pfree", true, returnsNothing<pfree>},
    {"prealloc", true, [](void *ptr) { return !prealloc(ptr, 100); }},
};

/* Of a leaf that is neither held nor a root. */
const Use usesOfLeaf[] = {
    {"mprSetManager", false, [](void *ptr) { return !mprSetManager(ptr, manageNothing); }},
    {"mprRemoveRoot", false, returnsNothing<mprRemoveRoot>},
    {"mprRelease", false, returnsNothing<mprRelease>},
    {"pfree", false, returnsNothing<pfree>},
    {"prealloc", false, [](void *ptr) { return !prealloc(ptr, 20000); }},
    {"prealloc", false, [](void *ptr) { return !prealloc(ptr, 1); }},
    {"mprFree", false,
     [](void *ptr) {
         mprHold(ptr);
         const bool refused = mprFree(ptr) == MPR_ERR_BAD_ARGS;
         mprRelease(ptr);
         return refused;
     }},
};

void useWrongly(const Use &use, void *ptr, const char *what) {
    enterMisuse(use.name);
    if (!use.refused(ptr)) {
        fault("%s does not refuse %s", use.name, what);
    }
}

/* ---- Errands ---- */

struct Errand {
    Targets targets;
    uint64_t seed = 0;
};

enum class Stage { none, written, waiting, done };
std::atomic<Stage> stage{Stage::none};
Errand intoMark;
thread_local const Errand *intoNotifier;
std::atomic<bool> managersTrespass;

} // namespace

void trespass(Standing standing, const Targets &targets, uint64_t seed, size_t count) {
    Random random(seed);
    while (count > 0) {
        const Call &call = calls[random.below(std::size(calls))];
        if ((call.refusedIn & standing) == 0) {
            continue;
        }
        count--;
        enterMisuse(call.name);
        if (!call.refused(targets)) {
            fault("%s is obeyed %s", call.name, nameOf(standing));
        }
    }
}

void pointWrongly(const Targets &targets, uint64_t seed, size_t count) {
    Random random(seed);
    uintptr_t onStack[4] = {};
    void *const outside = malloc(64);
    for (; count > 0; count--) {
        const Use &use = uses[random.below(std::size(uses))];
        const Use &ofLeaf = usesOfLeaf[random.below(std::size(usesOfLeaf))];
        switch (random.below(6)) {
        case 0: useWrongly(use, onStack + random.below(4), "an address on the stack"); break;
        case 1: useWrongly(use, outside, "memory from malloc"); break;
        case 2:
            useWrongly(use, reinterpret_cast<void *>(static_cast<uintptr_t>(random.next()) | 1), "any number");
            break;
        case 3:
            useWrongly(use, static_cast<char *>(random.chance(50) ? targets.leaf : targets.node) + 1 + random.below(7),
                       "a pointer into a block");
            break;
        case 4:
            if (!use.takesNull) {
                useWrongly(use, nullptr, "NULL");
            } else if (use.name[0] == 'm' && use.name[3] != 'R') { // what would allocate is another story
                use.refused(nullptr);
            }
            break;
        default: useWrongly(ofLeaf, targets.leaf, "a leaf that is neither held, permanent nor a root"); break;
        }
    }
    free(outside);
}

void useDead(void *leaf, uint64_t seed) {
    Random random(seed);
    if (mprFree(leaf) != 0) {
        fault("mprFree refuses a leaf");
    }
    for (size_t left = 1 + random.below(4); left > 0; left--) {
        useWrongly(uses[random.below(std::size(uses))], leaf, "a block that was freed");
    }
}

void trespassInFree() {
    enterMisuse("mprVerifyHeap");
    if (mprVerifyHeap() != MPR_ERR_BAD_STATE) {
        fault("mprVerifyHeap is obeyed in MPR_MANAGE_FREE");
    }
    enterMisuse("mprSetThreadYield");
    if (mprSetThreadYield(nullptr, false)) {
        fault("mprSetThreadYield is obeyed in MPR_MANAGE_FREE");
    }
    enterMisuse("mprDetachThread");
    if (mprDetachThread() != MPR_ERR_BAD_STATE) {
        fault("mprDetachThread is obeyed in MPR_MANAGE_FREE");
    }
    mprYield(MPR_YIELD_COMPLETE); // nothing to the collector
    mprYield(MPR_YIELD_STICKY);
}

bool sendIntoMark(const Targets &targets, uint64_t seed) {
    Stage expected = Stage::none;
    if (!stage.compare_exchange_strong(expected, Stage::written)) {
        return false;
    }
    intoMark = {targets, seed};
    stage = Stage::waiting;
    return true;
}

void marks() {
    Stage expected = Stage::waiting;
    if (stage.load(std::memory_order_relaxed) == expected && stage.compare_exchange_strong(expected, Stage::done)) {
        trespass(marking, intoMark.targets, intoMark.seed, 1 + intoMark.seed % 4);
        stage = Stage::none;
    }
}

void recallErrand() {
    Stage expected = Stage::waiting;
    while (!stage.compare_exchange_strong(expected, Stage::none) && expected != Stage::none) {
        const timespec moment{0, 100000};
        nanosleep(&moment, nullptr); // it is being done
        expected = Stage::waiting;
    }
}

void sendIntoNotifier(const Targets &targets, uint64_t seed) {
    const Errand errand{targets, seed};
    intoNotifier = &errand;
    if (mprAlloc(SIZE_MAX / 2)) {
        fault("mprAlloc returns half of all memory");
    }
    intoNotifier = nullptr;
}

bool isNotifiedForErrand() {
    if (!intoNotifier) {
        return false;
    }
    trespass(notified, intoNotifier->targets, intoNotifier->seed, 1 + intoNotifier->seed % 4);
    return true;
}

void setManagersTrespass(bool on) {
    managersTrespass = on;
}

bool doManagersTrespass() {
    return managersTrespass.load(std::memory_order_relaxed);
}

} // namespace oracle
