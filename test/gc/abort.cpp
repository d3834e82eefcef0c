// SPDX-License-Identifier: MIT
/*
    abort.cpp - Option check=abort: the process ends when a mistake of the program has been named, and at nothing else.
 */
#include "test/support/node.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include <sys/resource.h>

#include <cstring>

using namespace test;

namespace {

/* A process of its own, with options; what it does next ends it, or does not. */
void begin(cchar *options) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    mprSetLogHandler(nullptr);
    mprConfigure(options);
    mprCreate(0, nullptr, 0);
}

void end() {
    mark("went on");
    mprDestroy();
    _exit(0);
}

struct Mistake {
    cchar *child, *says;
};

} // namespace

TEST_CASE("abort child: a call", "[.][child]") {
    begin("check=abort");
    void *block = mprAlloc(16);
    mprFree(block);
    mprFree(block);
    end();
}

TEST_CASE("abort child: a thread in the wrong state", "[.][child]") {
    begin("check=abort");
    mprYield(MPR_YIELD_STICKY);
    mprAlloc(16);
    end();
}

TEST_CASE("abort child: a global", "[.][child]") {
    static Node *volatile global;
    begin("check=globals+abort");
    global = makeNode();
    collect();
    CHECK(global);
    end();
}

TEST_CASE("abort child: a field", "[.][child]") {
    begin("check=abort+fields");
    const Root root(makeTable(2));
    root.as<Table>()->count = 0;
    root.as<Table>()->items[1] = makeNode();
    collect();
    end();
}

TEST_CASE("abort child: a missed barrier", "[.][child]") {
    begin("check=1+abort");
    const Root root(makeRow(2));
    collect();
    root.as<void *>()[1] = makeNode();
    mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
    end();
}

TEST_CASE("abort child: a mark of no block", "[.][child]") {
    begin("check=abort");
    const Root root(makeTable(2));
    static int elsewhere;
    root.as<Table>()->items[1] = &elsewhere;
    collect();
    end();
}

TEST_CASE("abort child: an overflow", "[.][child]") {
    begin("check=abort");
    Node *node = makeNode();
    const Root root(node);
    memset(static_cast<void *>(node), 0, mprGetBlockSize(node) + sizeof(MprManager));
    collect();
    end();
}

TEST_CASE("abort child: no mistake", "[.][child]") {
    begin("check=fields+globals+abort");
    const Root root(makeNode(makeNode()));
    collect();
    mprSetMemLimits(0, 1 << 20, -1);
    while (mprAlloc(1000)) { // no memory is no mistake
    }
    mark("went on");
    mprSetMemLimits(0, 0, -1);
    _exit(0);
}

TEST_CASE("abort child: not asked for", "[.][child]") {
    begin("check=fields+globals");
    mprFree(getenv("PATH"));
    end();
}

TEST_CASE("check=abort ends the process behind the first mistake that is named", "[gc][abort]") {
    const Mistake mistake = GENERATE(Mistake{"abort child: a call", "mprFree(0x"},
                                     Mistake{"abort child: a thread in the wrong state", "has yielded"},
                                     Mistake{"abort child: a global", "global without a root"},
                                     Mistake{"abort child: a field", "unmarked field"},
                                     Mistake{"abort child: a missed barrier", "is not marked"},
                                     Mistake{"abort child: a mark of no block", "is not the start of a block"},
                                     Mistake{"abort child: an overflow", "was overwritten"});
    const Ended ended = runChild(mistake.child);
    INFO(mistake.child << ": " << ended.output);
    CHECK(ended.wrote(mistake.says));
    CHECK_FALSE(ended.wrote("went on"));
    CHECK_FALSE(ended.exited(0));
}

TEST_CASE("check=abort does not end a program without mistakes, nor do other checks a program with one",
          "[gc][abort]") {
    for (cchar *child : {"abort child: no mistake", "abort child: not asked for"}) {
        const Ended ended = runChild(child);
        INFO(child << ": " << ended.output);
        CHECK(ended.wrote("went on"));
        CHECK(ended.exited(0));
    }
}
