// SPDX-License-Identifier: MIT
/*
    test/gc/census.cpp - mprPrintMem: which kinds of blocks there are, and which have grown.
 */
#include "test/support/mutator.hpp"
#include "test/support/printed.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include <atomic>
#include <string>
#include <thread>

using namespace test;

namespace {

constexpr size_t granule = 2 * sizeof(void *);
constexpr const char *grown = "what has grown since the last call";

struct Link {
    Link *next;
};

void manageLink(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(static_cast<Link *>(ptr)->next);
    }
}
void manageOther(void *ptr, int flags) {
    manageLink(ptr, flags);
}
void manageUnnamed(void *ptr, int flags) {
    manageLink(ptr, flags);
}

/* Blocks in a chain from a root. */
struct Chain {
    explicit Chain(MprManager m) : manager(m) { mprLinkRootRef(&root); }
    ~Chain() { mprUnlinkRootRef(&root); }
    void grow(int count) {
        for (int i = 0; i < count; i++) {
            auto *link = static_cast<Link *>(mprAllocManaged(sizeof(Link), manager, MPR_ALLOC_ZERO));
            link->next = static_cast<Link *>(root.ptr);
            root.ptr = link;
        }
    }
    MprManager manager;
    MprRootRef root{};
};

std::string row(int blocks, const char *sign = "") {
    return sign + std::to_string(blocks) + " " + sign + std::to_string(static_cast<size_t>(blocks) * granule);
}
} // namespace

TEST_CASE("mprPrintMem names the managers with the most bytes, and those whose blocks have grown", "[gc][census]") {
    mprSetManagerName(manageLink, "Link");
    mprSetManagerName(manageOther, "OtherLink");
    Runtime runtime;
    Chain links(manageLink), others(manageOther);
    links.grow(20000);
    others.grow(30000);
    std::string text = memPrinted();
    INFO(text);
    CHECK(lineOf(text, "Link") == row(20000));
    CHECK(lineOf(text, "OtherLink") == row(30000));
    CHECK(text.find("OtherLink") < text.find(" Link"));
    CHECK(text.find("since") == std::string::npos); // there is no last call
    links.grow(5000);
    text = memPrinted();
    INFO(text);
    CHECK(lineOf(text, "Link") == row(25000));
    CHECK(lineOf(text, "Link", grown) == row(5000, "+"));
    CHECK(lineOf(text, "OtherLink", grown) == "");
    others.root.ptr = nullptr;
    collect();
    text = memPrinted();
    INFO(text);
    CHECK(lineOf(text, "OtherLink") == "");
    CHECK(lineOf(text, "Link", grown) == "");
    CHECK(text.find("nothing has grown since the last call") != std::string::npos);
    CHECK(runtime.log.size() == 0);
}

TEST_CASE("blocks without a manager are told apart by size, and permanent memory from both", "[gc][census]") {
    Runtime runtime;
    memPrinted();
    MprRootRef table{};
    mprLinkRootRef(&table);
    table.ptr = mprAlloc(3 << 20);
    void *permanent = palloc(40000);
    for (int i = 0; i < 1000; i++) {
        mprHold(mprAllocMem(1, MPR_ALLOC_MANAGER));
        mprAlloc(8 * granule);
    }
    const std::string text = memPrinted();
    INFO(text);
    CHECK(lineOf(text, "no manager, up to 4194304 bytes", grown).substr(0, 3) == "+1 ");
    CHECK(lineOf(text, "manager not set", grown) == row(1000, "+"));
    CHECK(lineOf(text, "no manager, up to " + std::to_string(8 * granule) + " bytes", grown).substr(0, 6) == "+1000 ");
    CHECK(lineOf(text, "permanent memory (palloc), or held without a manager", grown).substr(0, 3) == "+1 ");
    pfree(permanent);
    mprUnlinkRootRef(&table);
}

TEST_CASE("a manager without a name is printed as a place in its file", "[gc][census]") {
    Runtime runtime;
    Chain chain(manageUnnamed);
    chain.grow(10000);
    const std::string text = memPrinted();
    INFO(text);
    const size_t at = text.find("  manager ");
    REQUIRE(at != std::string::npos);
    CHECK(text.find("test_gc", at) < text.find('\n', at));
    CHECK(text.find("+0x", at) < text.find('\n', at));
}

TEST_CASE("a name may be given before there is a runtime, and by a thread that is not attached", "[gc][census]") {
    const auto manager = [](void *, int) {};
    std::thread([&] { mprSetManagerName(manager, "Early"); }).join();
    Runtime runtime;
    mprHold(mprAllocManaged(100000, manager, 0));
    CHECK(lineOf(memPrinted(), "Early").substr(0, 2) == "1 ");
}

TEST_CASE("census child: many managers", "[.child]") {
    Runtime runtime;
    static char code[4096]; // addresses that nothing calls
    for (char &place : code) {
        mprSetManagerName(reinterpret_cast<MprManager>(&place), "place");
    }
    Chain chain([](void *ptr, int flags) { manageLink(ptr, flags); });
    chain.grow(10000);
    const std::string text = memPrinted();
    INFO(text);
    CHECK(lineOf(text, "other managers").substr(0, 5) == "10000");
}

TEST_CASE("more managers than the table has room for count as one kind", "[gc][census]") {
    const Ended ended = runChild("census child: many managers"); // a process keeps the names it was given
    INFO(ended.output);
    CHECK(ended.exited(0));
}

TEST_CASE("every block is counted once, while others allocate, free and collect", "[gc][census]") {
    mprSetManagerName(manageLink, "Link");
    Runtime runtime;
    Chain chain(manageLink);
    chain.grow(3000);
    std::atomic<bool> right{true};
    {
        Mutator one("one", [](Mutator &self) {
            while (self.go()) {
                mprFree(mprAlloc(100));
                mprAllocManaged(8, manageOther, 0);
                mprYield(0);
            }
        });
        std::atomic<bool> stop{false};
        std::thread foreign([&] {
            while (!stop) {
                pfree(palloc(50));
            }
        });
        for (int i = 0; i < 200; i++) {
            right = right && lineOf(memPrinted(), "Link") == row(3000);
            mprGC(i % 2 ? MPR_GC_FORCE : MPR_GC_MINOR);
        }
        stop = true;
        foreign.join();
    }
    CHECK(right);
    INFO(runtime.log.text());
    CHECK(runtime.log.size() == 0);
}

TEST_CASE("mprPrintMem says why kinds cannot be counted, and prints the rest", "[gc][census]") {
    const auto says = [](const std::string &text, const char *what) {
        INFO(text);
        CHECK(text.find("collections") != std::string::npos);
        CHECK(text.find(std::string("blocks by kind: not counted, ") + what) != std::string::npos);
    };
    says(memPrinted(), "there is no runtime");
    Runtime runtime("deadline=10");
    static std::string text;
    std::thread([] { text = memPrinted(); }).join();
    says(text, "the calling thread is not attached");
    mprYield(MPR_YIELD_STICKY);
    text = memPrinted();
    mprResetYield();
    says(text, "the calling thread is not attached, has yielded");
    {
        std::atomic<bool> asked{false};
        Mutator late("late", [&](Mutator &) {
            while (!asked) { // without a yield
                pause(1);
            }
        });
        text = memPrinted();
        asked = true;
    }
    says(text, "another thread does not yield");
    CHECK(Log::has("thread \"late\" keeps a collection waiting"));
    CHECK(mprGetMemStats()->misuses == 0);
}

TEST_CASE("the notifier may print what the memory went to", "[gc][census]") {
    mprSetManagerName(manageLink, "Link");
    Runtime runtime;
    static std::string text;
    text.clear();
    mprSetMemNotifier([](int cause, int, size_t, size_t) {
        if (cause == MPR_MEM_LIMIT && text.empty()) {
            text = memPrinted();
        }
    });
    mprSetMemLimits(0, 16 << 20, -1);
    {
        Chain chain(manageLink);
        while (void *block = mprAllocManaged(sizeof(Link), manageLink, MPR_ALLOC_ZERO)) {
            static_cast<Link *>(block)->next = static_cast<Link *>(chain.root.ptr);
            chain.root.ptr = block;
        }
    }
    mprSetMemNotifier(nullptr);
    INFO(text);
    CHECK(!lineOf(text, "Link").empty());
}
