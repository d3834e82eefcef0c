// SPDX-License-Identifier: MIT
/*
    app.cpp - Who the program is. See mpr/app.h.

    The state is one managed block, a root, made when first asked for. The runtime's memory has a place for it, so that it
    ends with the runtime.
 */
#include "mpr/app.h"

#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/base/string.hpp"
#include "mpr/collect.h"
#include "mpr/gc/runtime.hpp"
#include "mpr/hash.h"
#include "mpr/memory.h"
#include "mpr/os/os.hpp"
#include "mpr/string.h"

using namespace mpr::base;
namespace gc = mpr::gc;
namespace os = mpr::os;

namespace {

constexpr char loopback[] = "127.0.0.1";

/** Managed, none of them nullptr. All except the table may be replaced while others read. */
struct App {
    char *name, *title, *version, *path, *dir, *host, *server, *domain, *address;
    MprHash* keys; // of mprSetKey
};
constexpr std::size_t references = sizeof(App) / sizeof(void*);

void manageApp(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, references);
    }
}

/** The end of a path. */
const char* baseName(const char* path) {
    const char* slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/** What comes before the last slash of a path, which stays if it is the first character. */
char* folderName(const char* path) {
    const auto length = static_cast<std::size_t>(baseName(path) - path);
    return newString(path, length > 1 ? length - 1 : length);
}

/** A new string with the system's name for the machine, or "" if it has none. */
char* systemHostName() {
    char name[256] = {};
    return sclone(gethostname(name, sizeof(name) - 1) == 0 ? name : "");
}

/** A new string with the domain in a host's name. */
char* domainOf(const char* host) {
    const char* point = std::strchr(host, '.');
    return sclone(point ? point + 1 : "");
}

bool isWhole(const App* app) {
    const auto* fields = reinterpret_cast<void* const*>(app);
    for (std::size_t i = 0; i < references; ++i) {
        if (!fields[i]) {
            return false;
        }
    }
    return true;
}

App* makeApp() {
    char path[4096];
    const std::size_t length = os::programPath(path, sizeof(path) - 1);
    path[length] = '\0';
    auto* app = makeReferring<App>(manageApp);
    if (!app) {
        return nullptr;
    }
    // No yield until it is a root: plain stores.
    app->name = sclone(baseName(path));
    app->title = app->name;
    app->version = sclone("");
    app->path = sclone(path);
    app->dir = folderName(path);
    app->host = app->server = systemHostName();
    app->domain = app->host ? domainOf(app->host) : nullptr;
    app->address = sclone(loopback);
    app->keys = mprCreateHash(0, 0);
    return isWhole(app) ? app : nullptr;
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
        setRef(app, app->*field, copy);
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
        setRef(app, app->title, app->name);
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
    return gc::running() ? gc::runtime().mpr->emptyString : noString;
}

void mprSetAppPath(cchar* path) {
    App* app = theApp();
    char* folder = path && app ? folderName(path) : nullptr;
    if (folder && set(app, &App::path, path)) {
        setRef(app, app->dir, folder);
    }
}

cchar* mprGetHostName(void) {
    return get(&App::host);
}

cchar* mprGetServerName(void) {
    return get(&App::server);
}

cchar* mprGetDomainName(void) {
    return get(&App::domain);
}

cchar* mprGetIpAddr(void) {
    return get(&App::address);
}

void mprSetHostName(cchar* s) {
    if (App* app = theApp()) {
        set(app, &App::host, s ? s : systemHostName());
    }
}

void mprSetServerName(cchar* s) {
    if (App* app = theApp()) {
        set(app, &App::server, s ? s : mprGetHostName());
    }
}

void mprSetDomainName(cchar* s) {
    if (App* app = theApp()) {
        set(app, &App::domain, s ? s : domainOf(mprGetHostName()));
    }
}

void mprSetIpAddr(cchar* ip) {
    if (App* app = theApp()) {
        set(app, &App::address, ip ? ip : loopback);
    }
}

void mprSetKey(cchar* key, void* value) {
    if (App* app = theApp()) {
        mprAddKey(app->keys, key, value);
    }
}

void* mprGetKey(cchar* key) {
    App* app = theApp();
    return app ? mprLookupKey(app->keys, key) : nullptr;
}

void mprSetEnv(cchar* key, cchar* value) {
    if (key && value) {
        setenv(key, value, 1);
    } else if (key) {
        unsetenv(key);
    }
}

Mpr* mprGetMpr(void) {
    return gc::running() ? gc::runtime().mpr : nullptr;
}

void mprSetOsError(int error) {
    errno = error;
}

void mprSetError(int error) {
    errno = error;
}

int mprGetEndian(void) {
    return std::endian::native == std::endian::little ? MPR_LITTLE_ENDIAN : MPR_BIG_ENDIAN;
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
