// SPDX-License-Identifier: MIT
/*
    demo.cpp - See demo.h.

    The main thread serves: everything managed happens there. The clients' threads, and the one that shows what happens,
    are not attached: they know sockets, plain memory, the board and the runtime's statistics.
 */
#include "demo.h"

#include "load.h"
#include "service.h"

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
    std::this_thread::sleep_for(std::chrono::milliseconds(time));
}

/** The words of the tables that not everybody uses, a line each. */
constexpr char words[] = "  page         what the service answers with; the content cache keeps pages\n"
                         "  session      what the service remembers of a client from one request to the next\n"
                         "  cache hits   requests whose page was in the content cache\n"
                         "  heap         memory that the runtime has taken from the system for its blocks\n"
                         "  resident     memory of the whole process, as the system counts it\n"
                         "  collection   the collector finds and frees the blocks that nothing references\n"
                         "  young        made since the last collection; most of it dies before the next\n"
                         "  pause        time that one thread lost by stopping for the collector: none when it\n"
                         "               waits anyway, for requests say, so there may be fewer than collections\n"
                         "  rendezvous   the moment at which every thread has stopped; a collection that marks\n"
                         "               everything has several\n"
                         "  stall        what a thread lost because freeing (the sweep) was behind\n"
                         "  redline      memory at which the service is told, and gives something up\n"
                         "  hard limit   memory that is never exceeded; who needs more then is answered 503\n"
                         "  shed         given up at the redline: cached pages, here\n"
                         "  p50, p99     50, 99 of 100 times were not longer than this; p99.9: 999 of 1,000\n"
                         "  503          the answer of HTTP for \"not now, try again\"\n";

/** 1234567 as 1,234,567. */
std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3; at -= 3) {
        text.insert(at - 3, 1, ',');
    }
    return text;
}

void printCount(const char* name, std::uint64_t value) {
    std::printf("  %-24s %13s\n", name, grouped(value).c_str());
}

void printSize(const char* name, std::uint64_t value) {
    std::printf("  %-24s %13.1f MiB\n", name, mebibytes(value));
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
                thread.join();
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

    void printErrors() const {
        for (const Tally& tally : tallies_) {
            if (!tally.firstError.empty()) {
                std::printf("  first wrong answer  %s\n", tally.firstError.c_str());
                return;
            }
        }
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

void printServed(const char* when, const Crowd& crowd) {
    std::printf("  %-24s %13s requests: %s orderly 503, %s wrong answers\n", when, grouped(crowd.requests()).c_str(),
                grouped(crowd.refused()).c_str(), grouped(crowd.errors()).c_str());
}

class Demo {
public:
    Demo(const Options& options, Board& board) : options_(options), board_(board), zipf_(keyCount) {
        for (unsigned i = 0; i < clientCount; ++i) {
            loads_.emplace_back(board.port, zipf_, i + 1);
        }
    }

    int run() {
        std::printf("This is an HTTP service on 127.0.0.1:%d whose sessions and pages are garbage\n"
                    "collected. Two clients ask it for pages for %zu s, then store more and more of them\n"
                    "until memory is short, and it must keep serving.\n\n"
                    "Words in the tables below:\n%s\n"
                    "Redline %.1f MiB, hard limit %.1f MiB, content cache %.1f MiB.\n\n",
                    board_.port.load(), options_.seconds, words, mebibytes(options_.redline), mebibytes(options_.max),
                    mebibytes(options_.cache));
        traffic();
        if (!board_.ended && failures_ == 0) {
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
    for (std::size_t second = 1; second <= options_.seconds && !board_.ended; ++second) {
        auto until = begin + std::chrono::seconds(second);
        while (Clock::now() < until && !board_.ended) {
            sleepFor(20);
        }
        auto now = Clock::now();
        std::uint64_t requests = crowd.requests();
        double hits = static_cast<double>(board_.hits);
        double asked = hits + static_cast<double>(board_.misses);
        MprMemStats stats = memory();
        std::printf(
            "%4zu s %12s %10.1f %14.1f %13s %10.1f %% %10s\n", second,
            grouped(static_cast<std::uint64_t>(static_cast<double>(requests - before) / seconds(now - since))).c_str(),
            mebibytes(stats.heap), mebibytes(mprGetMem()), grouped(stats.collections).c_str(),
            asked > 0 ? 100 * hits / asked : 0, grouped(board_.sessions).c_str());
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

void Demo::printTraffic(const Crowd& crowd, double time) {
    MprMemStats stats = memory();
    Latency latency = crowd.latency();
    auto row = [](const char* name, std::uint64_t times, std::uint64_t p50, std::uint64_t p99, std::uint64_t p999,
                  std::uint64_t max) {
        std::printf("  %-24s %13s %9.3f %9.3f %9.3f %9.3f\n", name, grouped(times).c_str(), milliseconds(p50),
                    milliseconds(p99), milliseconds(p999), milliseconds(max));
    };
    auto times = [&row](const char* name, const MprTimes& t) { row(name, t.count, t.p50, t.p99, t.p999, t.max); };
    std::printf("\n");
    printCount("requests", crowd.requests());
    printCount("  each second", static_cast<std::uint64_t>(static_cast<double>(crowd.requests()) / time));
    printCount("  wrong answers", crowd.errors());
    printCount("  503 for want of memory", crowd.refused());
    printCount("blocks allocated", stats.blocksAllocated);
    printSize("bytes allocated", stats.bytesAllocated);
    printCount("blocks freed", stats.blocksFreed);
    printCount("collections", stats.collections);
    printCount("  each second", static_cast<std::uint64_t>(static_cast<double>(stats.collections) / time));
    printCount("  of the young only", stats.collectionsMinor);
    printSize("heap", stats.heap);
    printSize("  at most", stats.heapPeak);
    printSize("  redline", stats.warnHeap);
    printSize("  hard limit", stats.maxHeap);
    printSize("resident memory", mprGetMem());
    std::printf("\n  %-24s %13s %9s %9s %9s %9s\n", "milliseconds", "times", "p50", "p99", "p99.9", "max");
    row("latency at the client", latency.count(), latency.quantile(0.5), latency.quantile(0.99),
        latency.quantile(0.999), latency.max());
    times("pause", stats.pause);
    times("time to rendezvous", stats.rendezvous);
    times("stall, sweep behind", stats.stall);
    std::printf("\n");
    crowd.printErrors();
    std::fflush(stdout);
}

void Demo::redline() {
    std::printf("Across the redline: clients store pages of %zu KiB each, and the content cache has no limit now.\n\n",
                floodSize / 1024);
    std::uint64_t shedPagesBefore = board_.shedPages;
    std::uint64_t shedBytesBefore = board_.shed;
    std::uint64_t crossingsBefore = board_.crossings;
    board_.crossings = 0; // So that crossedAt tells of this time
    std::uint64_t heapBefore = memory().heap;
    board_.cacheLimit = SIZE_MAX;

    auto begin = Clock::now();
    Crowd crowd(loads_, [](Load& load, Tally& tally) {
        load.flood(tally, floodSize);
        return tally.errors == 0; // A request without an answer takes seconds: many would take minutes
    });
    std::uint64_t lowest = UINT64_MAX; // Committed, after pages were shed
    std::uint64_t leastUsed = UINT64_MAX;
    std::uint64_t highest = 0;
    auto end = begin + std::chrono::seconds(floodAtMost);
    bool crossed = false;
    while (Clock::now() < end && !board_.ended) {
        sleepFor(1);
        const MprMemStats now = memory();
        highest = std::max<std::uint64_t>(highest, now.heap);
        // A heap that is past the redline already does not cross it: pages are shed at the hard limit then
        if (!crossed && (board_.crossings != 0 || board_.shedPages != shedPagesBefore)) {
            crossed = true;
            end = Clock::now() + std::chrono::seconds(floodLasts);
        }
        if (crossed && board_.shedPages != shedPagesBefore) {
            lowest = std::min<std::uint64_t>(lowest, now.heap);
            leastUsed = std::min<std::uint64_t>(leastUsed, now.bytesLive);
        }
    }
    crowd.finish();
    std::uint64_t shedPages = board_.shedPages - shedPagesBefore;
    std::uint64_t shedBytes = board_.shed - shedBytesBefore;
    std::uint64_t crossings = board_.crossings;

    // Back to normal: the old limit of the cache, ordinary requests. Every one has to be answered as expected.
    board_.cacheLimit = options_.cache;
    sleepFor(1000); // As Retry-After has asked for
    std::atomic<unsigned> left{afterwards * clientCount};
    Crowd after(loads_, [&left](Load& load, Tally& tally) {
        load.step(tally);
        return tally.errors == 0 && left.fetch_sub(1) > clientCount;
    });
    after.wait();
    MprMemStats last{};
    for (int i = 0; i < settleAtMost * 100; ++i) {
        last = memory();
        if (last.heap < options_.redline) {
            break;
        }
        sleepFor(10);
    }

    printSize("heap before", heapBefore);
    printSize("  at the crossing", crossed ? board_.crossedAt.load() : 0);
    printSize("  after shedding", lowest == UINT64_MAX ? 0 : lowest);
    printSize("  at most", highest);
    printSize("  in the end", last.heap);
    printSize("    in blocks", last.bytesLive);
    std::printf("  %-24s %13s pages, %.1f MiB, at %s crossings and %s times at the hard limit\n", "shed",
                grouped(shedPages).c_str(), mebibytes(shedBytes), grouped(crossings).c_str(),
                grouped(board_.limitHits).c_str());
    printServed("served meanwhile", crowd);
    printServed("served afterwards", after);
    crowd.printErrors();
    after.printErrors();
    std::printf("\n");
    board_.crossings = crossings + crossingsBefore;

    check(crossed, "the redline was not crossed");
    check(shedPages > 0, "no page was shed");
    check(leastUsed < options_.redline, "memory in use did not fall under the redline while the clients went on");
    check(last.bytesLive < options_.redline, "memory in use did not fall under the redline in the end");
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

int demonstrate(const Options& options, Board& board) {
    int status = 1;
    std::thread thread;
    const auto show = [&] {
        status = Demo(options, board).run();
        board.stopWanted = true;
    };
    if (!startThread(thread, show, "the demo")) {
        return 1;
    }
    serve();
    mpr::BlockingRegion blocking;
    thread.join();
    return status;
}

} // namespace service
