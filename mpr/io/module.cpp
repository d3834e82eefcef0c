// SPDX-License-Identifier: MIT
/*
    module.cpp - Modules: loaded by libuv, unloaded when no manager of theirs can be called any more.

    The room's block has the list of modules and the timer. A module is `busy` while a thread loads or unloads it, which
    includes its own procedures: no lock is held meanwhile.
 */
#include "mpr/module.h"

#include <uv.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "mpr/app.h"
#include "mpr/barrier.h"
#include "mpr/base/guard.hpp"
#include "mpr/base/references.hpp"
#include "mpr/collect.h"
#include "mpr/event.h"
#include "mpr/gc/census.hpp"
#include "mpr/gc/code.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/list.h"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"
#include "mpr/path.h"
#include "mpr/string.h"
#include "mpr/task/callback.hpp"
#include "mpr/thread.h"
#include "mpr/time.h"

namespace base = mpr::base;
namespace gc = mpr::gc;
namespace os = mpr::os;
using mpr::base::mayUse;

namespace {

/** How soon it is tried again to unload a module: milliseconds. */
constexpr MprTicks tryAgain = 1000;

/** What stands behind a module's members. A plain block: programs write them. */
struct Module : MprModule {
    MprModuleEntry own; // the entry point of a part of the program
    MprModuleProc stop;
    os::Image image; // of its code
    std::atomic<bool> busy;

    /** Written only while busy; any thread reads. */
    bool is(int flag) const { return (__atomic_load_n(&flags, __ATOMIC_RELAXED) & flag) != 0; }
    void set(int flag, bool on) { __atomic_store_n(&flags, on ? flags | flag : flags & ~flag, __ATOMIC_RELAXED); }
    /** Milliseconds since it was used. Any thread, as lookups are a use. */
    [[gnu::noinline]] MprTicks idle() const { return mprGetTicks() - __atomic_load_n(&lastActivity, __ATOMIC_RELAXED); }
    [[gnu::noinline]] void use() { __atomic_store_n(&lastActivity, mprGetTicks(), __ATOMIC_RELAXED); }
};

/** The room's block. References. */
struct Hub {
    MprList* modules; // in the order in which they were made
    char* searchPath; // nullptr: the program's folder
    MprEvent* timer;
};

void manageModule(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* module = static_cast<Module*>(ptr);
        mprMark(module->name);
        mprMark(module->path);
        mprMark(module->entry);
        gc::markLoose(&module->moduleData);
    }
}
void manageHub(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, sizeof(Hub) / sizeof(void*));
    }
}
const gc::ManagerName namedModule(manageModule, "MprModule");
const gc::ManagerName namedHub(manageHub, "modules");

constinit std::atomic<Hub*> theHub{nullptr};

int stopModule(Module& module);

/** The finalizers, the last made first. A module that another thread is busy with is waited for. */
bool stopAll(std::uint64_t deadline) {
    const Hub* hub = theHub.load(); // nullptr: another thread is about to set it
    for (int i = hub ? mprGetListLength(hub->modules) : 0; i-- > 0;) {
        if (auto* module = static_cast<Module*>(mprGetItem(hub->modules, i))) {
            while (module->busy.exchange(true)) {
                if (os::now() >= deadline) {
                    return false;
                }
                mprSleep(1);
            }
            stopModule(*module);
            module->busy.store(false);
        }
    }
    return true;
}

gc::Service service{[] { mprMark(theHub.load()); }, stopAll, [] { theHub.store(nullptr); }};

/** nullptr when memory is short, or the runtime ends. */
Hub* openHub(const char* function) {
    if (Hub* hub = theHub.load(std::memory_order_acquire)) {
        return hub;
    }
    if (!gc::mayMake(function)) {
        return nullptr;
    }
    Hub* made = mpr::base::makeReferring<Hub>(manageHub);
    if (!made || !(made->modules = mprCreateList(0, 0))) {
        return nullptr;
    }
    gc::runtime().services.add(service);
    Hub* hub = nullptr;
    mprPublish(made);
    return theHub.compare_exchange_strong(hub, made) ? made : hub;
}

Module* find(const Hub* hub, const char* name) {
    for (int i = 0; hub && name && i < mprGetListLength(hub->modules); ++i) {
        auto* module = static_cast<Module*>(mprGetItem(hub->modules, i));
        if (module && std::strcmp(module->name, name) == 0) {
            return module;
        }
    }
    return nullptr;
}

/** Say what is wrong with a module. @param detail The symbol, or nullptr. @return error */
int fail(const Module& module, const char* path, const char* what, const char* detail, const char* why, int error) {
    os::Message message;
    message << "module \"" << module.name << "\": " << (path ? path : "the program") << ": " << what;
    if (detail) {
        message << " \"" << detail << "\"";
    }
    if (why) {
        message << ": " << why;
    }
    os::log(os::Level::error, message);
    return error;
}

// ---- Unloading --------------------------------------------------------------------------------------------------

void runTimer(void*, MprEvent*);

/**
    Make the timer, with the first module: when a module is to be unloaded later, memory may be short.
    @return false when it is short now.
 */
bool openTimer(Hub* hub) {
    if (__atomic_load_n(&hub->timer, __ATOMIC_ACQUIRE)) {
        return true;
    }
    MprEvent* timer = mprCreateEvent(nullptr, "modules", 0, runTimer, nullptr, MPR_EVENT_DONT_QUEUE);
    if (timer) {
        base::setRef(hub, hub->timer, timer);
    }
    return timer != nullptr;
}

/** Have the timer run when a module is next to be looked at. */
void startTimer(Hub* hub) {
    MprTicks period = 0;
    bool wanted = false;
    for (int i = 0; i < mprGetListLength(hub->modules); ++i) {
        const auto* module = static_cast<Module*>(mprGetItem(hub->modules, i));
        const bool isIdle = module && module->is(MPR_MODULE_LOADED) && module->timeout > 0;
        if (!module || (!isIdle && !module->is(MPR_MODULE_UNLOADING))) {
            continue;
        }
        const MprTicks next =
            module->is(MPR_MODULE_UNLOADING) ? tryAgain : std::max<MprTicks>(module->timeout - module->idle(), 1);
        period = wanted ? std::min(period, next) : next;
        wanted = true;
    }
    if (wanted) {
        mprRescheduleEvent(hub->timer, period);
    }
}

int stopModule(Module& module) {
    if (!module.is(MPR_MODULE_STARTED)) {
        return 0;
    }
    int result = 0;
    if (module.stop) {
        mpr::task::callProgram({"module stop procedure", module.name}, [&] { result = module.stop(&module); });
    }
    module.set(MPR_MODULE_STARTED, result < 0);
    return result < 0 ? result : 0;
}

/** Unload a module that has stopped, unless the collector may call its code. */
int closeModule(Module& module) {
    const std::size_t blocks = gc::blocksManagedIn(module.image.begin, module.image.end);
    if (blocks > 0) {
        if (!module.is(MPR_MODULE_UNLOADING)) {
            os::Message message;
            message << "module \"" << module.name << "\": " << module.path
                    << " stays until its managers are not needed: ";
            if (blocks == gc::unknownBlocks) {
                message << "a thread does not yield";
            } else {
                message << "blocks that have one: " << std::uint64_t{blocks};
            }
            os::log(os::Level::info, message);
        }
        module.set(MPR_MODULE_UNLOADING, true);
        mprGC(MPR_GC_NO_BLOCK | MPR_GC_FORCE);
        return MPR_ERR_BUSY;
    }
    if (module.handle) {
        uv_lib_t library{module.handle, nullptr};
        uv_dlclose(&library);
        module.handle = nullptr;
        module.stop = nullptr; // which was its code
    }
    module.image = {};
    module.set(MPR_MODULE_LOADED | MPR_MODULE_UNLOADING, false);
    return 0;
}

int unload(Module& module) {
    if (!module.is(MPR_MODULE_LOADED)) {
        return 0;
    }
    const int result = stopModule(module);
    return result < 0 ? result : closeModule(module);
}

// ---- Loading ----------------------------------------------------------------------------------------------------

/** Load the code of a module. @param entry Set to its entry point. @return 0 or an error. */
int open(Module& module, MprModuleEntry& entry) {
    uv_lib_t library{};
    const char* path = nullptr;
    if (module.path && !(path = mprSearchForModule(module.path))) {
        return fail(module, module.path, "not found in", mprGetModuleSearchPath(), nullptr, MPR_ERR_CANT_FIND);
    }
    int result = 0;
    void* symbol = nullptr;
    if (uv_dlopen(path, &library) != 0) {
        result = fail(module, path, "cannot be loaded", nullptr, uv_dlerror(&library), MPR_ERR_CANT_LOAD);
    } else if (uv_dlsym(&library, module.entry, &symbol) != 0 || !symbol) {
        result = fail(module, path, "no entry point", module.entry, uv_dlerror(&library), MPR_ERR_CANT_ACCESS);
    } else if (path && !os::findImage(symbol, module.image)) {
        result = fail(module, path, "not known where it is loaded", nullptr, nullptr, MPR_ERR_CANT_LOAD);
    }
    if (result != 0) {
        uv_dlclose(&library); // which frees the message, too
        return result;
    }
    module.handle = library.handle;
    entry = reinterpret_cast<MprModuleEntry>(symbol);
    return 0;
}

int load(Module& module) {
    module.set(MPR_MODULE_UNLOADING, false);
    module.use();
    if (module.is(MPR_MODULE_STARTED)) {
        return 0;
    }
    MprModuleEntry entry = module.own;
    if (!entry && module.entry) {
        uv_lib_t library{module.handle, nullptr};
        void* symbol = nullptr;
        if (!module.is(MPR_MODULE_LOADED)) {
            if (const int result = open(module, entry)) {
                return result;
            }
        } else if (uv_dlsym(&library, module.entry, &symbol) == 0) {
            entry = reinterpret_cast<MprModuleEntry>(symbol);
        }
    }
    module.set(MPR_MODULE_LOADED | MPR_MODULE_STARTED, true);
    int result = 0;
    if (entry) {
        mpr::task::callProgram({"module entry point", module.name},
                               [&] { result = entry(module.moduleData, &module); });
    }
    if (result >= 0) {
        return 0;
    }
    module.set(MPR_MODULE_STARTED, false);
    os::Message number;
    fail(module, module.path, "its entry point failed:", module.entry, (number << "returned " << result).text(), 0);
    closeModule(module);
    return MPR_ERR_CANT_INITIALIZE;
}

/** Do something with a module that no other thread is busy with. */
int busy(MprModule* given, int (*work)(Module&), const char* function = __builtin_FUNCTION()) {
    if (!mayUse(given, function)) {
        return MPR_ERR_BAD_ARGS;
    }
    auto& module = *static_cast<Module*>(given);
    if (module.busy.exchange(true)) {
        return MPR_ERR_BUSY;
    }
    const int result = work(module);
    module.busy.store(false);
    if (module.timeout > 0 || module.is(MPR_MODULE_UNLOADING)) {
        startTimer(theHub.load());
    }
    return result;
}

void runTimer(void*, MprEvent*) {
    Hub* hub = theHub.load();
    for (int i = 0; i < mprGetListLength(hub->modules); ++i) {
        auto* module = static_cast<Module*>(mprGetItem(hub->modules, i));
        const bool isIdle = module && module->timeout > 0 && module->idle() >= module->timeout;
        if (module && (isIdle || module->is(MPR_MODULE_UNLOADING)) && !module->busy.exchange(true)) {
            if (unload(*module) != 0) {
                module->use(); // not again at once
            }
            module->busy.store(false);
        }
    }
    startTimer(hub);
}
} // namespace

// ---- The API ----------------------------------------------------------------------------------------------------

MprModule* mprCreateModule(cchar* name, cchar* path, cchar* entry, void* data) {
    if (!gc::admitRunning("mprCreateModule")) {
        return nullptr;
    }
    Hub* hub = name && (entry || !path) ? openHub("mprCreateModule") : nullptr;
    if (!hub || !openTimer(hub)) {
        return nullptr;
    }
    Module* old = find(hub, name);
    if (old && (old->is(MPR_MODULE_LOADED) || old->busy.load())) {
        return old; // or is being loaded
    }
    auto* module =
        static_cast<Module*>(mprAllocManaged(sizeof(Module), manageModule, MPR_ALLOC_ZERO | MPR_ALLOC_NO_FREE));
    if (!module) {
        return nullptr;
    }
    module->name = sclone(name);
    module->path = path ? sclone(path) : nullptr;
    module->entry = entry ? sclone(entry) : nullptr;
    module->moduleData = data;
    module->use();
    if (!module->name || (path && !module->path) || (entry && !module->entry) || mprAddItem(hub->modules, module) < 0) {
        return nullptr;
    }
    if (old) {
        mprRemoveItem(hub->modules, old);
    }
    return module;
}

void mprSetModuleEntry(MprModule* module, MprModuleEntry entry) {
    if (mayUse(module) && !module->path) {
        static_cast<Module*>(module)->own = entry;
    }
}

int mprLoadModule(MprModule* module) {
    return busy(module, load);
}

int mprStartModule(MprModule* module) {
    return busy(module, load);
}

int mprUnloadModule(MprModule* module) {
    return busy(module, unload);
}

int mprStopModule(MprModule* module) {
    return busy(module, stopModule);
}

MprModule* mprLookupModule(cchar* name) {
    Module* module = gc::admitRunning("mprLookupModule") ? find(theHub.load(), name) : nullptr;
    if (module) {
        module->use();
    }
    return module;
}

void* mprLookupModuleData(cchar* name) {
    const MprModule* module = gc::admitRunning("mprLookupModuleData") ? mprLookupModule(name) : nullptr;
    return module ? module->moduleData : nullptr;
}

char* mprSearchForModule(cchar* module) {
    if (!mayUse(module)) {
        return nullptr;
    }
    cchar* folders = mprGetModuleSearchPath();
    const char* path = mprSearchPath(module, 0, folders, NULL);
    path = path ? path : mprSearchPath(sjoin(module, ".so", NULL), 0, folders, NULL);
    return path ? mprGetAbsPath(path) : nullptr; // without a folder the system would look for it elsewhere
}

void mprSetModuleSearchPath(char* searchPath) {
    Hub* hub = gc::admitRunning("mprSetModuleSearchPath") ? openHub("mprSetModuleSearchPath") : nullptr;
    if (hub) {
        base::setRef(hub, hub->searchPath, searchPath ? sclone(searchPath) : nullptr);
    }
}

cchar* mprGetModuleSearchPath(void) {
    if (!gc::admitRunning("mprGetModuleSearchPath")) {
        return nullptr;
    }
    const Hub* hub = theHub.load();
    cchar* path = hub ? __atomic_load_n(&hub->searchPath, __ATOMIC_ACQUIRE) : nullptr;
    return path ? path : mprGetAppDir();
}

void mprSetModuleFinalizer(MprModule* module, MprModuleProc stop) {
    if (mayUse(module)) {
        static_cast<Module*>(module)->stop = stop;
    }
}

void mprSetModuleTimeout(MprModule* module, MprTicks timeout) {
    if (mayUse(module)) {
        module->timeout = timeout;
        static_cast<Module*>(module)->use();
        startTimer(theHub.load());
    }
}
