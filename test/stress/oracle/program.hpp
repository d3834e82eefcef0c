// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/program.hpp - A program: runtimes one after the other, threads that run operations, and moments at
    which all rest and the main thread compares heap and reference.
 */
#pragma once

#include "test/stress/oracle/graph.hpp"
#include "test/stress/oracle/ops.hpp"
#include "test/stress/oracle/plan.hpp"
#include "test/stress/oracle/trespass.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace oracle {

class Program;

/* Permanent memory of one thread, which sees to it that nobody else writes there. */
class Permanents {
public:
    void step(Random &random); /* Allocate, resize or free one */
    void clear();

private:
    struct Item {
        unsigned char *ptr = nullptr;
        size_t size = 0;
        uint64_t seed = 0;
    };
    void look(const Item &item) const;

    Item items[64];
};

/* The main thread decides when all rest, workers rest then, visitors come and go between. */
enum class Role { main, worker, visitor };

/* A lock and a condition of the runtime, for all threads of a program. */
class Meeting {
public:
    void open();
    /* Fault when another thread is inside. */
    void enter();
    void leave();
    void signal();
    /* A wait has ended. Fault when there were fewer signals. */
    void wake();

    MprMutex mutex{};
    MprCond *cond = nullptr; /* NULL: there was no memory */

private:
    std::atomic<bool> inside{false};
    uint64_t entered = 0; /* Not atomic: the lock orders it, the thread sanitizer looks */
    std::atomic<uint64_t> signals{0}, wakes{0};
};

/* Permanent memory that is there for a whole life, for wrong calls. */
class Lasting {
public:
    void open();
    void look() const;
    void close();

    unsigned char *memory = nullptr;

private:
    static constexpr size_t size = 40;
};

/* Fault when a wait has ended before so many milliseconds. */
void expectWaited(std::chrono::steady_clock::time_point begin, long milliseconds, const char *function);

/* Fault when the heap has defects. The calling thread runs. */
void expectVerified();

/* Call in a child of fork, which must end with status 0. The calling thread yields. */
void forkAndWait(const std::function<void()> &inChild);

/* One thread that runs operations. */
class Worker {
public:
    Worker(Program &whole, Graph &mine, uint64_t seed, Role what);

    /* @return false when the life is over. */
    bool step();
    /* A yield that waits for no more than a pause; with batches, perhaps one that discards. */
    void yield();
    /* Room for more blocks; else a slot is cleared instead. */
    bool roomy() const { return graph->blocks() < 150000; }

    Program &program;
    Random random;
    Graph *graph; /* Its own, or the shared one during an operation */
    Permanents permanents;
    const Role role;

private:
    size_t draw();

    const bool discards; /* It has batches; others beside it have not */

    Graph &own;
};

class Program {
public:
    explicit Program(const Plan &drawn);
    ~Program();

    /* Run all lives. Ends the process on a fault. */
    void run();

    const Plan plan;
    const std::vector<int> cumulated; /* Weights */
    std::vector<std::atomic<uint64_t>> counts;
    std::atomic<uint64_t> total{0}, posted{0}, done{0}, collections{0}, checks{0}, nulls{0};

    /* A graph that belongs to no thread; a new one when there is none. */
    Graph *adopt(Random &random);
    void orphan(Graph *graph);

    bool wantsRest() const { return stopWanted.load(std::memory_order_relaxed); }
    /* Wait at rest if the main thread wants to compare. */
    void parkIfWanted() {
        if (wantsRest()) {
            park();
        }
    }
    bool over() const { return ended.load(std::memory_order_relaxed); }
    bool late() const { return std::chrono::steady_clock::now() >= deadline; }

    Graph *shared = nullptr, *pins = nullptr;
    std::mutex sharedLock;
    /* Events that have been posted. */
    void post();
    /* Take or give back permanent memory that belongs to all. */
    void exchange(Random &random);
    /* Whether no other thread of the program allocates. */
    bool alone() const { return plan.threads == 1 && plan.ghosts + plan.foreigners == 0; }

    Meeting meeting;
    Lasting lasting;
    Contest contest;
    Targets pinned;                  /* For wrong calls by whoever marks; no leaf: there was no memory */
    std::atomic<uint64_t> tooBig{0}; /* Allocations that could not be served */

private:
    void live(int life);
    void begin(Random &random);
    void end(Random &random);
    void awaitEvents();
    void work(int number, uint64_t seed);
    void haunt(uint64_t seed, bool attached);
    void rest(Random &random);
    void compare();
    MprMemStats compareCounts();
    void pin(Random &random);
    bool scarce() const;
    void settle();
    void park();
    void leave();
    void hurry(Random &random);

    std::vector<std::unique_ptr<Graph>> graphs;
    std::vector<Graph *> orphans;
    std::mutex graphsLock;

    Permanents common;
    std::mutex commonLock;

    std::mutex parking;
    std::condition_variable changed;
    int present = 0, parked = 0; /* Threads beside the main one */
    uint64_t round = 0;
    std::atomic<bool> stopWanted{false}, ended{false};
    std::chrono::steady_clock::time_point deadline;
};

/* An event has run. */
void countEvent();

/* Sleep without a runtime's help. */
void nap(unsigned microseconds);

} // namespace oracle
