/* SPDX-License-Identifier: MIT */
/*
    test/fault/mistakes/mistakes.c - The mistakes that C programs make most, each of them alone; see mistakes.h.
 */
#include "mistakes.h"

#include <poll.h>
#include <pthread.h>

typedef struct Node {
    struct Node *next;
    char *name;
} Node;
#define NEXT "at offset 0"
#define NAME (sizeof(void *) == 8 ? "at offset 8" : "at offset 4")

static void manageNode(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&((Node *) ptr)->next);
        mprMarkRef(&((Node *) ptr)->name);
    }
}

static void forgetName(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&((Node *) ptr)->next);
    }
}

static void markNextTwice(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&((Node *) ptr)->next);
        mprMarkRef(&((Node *) ptr)->next);
    }
}

static Node *makeNode(void) {
    return mprAllocObj(Node, manageNode);
}

static Node *makeBarrierNode(void) {
    return mprAllocManaged(sizeof(Node), manageNode, MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER);
}

/* ---- Globals ---- */

static Node *volatile shelf; /* Otherwise the compiler leaves out what nobody reads */
static Node *volatile table[16];
static char *volatile buffer;
static struct {
    int count;
    Node *volatile last;
} statistics;

static void globalWithoutRoot(bool wrong) {
    shelf = makeNode();
    if (!wrong) {
        mprAddRoot(shelf);
    }
    collect();
}

static void globalArray(bool wrong) {
    Node *volatile *place = &table[seed % 16];
    *place = makeNode();
    if (!wrong) {
        mprAddRoot(*place);
    }
    collect();
}

static void globalStructure(bool wrong) {
    static MprRootRef root;
    statistics.last = root.ptr = makeNode();
    if (!wrong) {
        mprLinkRootRef(&root);
    }
    root.ptr = wrong ? NULL : root.ptr;
    collect();
    if (!wrong) {
        mprUnlinkRootRef(&root);
    }
}

static void localStatic(bool wrong) {
    static Node *volatile latest;
    latest = makeNode();
    if (!wrong) {
        mprAddRoot(latest);
    }
    collect();
}

static void rootRemovedEarly(bool wrong) {
    shelf = makeNode();
    mprAddRoot(shelf);
    collect();
    mprRemoveRoot(shelf);
    if (!wrong) {
        shelf = NULL;
    }
    collect();
}

static void holdForgotten(bool wrong) {
    buffer = sclone("kept for later");
    if (!wrong) {
        mprHold(buffer);
    }
    collect();
    if (!wrong) {
        mprRelease(buffer);
    }
}

/* ---- Fields ---- */

static void fieldBy(MprManager manager) {
    Node *node = mprAllocObj(Node, manager);
    mprAddRoot(node);
    node->next = makeNode();
    node->name = sclone("first");
    collect();
}

static void forgottenField(bool wrong) {
    fieldBy(wrong ? forgetName : manageNode);
}

static void wrongField(bool wrong) {
    fieldBy(wrong ? markNextTwice : manageNode);
}

static void heldOnly(bool wrong) {
    Node *node = makeNode();
    if (wrong) {
        mprHold(node);
    } else {
        mprAddRoot(node);
    }
    node->next = makeNode();
    collect();
}

typedef struct Pair {
    long count;
    Node *node;
} Pair;
#define NODE NAME

static void managePair(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(((Pair *) ptr)->node);
    }
}

static Pair *makePair(bool managed) {
    Pair *pair = managed ? mprAllocObj(Pair, managePair) : mprAllocZeroed(sizeof(Pair));
    pair->node = makeNode();
    return pair;
}

static void unmanagedBlock(bool wrong) {
    Node *node = makeNode();
    mprAddRoot(node);
    node->name = (char *) makePair(!wrong);
    collect();
}

static void onEvent(void *data, MprEvent *event) {
    (void) data;
    (void) event;
}

static void eventData(bool wrong) {
    MprEvent *event = mprCreateEvent(NULL, "later", 1000000, onEvent, makePair(!wrong), 0);
    mprAddRoot(event);
    collect();
    mprRemoveEvent(event);
}

static void onThread(void *data, MprThread *thread) {
    (void) data;
    (void) thread;
}

static void threadData(bool wrong) {
    MprThread *thread = mprCreateThread("worker", onThread, makePair(!wrong), 0);
    mprAddRoot(thread);
    collect();
}

static void unmanagedItems(bool wrong) {
    MprList *list = mprCreateList(-1, wrong ? MPR_LIST_STATIC_VALUES : 0);
    mprAddRoot(list);
    mprAddItem(list, makeNode());
    collect();
}

static void unmanagedKeys(bool wrong) {
    MprHash *hash = mprCreateHash(-1, wrong ? MPR_HASH_STATIC_KEYS : 0);
    mprAddRoot(hash);
    mprAddKey(hash, sclone("a key"), makeNode());
    collect();
}

#define HIGH ((uintptr_t) (sizeof(void *) == 8 ? 0xfffc000000000000u : 0))

typedef struct Boxes {
    uintptr_t values[100];
} Boxes;

static void manageBoxes(void *ptr, int flags) {
    for (int i = 0; (flags & MPR_MANAGE_MARK) && i < 100; i++) {
        mprMark((void *) (__atomic_load_n(&((Boxes *) ptr)->values[i], __ATOMIC_ACQUIRE) & ~HIGH));
    }
}

static void forgetBoxes(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark((void *) (((Boxes *) ptr)->values[0] & ~HIGH));
    }
}

static void taggedField(bool wrong) {
    Boxes *boxes = mprAllocObj(Boxes, wrong ? forgetBoxes : manageBoxes);
    mprAddRoot(boxes);
    boxes->values[1] = (uintptr_t) makeNode() | HIGH;
    collect();
}

/* ---- Stores ---- */

static void missedBarrier(bool wrong) {
    Node *node = makeBarrierNode();
    mprAddRoot(node);
    collect();
    if (wrong) {
        node->name = sclone("first");
    } else {
        mprSetRef(node, &node->name, sclone("first"));
    }
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
}

static void taggedStore(bool wrong) {
    Boxes *boxes = mprAllocManaged(sizeof(Boxes), manageBoxes, MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER);
    mprAddRoot(boxes);
    collect();
    mprSetRef(boxes, &boxes->values[1], (void *) ((uintptr_t) makeNode() | (wrong ? HIGH : 0)));
    collect();
}

static void interiorStore(bool wrong) {
    Node *node = makeBarrierNode();
    mprAddRoot(node);
    Node *other = makeNode();
    mprAddRoot(other);
    mprSetRef(node, &node->name, wrong ? (void *) &other->name : other);
    collect();
}

/* ---- Frees ---- */

static void freedTwice(bool wrong) {
    char *text = sclone("freed twice");
    mprFree(text);
    if (wrong) {
        mprFree(text);
    }
}

static void freedInUse(bool wrong) {
    Node *node = makeNode();
    mprAddRoot(node);
    node->name = sclone("first");
    mprFree(node->name);
    if (!wrong) {
        node->name = NULL;
    }
    collect();
}

static void freedLate(bool wrong) {
    char *text = sclone("gone already");
    if (!wrong) {
        mprHold(text);
    }
    collect();
    if (!wrong) {
        mprRelease(text);
    }
    mprFree(text);
}

static void keptOverYield(bool wrong) {
    Node *node = makeNode();
    if (!wrong) {
        mprAddRoot(node);
    }
    collect();
    node->name = NULL;
}

static void writtenBeyond(bool wrong) {
    mprAddRoot(makeNode());
    Node *node = makeNode();
    mprAddRoot(node);
    memset(node, 0, (wrong ? 2 : 1) * sizeof(Node));
    collect();
}

/* ---- Calls ---- */

static void manageLoudly(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(sfmt("node %p", ptr));
    }
}

static void calledInManager(bool wrong) {
    mprAddRoot(mprAllocObj(Node, wrong ? manageLoudly : manageNode));
    collect();
}

static void *run(void *wrong) {
    if (!wrong) {
        mprAttachThread("mine");
    }
    mprAlloc(100);
    if (!wrong) {
        mprDetachThread();
    }
    return NULL;
}

static void unattachedThread(bool wrong) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, wrong ? &thread : NULL);
    mprYield(MPR_YIELD_STICKY);
    pthread_join(thread, NULL);
    mprResetYield();
}

static void usedWhileYielded(bool wrong) {
    mprYield(MPR_YIELD_STICKY);
    if (!wrong) {
        mprResetYield();
    }
    sclone("used while yielded");
    mprResetYield();
}

static int isTold = 0, isDone = 0;

static void listen(cchar *tags, int level, cchar *message) {
    fprintf(stderr, "%s: %s\n", tags, message);
    (void) level;
    __atomic_store_n(&isTold, 1, __ATOMIC_RELEASE);
}

static void compute(void *wrong, MprThread *thread) {
    for (int i = 0; i < 6000 && !__atomic_load_n(wrong ? &isTold : &isDone, __ATOMIC_ACQUIRE); i++) {
        if (!wrong) {
            mprYield(0);
        }
        poll(NULL, 0, 10);
    }
    (void) thread;
}

static void threadWithoutYield(bool wrong) {
    mprSetLogHandler(listen);
    MprThread *thread = mprCreateThread("worker", compute, wrong ? &isTold : NULL, 0);
    mprHold(thread);
    mprStartThread(thread);
    mprNap(100);
    collect();
    __atomic_store_n(&isDone, 1, __ATOMIC_RELEASE);
    mprRelease(thread);
}

static void keptOnStack(bool wrong) {
    Node *volatile node = makeNode();
    if (!wrong) {
        mprAddRoot(node);
    }
    collect();
    if (!wrong) {
        mprRemoveRoot(node);
    }
}

int main(int argc, char **argv) {
    const char *shelved = "global without a root? shelf (";
    const Mistake mistakes[] = {
        {"global-without-root", "check=globals", globalWithoutRoot, {shelved, "manager manageNode ("}},
        {"global-by-whom", "check=globals+where", globalWithoutRoot, {shelved, " was allocated by "}},
        {"kept-on-stack", "check=stacks", keptOnStack, {"local variable without a root?", "manager manageNode ("}},
        {"global-array", "check=globals", globalArray, {"global without a root? table", "manager manageNode ("}},
        {"global-structure", "check=globals", globalStructure, {"root? statistics+0x", "manager manageNode ("}},
        {"local-static", "check=globals", localStatic, {"global without a root?", "latest", "manager manageNode ("}},
        {"root-removed-early", "check=globals", rootRemovedEarly, {shelved, "manager manageNode ("}},
        {"hold-forgotten", "check=globals", holdForgotten, {"root? buffer (", "text \"kept for later\""}},
        {"forgotten-field", "check=fields", forgottenField, {"manager forgetName (", NAME, "text \"first\""}},
        {"wrong-field", "check=fields", wrongField, {"manager markNextTwice (", NAME, "text \"first\""}},
        {"held-only", "check=fields", heldOnly, {"it is only held", NEXT, "manager manageNode ("}},
        {"unmanaged-block", "check=fields", unmanagedBlock, {"has no manager", NODE, "manager manageNode ("}},
        {"event-data", "check=fields", eventData, {"has no manager", NODE, "manager manageNode ("}},
        {"thread-data", "check=fields", threadData, {"has no manager", NODE, "manager manageNode ("}},
        {"unmanaged-items", "check=fields", unmanagedItems, {"has no manager", NEXT, "manager manageNode ("}},
        {"unmanaged-keys", "check=fields", unmanagedKeys, {"MprKey", "at offset", "text \"a key\""}},
        {"tagged-field",
         "check=fields,mask=0xffffffffffff",
         taggedField,
         {"manager forgetBoxes (", NAME, "manageNode"}},
        {"missed-barrier", "check=1", missedBarrier, {NAME, "promised the barrier", "manager manageNode ("}},
        {"tagged-store", "check=1", taggedStore, {"the value is not a block", NAME, "manager manageBoxes ("}},
        {"interior-store", "", interiorStore, {"is not the start of a block", NAME, "it points into block"}},
        {"freed-twice", "", freedTwice, {"mprFree(0x", "freed before"}},
        {"freed-in-use", "poison=1", freedInUse, {"is not the start of a block", NAME, "manager manageNode ("}},
        {"freed-late", "poison=1", freedLate, {"mprFree(0x", "freed before"}},
        {"kept-over-yield", "poison=1", keptOverYield, {"write after free: 0x"}},
        {"written-beyond", "", writtenBeyond, {"the manager word of block 0x", "has overflowed"}},
        {"called-in-manager", "", calledInManager, {"inside a manager's MPR_MANAGE_MARK", "manager manageLoudly ("}},
        {"unattached-thread", "", unattachedThread, {"mprAlloc: thread", "is not attached"}},
        {"used-while-yielded", "", usedWhileYielded, {"mprAlloc: thread \"main\" has yielded"}},
        {"thread-without-yield", "deadline=50", threadWithoutYield, {"thread \"worker\" keeps a collection waiting"}},
    };
    return runMistakes(argc, argv, mistakes, (int) (sizeof(mistakes) / sizeof(*mistakes)));
}
