// SPDX-License-Identifier: MIT
/*
    mpr/http.hpp - The HTTP server for C++: routes with lambdas, handlers as coroutines, typed filters.

    Header-only over mpr/http.h; link mpr::http. A handler is given a Stream, which behaves and costs as an HttpStream*.

        using namespace std::chrono_literals;

        mpr::http::route("GET", "/hello/{name}", [](mpr::http::Stream stream) {
            stream.send("Hello ");
            stream.send(stream.param("name"));
        });
        mpr::http::route("POST", "/echo", [](mpr::http::Stream stream) -> mpr::http::Task {
            std::string_view piece = co_await stream.read();
            while (!piece.empty() && co_await stream.write(piece)) {
                co_await mpr::sleep(10ms);
                piece = co_await stream.read();
            }
        });

    A handler that returns nothing is called when all of the request has come. One that returns Task is a coroutine,
    and is started when the headers have come. What either has sent when it ends is the response. One that throws, or a
    filter's procedure, fails the request (500). Other procedures, of events and notifiers, must not throw.

    Memory: the frame of a coroutine is a managed block, which its request keeps. All words in it are looked at in each
    pause: what is the start of a block is kept. So a local variable of the coroutine may be a Root, a Member, or a
    plain pointer to the start of a block, across any co_await; what an object outside of the frame references, a
    vector say, is looked at by nobody.

    The end: when a request is over before its coroutine is (its client has gone, or it has taken too long), the
    coroutine is destroyed where it waits: destructors of its locals run. It is never resumed after that.

    Threads: handlers run on their stream's dispatcher, one at a time for a stream. Routes are made before the endpoints
    start.
 */
#ifndef MPR_HTTP_HPP
#define MPR_HTTP_HPP

#include "mpr.hpp"

#ifdef MPR_NO_SHORT_NAMES
#include "mpr/http.h"
#else
#define MPR_NO_SHORT_NAMES
#include "mpr/http.h"
#undef MPR_NO_SHORT_NAMES
#endif

#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#if defined(__GLIBCXX__) && defined(__cpp_exceptions)
#include <cxxabi.h> // abi::__forced_unwind
#endif
#include <string_view>
#include <type_traits>
#include <utility>

namespace mpr::http {
inline namespace v1 { // names of the library's own parts are others

class Read;
class Write;

/** A request and its response; or none. */
class Stream {
public:
    constexpr Stream(HttpStream* stream = nullptr) noexcept : stream_(stream) {}

    constexpr HttpStream* get() const noexcept { return stream_; }
    constexpr operator HttpStream*() const noexcept { return stream_; }

    std::string_view method() const noexcept { return text(stream_->rx->method); }
    /** Without the prefix of its route; decoded. */
    std::string_view path() const noexcept { return text(stream_->rx->pathInfo); }
    /** A header of the request; empty when there is none. */
    std::string_view header(const char* name) const noexcept { return text(httpGetHeader(stream_, name)); }
    /** A parameter of the query, the form or the route's pattern. */
    std::string_view param(const char* name, const char* otherwise = "") const noexcept {
        return text(httpGetParam(stream_, name, otherwise));
    }

    void status(int code) const noexcept { httpSetStatus(stream_, code); }
    void header(const char* name, const char* value) const noexcept { httpSetHeaderString(stream_, name, value); }
    void type(const char* mimeType) const noexcept { httpSetContentType(stream_, mimeType); }
    /** Send bytes, without a wait: what there is no room for is kept. @return false: the request has failed. */
    bool send(std::string_view bytes) const noexcept {
        return httpWriteBlock(stream_->writeq, bytes.data() ? bytes.data() : "",
                              static_cast<std::ptrdiff_t>(bytes.size()), HTTP_BUFFER) >= 0;
    }

    /** In a coroutine: wait for a piece of the body. co_await gives a view, good until the next read; empty at the
        end. */
    [[nodiscard]] Read read() const noexcept;
    /** In a coroutine: send bytes, and wait while there is no room for them. co_await gives false when the request has
        failed. @param bytes Stay until then: a literal, a variable of the coroutine, what read has given. */
    [[nodiscard]] Write write(std::string_view bytes) const noexcept;

private:
    static std::string_view text(const char* string) noexcept { return string ? string : ""; }

    HttpStream* stream_;
};

// ---- Coroutines ---------------------------------------------------------------------------------------------------

class Task;

namespace detail {

/**
    Whether a call returns. An exception ends here: C code is above, which none can pass. (The end of a thread has no object
    that the sanitizer of null references could be content with.)
 */
template <class F>
__attribute__((no_sanitize("undefined"))) bool returns(F call) {
#if defined(__cpp_exceptions)
    try {
        call();
#if defined(__GLIBCXX__)
    } catch (abi::__forced_unwind&) { // the thread ends
        throw;
#endif
    } catch (...) {
        return false;
    }
#else
    call();
#endif
    return true;
}

inline void sayThrown(HttpStream* stream) {
    httpError(stream, HTTP_CODE_INTERNAL_SERVER_ERROR, "an exception was thrown");
}

/** Call a procedure of the program for a stream. One that throws fails its request. @return Whether it has returned. */
template <class F>
bool guarded(HttpStream* stream, F call) {
    const bool good = returns(call);
    if (!good) {
        sayThrown(stream);
    }
    return good;
}

enum class Waits { no, forBody, forRoom, forTime };

/** A coroutine at work for a request: the data of its handler's queue, which keeps it. Made by the stage. */
struct Run {
    Member<void> frame;
    Member<HttpStream> stream;
    Member<HttpPacket> piece; // what was read last
    Member<MprEvent> timer;
    Stream handed{};         // what the handler was called with: it may have taken a reference to that
    std::string_view rest{}; // to be written
    Waits waits = Waits::no;
    bool running = false, over = false, ended = false, failed = false, destroyed = false;

    void trace(Marker& marker) { marker(frame, stream, piece, timer); }

    /** Take the next piece of the body. @return false: there is none yet. */
    bool take() noexcept {
        while (!ended) {
            HttpPacket* packet = httpGetPacket(stream->readq);
            if (!packet) {
                return httpIsEof(stream) && (ended = true);
            }
            ended = (packet->flags & HTTP_PACKET_END) != 0;
            if (httpGetPacketContents(packet) > 0) {
                piece = packet;
                return true;
            }
        }
        piece = nullptr;
        return true;
    }
    std::string_view taken() const noexcept {
        return piece
                   ? std::string_view(httpGetPacketStart(piece), static_cast<std::size_t>(httpGetPacketContents(piece)))
                   : std::string_view();
    }

    /** Write what there is room for. @return false: not all. */
    bool put() noexcept {
        const std::ptrdiff_t count =
            httpWriteBlock(stream->writeq, rest.data(), static_cast<std::ptrdiff_t>(rest.size()), HTTP_NON_BLOCK);
        failed = count < 0;
        rest.remove_prefix(failed ? rest.size() : static_cast<std::size_t>(count));
        return rest.empty();
    }

    inline void resume();
    inline void destroy() noexcept;
};

/** A variable of a coroutine is stored plainly, and what it references outlives the yield that takes back a thread's own. */
inline void publishFrame(const void* frame) noexcept {
    const void* const* const words = static_cast<const void* const*>(frame);
    const std::size_t count = mprGetBlockSize(frame) / sizeof(void*);
    for (std::size_t i = 0; i < count; ++i) {
        if (mprMayBePrivate(words[i]) && mprIsValid(words[i])) {
            mprPublish(words[i]);
        }
    }
}

/** Marks what may be a reference, word by word: nobody says where a compiler puts a coroutine's variables. */
inline void manageFrame(void* frame, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        void** const words = static_cast<void**>(frame);
        const std::size_t count = mprGetBlockSize(frame) / sizeof(void*);
        for (std::size_t i = 0; i < count; ++i) {
            if (mprIsValid(words[i])) {
                mprMark(words[i]);
            }
        }
    }
}
} // namespace detail

/** What a coroutine that handles requests returns. The coroutine starts when a request takes it. The Task destroys a coroutine
    that no request has taken. */
class [[nodiscard]] Task {
public:
    struct promise_type {
        detail::Run* run = nullptr;
        bool threw = false;

        static void* operator new(std::size_t size) noexcept {
            return mprAllocManaged(size, detail::manageFrame, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_NO_FREE);
        }
        static void operator delete(void* frame) noexcept { mprFree(frame); }
        static Task get_return_object_on_allocation_failure() noexcept {
            Task task;
            task.lacksMemory_ = true;
            return task;
        }

        Task get_return_object() noexcept {
            Task task;
            task.frame_ = std::coroutine_handle<promise_type>::from_promise(*this).address();
            return task;
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_always final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() { // in a handler of it
#if defined(__cpp_exceptions)
            threw = !detail::returns([] { throw; });
#endif
        }
    };
    using Handle = std::coroutine_handle<promise_type>;

    Task() noexcept = default;
    Task(Task&& other) noexcept : frame_(std::move(other.frame_)), lacksMemory_(other.lacksMemory_) {}
    Task& operator=(Task&& other) noexcept {
        Task moved(std::move(other));
        frame_.swap(moved.frame_);
        std::swap(lacksMemory_, moved.lacksMemory_);
        return *this;
    }
    ~Task() {
        if (frame_) {
            handle().destroy();
        }
    }

    /** An empty one for a Task that is no coroutine's, or whose coroutine was released. */
    Handle handle() const noexcept {
        return frame_ ? Handle::from_address(frame_.get()) : Handle();
    }
    /** The caller keeps the frame from now on. */
    Handle release() noexcept {
        const Handle released = handle();
        frame_ = nullptr;
        return released;
    }
    bool lacksMemory() const noexcept {
        return lacksMemory_;
    }

private:
    Root<void> frame_;
    bool lacksMemory_ = false;
};

namespace detail {

inline void Run::resume() {
    if (running || over || destroyed || !frame) {
        return;
    }
    const Task::Handle handle = Task::Handle::from_address(frame.get());
    waits = Waits::no;
    running = true;
    handle.resume();
    running = false;
    publishFrame(handle.address());
    const bool threw = handle.promise().threw, done = handle.done();
    if (done || over) {
        destroy();
    }
    if (threw && !over) {
        sayThrown(stream);
    } else if (done && !over) {
        httpFinalize(stream);
    }
}

inline void Run::destroy() noexcept {
    if (frame && !std::exchange(destroyed, true)) {
        Task::Handle::from_address(frame.get()).destroy(); // marked until then: destructors may yield
        frame = nullptr;
    }
}

inline Run* runOf(Task::Handle handle) noexcept {
    return handle.promise().run;
}
} // namespace detail

/** What co_await stream.read() waits for. */
class Read {
public:
    explicit Read(HttpStream*) noexcept {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle handle) noexcept {
        run_ = detail::runOf(handle);
        const bool waits = !run_->take();
        run_->waits = waits ? detail::Waits::forBody : detail::Waits::no;
        return waits || run_->over;
    }
    std::string_view await_resume() const noexcept { return run_->taken(); }

private:
    detail::Run* run_ = nullptr;
};

/** What co_await stream.write() waits for. */
class Write {
public:
    explicit Write(std::string_view bytes) noexcept : bytes_(bytes) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(Task::Handle handle) noexcept {
        run_ = detail::runOf(handle);
        run_->rest = bytes_;
        const bool waits = !bytes_.empty() && !run_->put();
        run_->waits = waits ? detail::Waits::forRoom : detail::Waits::no;
        return waits || run_->over;
    }
    bool await_resume() const noexcept { return !run_->failed; }

private:
    std::string_view bytes_;
    detail::Run* run_ = nullptr;
};

/** What co_await mpr::sleep() waits for. */
class Sleep {
public:
    explicit Sleep(MprTicks ticks) noexcept : ticks_(ticks) {}
    bool await_ready() const noexcept { return ticks_ <= 0; }
    /** Without memory for a timer it does not sleep. */
    bool await_suspend(Task::Handle handle) noexcept {
        detail::Run* const run = detail::runOf(handle);
        if (run->over) {
            return true; // it is destroyed once it has suspended
        }
        run->timer = mprCreateEvent(run->stream->dispatcher, "http.sleep", ticks_, MPR_PROC(wake), run, 0);
        run->waits = run->timer ? detail::Waits::forTime : detail::Waits::no;
        return run->timer != nullptr;
    }
    void await_resume() const noexcept {}

private:
    static void wake(void* data, MprEvent*) {
        detail::Run* const run = static_cast<detail::Run*>(data);
        run->timer = nullptr;
        if (run->waits == detail::Waits::forTime) {
            run->resume();
        }
    }

    MprTicks ticks_;
};

inline Read Stream::read() const noexcept {
    return Read(stream_);
}

inline Write Stream::write(std::string_view bytes) const noexcept {
    return Write(bytes);
}

// ---- Routes -------------------------------------------------------------------------------------------------------

namespace detail {

/** A handler of a route, which keeps it. */
struct Handler {
    void (*call)(const Handler& self, Stream stream) = nullptr;
    Task (*begin)(const Handler& self, Stream& stream) = nullptr;
};

template <class F>
struct HandlerOf : Handler {
    explicit HandlerOf(F handler) : function(std::move(handler)) {
        if constexpr (std::is_void_v<std::invoke_result_t<const F&, Stream>>) {
            call = [](const Handler& self, Stream stream) {
                static_cast<const HandlerOf&>(self).function(std::move(stream));
            };
        } else {
            begin = [](const Handler& self, Stream& stream) {
                return static_cast<const HandlerOf&>(self).function(std::move(stream));
            };
        }
    }
    F function;
};

inline constexpr const char* routeKey = "mpr::http::Handler";

inline const Handler& handlerOf(HttpQueue* q) {
    return *static_cast<const Handler*>(httpGetRouteData(q->stream->rx->route, routeKey));
}

inline Run* runOf(HttpQueue* q) {
    HttpQueue* const writer = q->stream->writeq;
    return writer ? static_cast<Run*>(writer->queueData) : nullptr;
}

/** The stage of handlers that are called once. */
inline HttpStage* callingStage() {
    HttpStage* const stage = httpCreateHandler("mpr::http::calling", nullptr);
    if (stage) {
        stage->flags |= HTTP_STAGE_AUTO_FINALIZE;
        stage->ready = [](HttpQueue* q) {
            const Handler& handler = handlerOf(q);
            guarded(q->stream, [&] { handler.call(handler, q->stream); });
        };
    }
    return stage;
}

inline void startCoroutine(HttpQueue* q) {
    Run* const run = make<Run>();
    if (!run) {
        httpMemoryError(q->stream);
        return;
    }
    run->stream = q->stream;
    run->handed = q->stream;
    mprSetRef(q, &q->queueData, run);
    const Handler& handler = handlerOf(q);
    Task task;
    if (!guarded(q->stream, [&] { task = handler.begin(handler, run->handed); })) {
        return;
    }
    if (task.lacksMemory()) {
        httpMemoryError(q->stream);
        return;
    }
    if (!task.handle()) {
        httpError(q->stream, HTTP_CODE_INTERNAL_SERVER_ERROR, "a handler has returned a Task that is no coroutine's");
        return;
    }
    const Task::Handle handle = task.release();
    run->frame = handle.address();
    handle.promise().run = run;
    run->resume();
}

inline void endCoroutine(HttpQueue* q) {
    Run* const run = runOf(q);
    if (!run) {
        return;
    }
    run->over = true;
    mprRemoveEvent(run->timer);
    if (!run->running) {
        run->destroy();
    }
}

/** The body has gone on: so does a coroutine that waits for it. */
inline void readOn(HttpQueue* q) {
    Run* const run = runOf(q);
    if (run && run->waits == Waits::forBody && run->take()) {
        run->resume();
    }
}

/** The stage of handlers that are coroutines. */
inline HttpStage* coroutineStage() {
    HttpStage* const stage = httpCreateHandler("mpr::http::coroutine", nullptr);
    if (stage) {
        stage->open = [](HttpQueue*) { return 0; };
        stage->close = endCoroutine;
        stage->start = startCoroutine;
        stage->incoming = [](HttpQueue* q, HttpPacket* packet) {
            httpPutForService(q, packet, false);
            readOn(q);
        };
        stage->ready = readOn; // no more of the body may be wanted
        stage->writable = [](HttpQueue* q) {
            Run* const run = runOf(q);
            if (run && run->waits == Waits::forRoom && run->put()) {
                run->resume();
            }
        };
    }
    return stage;
}
} // namespace detail

/**
    Make a route for paths of a pattern (httpSetRoutePattern) and add it.
    @param methods "GET,POST"; nullptr or "*": all. @param handler Called with a Stream; returns nothing, or Task. It
    is kept with the route, as one object for all requests. @param parent nullptr: the default route.
    @return The route, for more settings; nullptr when memory is short.
 */
template <class F>
requires std::invocable<const F&, Stream> HttpRoute* route(const char* methods, const char* pattern, F handler,
                                                           HttpRoute* parent = nullptr) {
    constexpr bool calls = std::is_void_v<std::invoke_result_t<const F&, Stream>>;
    HttpStage* const stage = calls ? detail::callingStage() : detail::coroutineStage();
    detail::Handler* const kept = stage ? make<detail::HandlerOf<F>>(std::move(handler)) : nullptr;
    HttpRoute* const made = kept ? httpDefineRoute(parent, methods, pattern, nullptr, nullptr) : nullptr;
    if (made) {
        httpSetRouteData(made, detail::routeKey, kept);
        httpSetRouteHandler(made, stage->name);
    }
    return made;
}

// ---- Filters ------------------------------------------------------------------------------------------------------

/**
    Make a filter whose state for a request is a T: made by make<T>() when the request has its route, and kept by the
    filter's queue. T has one or both of

        void incoming(HttpQueue* q, HttpPacket* packet);  // of the request's body
        void outgoing(HttpQueue* q, HttpPacket* packet);  // of the response's

    which pass on what they like by httpPutPacketToNext. In both directions there is a T each.
    @param name For httpAddRouteFilter.
 */
template <class T>
HttpStage* filter(const char* name) {
    constexpr bool receives = requires(T state, HttpQueue * q, HttpPacket * packet) {
        state.incoming(q, packet);
    };
    constexpr bool sends = requires(T state, HttpQueue * q, HttpPacket * packet) {
        state.outgoing(q, packet);
    };
    static_assert(receives || sends, "a filter has a member incoming or outgoing");
    HttpStage* const stage = httpCreateStage(
        name, HTTP_STAGE_FILTER | (receives ? HTTP_STAGE_RX : 0) | (sends ? HTTP_STAGE_TX : 0), nullptr);
    if (!stage) {
        return nullptr;
    }
    stage->open = [](HttpQueue* q) {
        detail::guarded(q->stream, [q] { mprSetRef(q, &q->queueData, make<T>()); });
        return q->queueData ? 0 : MPR_ERR_MEMORY;
    };
    if constexpr (receives) {
        stage->incoming = [](HttpQueue* q, HttpPacket* packet) {
            detail::guarded(q->stream, [=] { static_cast<T*>(q->queueData)->incoming(q, packet); });
        };
    }
    if constexpr (sends) {
        stage->outgoing = [](HttpQueue* q, HttpPacket* packet) {
            detail::guarded(q->stream, [=] { static_cast<T*>(q->queueData)->outgoing(q, packet); });
        };
    }
    return stage;
}

} // namespace v1
} // namespace mpr::http

namespace mpr {

/** In a coroutine that handles a request: wait. The limits of the request's time hold meanwhile (httpSetTimeout). */
[[nodiscard]] inline http::Sleep sleep(std::chrono::milliseconds time) noexcept {
    return http::Sleep(time.count());
}

} // namespace mpr

#endif /* MPR_HTTP_HPP */
