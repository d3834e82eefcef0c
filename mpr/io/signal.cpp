// SPDX-License-Identifier: MIT
/*
    signal.cpp - Signals as events: the C API of mpr/signal.h.

    libuv watches each signal once, however many handlers it has, because it promises no order between watchers. The
    handlers of all signals stand in one list, in their order. It changes only while the loop is in use.
 */
#include "mpr/signal.h"

#include <signal.h>

#include <utility>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/gc/keepers.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/io/retained.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/shutdown.h"
#include "mpr/task/callback.hpp"
#include "mpr/task/events.hpp"

namespace base = mpr::base;
namespace gc = mpr::gc;
namespace os = mpr::os;
namespace task = mpr::task;
using task::Loop;

namespace {

struct Handler : MprSignal {
    task::Event* event; // reference: calls the handler
    Handler* next;      // reference
    task::Fired fired;
    bool removed;
};

using Handlers = mpr::io::Retained<Handler>;
constinit Handlers handlers;
/** libuv's watchers, by signal; each is permanent memory. */
constinit uv_signal_t* watchers[NSIG] = {};

gc::Service room{[] { handlers.mark(); }, [](std::uint64_t) { return true; },
                 [] {
                     handlers.close();
                     for (uv_signal_t*& watcher : watchers) {
                         watcher = nullptr; // the loop closes and frees it
                     }
                 }};

void manageHandler(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* handler = static_cast<Handler*>(ptr);
        mprMarkRef(&handler->event);
        mprMarkRef(&handler->next);
        mprMarkRef(&handler->dispatcher);
        gc::markLoose(&handler->data);
    } else if ((flags & MPR_MANAGE_FREE) && gc::isFreedByHand(ptr) && task::events().isOpen()) {
        mprRemoveSignalHandler(static_cast<Handler*>(ptr));
        gc::leaveToCollector(ptr); // a signal that has come may be about to be told of
    }
}
const mpr::gc::ManagerName namedSignal(manageHandler, "MprSignal");
const mpr::gc::Keeper keepsSignals(manageHandler, [](const void* block) -> const char* {
    return static_cast<const Handler*>(block)->removed ? nullptr
                                                       : "the handler gets signals; see mprRemoveSignalHandler";
});

void call(void* data, MprEvent*) {
    auto* handler = static_cast<Handler*>(data);
    task::callProgram({"signal handler"}, [=] { handler->handler(handler->data, handler); });
}

// ---- With the loop in use ---------------------------------------------------------------------------------------

void onSignal(uv_signal_t*, int signo) {
    for (Handler* handler = handlers.head()->first; handler; handler = handler->next) {
        if (handler->signo == signo) {
            handler->fired.event = handler->event;
            task::events().fire(handler->fired);
        }
    }
}

bool isWatched(int signo) {
    for (const Handler* handler = handlers.head()->first; handler; handler = handler->next) {
        if (handler->signo == signo) {
            return true;
        }
    }
    return false;
}

/** @param fresh Memory for a watcher; nullptr when libuv has it. @return 0 or libuv's error. */
int startWatching(uv_loop_t* loop, int signo, uv_signal_t*& fresh) {
    int result = uv_signal_init(loop, fresh);
    if (result != 0) {
        return result;
    }
    uv_signal_t* watcher = std::exchange(fresh, nullptr);
    result = uv_signal_start(watcher, onSignal, signo);
    if (result != 0) {
        Loop::discard(reinterpret_cast<uv_handle_t*>(watcher));
        return result;
    }
    watchers[signo] = watcher;
    return 0;
}

void insert(Handlers::Head& all, Handler& handler) {
    void* owner = &all;
    Handler** link = &all.first;
    while (*link && !(handler.flags & MPR_SIGNAL_BEFORE)) {
        owner = *link;
        link = &(*link)->next;
    }
    base::setRef(&handler, handler.next, *link);
    base::setRef(owner, *link, &handler);
}

void unlink(Handlers::Head& all, Handler& handler) {
    void* owner = &all;
    Handler** link = &all.first;
    while (*link != &handler) {
        owner = *link;
        link = &(*link)->next;
    }
    base::setRef(owner, *link, handler.next);
    handler.removed = true;
}

/** @return 0 or libuv's error. @param fresh Memory for a watcher; nullptr afterwards if it was used. */
int add(Handlers::Head& all, Handler& handler, uv_signal_t*& fresh) {
    const Loop::Using loop(task::events().loop());
    if (!watchers[handler.signo]) {
        if (const int result = startWatching(*loop, handler.signo, fresh)) {
            return result;
        }
    }
    insert(all, handler);
    return 0;
}
} // namespace

// -----------------------------------------------------------------------------------------------------------------

MprSignal* mprAddSignalHandler(int signo, void* handler, void* arg, MprDispatcher* dispatcher, int flags) {
    task::Events& events = task::events();
    if (!handler || !events.open("mprAddSignalHandler") || !gc::mayMake("mprAddSignalHandler", dispatcher, arg)) {
        return nullptr;
    }
    const bool refused = dispatcher && task::Events::isDestroyed(*dispatcher);
    int result = signo > 0 && signo < NSIG && !refused ? UV_ENOMEM : UV_EINVAL;
    if (result == UV_ENOMEM) {
        Handlers::Head* all = handlers.open(room);
        auto* made = static_cast<Handler*>(
            mprAllocManaged(sizeof(Handler), manageHandler, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER));
        auto* fresh = static_cast<uv_signal_t*>(palloc(sizeof(uv_signal_t)));
        if (all && made && fresh) {
            made->signo = signo;
            made->flags = flags;
            made->handler = reinterpret_cast<MprSignalProc>(handler);
            made->data = arg;
            made->dispatcher = dispatcher ? dispatcher : events.mainDispatcher();
            made->event = events.makeEvent(*made->dispatcher, "signal", 0, call, made, MPR_EVENT_DONT_QUEUE);
            result = made->event ? add(*all, *made, fresh) : result;
        }
        pfree(fresh);
        if (result == 0) {
            events.loopChanged();
            return made;
        }
    }
    os::Message message;
    os::log(os::Level::error, message << "mprAddSignalHandler: signal " << signo << ": "
                                      << (refused ? "its dispatcher was destroyed" : uv_strerror(result)));
    return nullptr;
}

void mprRemoveSignalHandler(MprSignal* sp) {
    if (!sp || !gc::admitRunning("mprRemoveSignalHandler") || !task::events().isOpen()) {
        return; // without events none is there
    }
    auto& handler = *static_cast<Handler*>(sp);
    {
        const Loop::Using loop(task::events().loop());
        if (handler.removed) {
            return;
        }
        unlink(*handlers.head(), handler);
        if (!isWatched(handler.signo)) {
            Loop::discard(reinterpret_cast<uv_handle_t*>(watchers[handler.signo]));
            watchers[handler.signo] = nullptr;
        }
    }
    task::events().cancel(*handler.event);
    task::events().loopChanged();
}

void mprAddStandardSignals(void) {
    for (const int signo : {SIGINT, SIGTERM, SIGQUIT}) {
        mprAddSignalHandler(signo,
                            reinterpret_cast<void*>(+[](void*, MprSignal*) { mprShutdown(MPR_EXIT_NORMAL, -1, -1); }),
                            nullptr, nullptr, 0);
    }
    for (const int signo : {SIGPIPE, SIGXFSZ}) {
        signal(signo, SIG_IGN);
    }
}
