// SPDX-License-Identifier: MIT
/*
    wait.cpp - Wait handlers, on libuv's polls: the C API of mpr/wait.h.

    A handler owns a poll handle in permanent memory, which outlives it until libuv lets go. While a handler waits it
    stands in a list that retains it. List and handlers change only while the loop is in use.

    Handler and owner of a descriptor die in the same collection, and either may be finalized first, or have been freed by
    hand. So neither of their managers looks at the other block: both have a use of the same tie, which is outside of the heap.

    libuv registers a descriptor with the system in its next turn, and ends the process when it cannot. So a
    handler that has begun to wait stands at the front of the list and is registered right before that turn. A program
    that has closed its descriptor too early is told so. If the system has no memory for one more, the handler pauses and
    tries again.

    A handler usually waits for the same events again. So where the runtime owns the descriptor, and closes it after its
    handler, libuv continues to watch after the handler was told; it stops only a descriptor that is ready again while
    nobody waits. A socket's handler that waits again, or already, costs no system call; another that waits already one.
 */
#include "mpr/base/references.hpp"
#include "mpr/wait.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "mpr/barrier.h"
#include "mpr/gc/census.hpp"
#include "mpr/gc/keepers.hpp"
#include "mpr/gc/unmarked.hpp"
#include "mpr/io/retained.hpp"
#include "mpr/io/wait.hpp"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/task/events.hpp"
#include "mpr/task/waiting.hpp"

namespace base = mpr::base;
namespace gc = mpr::gc;
namespace os = mpr::os;
namespace task = mpr::task;
using task::Loop;

namespace {

struct Handler;

/** libuv's side of a handler. It stands at the start of its memory: Loop::discard. */
struct Watch {
    uv_poll_t poll;
    task::Fired fired;
    Handler* handler;
    int wanted; // mask
    int needed; // mask: the descriptor's, which is another's for secure sockets
    int polled; // events that libuv looks for, whether or not the handler waits
    bool waits; // the handler waits, and so it is in the list, which retains it
};

struct Handler : MprWaitHandler {
    task::Event* event;  // reference; and what retains the dispatcher
    task::Event* resume; // reference: ends a pause; null if there may be none
    void* owner;         // reference: the block that owns the descriptor, if the runtime knows one
    Handler* next;       // reference: in the list of those that wait
    Handler* previous;
    mpr::io::Tie* tie;                   // what leads to its watch; null once finalized
    int (*wants)(void* owner, int mask); // or null: see setWants
    int wanted;                          // what to wait for when the pause ends
    bool pauses;
    bool rests; // it waits, but the system has no memory for that
    bool isNew; // waits since the last turn of the loop, and the system is to be asked whether it can

    inline Watch* watch() const;
};
} // namespace

/** What a handler and the owner of its descriptor have in common. In permanent memory; the loop guards it. */
struct mpr::io::Tie {
    Watch* watch; // null once destroyed
    int uses;     // by blocks that have not been finalized
};

namespace {

/** The handlers that wait. */
constinit mpr::io::Retained<Handler> waiters;

/** Null once destroyed or finalized, or when the loop has closed: managers of others may still use the block. With the loop
    in use. */
Watch* Handler::watch() const {
    return tie && waiters.head() ? tie->watch : nullptr;
}

/** libuv's call before it registers what is new. Made with the first handler; the loop frees it when it is closed. */
constinit uv_prepare_t* beforeTurn = nullptr;
/** Lets those wait again that rest. Made with the first handler. */
constinit std::atomic<task::Event*> again{nullptr};
/** Handlers that are new, all near the front of the list. The loop guards it. */
constinit int newcomers = 0;
/** The system had no memory to wait for the last descriptor, which has been said. The loop guards it. */
constinit bool isShort = false;

gc::Service room{[] {
                     waiters.mark();
                     mprMark(again.load());
                 },
                 [](std::uint64_t) { return true; },
                 [] {
                     waiters.close();
                     beforeTurn = nullptr;
                     again = nullptr;
                     isShort = false;
                     newcomers = 0;
                 }};

// ---- With the loop in use ---------------------------------------------------------------------------------------

/** @param isNew The system is to be asked whether it knows the descriptor. */
void link(Handler& handler, bool isNew) {
    waiters.link(handler);
    handler.watch()->waits = true;
    handler.isNew = isNew;
    newcomers += isNew ? 1 : 0;
}

void unlink(Handler& handler) {
    waiters.unlink(handler);
    newcomers -= handler.isNew ? 1 : 0;
    handler.watch()->waits = handler.rests = handler.isNew = false;
}

void stopPolling(Watch& watch) {
    uv_poll_stop(&watch.poll);
    watch.polled = 0;
}

void onReady(uv_poll_t* poll, int status, int events) {
    auto& watch = *reinterpret_cast<Watch*>(poll);
    if (!watch.waits) { // and its handler may be dead
        stopPolling(watch);
        return;
    }
    Handler& handler = *watch.handler;
    if (!handler.owner || status < 0) {
        stopPolling(watch);
    }
    const int came = ((events & UV_READABLE) ? MPR_READABLE : 0) | ((events & UV_WRITABLE) ? MPR_WRITABLE : 0);
    watch.fired.mask = status < 0 || watch.needed != watch.wanted ? watch.wanted : came;
    watch.fired.event = handler.event;
    unlink(handler);
    task::events().fire(watch.fired);
}

bool startPolling(Watch& watch, int events) {
    watch.polled = uv_poll_start(&watch.poll, events, onReady) == 0 ? events : 0;
    return watch.polled != 0;
}

/**
    @param needed What the descriptor has to be ready for before the program is told of mask.
    @return Whether libuv has to look: where it goes on looking for what it looked for before, its descriptor tells.
 */
bool waitOn(Handler& handler, int mask, int needed) {
    Watch& watch = *handler.watch();
    const int events = ((needed & MPR_READABLE) ? UV_READABLE : 0) | ((needed & MPR_WRITABLE) ? UV_WRITABLE : 0);
    if (watch.waits && watch.polled == events && watch.wanted == mask && watch.needed == needed) {
        if (!handler.owner) { // the program may have closed the descriptor, and nothing else would tell it
            unlink(handler);
            link(handler, true);
        }
        return false;
    }
    const bool wasNew = handler.isNew; // and libuv would be the first to ask the system
    if (watch.waits) {
        unlink(handler);
    }
    if (events == 0) {
        const bool polled = watch.polled != 0;
        if (polled) {
            stopPolling(watch);
        }
        return polled;
    }
    const bool goesOn = handler.owner && watch.polled == events;
    if (goesOn || startPolling(watch, events)) {
        watch.wanted = mask;
        watch.needed = needed;
        link(handler, !goesOn || wasNew);
    }
    return !goesOn || wasNew;
}

void waitOn(Handler& handler, int mask) {
    waitOn(handler, mask, mask);
}

void resume(void* data, MprEvent*) {
    auto& handler = *static_cast<Handler*>(data);
    {
        const Loop::Using loop(task::events().loop());
        handler.pauses = false;
        if (!handler.watch()) {
            return;
        }
        waitOn(handler, handler.wanted);
    }
    task::events().loopChanged();
}

/** Let those wait that the system had no memory for. */
void tryAgain(void*, MprEvent*) {
    {
        const Loop::Using loop(task::events().loop());
        for (Handler* next = waiters.head()->first; next;) {
            Handler& handler = *next;
            next = handler.next;
            if (handler.rests) {
                waitOn(handler, handler.watch()->wanted, handler.watch()->needed); // to the front of the list
            }
        }
    }
    task::events().loopChanged();
}

/** Make what calls that. @return false when memory is short. */
bool openAgain() {
    task::Events& events = task::events();
    if (!again.load(std::memory_order_acquire)) {
        task::Event* none = nullptr;
        task::Event* made =
            events.makeEvent(*events.mainDispatcher(), "again", 0, tryAgain, nullptr, MPR_EVENT_DONT_QUEUE);
        mprPublish(made);
        return made && (again.compare_exchange_strong(none, made) || none);
    }
    return true;
}

/** The system cannot wait for a handler's descriptor. */
void refuse(const uv_loop_t* loop, Handler& handler, int fd, int error) {
    constexpr MprTicks rest = 50;
    const bool passes = error == UV_ENOMEM || error == UV_ENOSPC;
    if (!std::exchange(isShort, passes) || !passes) {
        os::Message message;
        message << "mprWaitOn: descriptor " << fd;
        Loop::sayLater(loop, passes ? message << " cannot be waited for yet: " << uv_strerror(error)
                                    : message << " was closed before its handler was destroyed");
    }
    if (passes) {
        stopPolling(*handler.watch());
        handler.rests = true;
        task::events().schedule(*again.load(), rest, -1);
    } else {
        onReady(&handler.watch()->poll, error, 0);
    }
}

void enrollNew(uv_prepare_t* prepare) {
    const auto* all = waiters.head();
    for (Handler* next = all ? all->first : nullptr; next && newcomers > 0;) {
        Handler& handler = *next;
        next = handler.next;
        if (!std::exchange(handler.isNew, false)) {
            continue;
        }
        --newcomers;
        uv_os_fd_t fd = -1;
        uv_fileno(reinterpret_cast<uv_handle_t*>(&handler.watch()->poll), &fd);
        if (const int error = Loop::enroll(prepare->loop, fd)) {
            refuse(prepare->loop, handler, fd, error);
        } else {
            isShort = false;
        }
    }
}

/** @return false when memory is short. */
bool openCheck(uv_loop_t* loop) {
    if (!beforeTurn) {
        beforeTurn = static_cast<uv_prepare_t*>(palloc(sizeof(uv_prepare_t)));
        if (!beforeTurn) {
            return false;
        }
        uv_prepare_init(loop, beforeTurn);
        uv_prepare_start(beforeTurn, enrollNew);
        uv_unref(reinterpret_cast<uv_handle_t*>(beforeTurn));
    }
    return true;
}

/** End a watch, unless that has been done. Until then its handler has not been finalized. */
void discard(mpr::io::Tie& tie) {
    if (Watch* watch = tie.watch) {
        Handler& handler = *watch->handler;
        if (watch->waits) {
            unlink(handler);
        }
        __atomic_store_n(&handler.owner, nullptr, __ATOMIC_RELAXED); // it may be freed by hand before the handler
        tie.watch = nullptr;
        Loop::discard(reinterpret_cast<uv_handle_t*>(&watch->poll));
    }
}

/** One use less. */
void untie(mpr::io::Tie* tie) {
    if (--tie->uses == 0) {
        pfree(tie);
    }
}

// -----------------------------------------------------------------------------------------------------------------

void manageHandler(void* ptr, int flags) {
    auto& handler = *static_cast<Handler*>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&handler.event);
        mprMarkRef(&handler.resume);
        mprMarkRef(&handler.owner);
        mprMarkRef(&handler.next);
    } else if ((flags & MPR_MANAGE_FREE) && gc::isFreedByHand(ptr) && task::events().isOpen()) {
        mprDestroyWaitHandler(&handler);
        gc::leaveToCollector(ptr); // its events may be about to run
    } else if (flags & MPR_MANAGE_FREE) {
        mpr::io::drop(handler.tie);
    }
}
const mpr::gc::ManagerName namedWaitHandler(manageHandler, "MprWaitHandler");
// Handler::previous, of one that does not wait, or is the first
const mpr::gc::UnmarkedField previousHandler(manageHandler, &Handler::previous);

/** Make libuv's side. */
bool watch(Handler& handler, int fd) {
    auto* tie = static_cast<mpr::io::Tie*>(palloc(sizeof(mpr::io::Tie)));
    auto* made = tie ? static_cast<Watch*>(palloc(sizeof(Watch))) : nullptr;
    if (!made) {
        pfree(tie);
        return false;
    }
    *made = {};
    made->handler = &handler;
    int result = 0;
    {
        const Loop::Using loop(task::events().loop());
        result = openCheck(*loop) ? uv_poll_init(*loop, &made->poll, fd) : UV_ENOMEM;
    }
    if (result != 0) {
        pfree(made);
        pfree(tie);
        os::Message message;
        os::log(os::Level::error, message << "mprCreateWaitHandler: descriptor " << fd << " cannot be waited for: "
                                          << (result == UV_EEXIST ? "it has a handler" : uv_strerror(result)));
        return false;
    }
    *tie = {made, 1};
    handler.tie = tie;
    return true;
}
} // namespace

mpr::io::Tie* mpr::io::setOwner(MprWaitHandler& owned, void* owner) {
    auto& handler = static_cast<Handler&>(owned);
    base::setRef(&handler, handler.owner, owner);
    const Loop::Using loop(task::events().loop());
    ++handler.tie->uses;
    return handler.tie;
}

bool mpr::io::prepareToPause(MprWaitHandler& prepared) {
    auto& handler = static_cast<Handler&>(prepared);
    base::setRef(
        &handler, handler.resume,
        task::events().makeEvent(*handler.event->dispatcher, "resume", 0, ::resume, &handler, MPR_EVENT_DONT_QUEUE));
    return handler.resume != nullptr;
}

void mpr::io::pauseHandler(MprWaitHandler& pausing, MprTicks rest) {
    auto& handler = static_cast<Handler&>(pausing);
    task::Events& events = task::events();
    {
        const Loop::Using loop(events.loop());
        const Watch* watch = handler.watch();
        if (!handler.resume || !watch || handler.pauses) {
            return;
        }
        handler.wanted = watch->waits ? watch->wanted : 0;
        handler.pauses = true;
        waitOn(handler, 0);
    }
    events.schedule(*handler.resume, rest, -1);
}

void mpr::io::drop(Tie*& tie) {
    // While the runtime ends the loop has closed all handles already.
    if (tie && waiters.head()) {
        const Loop::Using loop(task::events().loop());
        discard(*tie);
        untie(std::exchange(tie, nullptr));
    }
}

MprWaitHandler* mprCreateWaitHandler(int fd, int mask, MprDispatcher* dispatcher, void* proc, void* data, int flags) {
    task::Events& events = task::events();
    if (!proc || !events.open("mprCreateWaitHandler") || !gc::mayMake("mprCreateWaitHandler", dispatcher, data) ||
        !waiters.open(room) || !openAgain()) {
        return nullptr;
    }
    auto* handler = static_cast<Handler*>(
        mprAllocManaged(sizeof(Handler), manageHandler, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER));
    if (!handler) {
        return nullptr;
    }
    if (flags & MPR_WAIT_NEW_DISPATCHER) {
        dispatcher = events.makeDispatcher("io", 0);
    } else if (!dispatcher) {
        dispatcher = events.mainDispatcher();
    }
    if (!dispatcher) {
        return nullptr;
    }
    handler->dispatcher = dispatcher;
    handler->fd = fd;
    handler->event =
        events.makeEvent(*dispatcher, "io", 0, reinterpret_cast<MprEventProc>(proc), data, MPR_EVENT_DONT_QUEUE);
    if (!handler->event || !watch(*handler, fd)) {
        return nullptr;
    }
    handler->event->handler = handler;
    mprWaitOn(handler, mask);
    return handler;
}

namespace {

int waitOn(const char* function, MprWaitHandler* ptr, int mask) {
    auto* wp = static_cast<Handler*>(ptr);
    if (!wp || !task::events().open(function) || !gc::mayMake(function, ptr)) {
        return wp ? MPR_ERR_BAD_STATE : MPR_ERR_BAD_ARGS;
    }
    const int needed = wp->wants && mask != 0 ? wp->wants(wp->owner, mask) : mask;
    bool changed = false;
    {
        const Loop::Using loop(task::events().loop());
        if (!wp->watch()) {
            return MPR_ERR_BAD_STATE;
        }
        if (wp->pauses) {
            wp->wanted = mask;
            return 0;
        }
        changed = waitOn(*wp, mask, needed);
    }
    if (needed == 0 && mask != 0) {
        task::events().queue(*wp->event, mask);
    }
    if (changed) {
        task::events().loopChanged();
    }
    return 0;
}
} // namespace

void mpr::io::setWants(MprWaitHandler& changed, int (*wants)(void*, int)) {
    auto& handler = static_cast<Handler&>(changed);
    int mask = 0;
    {
        const Loop::Using loop(task::events().loop());
        handler.wants = wants;
        const Watch* watch = handler.watch();
        mask = watch && watch->waits ? watch->wanted : 0;
    }
    if (mask != 0) {
        mprWaitOn(&handler, mask);
    }
}

void mprWaitOn(MprWaitHandler* wp, int desiredMask) {
    waitOn("mprWaitOn", wp, desiredMask);
}

int mprNotifyOn(MprWaitHandler* wp, int mask) {
    return waitOn("mprNotifyOn", wp, mask);
}

void mprRecallWaitHandler(MprWaitHandler* ptr) {
    auto* wp = static_cast<Handler*>(ptr);
    if (!wp || !task::events().open("mprRecallWaitHandler") || !gc::mayMake("mprRecallWaitHandler", ptr)) {
        return;
    }
    {
        const Loop::Using loop(task::events().loop());
        if (!wp->watch()) {
            return;
        }
        waitOn(*wp, 0);
    }
    task::events().queue(*wp->event, MPR_READABLE);
    task::events().loopChanged();
}

void mprRecallWaitHandlerByFd(int fd) {
    if (!task::events().open("mprRecallWaitHandlerByFd")) {
        return;
    }
    Handler* found = nullptr;
    {
        const Loop::Using loop(task::events().loop());
        const auto* all = waiters.head();
        found = all ? all->first : nullptr;
        while (found && found->fd != fd) {
            found = found->next;
        }
    }
    mprRecallWaitHandler(found); // no yield since it was found
}

void mprWaitForIO(MprWaitService*, MprTicks timeout) {
    mprServiceEvents(timeout, MPR_SERVICE_ONE_THING);
}

void mprDestroyWaitHandler(MprWaitHandler* ptr) {
    auto* wp = static_cast<Handler*>(ptr);
    if (!wp || !gc::admitRunning("mprDestroyWaitHandler") || !task::events().isOpen()) {
        return; // without events none waits
    }
    {
        const Loop::Using loop(task::events().loop());
        if (!wp->watch()) {
            return;
        }
        discard(*wp->tie);
    }
    task::events().cancel(*wp->event);
    if (wp->resume) {
        task::events().cancel(*wp->resume);
    }
    task::events().loopChanged();
}

void mprRemoveWaitHandler(MprWaitHandler* wp) {
    mprDestroyWaitHandler(wp);
}

int mprWaitForSingleIO(int fd, int mask, MprTicks timeout) {
    if (fd < 0) {
        return MPR_ERR_BAD_HANDLE; // which poll would wait for: another thread has closed what it stood for
    }
    pollfd descriptor{fd, 0, 0};
    descriptor.events =
        static_cast<short>(((mask & MPR_READABLE) ? POLLIN : 0) | ((mask & MPR_WRITABLE) ? POLLOUT : 0));
    const std::uint64_t deadline = task::deadlineIn(timeout);
    int ready = 0;
    {
        const task::Waiting waiting(__builtin_return_address(0));
        constexpr std::uint64_t most = 0x7FFFFFFF; // milliseconds that poll waits at once
        std::uint64_t milliseconds = 0;
        do {
            const std::uint64_t left = task::leftUntil(deadline);
            milliseconds = left == os::forever ? left : (left + 999'999) / 1'000'000;
            ready = poll(&descriptor, 1, left == os::forever ? -1 : static_cast<int>(std::min(milliseconds, most)));
        } while ((ready < 0 && errno == EINTR) || (ready == 0 && milliseconds > most));
    }
    if (ready < 0 || (descriptor.revents & POLLNVAL)) {
        return MPR_ERR_BAD_HANDLE;
    }
    const bool failed = descriptor.revents & (POLLERR | POLLHUP);
    return (((descriptor.revents & POLLIN) || failed) ? mask & MPR_READABLE : 0) |
           (((descriptor.revents & POLLOUT) || failed) ? mask & MPR_WRITABLE : 0);
}
