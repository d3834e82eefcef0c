// SPDX-License-Identifier: MIT
/*
    test/host/pages_host.cpp - The program as the host of all pages: it sees each of them, may refuse any, and has all of them back.
 */
#include "mpr/host.h"
#include "mpr/os/pages.hpp"
#include "test/support/log.hpp"
#include "test/support/mutator.hpp"
#include "test/support/page_host.hpp"
#include "test/support/runtime.hpp"
#include "test/support/watchdog.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

using namespace test;

/* test_host is linked so that the library's calls of mmap, and the tests', come here: of mmap64, where that is its name. */
#if defined(_FILE_OFFSET_BITS) && _FILE_OFFSET_BITS == 64
#define REAL_MMAP __real_mmap64
#define WRAP_MMAP __wrap_mmap64
#else
#define REAL_MMAP __real_mmap
#define WRAP_MMAP __wrap_mmap
#endif
extern "C" void *REAL_MMAP(void *, size_t, int, int, int, off_t);
static std::atomic<long> mappings{0};
extern "C" void *WRAP_MMAP(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    mappings++;
    return REAL_MMAP(at, size, protection, flags, fd, offset);
}

namespace {

std::atomic<int> causes;
void noteCause(int cause, int, size_t, size_t) {
    causes |= cause;
}

/* What a program got, and where it is. */
struct Got {
    bool runtime = false, ended = false;
    int failed = 0;          // calls that had no memory
    int wrong = 0;           // what is not as it was left
    int defects = 0;         // that mprVerifyHeap found
    int threads = 0;         // that ran
    std::vector<cvoid *> at; // addresses in memory of the host's
};

class Program {
public:
    explicit Program(PageHost &host) : host(host) {}

    Got run() {
        mpr = mprCreate(0, nullptr, 0);
        got.runtime = mpr != nullptr;
        if (mpr) {
            mprSetMemNotifier(noteCause);
            useBlocks();
            useHandles();
            usePinned();
            usePrivate();
            usePages();
            useThreads();
            useEvents();
            collect();
            got.defects = mprVerifyHeap();
            got.ended = mprDestroy();
        }
        return got;
    }

private:
    template <class T>
    T *see(T *memory) {
        got.failed += !memory;
        if (memory) {
            got.at.push_back(memory);
            got.wrong += !host.has(memory);
        }
        return memory;
    }
    void fill(void *memory, int value, size_t size) {
        if (memory) {
            memset(memory, value, size);
        }
    }
    bool isFilled(cvoid *memory, int value, size_t size) {
        auto bytes = static_cast<const unsigned char *>(memory);
        return !memory || (bytes[0] == value && bytes[size / 2] == value && bytes[size - 1] == value);
    }

    void useBlocks() {
        void *small[2000];
        for (void *&block : small) {
            block = see(mprAllocMem(100, MPR_ALLOC_HOLD));
            fill(block, 1, 100);
        }
        void *large[3];
        for (void *&block : large) {
            block = see(mprAllocMem(5'000'000, MPR_ALLOC_HOLD));
            fill(block, 2, 5'000'000);
        }
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        for (void *block : small) {
            got.wrong += !isFilled(block, 1, 100);
            free(block);
        }
        for (void *block : large) {
            got.wrong += !isFilled(block, 2, 5'000'000);
            free(block);
        }
        fill(see(mprAlloc(4'900'000)), 3, 4'900'000); // where one of them was
        MprHash *hash = see(mprCreateHash(0, 0));
        for (int i = 0; hash && i < 100; i++) {
            got.failed += !mprAddKey(hash, sfmt("key %d", i), "value");
        }
    }
    void free(void *block) {
        if (block) {
            mprRelease(block);
            got.wrong += mprFree(block) != 0;
        }
    }

    void useHandles() {
        void *block = see(mprAllocMem(16, MPR_ALLOC_HOLD));
        std::vector<MprHandle> handles;
        for (int type : {MPR_HANDLE_WEAK_SHORT, MPR_HANDLE_DEPENDENT, MPR_HANDLE_STRONG}) {
            for (int i = 0; i < 3000; i++) {
                handles.push_back(mprCreateHandle(type, block));
                got.failed += handles.back() == 0;
            }
        }
        for (MprHandle handle : handles) {
            got.wrong += handle != 0 && mprGetHandle(handle) != block;
            got.wrong += mprDestroyHandle(handle) != 0;
        }
        MprHandle again = mprCreateHandle(MPR_HANDLE_SIZED, block); // in a segment whose memory was given back
        got.wrong += again != 0 && mprGetHandle(again) != block;
        mprDestroyHandle(again);
        free(block);
    }

    void usePinned() {
        void *blocks[20];
        for (void *&block : blocks) {
            block = see(mprAllocPinned(20'000, 4096, 0));
            fill(block, 4, 20'000);
        }
        fill(see(mprAllocPinned(6'000'000, 4096, 0)), 5, 6'000'000);
        static char memory[64 * 1024];
        if (mprAddPinnedRange("board", memory, sizeof(memory)) == 0) {
            fill(mprAllocPinnedIn("board", 1000, 64, 0), 6, 1000);
        } else {
            got.failed++;
        }
        for (void *block : blocks) {
            got.wrong += !isFilled(block, 4, 20'000);
            got.wrong += block && mprFree(block) != 0;
        }
    }

    void usePrivate() {
        MprPrivateHeap *heap = see(mprCreateHeap("of a test", 0));
        void *blocks[50] = {};
        for (int i = 0; heap && i < 50; i++) {
            blocks[i] = see(mprHeapAlloc(heap, 100'000, MPR_CRITICAL_DOMAIN));
            fill(blocks[i], 7, 100'000);
        }
        for (void *block : blocks) {
            got.wrong += !isFilled(block, 7, 100'000);
        }
        mprDestroyHeap(heap);
        got.failed += mprAcquiredAddressRange(this, 1000) != 0;
        mprReleasedAddressRange(this);
    }

    void usePages() {
        fill(pages = see(static_cast<char *>(mprVirtAlloc(100'000, MPR_MAP_READ | MPR_MAP_WRITE))), 8, 100'000);
        mprVirtFree(pages, 100'000);
        char *constant = see(static_cast<char *>(mprVirtAlloc(100'000, MPR_MAP_READ)));
        got.wrong += constant && constant[99'999] != 0;
        mprVirtFree(constant, 100'000);
    }

    static void standHere(Program *program) {
        char here = 1;
        program->stacks += program->host.has(&here);
        program->ended++;
    }
    void useThreads() {
        MprThread *thread = mprCreateThread(
            "of a test", MPR_PROC(+[](void *data, MprThread *) { standHere(static_cast<Program *>(data)); }), this, 0);
        int started = thread && mprStartThread(thread) == 0;
        started += mprStartOsThread("beside", MPR_PROC(+[](void *data) -> void * {
                                        standHere(static_cast<Program *>(data));
                                        return nullptr;
                                    }),
                                    this, nullptr) == 0;
        got.failed += 2 - started;
        got.wrong += !until([&] { return ended == started; });
        const long refused = host.refused();
        const bool worker =
            mprStartWorker([](void *data, MprWorker *) { standHere(static_cast<Program *>(data)); }, this) == 0;
        got.failed += !worker;
        if (worker && host.refused() == refused) { // else it may wait for a thread
            got.wrong += !until([&] { return ended == started + 1; });
        }
        got.threads = ended;
        got.wrong += stacks != ended;
    }

    void useEvents() {
        auto count = [](void *data, MprEvent *) { static_cast<Program *>(data)->events++; };
        MprEvent *event = mprCreateEvent(nullptr, "of a test", 0, MPR_PROC(+count), this, 0);
        got.failed += !event;
        mprServiceEvents(0, MPR_SERVICE_NO_BLOCK);
        got.failed += !mprGetPathFiles("/", 0);
    }

    void collect() {
        got.failed += mprStartSuspensionMonitor(nullptr) != 0;
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
        mprStopSuspensionMonitor();
    }

    PageHost &host;
    Got got;
    Mpr *mpr = nullptr;
    char *pages = nullptr;
    std::atomic<int> ended{0}, stacks{0}, events{0};
};

/* Nothing of what was reserved is left, and nothing was asked against the rules. */
void checkLedger(const PageHost &host) {
    untilUnyielded(
        [&] {
            mpr::os::giveStacks(); // of a thread that is not the runtime's, and may be about to end
            return host.reserved() == 0;
        },
        3000);
    INFO(Log::text());
    INFO(host.text());
    CHECK(host.faults() == "");
    CHECK(host.reserved() == 0);
    CHECK(host.committed() == 0);
    MprHostStats stats;
    CHECK(mprReadHostStats(&stats) == 0);
    CHECK(stats.reserved == 0);
}
} // namespace

TEST_CASE("a host sees each page, and has all of them back", "[host][pages]") {
    Watchdog watchdog(60);
    Log log;
    PageHost host;
    const long before = mappings;
    const Got got = Program(host).run();
    INFO(Log::text());
    CHECK(got.runtime);
    CHECK(got.ended);
    CHECK(got.failed == 0);
    CHECK(got.wrong == 0);
    CHECK(got.defects == 0);
    CHECK(got.threads == 3);
    checkLedger(host);
    MprHostStats stats;
    CHECK(mprReadHostStats(&stats) == 0);
    CHECK(mappings - before == static_cast<long>(stats.requests[MPR_PAGES_RESERVE])); // all of them the host's own
    CHECK(static_cast<long>(stats.requests[MPR_PAGES_RESERVE] + stats.requests[MPR_PAGES_COMMIT] +
                            stats.requests[MPR_PAGES_PROTECT]) == host.asked());
    CHECK(stats.requests[MPR_PAGES_DECOMMIT] > 0);
    CHECK(stats.requests[MPR_PAGES_QUERY] > 0);
    CHECK(stats.peak >= 10'000'000);
    for (int level = 0; level <= MPR_CRITICAL_PROCESS; level++) {
        INFO(level);
        CHECK(host.byLevel(level) > 0);
        CHECK(stats.refused[level] == 0);
    }
    CHECK(stats.lastRequest == MPR_PAGES_NONE);
}

TEST_CASE("a program lives with any one refusal of its host, and with all after it", "[host][pages]") {
    Watchdog watchdog(600);
    Log log;
    long asked = 0;
    {
        PageHost host;
        Program(host).run();
        asked = host.asked();
    }
    REQUIRE(asked > 50);
    int whole = 0, refusedByAll = 0, told = 0;
    for (bool forever : {false, true}) {
        for (long n = 0; n < asked; n++) {
            Log::clear();
            PageHost host;
            host.refuse(n, forever);
            causes = 0;
            const Got got = Program(host).run();
            INFO("request " << n << " of " << asked << (forever ? ", and all after it" : ""));
            INFO(Log::text());
            CHECK(got.ended == got.runtime);
            CHECK(got.wrong == 0);
            CHECK(got.defects == 0);
            CHECK((causes & ~(MPR_MEM_HOST | MPR_MEM_WARNING | MPR_MEM_WELL)) ==
                  0); // the cause is the host, or there was none
            checkLedger(host);
            MprHostStats stats;
            mprReadHostStats(&stats);
            const bool reached = host.refused() > 0; // another run may ask for less
            CHECK(static_cast<long>(stats.refused[0] + stats.refused[1] + stats.refused[2]) == host.refused());
            CHECK((stats.lastRequest != MPR_PAGES_NONE) == reached);
            if (!got.runtime) {
                CHECK(Log::has("mprCreate"));
                refusedByAll++;
            }
            whole += got.runtime && got.failed == 0;
            told += causes == MPR_MEM_HOST;
        }
    }
    CHECK(whole > 0);        // some are made good by a collection, or by asking again
    CHECK(told > 0);         // the heap's part; threads and libuv have no cause
    CHECK(refusedByAll > 0); // and without others there is no runtime
}

TEST_CASE("a refusal by the host is named, with its cause", "[host][pages]") {
    Watchdog watchdog(60);
    Log log;
    PageHost host;
    REQUIRE(mprCreate(0, nullptr, 0));
    host.refuse(0, true);
    causes = 0;
    mprSetMemNotifier(noteCause);
    CHECK_FALSE(mprAlloc(100'000'000));
    CHECK(causes == MPR_MEM_HOST);
    CHECK(mprHasMemError());
    MprHostStats stats;
    CHECK(mprReadHostStats(&stats) == 0);
    CHECK(stats.lastSize >= 100'000'000);
    CHECK(stats.lastRequest == MPR_PAGES_RESERVE);
    CHECK(stats.lastError == MPR_ERR_MEMORY);
    mprSetMemNotifier(nullptr);
    CHECK_FALSE(mprAlloc(100'000'000));
    CHECK(Log::has("the host refuses pages: 100000000 bytes asked for"));

    // A limit is a limit, whoever grants pages.
    host.refuse(PageHost::never, false);
    mprSetMemNotifier(noteCause);
    causes = 0;
    mprSetMemLimits(0, 50'000'000, -1);
    CHECK_FALSE(mprAlloc(100'000'000));
    CHECK(causes == MPR_MEM_LIMIT);
    mprSetMemLimits(0, 0, -1);
    CHECK(mprAlloc(100'000'000));
    CHECK(mprDestroy());
    checkLedger(host);
}

TEST_CASE("a host may refuse a task what it grants the process", "[host][pages]") {
    Watchdog watchdog(60);
    Log log;
    PageHost host;
    REQUIRE(mprCreate(0, nullptr, 0));
    mprSetMemNotifier(noteCause);
    host.refuseBelow(MPR_CRITICAL_DOMAIN);
    CHECK_FALSE(mprAlloc(100'000'000));
    MprPrivateHeap *heap = mprCreateHeap("of a part", 0);
    REQUIRE(heap);
    CHECK_FALSE(mprHeapAlloc(heap, 10'000'000, MPR_CRITICAL_TASK));
    CHECK(mprHeapAlloc(heap, 10'000'000, MPR_CRITICAL_DOMAIN));
    host.refuseBelow(MPR_CRITICAL_PROCESS);
    CHECK_FALSE(mprHeapAlloc(heap, 10'000'000, MPR_CRITICAL_DOMAIN));
    CHECK(mprHeapAlloc(heap, 10'000'000, MPR_CRITICAL_PROCESS));
    CHECK_FALSE(mprCreateHeap("of another part", 0));
    mprDestroyHeap(heap);
    CHECK(mprDestroy());
    checkLedger(host);
}

TEST_CASE("what the notifier asks for is more critical than what brought it", "[host][pages]") {
    Watchdog watchdog(60);
    Log log;
    PageHost host;
    REQUIRE(mprCreate(0, nullptr, 0));
    host.refuseBelow(MPR_CRITICAL_DOMAIN);
    static bool had;
    had = false;
    mprSetMemNotifier([](int, int, size_t, size_t) { had = mprAlloc(10'000'000) != nullptr; });
    CHECK_FALSE(mprAlloc(100'000'000));
    CHECK(had);
    CHECK(mprDestroy());
    checkLedger(host);
}

TEST_CASE("memory that is given back is the host's until it is asked for again", "[host][pages]") {
    Watchdog watchdog(60);
    Log log;
    PageHost host;
    REQUIRE(mprCreate(0, nullptr, 0));
    const size_t before = host.committed();
    for (int round = 0; round < 3; round++) {
        void *blocks[1000];
        for (void *&block : blocks) {
            block = mprAllocMem(20'000, MPR_ALLOC_HOLD);
            REQUIRE(block);
            memset(block, 1, 20'000);
        }
        CHECK(host.committed() > before + 15'000'000);
        for (void *block : blocks) {
            mprRelease(block);
        }
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        CHECK(host.committed() < before + 8'000'000);
        CHECK(mprVerifyHeap() == 0);
    }
    CHECK(mprDestroy());
    checkLedger(host);
}

TEST_CASE("whatever is done with stale handles, no page is written to that the host has back", "[host][pages]") {
    Watchdog watchdog(60);
    Log log;
    PageHost host; // which lets nobody write to pages that it has back
    REQUIRE(mprCreate(0, nullptr, 0));
    std::vector<MprHandle> handles(20'000);
    void *const block = mprAllocMem(10, MPR_ALLOC_HOLD);
    for (int round = 0; round < 3; round++) {
        for (MprHandle &handle : handles) {
            handle = mprCreateHandle(MPR_HANDLE_STRONG, block);
            REQUIRE(handle);
        }
        for (MprHandle handle : handles) {
            CHECK(mprDestroyHandle(handle) == 0);
        }
        for (MprHandle handle : handles) {
            CHECK(mprDestroyHandle(handle) == MPR_ERR_BAD_HANDLE);
            CHECK(mprSetHandle(handle, block) == MPR_ERR_BAD_HANDLE);
            CHECK(mprGetHandle(handle) == nullptr);
        }
    }
    mprRelease(block);
    CHECK(mprDestroy());
    checkLedger(host);
}

TEST_CASE("no address of a large block leads anywhere when the host has its pages back", "[host][pages]") {
    Watchdog watchdog(60);
    Log log;
    PageHost host;
    REQUIRE(mprCreate(0, nullptr, 0));
    constexpr size_t size = 20'000'000; // the table of regions has it in several places
    std::vector<const char *> blocks;
    for (int round = 0; round < 10; round++) {
        void *block = mprAllocMem(size, MPR_ALLOC_HOLD);
        REQUIRE(block);
        blocks.push_back(static_cast<const char *>(block));
        mprRelease(block);
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        for (const char *gone : blocks) {
            for (size_t at = 0; at < size; at += 100'000) {
                REQUIRE_FALSE(mprIsValid(gone + at));
            }
        }
        CHECK(mprVerifyHeap() == 0);
    }
    CHECK(mprDestroy());
    checkLedger(host);
}

TEST_CASE("mprVerifyHeap compares with what the host says", "[host][pages]") {
    Watchdog watchdog(60);
    Log log;
    PageHost host;
    REQUIRE(mprCreate(0, nullptr, 0));
    char *block = static_cast<char *>(mprAllocMem(1'000'000, MPR_ALLOC_HOLD));
    REQUIRE(block);
    CHECK(mprVerifyHeap() == 0);
    const auto page = static_cast<uintptr_t>(mprGetPageSize());
    auto inside = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(block) + page) & ~(page - 1));
    const MprHost &own = *mprGetHost();
    own.decommit(own.data, inside, page); // behind the heap's back
    CHECK(mprVerifyHeap() == 1);
    CHECK(Log::has("the host says of committed pages that they are not"));
    host.knowNothing(true); // which is no defect
    CHECK(mprVerifyHeap() == 0);
    host.knowNothing(false);
    CHECK(own.commit(own.data, inside, page, MPR_CRITICAL_TASK) == 0);
    CHECK(mprVerifyHeap() == 0);
    CHECK(mprDestroy());
    checkLedger(host);
}

TEST_CASE("a thread's stack ends at a page that nobody may touch, and goes back when the thread has ended",
          "[host][pages]") {
    Watchdog watchdog(60);
    Log log;
    PageHost host;
    REQUIRE(mprCreate(0, nullptr, 0));
    const size_t before = host.reserved();
    size_t one = 0;
    for (int round = 0; round < 20; round++) {
        static std::atomic<bool> ended;
        ended = false;
        MprThread *thread =
            mprCreateThread("brief", MPR_PROC(+[](void *, MprThread *) { ended = true; }), nullptr, 65536);
        REQUIRE(thread);
        CHECK(mprStartThread(thread) == 0);
        CHECK(until([] { return ended.load(); }));
        one = std::max(one, round == 0 ? host.reserved() - before : 1);
    }
    CHECK(until([&] { return host.reserved() < before + 5 * one; })); // of some, not of twenty
    MprHostStats stats;
    mprReadHostStats(&stats);
    CHECK(stats.requests[MPR_PAGES_PROTECT] > 20);
    CHECK(mprDestroy());
    checkLedger(host);
}

TEST_CASE("a host is whole, and set before all else", "[host][pages]") {
    Watchdog watchdog(60);
    Log log;
    MprHost part{};
    part.size = sizeof(part);
    CHECK(mprSetHost(&part) == MPR_ERR_BAD_ARGS);
    CHECK(Log::has("a function is missing"));
    CHECK(mprGetHost() == nullptr);
    MprHostStats stats;
    CHECK(mprReadHostStats(&stats) == MPR_ERR_BAD_STATE);
    {
        PageHost host;
        CHECK(mprGetHost());
        MprHost other = *mprGetHost();
        other.size--;
        CHECK(mprSetHost(&other) == MPR_ERR_BAD_ARGS);
        MprPrivateHeap *heap = mprCreateHeap("in use", 0);
        CHECK(mprSetHost(nullptr) == MPR_ERR_BAD_STATE);
        CHECK(Log::has("pages are in use"));
        mprDestroyHeap(heap);
        REQUIRE(mprCreate(0, nullptr, 0));
        CHECK(mprSetHost(nullptr) == MPR_ERR_BAD_STATE);
        CHECK(Log::has("there is a runtime"));
        CHECK(mprDestroy());
        checkLedger(host);
    }
    Runtime runtime; // the system's again
    CHECK(mprAlloc(10'000'000));
}

TEST_CASE("a host that is not set leaves stale handles and heaps to be recognised", "[host][pages]") {
    Watchdog watchdog(60);
    Log log;
    REQUIRE(mprCreate(0, nullptr, 0));
    const MprHandle handle = mprCreateHandle(MPR_HANDLE_STRONG, mprAlloc(10));
    const MprHandle dependent = mprCreateHandle(MPR_HANDLE_DEPENDENT, mprAlloc(10));
    REQUIRE(handle);
    MprPrivateHeap *gone = mprCreateHeap("gone", 0), *left = mprCreateHeap("left", 0);
    CHECK(mprDestroyHeap(gone) == 0);
    CHECK(mprDestroy());
    const auto stale = [&] {
        Log::clear();
        REQUIRE(mprCreate(0, nullptr, 0));
        CHECK(mprGetHandle(handle) == nullptr);
        CHECK(mprGetHandle(dependent) == nullptr);
        CHECK(Log::has("mprGetHandle"));
        CHECK(mprDestroyHeap(gone) == MPR_ERR_BAD_ARGS);
        CHECK(mprDestroy());
    };
    CHECK(mprSetHost(nullptr) == 0); // there was none
    stale();
    const MprHost any{sizeof(MprHost),
                      nullptr,
                      [](void *, size_t, size_t, int) -> void * { return nullptr; },
                      [](void *, void *, size_t, int) { return 0; },
                      [](void *, void *, size_t) {},
                      [](void *, void *, size_t) {},
                      [](void *, void *, size_t, int) { return 0; },
                      [](void *, cvoid *, MprPages *) { return 0; },
                      nullptr};
    CHECK(mprSetHost(&any) == MPR_ERR_BAD_STATE); // a heap is left
    CHECK(mprGetHost() == nullptr);
    stale();
    CHECK(mprDestroyHeap(left) == 0);
    CHECK(mprSetHost(&any) == 0);
    CHECK(mprSetHost(nullptr) == 0);
}
