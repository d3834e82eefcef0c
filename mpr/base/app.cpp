/*
    app.cpp - Who the program is. See mpr/app.h.

    The state is one managed block, a root, made when first asked for. The runtime's memory has a place for it, so that it
    ends with the runtime.
 */
#include "mpr/app.h"

#include <atomic>
#include <cstring>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/base/string.hpp"
#include "mpr/collect.h"
#include "mpr/gc/runtime.hpp"
#include "mpr/memory.h"
#include "mpr/os/os.hpp"
#include "mpr/string.h"

using namespace mpr::base;
namespace gc = mpr::gc;
namespace os = mpr::os;

namespace {

/** Managed strings, none of them nullptr. The first three may be set anew while others read. */
struct App {
    char *name, *title, *version, *path, *dir, *empty;
};
constexpr std::size_t strings = sizeof(App) / sizeof(char*);

void manageApp(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, strings);
    }
}

/** The end of a path. */
const char* baseName(const char* path) {
    const char* slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
}

App* makeApp() {
    char path[4096];
    const std::size_t length = os::programPath(path, sizeof(path) - 1);
    path[length] = '\0';
    const char* base = baseName(path);
    const auto dirLength = static_cast<std::size_t>(base - path);

    auto* app = makeReferring<App>(manageApp);
    if (!app) {
        return nullptr;
    }
    // No yield until it is a root: plain stores.
    app->name = sclone(base);
    app->title = app->name;
    app->version = sclone("");
    app->path = sclone(path);
    app->dir = newString(path, dirLength > 1 ? dirLength - 1 : dirLength);
    app->empty = sclone("");
    return app->name && app->version && app->path && app->dir && app->empty ? app : nullptr;
}

/** nullptr when there is no runtime or no memory. */
App* theApp() {
    if (!gc::running()) {
        return nullptr;
    }
    std::atomic<void*>& place = gc::runtime().app;
    if (void* app = place.load(std::memory_order_acquire)) [[likely]] {
        return static_cast<App*>(app);
    }
    App* app = makeApp();
    if (!app) {
        return nullptr;
    }
    mprAddRoot(app);
    void* expected = nullptr;
    if (!place.compare_exchange_strong(expected, app, std::memory_order_acq_rel)) {
        mprRemoveRoot(app); // another thread was first
        app = static_cast<App*>(expected);
    }
    return app;
}

char noString[1] = ""; // where there is no runtime

char* get(char* App::*field) {
    App* app = theApp();
    return app ? __atomic_load_n(&(app->*field), __ATOMIC_ACQUIRE) : noString;
}

bool set(App* app, char* App::*field, cchar* value) {
    char* copy = value ? sclone(value) : nullptr;
    if (copy) {
        mprSetRef(app, &(app->*field), copy);
    }
    return copy || !value;
}
} // namespace

int mprSetAppName(cchar* name, cchar* title, cchar* version) {
    App* app = theApp();
    if (!app) {
        return MPR_ERR_MEMORY;
    }
    // A title that was never set follows the name.
    if (name && !title && mprGetAppTitle() == mprGetAppName()) {
        if (!set(app, &App::name, name)) {
            return MPR_ERR_MEMORY;
        }
        mprSetRef(app, &app->title, app->name);
        name = nullptr;
    }
    return set(app, &App::name, name) && set(app, &App::title, title) && set(app, &App::version, version)
               ? 0
               : MPR_ERR_MEMORY;
}

cchar* mprGetAppName(void) {
    return get(&App::name);
}

cchar* mprGetAppTitle(void) {
    return get(&App::title);
}

cchar* mprGetAppVersion(void) {
    return get(&App::version);
}

cchar* mprGetAppPath(void) {
    return get(&App::path);
}

cchar* mprGetAppDir(void) {
    return get(&App::dir);
}

char* mprEmptyString(void) {
    return get(&App::empty);
}

namespace {
std::atomic<bool> debugMode{false};
}

void mprSetDebugMode(bool on) {
    debugMode.store(on, std::memory_order_relaxed);
}

bool mprGetDebugMode(void) {
    return debugMode.load(std::memory_order_relaxed);
}
