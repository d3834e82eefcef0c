// SPDX-License-Identifier: MIT
/*
    micro_events.cpp - Events and timers under Google Benchmark, beside bare libuv doing the same.

    One item is one event, made, queued, run and given back. libuv's messages are malloc'ed, pushed to a stack without
    locks and taken as a whole in the callback of one uv_async_t: what a program without a runtime would write.
    "CPU" is that of the process: with mpr, the collector's thread is in it.

    Bars: an event through a dispatcher, and one from a foreign thread, 2 x; a timer 1.3 x.
 */
#include <benchmark/benchmark.h>

#include "mpr.h"

#include <uv.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

static long runs;

static void count(void *, MprEvent *) {
    runs++;
}

// ---- Messages ---------------------------------------------------------------------------------------------------

struct Message {
    Message *next;
    void (*proc)(void *);
    void *data;
};

struct Messages {
    uv_loop_t loop;
    uv_async_t async;
    std::atomic<Message *> stack{nullptr};

    Messages() {
        uv_loop_init(&loop);
        uv_async_init(&loop, &async, [](uv_async_t *handle) { static_cast<Messages *>(handle->data)->take(); });
        async.data = this;
    }
    ~Messages() {
        uv_close(reinterpret_cast<uv_handle_t *>(&async), nullptr);
        uv_run(&loop, UV_RUN_DEFAULT);
        uv_loop_close(&loop);
    }
    void post() {
        auto message = static_cast<Message *>(malloc(sizeof(Message)));
        *message = {stack.load(std::memory_order_relaxed), [](void *) { runs++; }, nullptr};
        while (!stack.compare_exchange_weak(message->next, message)) {}
        uv_async_send(&async);
    }
    void take() {
        Message *turned = nullptr;
        for (Message *message = stack.exchange(nullptr); message;) {
            Message *next = message->next;
            message->next = turned;
            turned = message;
            message = next;
        }
        while (Message *message = turned) {
            turned = message->next;
            message->proc(message->data);
            free(message);
        }
    }
    void runUntil(long total) {
        while (runs < total) {
            uv_run(&loop, UV_RUN_ONCE);
        }
    }
};

/* How many are queued at once. A thousand is a burst; with a hundred thousand a collection has to mark them all. */
static void queued(benchmark::internal::Benchmark *bench) {
    bench->Arg(1000)->Arg(100000)->MeasureProcessCPUTime()->UseRealTime();
}

static void uvSame(benchmark::State &state) {
    Messages messages;
    const long batch = state.range(0);
    for (auto _ : state) {
        runs = 0;
        for (long i = 0; i < batch; i++) {
            messages.post();
        }
        messages.runUntil(batch);
    }
    state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(uvSame)->Name("libuv: message from the loop's thread")->Apply(queued);

static void mprSame(benchmark::State &state) {
    mprGetDispatcher();
    const long batch = state.range(0);
    for (auto _ : state) {
        runs = 0;
        for (long i = 0; i < batch; i++) {
            mprCreateEvent(nullptr, "count", 0, reinterpret_cast<void *>(count), nullptr, 0);
        }
        while (runs < batch) {
            mprServiceEvents(-1, MPR_SERVICE_ONE_THING);
        }
    }
    state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(mprSame)->Name("mpr: event through the main dispatcher")->Apply(queued);

static void uvForeign(benchmark::State &state) {
    Messages messages;
    const long batch = state.range(0);
    for (auto _ : state) {
        runs = 0;
        std::thread foreign([&] {
            for (long i = 0; i < batch; i++) {
                messages.post();
            }
        });
        messages.runUntil(batch);
        foreign.join();
    }
    state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(uvForeign)->Name("libuv: message from another thread")->Apply(queued);

static void mprForeign(benchmark::State &state) {
    mprGetDispatcher();
    const long batch = state.range(0);
    for (auto _ : state) {
        runs = 0;
        std::thread foreign([&] {
            for (long i = 0; i < batch; i++) {
                mprCreateEventOutside(nullptr, reinterpret_cast<void *>(count), nullptr);
            }
        });
        while (runs < batch) {
            mprServiceEvents(-1, MPR_SERVICE_ONE_THING);
        }
        foreign.join();
    }
    state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(mprForeign)->Name("mpr: event from another thread")->Apply(queued);

static const long batch = 100000;

static void mprWorker(benchmark::State &state) {
    MprDispatcher *dispatcher = mprCreateDispatcher("bench", 0);
    mprAddRoot(dispatcher);
    for (auto _ : state) {
        int64 end = mprGetEventMark(dispatcher) + batch;
        for (long i = 0; i < batch; i++) {
            mprCreateEvent(dispatcher, "count", 0, reinterpret_cast<void *>(count), nullptr, 0);
            if (i % 64 == 0) {
                mprYield(0);
            }
        }
        for (int64 mark; (mark = mprGetEventMark(dispatcher)) < end;) {
            mprWaitForEvent(dispatcher, -1, mark);
        }
    }
    mprRemoveRoot(dispatcher);
    state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(mprWorker)->Name("mpr: event through a dispatcher of the workers")->MeasureProcessCPUTime()->UseRealTime();

// ---- Timers: 100,000 at a time, due within 100 ms ------------------------------------------------------------------

static unsigned nextPeriod(unsigned &random) {
    random = random * 1664525 + 1013904223;
    return 1 + (random >> 8) % 100;
}

static void uvTimers(benchmark::State &state) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    for (auto _ : state) {
        unsigned random = 1;
        uv_update_time(&loop);
        for (long i = 0; i < batch; i++) {
            auto timer = static_cast<uv_timer_t *>(malloc(sizeof(uv_timer_t)));
            uv_timer_init(&loop, timer);
            uv_timer_start(
                timer,
                [](uv_timer_t *due) {
                    runs++;
                    uv_close(reinterpret_cast<uv_handle_t *>(due), [](uv_handle_t *handle) { free(handle); });
                },
                nextPeriod(random), 0);
        }
        uv_run(&loop, UV_RUN_DEFAULT);
    }
    uv_loop_close(&loop);
    state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(uvTimers)->Name("libuv: timer, 100,000 at a time")->MeasureProcessCPUTime();

static void mprTimers(benchmark::State &state) {
    mprGetDispatcher();
    for (auto _ : state) {
        unsigned random = 1;
        runs = 0;
        for (long i = 0; i < batch; i++) {
            mprCreateEvent(nullptr, "timer", nextPeriod(random), reinterpret_cast<void *>(count), nullptr, 0);
        }
        while (runs < batch) {
            mprServiceEvents(-1, MPR_SERVICE_ONE_THING);
        }
    }
    state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(mprTimers)->Name("mpr: timer, 100,000 at a time")->MeasureProcessCPUTime();

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (!mprCreate(argc, argv, MPR_USER_EVENTS_THREAD)) {
        return 1;
    }
    benchmark::RunSpecifiedBenchmarks();
    return mprDestroy() ? 0 : 1;
}
