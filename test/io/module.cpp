// SPDX-License-Identifier: MIT
/*
    test/io/module.cpp - Modules: loaded, stopped, unloaded when the collector allows it; what is said when they
    cannot be.
 */
#include "test/module/piece.h"
#include "test/support/folder.hpp"
#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"
#include "test/support/service.hpp"
#include "test/support/wrong_state.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

using namespace test;

namespace {

/* The module's data, and a root for its blocks. */
struct Loaded {
    Loaded() {
        piece.list = mprCreateList(0, 0);
        mprAddRoot(piece.list);
    }
    ~Loaded() { mprRemoveRoot(piece.list); }
    MprModule *make(cchar *path = "piece.so", cchar *entry = "pieceInit") {
        return mprCreateModule("piece", path, entry, &piece);
    }
    Piece piece{};
};

/* Whether the system has it in memory. */
bool isInMemory() {
    void *library = dlopen(mprSearchForModule("piece.so"), RTLD_NOW | RTLD_NOLOAD);
    if (library) {
        dlclose(library);
    }
    return library != nullptr;
}
bool has(const MprModule *module, int flag) {
    return (module->flags & flag) != 0;
}
} // namespace

TEST_CASE("a module is loaded, stopped, started, unloaded, loaded again", "[io][module]") {
    Runtime runtime;
    Loaded data;
    MprModule *module = data.make();
    REQUIRE(module);
    CHECK(!isInMemory());
    for (int i = 1; i < 4; i++) {
        CHECK(mprLoadModule(module) == 0);
        CHECK(mprLoadModule(module) == 0);
        CHECK(data.piece.entered == 2 * i - 1);
        CHECK(has(module, MPR_MODULE_LOADED));
        CHECK(isInMemory());
        collect();
        CHECK(mprLookupModule("piece") == module);
        CHECK(mprLookupModuleData("piece") == &data.piece);
        CHECK(data.make() == module);
        CHECK(mprStopModule(module) == 0);
        CHECK(mprStopModule(module) == 0);
        CHECK(data.piece.stopped == 2 * i - 1);
        CHECK(isInMemory());
        CHECK(mprStartModule(module) == 0);
        CHECK(data.piece.entered == 2 * i);
        CHECK(mprUnloadModule(module) == 0);
        CHECK(mprUnloadModule(module) == 0);
        CHECK(data.piece.stopped == 2 * i);
        CHECK(!isInMemory());
        CHECK(!has(module, MPR_MODULE_LOADED));
    }
    MprModule *other = data.make();
    CHECK(other != module); // what is not loaded is replaced
    CHECK(mprLookupModule("piece") == other);
    CHECK(!mprLookupModule("none"));
    CHECK(!mprLookupModuleData("none"));
}

TEST_CASE("a module is not unloaded while the collector may call its managers", "[io][module]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    Loaded data;
    data.piece.makes = 3;
    MprModule *module = data.make();
    REQUIRE(mprLoadModule(module) == 0);
    CHECK(mprUnloadModule(module) == MPR_ERR_BUSY);
    CHECK(runtime.log.has("\"piece\""));
    CHECK(runtime.log.has("blocks that have one: 3"));
    CHECK(data.piece.stopped == 1);
    CHECK(has(module, MPR_MODULE_UNLOADING));
    collect();
    CHECK(mprUnloadModule(module) == MPR_ERR_BUSY);
    CHECK(isInMemory());
    mprClearList(data.piece.list);
    CHECK(mprUnloadModule(module) == MPR_ERR_BUSY); // dead, and not freed
    SECTION("by the next call") {
        collect();
        collect();
        CHECK(data.piece.freed == 3);
        CHECK(mprUnloadModule(module) == 0);
    }
    SECTION("by itself") {
        CHECK(serviceUntil([&] { return !has(module, MPR_MODULE_LOADED); }));
    }
    SECTION("or loaded again: then it stays") {
        data.piece.makes = 0;
        CHECK(mprLoadModule(module) == 0);
        CHECK(data.piece.entered == 2);
        CHECK(!has(module, MPR_MODULE_UNLOADING));
        collect();
        mprServiceEvents(1200, 0);
        CHECK(isInMemory());
        CHECK(mprUnloadModule(module) == 0);
    }
    CHECK(data.piece.freed == 3);
    CHECK(data.piece.stopped <= 2);
    CHECK(!isInMemory());
    collect();
}

TEST_CASE("a module that is not used is unloaded", "[io][module]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    Loaded data;
    MprModule *module = data.make();
    mprSetModuleTimeout(module, 20);
    REQUIRE(mprLoadModule(module) == 0);
    CHECK(serviceUntil([&] { return !has(module, MPR_MODULE_LOADED); }));
    CHECK(data.piece.stopped == 1);
    CHECK(!isInMemory());
    mprSetModuleTimeout(module, 0);
    REQUIRE(mprLoadModule(module) == 0);
    mprSetModuleTimeout(module, 3'600'000);
    mprServiceEvents(50, 0);
    CHECK(has(module, MPR_MODULE_LOADED));
    module->lastActivity = 0; // as if it were long ago
    mprSetModuleTimeout(module, 1);
    CHECK(serviceUntil([&] { return !has(module, MPR_MODULE_LOADED); }));
}

TEST_CASE("a module that is not used is unloaded although memory was short when it got its timeout", "[io][module]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    Loaded data;
    MprModule *module = data.make();
    REQUIRE(mprLoadModule(module) == 0);
    std::vector<void *> hoard;
    mprSetMemNotifier([](int, int, size_t, size_t) {});
    mprSetMemLimits(0, 4 << 20, 0);
    for (size_t size : {size_t{4000}, size_t{16}}) {
        while (void *block = mprAllocMem(size, MPR_ALLOC_HOLD)) {
            hoard.push_back(block);
        }
    }
    mprSetModuleTimeout(module, 20);
    for (void *block : hoard) {
        mprRelease(block);
    }
    mprSetMemLimits(0, 0, -1);
    collect();
    CHECK(serviceUntil([&] { return !has(module, MPR_MODULE_LOADED); }));
}

TEST_CASE("a module that is being loaded is not replaced", "[io][module]") {
    Runtime runtime;
    Loaded data;
    static const MprModule *made;
    made = nullptr;
    data.piece.atLoad = [] { made = mprCreateModule("piece", "piece.so", "pieceInit", nullptr); };
    MprModule *module = data.make();
    REQUIRE(mprLoadModule(module) == 0);
    CHECK(made == module);
    CHECK(mprLookupModule("piece") == module);
    CHECK(mprUnloadModule(module) == 0);
}

/* Races are for the thread sanitizer to see: threads read fields of a module while another is busy with it. */
TEST_CASE("threads load, look up and unload one module", "[io][module]") {
    Runtime runtime;
    MprModule *module = mprCreateModule("part", nullptr, nullptr, nullptr);
    REQUIRE(module);
    mprSetModuleTimeout(module, 3'600'000);
    std::atomic<int> wrong{0};
    const auto work = [&] {
        for (int i = 0; i < 200; i++) {
            const int loaded = mprLoadModule(module);
            wrong += loaded != 0 && loaded != MPR_ERR_BUSY;
            wrong += mprLookupModule("part") != module;
            const int unloaded = mprUnloadModule(module);
            wrong += unloaded != 0 && unloaded != MPR_ERR_BUSY;
            mprYield(0);
        }
    };
    Mutator other("other", [&](Mutator &) { work(); });
    work();
    other.join();
    CHECK(wrong == 0);
    CHECK(mprLoadModule(module) == 0);
}

TEST_CASE("the end of the runtime calls no finalizer while the entry point runs", "[io][module]") {
    static std::atomic<int> entered{0};
    static std::atomic<int> left{0};
    static std::atomic<int> early{0};
    {
        Runtime runtime;
        MprModule *module = mprCreateModule("part", nullptr, nullptr, nullptr);
        REQUIRE(module);
        mprSetModuleEntry(module, [](void *, MprModule *self) {
            mprSetModuleFinalizer(self, [](MprModule *) { return early += left == 0, 0; });
            entered = 1;
            sleepYielded(50);
            left = 1;
            return 0;
        });
        const auto loads = [](void *data, MprThread *) { mprLoadModule(static_cast<MprModule *>(data)); };
        REQUIRE(mprStartThread(mprCreateThread("loads", +loads, module, 0)) == 0);
        CHECK(until([&] { return entered == 1; }));
    }
    CHECK(left == 1);
    CHECK(early == 0);
}

TEST_CASE("a finalizer can refuse, an entry point can fail", "[io][module]") {
    Runtime runtime;
    Loaded data;
    MprModule *module = data.make();
    data.piece.result = -7;
    CHECK(mprLoadModule(module) == MPR_ERR_CANT_INITIALIZE);
    CHECK(runtime.log.has("\"pieceInit\": returned -7"));
    CHECK(!isInMemory());
    data.piece.result = 0;
    CHECK(mprLoadModule(module) == 0);
    data.piece.stopResult = -9;
    CHECK(mprStopModule(module) == -9);
    CHECK(mprUnloadModule(module) == -9);
    CHECK(has(module, MPR_MODULE_STARTED));
    CHECK(isInMemory());
    data.piece.stopResult = 0;
    CHECK(mprUnloadModule(module) == 0);
    CHECK(!isInMemory());
}

TEST_CASE("what cannot be loaded is named with file, symbol and reason", "[io][module]") {
    Runtime runtime;
    Loaded data;
    Folder folder;
    CHECK(mprLoadModule(data.make("no-such-file.so")) == MPR_ERR_CANT_FIND);
    CHECK(runtime.log.has("no-such-file.so"));
    CHECK(runtime.log.has(mprGetAppDir()));
    CHECK(mprLoadModule(data.make("piece.so", "noSuchEntry")) == MPR_ERR_CANT_ACCESS);
    CHECK(runtime.log.has("piece.so: no entry point \"noSuchEntry\": "));
    CHECK(runtime.log.has("undefined symbol"));
    CHECK(!isInMemory());
    const std::string text = (folder / "text.so");
    std::ofstream(text) << "no shared object";
    CHECK(mprLoadModule(data.make(text.c_str())) == MPR_ERR_CANT_LOAD);
    CHECK(runtime.log.has(text + ": cannot be loaded: "));
    CHECK(runtime.log.has("file too short"));
    CHECK(mprLoadModule(mprCreateModule("builtin", nullptr, "noSuchSymbol", nullptr)) == MPR_ERR_CANT_ACCESS);
    CHECK(runtime.log.has("the program: no entry point \"noSuchSymbol\""));
    CHECK(!mprCreateModule(nullptr, "x", "y", nullptr));
    CHECK(!mprCreateModule("x", "y", nullptr, nullptr));
    CHECK(mprLoadModule(nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(data.piece.entered == 0);
}

TEST_CASE("modules are looked for on the search path", "[io][module]") {
    Runtime runtime;
    Folder folder;
    CHECK(std::string(mprGetModuleSearchPath()) == mprGetAppDir());
    CHECK(mprSearchForModule("piece"));
    CHECK(std::string(mprSearchForModule("piece")) == mprJoinPath(mprGetAppDir(), "piece.so"));
    const std::string other = (folder / "other.so");
    std::ofstream(other) << "x";
    std::string path = "/no/such/folder:" + folder.root;
    mprSetModuleSearchPath(path.data());
    path = "changed";
    collect();
    REQUIRE(mprSearchForModule("other"));
    CHECK(mprSamePath(mprSearchForModule("other"), other.c_str()));
    CHECK(!mprSearchForModule("piece"));
    CHECK(mprSearchForModule(other.c_str()));
    mprSetModuleSearchPath(nullptr);
    CHECK(mprSearchForModule("piece"));
}

TEST_CASE("a module is loaded from the current directory if that is on the search path", "[io][module]") {
    Runtime runtime;
    Loaded data;
    const std::string before = mprGetCurrentPath();
    REQUIRE(chdir(mprGetAppDir()) == 0);
    for (const char *search : {".", ":/no/such/folder"}) {
        std::string path = search;
        mprSetModuleSearchPath(path.data());
        CHECK(std::string(mprSearchForModule("piece")) == mprJoinPath(mprGetAppDir(), "piece.so"));
        MprModule *module = data.make("piece.so");
        CHECK(mprLoadModule(module) == 0);
        CHECK(mprUnloadModule(module) == 0);
    }
    CHECK(chdir(before.c_str()) == 0);
}

namespace {
int entries = 0;
int stops = 0;
MprModule *inner = nullptr;
int enter(void *data, MprModule *module) {
    entries += data == module->moduleData;
    CHECK(mprLoadModule(module) == MPR_ERR_BUSY);
    mprSetModuleFinalizer(module, [](MprModule *) { return ++stops, 0; });
    MprModule *next = std::exchange(inner, nullptr);
    return next ? mprLoadModule(next) : 0;
}
} // namespace

/* Found by its name, where the program exports its symbols. */
extern "C" int builtinEntry(void *data, MprModule *module) {
    return enter(data, module);
}

TEST_CASE("a part of the program is a module, too", "[io][module]") {
    Runtime runtime;
    entries = stops = 0;
    void *block = mprAllocZeroed(16);
    MprModule *module = mprCreateModule("builtin", nullptr, nullptr, block);
    mprSetModuleEntry(module, enter);
    inner = mprCreateModule("inner", nullptr, "builtinEntry", nullptr);
    CHECK(mprLoadModule(module) == 0);
    CHECK(entries == 2);
    collect();
    CHECK(mprIsValid(mprLookupModuleData("builtin")));
    CHECK(mprUnloadModule(module) == 0);
    CHECK(stops == 1);
    CHECK(mprLoadModule(module) == 0);
    CHECK(entries == 3);
    runtime.end();
    CHECK(stops == 3); // both
}

TEST_CASE("a call for modules by a thread in the wrong state is named and does nothing", "[io][module]") {
    static const auto module = [] { return reinterpret_cast<MprModule *>(things.node); }; // where refused not looked at
    const Call table[] = {
        {"mprCreateModule", running, [] { mprCreateModule("x", "y", "z", nullptr); }, true},
        {"mprSetModuleEntry", running, [] { mprSetModuleEntry(module(), nullptr); }, true},
        {"mprLoadModule", running, [] { mprLoadModule(module()); }, true},
        {"mprUnloadModule", running, [] { mprUnloadModule(module()); }, true},
        {"mprStartModule", running, [] { mprStartModule(module()); }, true},
        {"mprStopModule", running, [] { mprStopModule(module()); }, true},
        {"mprLookupModule", running, [] { mprLookupModule("x"); }, true},
        {"mprLookupModuleData", running, [] { mprLookupModuleData("x"); }, true},
        {"mprSearchForModule", running, [] { mprSearchForModule("x"); }, true},
        {"mprSetModuleSearchPath", running, [] { mprSetModuleSearchPath(nullptr); }, true},
        {"mprGetModuleSearchPath", running, [] { mprGetModuleSearchPath(); }, true},
        {"mprSetModuleFinalizer", running, [] { mprSetModuleFinalizer(module(), nullptr); }, true},
        {"mprSetModuleTimeout", running, [] { mprSetModuleTimeout(module(), 1); }, true},
    };
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}
