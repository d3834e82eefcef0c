// SPDX-License-Identifier: MIT
/*
    test/metal/promises.cpp - What the headers promise of wrong calls, and of memory that runs short, without an operating
    system: where code memory is scarce, a promise is easily left out with the code that keeps it.
 */
#include <mpr.h>
#include <mpr/board.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "test/metal/say.hpp"

namespace {

// ---- What the runtime says --------------------------------------------------------------------------------------

char lastMessage[200];
int messages = 0;
bool saidOne = false; // some message had `expected` in it
const char* expected = "";

void keepMessage(const char*, int, const char* text) {
    ++messages;
    saidOne = saidOne || std::strstr(text, expected) != nullptr;
    std::strncpy(lastMessage, text, sizeof(lastMessage) - 1);
}

/** From here on look for a message with this text. */
void listenFor(const char* text) {
    expected = text;
    saidOne = false;
    messages = 0;
}

unsigned long long misuses() {
    return mprGetMemStats()->misuses;
}

alignas(16) char buffer[16 * 1024];

// ---- Things to manage -------------------------------------------------------------------------------------------

struct Node {
    Node* next; // Managed
    void* other;
};

int freed = 0;

void manageNode(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(static_cast<Node*>(ptr)->next);
    } else {
        ++freed;
    }
}

Node* makeNode(Node* next = nullptr) {
    Node* node = mprAllocObj(Node, manageNode);
    if (node) {
        node->next = next;
    }
    return node;
}

int collect() {
    return mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
}

// ---- Roots and holds: mpr/collect.h, mpr/memory.h ---------------------------------------------------------------

void movedRoot() {
    Node* root = makeNode(makeNode());
    mprAddRoot(root);
    mprAddRoot(root);
    mprAlloc(8); // so that it cannot grow in place
    auto* moved = static_cast<Node*>(mprRealloc(root, 2000));
    expect(moved && moved != root, "a root that grows moves");
    collect();
    expect(mprIsValid(moved) && mprIsValid(moved->next), "the new block is the root, and keeps its child");
    mprRemoveRoot(moved);
    collect();
    expect(mprIsValid(moved), "as often as the old one was");
    mprRemoveRoot(moved);
    collect();
    expect(!mprIsValid(moved), "and no more often");
    expect(misuses() == 0, "nothing of that is wrong");
}

void rootsAreNotFreed(Mpr* mpr) {
    Node* root = makeNode();
    mprAddRoot(root);
    freed = 0;
    listenFor("is a root");
    expect(mprFree(root) == MPR_ERR_BAD_ARGS && saidOne, "mprFree refuses a root, and names it");
    expect(mprFree(mpr) == MPR_ERR_BAD_ARGS, "and the Mpr object");
    collect();
    expect(freed == 0 && mprIsValid(root) && mprIsValid(mpr), "both live on");
    mprRemoveRoot(root);
    expect(mprFree(root) == 0 && freed == 1, "what was a root can be freed");
}

void permanentMemory() {
    char* text = static_cast<char*>(palloc(20));
    mprHold(text);
    listenFor("not permanent memory, or held besides");
    pfree(text);
    expect(saidOne && mprIsValid(text), "pfree refuses what is held besides");
    mprRelease(text);
    mprAddRoot(text);
    pfree(text);
    expect(mprIsValid(text), "and a root");
    mprRemoveRoot(text);
    pfree(text);
    expect(!mprIsValid(text), "but not what it is for");
    Node* held = makeNode();
    mprHold(held);
    pfree(held);
    expect(mprIsValid(held) && prealloc(held, 100) == nullptr, "nor does either take a block with a manager");
    mprRelease(held);
}

/** Its manager tries to keep the block that mprFree frees. */
void manageClinging(void* ptr, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        ++freed;
        expect(mprFree(ptr) == MPR_ERR_BAD_ARGS, "mprFree of a block that is being freed is refused");
        expect(mprRealloc(ptr, 500) == nullptr, "mprRealloc is, too");
        listenFor("mprRelease");
        mprRelease(ptr);
        expect(saidOne, "and mprRelease");
        mprHold(ptr);
        mprHold(ptr);
        mprAddRoot(ptr);
        mprGC(MPR_GC_FORCE);
    }
}

void freedByManager() {
    freed = 0;
    Node* loose = makeNode(); // which nothing keeps
    void* clinging = mprAllocManaged(8, manageClinging, 0);
    expect(mprFree(clinging) == 0 && freed == 1, "a manager cannot keep a block that mprFree frees");
    expect(mprIsValid(loose), "nor collect what its caller still uses");
    expect(!mprIsValid(clinging), "the block is gone");
    void* next = mprAllocMem(8, MPR_ALLOC_MANAGER);
    expect(next == clinging, "another stands there");
    expect(mprFree(next) == 0, "which is no root, and has no holds");
    collect();
}

Node* toKeep = nullptr;

/** Is called for a dead block: tries to have another dead one live on. */
void manageReviving(void*, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        mprHold(toKeep);
        mprAddRoot(toKeep);
    }
}

void deadStaysDead() {
    freed = 0;
    toKeep = makeNode();
    mprAllocManaged(8, manageReviving, 0);
    listenFor("not the start of a block in use");
    collect();
    expect(saidOne && freed == 1 && !mprIsValid(toKeep), "a block that was found dead is made no root, and not held");
}

void* resized = nullptr;

/** Is called for a dead block: resizes what it owns, which is dead, too. */
void manageResizing(void* ptr, int flags) {
    auto* owner = static_cast<Node*>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMark(owner->next);
    } else if (owner->next) {
        mprAlloc(8);
        resized = mprRealloc(owner->next, 600);
    }
}

void deadIsResized() {
    freed = 0;
    auto* owner = static_cast<Node*>(mprAllocManaged(sizeof(Node), manageResizing, MPR_ALLOC_ZERO));
    owner->next = makeNode();
    mprAlloc(8);
    Node* old = owner->next;
    collect();
    expect(freed == 0 && resized && resized != old, "the old block's manager is not called: its contents have moved");
    expect(mprIsValid(resized) && !mprIsValid(old), "the new block is one as others");
    collect();
    expect(freed == 1 && !mprIsValid(resized), "whose manager is called once");
    expect(mprVerifyHeap() == 0, "the heap is sound");
}

// ---- Memory runs short: mpr/limits.h ----------------------------------------------------------------------------

int restarts = 0;

void restartPolicy() {
    mprSetMemPolicy(MPR_ALLOC_POLICY_RESTART);
    restarts = 0;
    listenFor("does not restart");
    while (mprAlloc(1000)) {}
    expect(restarts == 1, "MPR_ALLOC_POLICY_RESTART asks the board to start anew");
    expect(saidOne, "which is named when the board does not");
    mprSetMemPolicy(MPR_ALLOC_POLICY_NOTHING);
}

// ---- Managers: mpr/memory.h -------------------------------------------------------------------------------------

void** managerWordOf(void* block) {
    return reinterpret_cast<void**>(static_cast<char*>(block) + mprGetBlockSize(block));
}

/** A block that keeps another, and whose last word is overwritten. */
void overwriteManager(void* word) {
    freed = 0;
    Node* block = makeNode(makeNode());
    mprAddRoot(block);
    *managerWordOf(block) = word;
    listenFor("was overwritten");
    collect();
    expect(saidOne, "a manager that was overwritten is named");
    expect(freed == 0 && mprIsValid(block->next), "nobody is called in its place, and what the block references lives");
    listenFor("");
    collect();
    expect(messages == 0, "it is named once");
    mprRemoveRoot(block);
    collect();
    expect(freed == 1 && !mprIsValid(block), "the block goes without a call, and what it has kept with it");
}

void overwrittenManagers() {
    overwriteManager(nullptr); // a text that is too long by its end
    overwriteManager(reinterpret_cast<void*>(~std::uintptr_t{0}));
    overwriteManager(buffer);
    void* others = *managerWordOf(makeNode());
    collect();
    overwriteManager(others); // a copy that is too long
    Node* node = makeNode();
    *managerWordOf(node) = nullptr;
    listenFor("was overwritten");
    expect(mprFree(node) == 0 && saidOne, "mprFree calls nobody, either");
    expect(misuses() == 5, "each is counted");
}

// ---- States: mpr/runtime.h --------------------------------------------------------------------------------------

template <int N>
void manageOf(void*, int) {}

/** There may be any number of managers, as long as there is memory to remember them. */
template <int N>
bool useManagers() {
    if constexpr (N == 0) {
        return true;
    } else {
        return mprAllocManaged(8, manageOf<N>, 0) && useManagers<N - 1>();
    }
}

void withoutRuntime() {
    listenFor("there is no runtime");
    const auto named = [](const char* call) {
        expect(saidOne, call);
        saidOne = false;
    };
    expect(!mprAlloc(10) && !mprAllocManaged(10, manageNode, 0) && !palloc(10), "without a runtime there is no memory");
    named("which is named");
    mprYield(0);
    named("mprYield");
    mprResetYield();
    named("mprResetYield");
    expect(mprGC(MPR_GC_FORCE) == 0 && mprFree(buffer) == MPR_ERR_BAD_ARGS, "nothing is collected or freed");
    named("mprGC, mprFree");
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    named("mprSetMemNotifier");
    mprSetMemPolicy(MPR_ALLOC_POLICY_PRUNE);
    named("mprSetMemPolicy");
    mprHold(buffer);
    named("mprHold");
    mprAddRoot(buffer);
    named("mprAddRoot");
    MprRootRef ref = {};
    mprLinkRootRef(&ref);
    named("mprLinkRootRef");
    mprUnlinkRootRef(&ref);
    expect(mprDetachThread() == MPR_ERR_BAD_STATE && !mprDestroy(), "there is nothing to end");
    named("mprDestroy");
}

bool collectedInside = false;
Node* unrooted = nullptr;

/** Called inside an allocation, whose caller relies on it not to yield. */
void yieldInNotifier(int, int, size_t, size_t) {
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    mprYield(MPR_YIELD_COMPLETE);
    expect(!mprDestroy(), "nor is the runtime ended there");
    collectedInside = collectedInside || !mprIsValid(unrooted);
}

void notifierDoesNotYield() {
    collectedInside = false;
    unrooted = makeNode();
    mprSetMemNotifier(yieldInNotifier);
    listenFor("inside the notifier");
    while (mprAlloc(1000)) {}
    expect(saidOne && !collectedInside, "a notifier that yields is named, and nothing is collected");
    mprSetMemNotifier(nullptr);
}

int terminators = 0;
void destroyAgain(int, int, int) {
    ++terminators;
    expect(!mprDestroy(), "a terminator does not end the runtime");
}

int depth = 0;

/** Causes a message in turn. */
void logRecursively(const char* tags, int level, const char* text) {
    if (++depth > 1) {
        mprSetLogHandler(keepMessage);
    }
    expect(depth == 1, "the handler is not called for what it causes itself");
    mprFree(&depth);
    --depth;
    keepMessage(tags, level, text);
}

// ---- Interrupts: mpr/board.h ------------------------------------------------------------------------------------

int calls = 0; // of the interrupt handler
void* fromInterrupt = &calls;
void* tried = nullptr;

void interrupted() {
    ++calls;
    fromInterrupt = mprAlloc(20);
    mprGC(MPR_GC_FORCE);
    mprYield(MPR_YIELD_COMPLETE);
    mprAddRoot(tried);
    mprHold(tried);
    mprSetMemLimits(1, 1, 0);
    mprSetManager(tried, nullptr);
    if (mprAllocManaged(8, manageNode, 0) || palloc(8) || mprRealloc(tried, 900) || mprCreateHandle(0, tried) ||
        mprFree(tried) != MPR_ERR_BAD_ARGS) {
        fromInterrupt = &calls;
    }
}

#ifdef __arm__
void interrupt() {
    auto* const control = reinterpret_cast<volatile std::uint32_t*>(0xE000ED04);
    *control = 1u << 28; // PendSV, which boardInterrupt serves
    __asm__ volatile("dsb\n isb" : : : "memory");
}
#else
bool inInterrupt = false;

void interrupt() {
    inInterrupt = true;
    interrupted();
    inInterrupt = false;
}
#endif

void interrupts() {
    tried = makeNode();
    freed = calls = 0;
    const auto before = misuses();
    const auto collections = mprGetMemStats()->collections;
    listenFor("called in an interrupt");
    interrupt();
    expect(calls == 1 && fromInterrupt == nullptr, "what an interrupt asks for is refused");
    expect(freed == 0 && mprIsValid(tried) && mprGetMemStats()->collections == collections, "and nothing is done");
    expect(messages == 0, "nothing is written in an interrupt");
    expect(misuses() - before == 12, "but counted");
    mprAlloc(8);
    expect(saidOne, "the next allocation names it");
    collect();
    expect(freed == 1, "no root, and no hold was made");
}

// ---- Options: mpr/runtime.h -------------------------------------------------------------------------------------

void options() {
    expect(mprConfigure("young=4k,growth=50,marks=1k,everyyield=0") == 0, "these options there are");
    for (const char* spec :
         {"poison=1", "check=1", "check=fields", "batches=1", "everyalloc=7", "region=64k", "reserve=1", "extra=10",
          "stack=64k", "markers=2", "pausebudget=400", "cpu=10", "deadline=500"}) {
        listenFor("is not an option here; there are young, growth, marks and everyyield");
        expect(mprConfigure(spec) == MPR_ERR_BAD_ARGS && saidOne, "those that would do nothing are refused");
    }
    mprConfigure("");
}

void limits() {
    listenFor("mprSetMemLimits");
    mprSetMemLimits(12 * 1024, 10 * 1024, -1);
    expect(saidOne && mprGetMemStats()->maxHeap == 0, "a redline above the limit is refused");
    listenFor("mprSetMemLimits");
    mprSetMemLimits(0, 100, -1);
    expect(saidOne && mprGetMemStats()->maxHeap == 0, "and a limit below what is in use");
    mprSetMemLimits(8 * 1024, 12 * 1024, -1);
    expect(mprGetMemStats()->maxHeap == 12 * 1024 && misuses() == 2, "others are set");
}

int verified = 0;

void manageVerifying(void*, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        verified = mprVerifyHeap();
    }
}

void verifiedByManager() {
    mprAllocManaged(8, manageVerifying, 0);
    collect();
    expect(verified == MPR_ERR_BAD_STATE, "the heap is not verified in the midst of a collection");
}

MprRootRef left = {};

void linkLeft() {
    left.ptr = makeNode();
    mprLinkRootRef(&left);
}

void manageWrong(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(static_cast<char*>(ptr) + 4);
    }
}

void wrongMark() {
    void* wrong = mprAllocManaged(16, manageWrong, 0);
    mprAddRoot(wrong);
    listenFor("by the manager of block");
    collect();
    const char* last = std::strrchr(lastMessage, ' ');
    expect(saidOne && last && std::strncmp(last, " 0x", 3) == 0, "a message names the manager by its address");
    mprRemoveRoot(wrong);
}

// ---- Messages: mpr/runtime.h ------------------------------------------------------------------------------------

void messagesAreLimited() {
    const auto before = misuses();
    int local = 0;
    listenFor("such messages left out before this");
    for (int i = 0; i < 1000; ++i) {
        mprFree(&local);
    }
    expect(misuses() - before == 1000, "statistics count every wrong call");
    expect(messages >= 32 && messages < 200, "the log names 32, and some more as time goes by");
    const unsigned long long until = mprBoardTime() + 2'000'000'000;
    while (mprBoardTime() < until) {}
    mprFree(&local);
    expect(saidOne, "and says later how many it left out");
    while (mprAlloc(1000)) {}
    listenFor("");
    for (int i = 0; i < 1000; ++i) {
        mprAlloc(1000);
    }
    expect(messages < 50, "allocations that fail are named once a second");
}

// ---- Runs -------------------------------------------------------------------------------------------------------

template <typename F>
void inRuntime(const char* name, F&& body) {
    const int before = failures;
    Mpr* mpr = mprCreateInBuffer(buffer, sizeof(buffer), 0);
    expect(mpr != nullptr, "a runtime in a buffer");
    if (mpr) {
        body(mpr);
        expect(mprVerifyHeap() == 0, "the heap is sound");
        expect(mprDestroy(), "and can be destroyed");
    }
    if (failures != before) {
        say("  in: ");
        say(name);
        say("; last message: ");
        say(lastMessage);
        say("\n");
    }
}
} // namespace

/** In place of the board's own, which would begin this program anew. */
void mprBoardRestart(void) {
    ++restarts;
}

#ifdef __arm__
/** In place of the board's own, which takes an interrupt for a fault. */
extern "C" void boardInterrupt() {
    interrupted();
}
#else
bool mprBoardInInterrupt() {
    return inInterrupt;
}
#endif

int main() {
    mprSetLogHandler(keepMessage);
    inRuntime("moved root", [](Mpr*) { movedRoot(); });
    inRuntime("roots are not freed", [](Mpr* mpr) { rootsAreNotFreed(mpr); });
    inRuntime("permanent memory", [](Mpr*) { permanentMemory(); });
    inRuntime("freed by manager", [](Mpr*) { freedByManager(); });
    inRuntime("dead stays dead", [](Mpr*) { deadStaysDead(); });
    inRuntime("dead is resized", [](Mpr*) { deadIsResized(); });
    inRuntime("restart", [](Mpr*) { restartPolicy(); });
    inRuntime("overwritten managers", [](Mpr*) { overwrittenManagers(); });
    inRuntime("many managers", [](Mpr*) { expect(useManagers<100>() && misuses() == 0, "a hundred managers"); });
    inRuntime("notifier", [](Mpr*) { notifierDoesNotYield(); });
    inRuntime("terminator", [](Mpr*) { mprAddTerminator(destroyAgain); });
    expect(terminators == 1, "the terminator runs once");
    inRuntime("log", [](Mpr*) {
        mprSetLogHandler(logRecursively);
        mprFree(&depth);
        mprSetLogHandler(keepMessage);
    });
    inRuntime("interrupts", [](Mpr*) { interrupts(); });
    inRuntime("messages", [](Mpr*) { messagesAreLimited(); });
    withoutRuntime();
    options();
    inRuntime("limits", [](Mpr*) { limits(); });
    inRuntime("verify", [](Mpr*) { verifiedByManager(); });
    inRuntime("wrong mark", [](Mpr*) { wrongMark(); });
    inRuntime("link", [](Mpr*) { linkLeft(); });
    expect(left.next == nullptr, "mprDestroy unlinks root references that are left");
    return failures;
}
