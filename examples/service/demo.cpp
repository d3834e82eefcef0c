// SPDX-License-Identifier: MIT
/*
    demo.cpp - See demo.h.

    Three kinds of threads. The service's own is attached: it serves. The clients' are not: they know sockets and plain
    memory only. The main thread is attached, since it made the runtime, so it is in a BlockingRegion whenever it waits;
    it touches no managed memory at all, only the board and the runtime's statistics.
 */
#include "demo.h"

#include "load.h"
#include "server.h"

#include <chrono>
#include <cstdio>
#include <deque>
#include <system_error>
#include <thread>

namespace service {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned clientCount = 2;
constexpr std::size_t keyCount = 200000;
constexpr std::size_t floodSize = 256 * 1024;
constexpr int floodLasts = 2;        // Seconds, from the first crossing on
constexpr int floodAtMost = 20;      // Seconds to wait for the first crossing
constexpr int settleAtMost = 5;      // Seconds until memory is under the redline
constexpr unsigned afterwards = 500; // Requests that must be answered at the end, by each client

double mebibytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / 1048576;
}
double milliseconds(std::uint64_t nanoseconds) {
    return static_cast<double>(nanoseconds) / 1e6;
}
double seconds(Clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

MprMemStats memory() {
    MprMemStats stats;
    mprReadMemStats(&stats);
    return stats;
}

void sleepFor(int time) {
    mpr::BlockingRegion blocking;
    std::this_thread::sleep_for(std::chrono::milliseconds(time));
}

void join(std::thread& thread) {
    mpr::BlockingRegion blocking;
    thread.join();
}

/** The words of the tables that not everybody uses, a line each. */
constexpr char words[] = "  heap         memory that the runtime has taken from the system for its blocks\n"
                         "  resident     memory of the whole process, as the system counts it\n"
                         "  collection   the collector finds and frees the blocks that nothing references\n"
                         "  young        made since the last collection; most of it dies before the next\n"
                         "  pause        what a thread lost when it stopped for the collector\n"
                         "  rendezvous   the moment at which every thread has stopped for a collection\n"
                         "  stall        what a thread lost because freeing (the sweep) was behind\n"
                         "  redline      memory at which the service is told, and gives something up\n"
                         "  hard limit   memory that is never exceeded; who needs more then is answered 503\n"
                         "  shed         given up at the redline: cached pages, here\n"
                         "  p50, p99     50, 99 of 100 times were not longer than this\n";

/** 1234567 as 1,234,567. */
FixedText<32> grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    FixedText<32> text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        text.add(i != 0 && (digits.size() - i) % 3 == 0 ? "," : "").add({&digits[i], 1});
    }
    text.add({"", 1}); // For printf
    return text;
}

/** The service's thread: everything managed happens here. */
void serve(Board& board) {
    mpr::AttachedThread attached("service");
    if (attached) {
        mpr::Root<Server> server = mpr::make<Server>(board);
        int error = server ? server->listen(board.port) : UV_ENOMEM;
        if (error == 0) {
            server->run();
        } else {
            std::fprintf(stderr, "service: cannot listen: %s\n", uv_strerror(error));
        }
    }
    board.ended = true;
}

/** @return false when the system has none, which is said. */
template <class Entry>
bool startThread(std::thread& thread, Entry entry, const char* whose) {
    try {
        thread = std::thread(entry);
        return true;
    } catch (const std::system_error& error) {
        std::fprintf(stderr, "service: no thread for %s: %s\n", whose, error.what());
        return false;
    }
}

/** The clients' threads, all doing the same thing until told to stop. */
class Crowd {
public:
    template <class Step>
    Crowd(std::deque<Load>& loads, Step step) : tallies_(loads.size()) {
        for (std::size_t i = 0; i < loads.size(); ++i) {
            const auto work = [this, step, &load = loads[i], &tally = tallies_[i]] {
                while (!stop_.load(std::memory_order_relaxed) && step(load, tally)) {}
            };
            startThread(threads_.emplace_back(), work, "a client");
        }
    }
    ~Crowd() { finish(); }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;

    void finish() {
        stop_ = true;
        wait();
    }

    void wait() {
        for (std::thread& thread : threads_) {
            if (thread.joinable()) {
                join(thread);
            }
        }
    }

    std::uint64_t requests() const { return sum(&Tally::requests); }
    std::uint64_t refused() const { return sum(&Tally::refused); }
    std::uint64_t errors() const { return sum(&Tally::errors); }

    Latency latency() const {
        Latency all;
        for (const Tally& tally : tallies_) {
            all.add(tally.latency);
        }
        return all;
    }

    std::string firstError() const {
        for (const Tally& tally : tallies_) {
            if (!tally.firstError.empty()) {
                return tally.firstError;
            }
        }
        return {};
    }

private:
    std::uint64_t sum(std::atomic<std::uint64_t> Tally::*which) const {
        std::uint64_t all = 0;
        for (const Tally& tally : tallies_) {
            all += tally.*which;
        }
        return all;
    }

    std::atomic<bool> stop_{false};
    std::deque<Tally> tallies_;
    std::deque<std::thread> threads_;
};

class Demo {
public:
    Demo(const Options& options, Board& board) : options_(options), board_(board), zipf_(keyCount) {
        for (unsigned i = 0; i < clientCount; ++i) {
            loads_.emplace_back(board.port, zipf_, i + 1);
        }
    }

    int run() {
        std::printf("This is an HTTP service on 127.0.0.1:%d whose sessions and pages are garbage\n"
                    "collected. Two clients ask it for pages for %d s, then store more and more of them\n"
                    "until memory is short, and it has to go on all the same.\n\n%s\n"
                    "Redline %.1f MiB, hard limit %.1f MiB, content cache %.1f MiB.\n\n",
                    board_.port.load(), options_.seconds, words, mebibytes(options_.redline), mebibytes(options_.max),
                    mebibytes(options_.cache));
        traffic();
        if (!board_.ended) {
            redline();
        }
        if (board_.ended) {
            std::printf("The service was stopped before the demo was over.\n");
            return 1;
        }
        return verdict();
    }

private:
    void traffic();
    void redline();
    int verdict();
    void printTraffic(const Crowd& crowd, double time);
    void printErrors(const Crowd& crowd);
    void check(bool good, const char* what) {
        if (!good) {
            std::printf("FAILED: %s\n", what);
            ++failures_;
        }
    }

    const Options& options_;
    Board& board_;
    Zipf zipf_;
    std::deque<Load> loads_; // A Load stays where it is
    unsigned failures_ = 0;
};

void Demo::traffic() {
    std::printf("  time   requests/s   heap MiB   resident MiB   collections   cache hits   sessions\n");
    auto begin = Clock::now();
    Crowd crowd(loads_, [](Load& load, Tally& tally) {
        load.step(tally);
        return true;
    });
    std::uint64_t before = 0;
    auto since = begin;
    for (int second = 1; second <= options_.seconds && !board_.ended; ++second) {
        auto until = begin + std::chrono::seconds(second);
        while (Clock::now() < until && !board_.ended) {
            sleepFor(20);
        }
        auto now = Clock::now();
        std::uint64_t requests = crowd.requests();
        double hits = static_cast<double>(board_.hits);
        double asked = hits + static_cast<double>(board_.misses);
        MprMemStats stats = memory();
        std::printf("%4d s %12s %10.1f %14.1f %13s %10.1f %% %10s\n", second,
                    grouped(static_cast<std::uint64_t>(static_cast<double>(requests - before) / seconds(now - since)))
                        .view()
                        .data(),
                    mebibytes(stats.heap), mebibytes(mprGetMem()), grouped(stats.collections).view().data(),
                    asked > 0 ? 100 * hits / asked : 0, grouped(board_.sessions).view().data());
        std::fflush(stdout);
        before = requests;
        since = now;
    }
    crowd.finish();
    printTraffic(crowd, seconds(Clock::now() - begin));
    if (!board_.ended) {
        check(crowd.requests() > 0, "no request was answered");
        check(crowd.errors() == 0, "some requests were not answered as expected");
    }
}

void Demo::printErrors(const Crowd& crowd) {
    std::string first = crowd.firstError();
    if (!first.empty()) {
        std::printf("  first wrong answer  %s\n", first.c_str());
    }
}

void Demo::printTraffic(const Crowd& crowd, double time) {
    MprMemStats stats = memory();
    Latency latency = crowd.latency();
    auto count = [](const char* name, std::uint64_t value) {
        std::printf("  %-24s %13s\n", name, grouped(value).view().data());
    };
    auto size = [](const char* name, std::uint64_t value) {
        std::printf("  %-24s %13.1f MiB\n", name, mebibytes(value));
    };
    auto row = [](const char* name, std::uint64_t times, std::uint64_t p50, std::uint64_t p99, std::uint64_t p999,
                  std::uint64_t max) {
        std::printf("  %-24s %13s %9.3f %9.3f %9.3f %9.3f\n", name, grouped(times).view().data(), milliseconds(p50),
                    milliseconds(p99), milliseconds(p999), milliseconds(max));
    };
    auto times = [&row](const char* name, const MprTimes& t) { row(name, t.count, t.p50, t.p99, t.p999, t.max); };
    std::printf("\n");
    count("requests", crowd.requests());
    count("  each second", static_cast<std::uint64_t>(static_cast<double>(crowd.requests()) / time));
    count("  wrong answers", crowd.errors());
    count("  503 for want of memory", crowd.refused());
    count("blocks allocated", stats.blocksAllocated);
    size("bytes allocated", stats.bytesAllocated);
    count("blocks freed", stats.blocksFreed);
    count("collections", stats.collections);
    count("  of the young only", stats.collectionsMinor);
    size("heap", stats.heap);
    size("  at most", stats.heapPeak);
    size("  redline", stats.warnHeap);
    size("  hard limit", stats.maxHeap);
    size("resident memory", mprGetMem());
    std::printf("\n  %-24s %13s %9s %9s %9s %9s\n", "milliseconds", "times", "p50", "p99", "p99.9", "max");
    row("latency at the client", latency.count(), latency.quantile(0.5), latency.quantile(0.99),
        latency.quantile(0.999), latency.max());
    times("pause", stats.pause);
    times("time to rendezvous", stats.rendezvous);
    times("stall, sweep behind", stats.stall);
    std::printf("\n");
    printErrors(crowd);
    std::fflush(stdout);
}

void Demo::redline() {
    std::printf("Across the redline: clients store pages of %zu KiB, the cache has no limit now.\n\n",
                floodSize / 1024);
    std::uint64_t shedPagesBefore = board_.shedPages;
    std::uint64_t shedBytesBefore = board_.shedBytes;
    std::uint64_t crossingsBefore = board_.crossings;
    board_.crossings = 0; // So that crossedAt tells of this time
    std::uint64_t heapBefore = memory().heap;
    board_.cacheLimit = SIZE_MAX;

    auto begin = Clock::now();
    Crowd crowd(loads_, [](Load& load, Tally& tally) {
        load.flood(tally, floodSize);
        return true;
    });
    std::uint64_t lowest = UINT64_MAX; // Committed, after the first crossing
    std::uint64_t highest = 0;
    auto end = begin + std::chrono::seconds(floodAtMost);
    bool crossed = false;
    while (Clock::now() < end && !board_.ended) {
        sleepFor(1);
        std::uint64_t heap = memory().heap;
        highest = std::max(highest, heap);
        if (!crossed && board_.crossings != 0) {
            crossed = true;
            end = Clock::now() + std::chrono::seconds(floodLasts);
        }
        if (crossed && board_.shedPages != shedPagesBefore) {
            lowest = std::min(lowest, heap);
        }
    }
    crowd.finish();
    std::uint64_t shedPages = board_.shedPages - shedPagesBefore;
    std::uint64_t shedBytes = board_.shedBytes - shedBytesBefore;
    std::uint64_t crossings = board_.crossings;

    // Back to normal: the old limit of the cache, ordinary requests. Every one has to be answered as expected.
    board_.cacheLimit = options_.cache;
    std::atomic<unsigned> left{afterwards * clientCount};
    Crowd after(loads_, [&left](Load& load, Tally& tally) {
        load.step(tally);
        return left.fetch_sub(1) > clientCount;
    });
    after.wait();
    std::uint64_t heapAfter = 0;
    for (int i = 0; i < settleAtMost * 100; ++i) {
        heapAfter = memory().heap;
        if (heapAfter < options_.redline) {
            break;
        }
        sleepFor(10);
    }

    auto size = [](const char* name, std::uint64_t value) {
        std::printf("  %-24s %13.1f MiB\n", name, mebibytes(value));
    };
    size("heap before", heapBefore);
    size("  at the crossing", crossed ? board_.crossedAt.load() : 0);
    size("  after shedding", lowest == UINT64_MAX ? 0 : lowest);
    size("  at most", highest);
    size("  in the end", heapAfter);
    std::printf("  %-24s %13s pages, %.1f MiB, at %s crossings and %s times at the hard limit\n", "shed",
                grouped(shedPages).view().data(), mebibytes(shedBytes), grouped(crossings).view().data(),
                grouped(board_.limitHits).view().data());
    std::printf("  %-24s %13s requests: %s orderly 503, %s wrong answers\n", "served meanwhile",
                grouped(crowd.requests()).view().data(), grouped(crowd.refused()).view().data(),
                grouped(crowd.errors()).view().data());
    std::printf("  %-24s %13s requests: %s orderly 503, %s wrong answers\n", "served afterwards",
                grouped(after.requests()).view().data(), grouped(after.refused()).view().data(),
                grouped(after.errors()).view().data());
    printErrors(crowd);
    printErrors(after);
    std::printf("\n");
    board_.crossings = crossings + crossingsBefore;

    check(crossed, "the redline was not crossed");
    check(shedPages > 0, "no page was shed");
    check(lowest < options_.redline, "memory did not fall under the redline while the clients went on");
    check(heapAfter < options_.redline, "memory did not fall under the redline in the end");
    check(highest <= options_.max, "the hard limit was exceeded");
    check(crowd.requests() > crowd.refused() + crowd.errors(), "nothing was served meanwhile");
    check(crowd.errors() == 0, "a request failed with something else than an orderly 503");
    check(after.requests() >= afterwards && after.errors() == 0 && after.refused() == 0, "the service serves no more");
}

int Demo::verdict() {
    check(memory().misuses == 0, "the runtime was used wrongly: see its messages");
    if (failures_ == 0) {
        std::printf("Crossed the redline, shed pages, served on.\n\n"
                    "Now try, the first in a terminal of its own:\n"
                    "  %s --listen 8080\n"
                    "  curl -i http://127.0.0.1:8080/\n"
                    "  wrk -t2 -c50 -d10s 'http://127.0.0.1:8080/content/page?size=4096'\n",
                    options_.program);
    }
    return failures_ == 0 ? 0 : 1;
}

} // namespace

int demonstrate(const Options& options) {
    static Board board; // Static: the runtime may tell it things to its own end
    board.cacheLimit = options.cache;
    board.port = options.port;
    std::thread thread;
    if (!startThread(
            thread, [] { serve(board); }, "the service")) {
        return 1;
    }
    while (!board.listening && !board.ended) {
        sleepFor(1);
    }
    int status = 1;
    if (board.listening) {
        status = Demo(options, board).run();
    }
    board.stopWanted = true;
    join(thread);
    return status;
}

} // namespace service
