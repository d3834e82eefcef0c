// SPDX-License-Identifier: MIT
/*
    test/support/wrong_state.hpp - Threads in states in which they may not call everything, and what becomes of a call then.

    A table of calls, each with its class, is tried in every state: where the class does not admit it, the log must name
    the function, and nothing must have happened; elsewhere nothing must be said.
 */
#pragma once

#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>

namespace test {

enum State : unsigned {
    unattached = 1,
    sticky = 2,
    exempt = 4,
    marking = 8,
    notified = 16,
    forked = 32,
    ended = 64,
    inSuspension = 128,
    finalizing = 256,
    closing = 512,
    inEmbedder = 1024,
};
inline constexpr State states[] = {unattached, sticky,       exempt,     marking,    notified, forked,
                                   ended,      inSuspension, inEmbedder, finalizing, closing};

inline const char *nameOf(State state) {
    switch (state) {
    case unattached: return "unattached";
    case sticky: return "yielded";
    case exempt: return "exempt";
    case marking: return "inside MPR_MANAGE_MARK";
    case notified: return "inside the notifier";
    case forked: return "in a child of fork";
    case inSuspension: return "inside a handler of suspensions";
    case inEmbedder: return "inside a callback of the embedder";
    case finalizing: return "inside MPR_MANAGE_FREE of a collection";
    case closing: return "inside MPR_MANAGE_FREE of mprDestroy";
    default: return "after mprDestroy";
    }
}

/* The classes of mpr/gc/guard.hpp: the states in which a function is refused. */
inline constexpr unsigned everywhere =
    unattached | sticky | exempt | marking | notified | forked | ended | inSuspension | inEmbedder;
inline constexpr unsigned running = everywhere & ~notified;
inline constexpr unsigned yielding = everywhere & ~(sticky | exempt);
inline constexpr unsigned keeping = unattached | marking | forked | ended | inSuspension | inEmbedder;
inline constexpr unsigned anywhere = marking | forked | ended;
inline constexpr unsigned locking = marking | forked;
inline constexpr unsigned making = running | closing;
inline constexpr unsigned serving = making | finalizing;
inline constexpr unsigned makingOfDying = serving; /* a call of class making that is given things.dying */

/* What calls are given. Made anew for each; everything but `loose` is reachable. */
struct Things {
    struct Owner {
        void *field;
        Node *node;
        void *loose;
        MprList *list;
        MprHash *hash;
    };

    void make() {
        owner = static_cast<Owner *>(mprAllocManaged(sizeof(Owner), manage, MPR_ALLOC_BARRIER | MPR_ALLOC_ZERO));
        mprAddRoot(owner);
        mprSetRef(owner, &owner->node, makeNode());
        mprSetRef(owner, &owner->loose, mprAlloc(40));
        mprSetRef(owner, &owner->list, mprCreateList(0, 0));
        mprSetRef(owner, &owner->hash, mprCreateHash(0, 0));
        mprAddItem(owner->list, owner->node);
        mprAddKey(owner->hash, "key", owner->node);
        node = owner->node, loose = owner->loose, list = owner->list, hash = owner->hash;
        permanent = palloc(40);
        dying = mprAlloc(40);
        linked = refused = {};
        mprLinkRootRef(&linked);
    }
    /* Whether all is as it was made, and can be undone. */
    bool untouched() {
        mprUnlinkRootRef(&linked);
        const bool same = mprGetListLength(list) == 1 && mprGetHashLength(hash) == 1 && mprIsValid(loose) &&
                          mprGetBlockSize(loose) >= 40 && mprIsValid(node) && !owner->field && mprIsValid(permanent);
        pfree(permanent);
        return mprFree(loose) == 0 && same; // neither held nor a root
    }

    Owner *owner;
    Node *node;
    void *loose, *permanent;
    void *dying; /* Nothing retains it: dead when managers are called */
    MprList *list;
    MprHash *hash;
    MprRootRef linked, refused;

private:
    static void manage(void *ptr, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            auto owner = static_cast<Owner *>(ptr);
            for (void *field : {&owner->field, reinterpret_cast<void **>(&owner->node), &owner->loose,
                                reinterpret_cast<void **>(&owner->list), reinterpret_cast<void **>(&owner->hash)}) {
                mprMarkRef(field);
            }
        }
    }
};
inline Things things;

struct Call {
    const char *name;
    unsigned refusedIn;
    void (*call)();
    bool changes = false; /* Where it is admitted it does what the next test does not expect: not tried. */
};

namespace detail {
inline std::atomic<void (*)()> inManager{nullptr}, inFinalizer{nullptr}, inNotifier{nullptr}, inHandler{nullptr};

inline void callInMark(void *, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        if (auto call = inManager.exchange(nullptr)) {
            call();
        }
    }
}
inline void callInFree(void *, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        if (auto call = inFinalizer.exchange(nullptr)) {
            call();
        }
    }
}
/* Make a block whose manager calls when it dies: it may do so at once, or, if it lives on, with the runtime. */
inline void makeCaller(void (*call)(), bool lives = false) {
    inFinalizer = call;
    void *caller = mprAllocManaged(16, callInFree, 0);
    REQUIRE(caller);
    if (lives) {
        mprAddRoot(caller);
    }
}
inline void callInHandler(void *) {
    if (auto call = inHandler.exchange(nullptr)) {
        call();
    }
}
inline void callInNotifier(int, int, size_t, size_t) {
    if (auto call = inNotifier.exchange(nullptr)) {
        call();
    }
}
} // namespace detail

/* Call in a state, with a runtime and its things. */
inline void callIn(State state, void (*call)()) {
    switch (state) {
    case unattached: std::thread(call).join(); break;
    case sticky:
        mprYield(MPR_YIELD_STICKY);
        call();
        break;
    case exempt:
        mprSetThreadYield(nullptr, false);
        call();
        break;
    case marking: {
        void *caller = mprAllocManaged(16, detail::callInMark, 0);
        mprAddRoot(caller);
        detail::inManager = call;
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        mprRemoveRoot(caller);
        break;
    }
    case notified:
        mprSetMemNotifier(detail::callInNotifier);
        detail::inNotifier = call;
        mprAlloc(SIZE_MAX / 2);
        break;
    case inSuspension: {
        const MprSuspensionHandler handler{detail::callInHandler, nullptr, nullptr, nullptr, nullptr};
        mprAddSuspensionHandler(&handler);
        detail::inHandler = call;
        mprGC(MPR_GC_FORCE);
        mprRemoveSuspensionHandler(&handler);
        break;
    }
    case inEmbedder: {
        MprEmbedder embedder{};
        embedder.clear = [](void *, int) { detail::callInHandler(nullptr); };
        REQUIRE(mprSetEmbedder(&embedder) == 0);
        detail::inHandler = call;
        mprGC(MPR_GC_FORCE);
        mprSetEmbedder(nullptr);
        break;
    }
    case finalizing:
        detail::makeCaller(call);
        REQUIRE(until([] {
            collect();
            return !detail::inFinalizer;
        }));
        collect(); // the manager has returned
        break;
    default: call(); break;
    }
    mprSetThreadYield(nullptr, true);
    mprResetYield();
}

inline bool isNamed(const char *function) {
    return Log::has(std::string(function) + ":") || Log::has(std::string(function) + "(");
}

/* A child calls, and tells by its status what the log says. */
inline bool isNamedInChild(const Call &call) {
    const pid_t child = fork();
    if (child == 0) {
        Log::clear();
        alarm(20);
        call.call();
        _exit(isNamed(call.name) && Log::has("child of fork") ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

inline void tryCall(const Call &call, State state) {
    const bool refused = (call.refusedIn & state) != 0;
    if (!refused && (call.changes || state == forked || state == ended || state == closing)) {
        return;
    }
    INFO(call.name << " " << nameOf(state));
    Runtime runtime;
    things.make();
    if (state == ended || state == closing) {
        mprUnlinkRootRef(&things.linked);
        if (state == closing) {
            detail::makeCaller(call.call, true);
        }
        runtime.end();
        if (state == ended) {
            Log::clear();
            call.call();
        }
        INFO(Log::text());
        CHECK(isNamed(call.name));
        return;
    }
    if (state == forked) {
        CHECK(isNamedInChild(call));
        CHECK(things.untouched());
        return;
    }
    const uint64 misuses = mprGetMemStats()->misuses;
    Log::clear();
    callIn(state, call.call);
    INFO(Log::text());
    CHECK(isNamed(call.name) == refused);
    CHECK((mprGetMemStats()->misuses > misuses) == refused);
    if (refused) {
        CHECK(things.untouched());
    }
    mprUnlinkRootRef(&things.linked);
    mprUnlinkRootRef(&things.refused);
}

/* Calls that are given nothing where something is to be filled in: each is a misuse of the function of that name. */
inline void tryNothingToFill(Runtime &runtime, std::initializer_list<std::pair<const char *, void (*)()>> calls) {
    for (const auto &[function, call] : calls) {
        INFO(function);
        const uint64 before = mprGetMemStats()->misuses;
        call();
        CHECK(mprGetMemStats()->misuses == before + 1);
        CHECK(runtime.log.has(std::string(function) + "("));
    }
}

} // namespace test
