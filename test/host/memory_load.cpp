// SPDX-License-Identifier: MIT
/*
    test/host/memory_load.cpp - How much memory there is: what the system's files say, what follows from it, who is told.
 */
#include "mpr/host.h"
#include "mpr/host/load_reading.hpp"
#include "mpr/host/load_state.hpp"
#include "mpr/host/memory_load.hpp"
#include "test/support/folder.hpp"
#include "test/support/mutator.hpp"
#include "test/support/page_host.hpp"
#include "test/support/runtime.hpp"

#include <atomic>
#include <fstream>
#include <string>

using namespace test;
using namespace mpr::host;

namespace {

constexpr uint64 mega = 1 << 20;

/* Files of /proc and /sys, as a test wants them. */
class System {
public:
    System() { setLoadRoot(folder.root.c_str()); }
    ~System() { setLoadRoot(""); }

    System &file(const std::string &path, const std::string &text) {
        folder.write(path, text);
        return *this;
    }
    System &machine(uint64 total, uint64 available) {
        return file("proc/meminfo", "MemTotal:       " + std::to_string(total / 1024) + " kB\nMemFree:   1 kB\n" +
                                        "MemAvailable:   " + std::to_string(available / 1024) + " kB\n");
    }
    System &group2(cchar *path, cchar *limit, cchar *high, uint64 used, uint64 files = 0) {
        file("proc/self/cgroup", "0::/" + std::string(own) + "\n");
        const std::string base = std::string("sys/fs/cgroup/") + path;
        file(base + "/memory.max", limit);
        file(base + "/memory.high", high);
        file(base + "/memory.current", std::to_string(used) + "\n");
        return file(base + "/memory.stat", "anon 5\ninactive_file " + std::to_string(files) + "\nslab 9\n");
    }
    System &pressure(cchar *path, cchar *average) {
        return file(path, std::string("some avg10=") + average +
                              " avg60=0.10 avg300=0.00 total=1\nfull avg10=99.00 avg60=0.0 avg300=0.0 total=0\n");
    }
    LoadReading read() { return LoadFiles(folder.root.c_str()).read(); }

    cchar *own = "a/b";

private:
    Folder folder;
};

struct Heard {
    std::atomic<int> times{0}, low{0}, neutral{0}, high{0}, pruned{0};
    std::atomic<int> cause{0};
} heard;

void hear(const MprMemoryLoad *load, void *) {
    heard.times++;
    (load->state == MPR_MEMORY_LOW ? heard.low : load->state == MPR_MEMORY_HIGH ? heard.high : heard.neutral)++;
}
void prune(void *, int cause) {
    heard.pruned++;
    heard.cause = cause;
}
void listen() {
    heard.times = heard.low = heard.neutral = heard.high = heard.pruned = heard.cause = 0;
    CHECK(mprAddMemoryLoadHandler(hear, nullptr) == 0);
    CHECK(mprAddPruner(prune, nullptr) == 0);
}

MprMemoryLoad look() {
    MprMemoryLoad load;
    CHECK(mprGetMemoryLoad(&load) == 0);
    return load;
}

uint64 redline() {
    MprMemStats stats;
    mprReadMemStats(&stats);
    return stats.warnHeap;
}
int majors() {
    MprGCStats stats;
    CHECK(mprReadGCStats(MPR_GC_STATS_COUNTS, &stats) == 0);
    return static_cast<int>(stats.collections[1]);
}
uint64 committed() {
    MprMemStats stats;
    mprReadMemStats(&stats);
    return stats.heap;
}
} // namespace

// ---- Texts

TEST_CASE("numbers of control groups: bytes, and what is no limit", "[host][load]") {
    uint64_t bytes = 1;
    CHECK(parseBytes("4096\n", bytes));
    CHECK(bytes == 4096);
    CHECK(parseBytes("max\n", bytes));
    CHECK(bytes == noLimit);
    CHECK(parseBytes("9223372036854771712\n", bytes)); // of version 1
    CHECK(bytes == noLimit);
    CHECK(parseBytes("99999999999999999999999\n", bytes));
    CHECK(bytes == noLimit);
    CHECK(parseBytes("0", bytes));
    CHECK(bytes == 0);
    for (cchar *wrong : {"", "\n", "x", "-1", "ma"}) {
        CHECK_FALSE(parseBytes(wrong, bytes));
    }
}

TEST_CASE("a field is found by its whole name, at the start of a line", "[host][load]") {
    uint64_t number = 0;
    cchar *text = "active_file 1\ninactive_file_more 2\ntotal_inactive_file 3\ninactive_file 4\n";
    CHECK(parseField(text, "inactive_file", number));
    CHECK(number == 4);
    CHECK(parseField("MemTotal:        16 kB\nMemAvailable:\t8 kB", "MemAvailable", number));
    CHECK(number == 8 * 1024);
    CHECK_FALSE(parseField(text, "file", number));
    CHECK_FALSE(parseField(text, "inactive", number));
    CHECK_FALSE(parseField("inactive_file", "inactive_file", number));
    CHECK_FALSE(parseField("inactive_file x", "inactive_file", number));
    CHECK_FALSE(parseField("", "inactive_file", number));
}

TEST_CASE("pressure is the share of time in which some task waited", "[host][load]") {
    unsigned share = 0;
    CHECK(parsePressure("some avg10=12.34 avg60=0.00 avg300=0.00 total=0\nfull avg10=99.00", share));
    CHECK(share == 1234);
    CHECK(parsePressure("full avg10=99.00\nsome avg10=0.05 avg60", share));
    CHECK(share == 5);
    CHECK(parsePressure("some avg10=100.00", share));
    CHECK(share == 10000);
    for (cchar *wrong :
         {"", "full avg10=1.00", "some avg10=", "some avg10=x", "some avg60=1.00", "some avg10=101.00"}) {
        CHECK_FALSE(parsePressure(wrong, share));
    }
}

TEST_CASE("the group of a process, by version", "[host][load]") {
    cchar *both = "12:cpu,cpuacct:/c\n3:memory:/m/n\n1:name=systemd:/s\n0::/u/v\n";
    CHECK(findGroup(both, "") == "/u/v");
    CHECK(findGroup(both, "memory") == "/m/n");
    CHECK(findGroup("4:cpu,memory:/with:colon\n", "memory") == "/with:colon");
    CHECK(findGroup("4:memories:/x\n", "memory").empty());
    CHECK(findGroup("3:memory:/m", "").empty());
    CHECK(findGroup("", "").empty());
    CHECK(findGroup("0:\n0\n", "").empty());
}

// ---- Files

TEST_CASE("version 2 is asked before version 1, and that before the machine", "[host][load]") {
    System system;
    CHECK(system.read().source == Source::none);
    CHECK(system.read().available == noLimit);
    system.machine(1000 * mega, 400 * mega);
    CHECK(system.read().source == Source::machine);
    CHECK(system.read().limit == 1000 * mega);
    CHECK(system.read().available == 400 * mega);
    CHECK(system.read().pressure == -1);

    system.file("proc/self/cgroup", "5:memory:/old\n");
    system.file("sys/fs/cgroup/memory/old/memory.limit_in_bytes", std::to_string(200 * mega));
    system.file("sys/fs/cgroup/memory/old/memory.usage_in_bytes", std::to_string(150 * mega));
    system.file("sys/fs/cgroup/memory/old/memory.stat", "inactive_file 1\ntotal_inactive_file 10485760\n");
    CHECK(system.read().source == Source::group1);
    CHECK(system.read().limit == 200 * mega);
    CHECK(system.read().available == 60 * mega);
    CHECK(system.read().ample == noLimit);
    system.file("sys/fs/cgroup/memory/old/memory.soft_limit_in_bytes", std::to_string(145 * mega));
    CHECK(system.read().ample == 5 * mega);

    system.file("proc/self/cgroup", "5:memory:/old\n0::/a/b\n");
    CHECK(system.read().source == Source::group1); // where version 2 has no memory controller
    system.file("sys/fs/cgroup/a/b/memory.max", std::to_string(100 * mega));
    system.file("sys/fs/cgroup/a/b/memory.current", std::to_string(90 * mega));
    CHECK(system.read().source == Source::group2);
    CHECK(system.read().available == 10 * mega);
}

TEST_CASE("who has least decides: the group, one above it, or the machine", "[host][load]") {
    System system;
    system.machine(1000 * mega, 400 * mega);
    system.group2("a/b", "max", "max", 50 * mega);
    CHECK(system.read().source == Source::machine); // no limit anywhere
    system.group2("a", "104857600", "max", 60 * mega, 20 * mega);
    LoadReading reading = system.read();
    CHECK(reading.source == Source::group2);
    CHECK(reading.limit == 100 * mega);
    CHECK(reading.available == 60 * mega); // what files take can be had
    CHECK(reading.ample == noLimit);
    system.group2("a/b", "max", "57671680", 50 * mega);
    reading = system.read();
    CHECK(reading.limit == 55 * mega);
    CHECK(reading.available == 60 * mega);
    CHECK(reading.ample == 5 * mega);
    system.group2("", "1048576", "max", 1 * mega); // the container's own, where the path is another's
    CHECK(system.read().available == 0);
    system.file("proc/self/cgroup", "0::/not/here\n");
    CHECK(system.read().available == 0);
    system.group2("", "max", "max", 1 * mega);
    system.own = "a/b";
    system.group2("a", "1048576000", "max", 60 * mega);
    system.machine(1000 * mega, 30 * mega);
    CHECK(system.read().available == 30 * mega);
}

TEST_CASE("pressure is the group's, or else the machine's", "[host][load]") {
    System system;
    system.machine(1000 * mega, 400 * mega);
    system.pressure("proc/pressure/memory", "3.00");
    CHECK(system.read().pressure == 300);
    system.file("proc/self/cgroup", "0::/a\n");
    CHECK(system.read().pressure == 300);
    system.pressure("sys/fs/cgroup/a/memory.pressure", "7.50");
    CHECK(system.read().pressure == 750);
}

TEST_CASE("the system's own files can be read", "[host][load]") {
    const LoadReading reading = LoadFiles("").read();
    CHECK(reading.source != Source::none);
    CHECK(reading.limit > 0);
    CHECK(percentOf(reading) >= 0);
    CHECK(percentOf(reading) <= 100);
}

// ---- Meaning

TEST_CASE("a state is left later than it is entered", "[host][load]") {
    auto at = [](int percent, int pressure, int before) {
        LoadReading reading{Source::group2, 100 * mega, (100 - static_cast<uint64>(percent)) * mega, noLimit, pressure};
        CHECK(percentOf(reading) == percent);
        return stateOf(reading, before);
    };
    for (int before : {MPR_MEMORY_LOW, MPR_MEMORY_NEUTRAL, MPR_MEMORY_HIGH}) {
        CHECK(at(90, -1, before) == MPR_MEMORY_LOW);
        CHECK(at(100, -1, before) == MPR_MEMORY_LOW);
        CHECK(at(70, -1, before) == MPR_MEMORY_NEUTRAL);
        CHECK(at(60, -1, before) == MPR_MEMORY_HIGH);
        CHECK(at(10, 1000, before) == MPR_MEMORY_LOW);
        CHECK(at(10, 100, before) == MPR_MEMORY_NEUTRAL);
        CHECK(stateOf(LoadReading{}, before) == MPR_MEMORY_NEUTRAL);
    }
    CHECK(at(85, -1, MPR_MEMORY_NEUTRAL) == MPR_MEMORY_NEUTRAL);
    CHECK(at(85, -1, MPR_MEMORY_LOW) == MPR_MEMORY_LOW);
    CHECK(at(84, -1, MPR_MEMORY_LOW) == MPR_MEMORY_NEUTRAL);
    CHECK(at(10, 500, MPR_MEMORY_NEUTRAL) == MPR_MEMORY_NEUTRAL);
    CHECK(at(10, 500, MPR_MEMORY_LOW) == MPR_MEMORY_LOW);
    CHECK(at(65, -1, MPR_MEMORY_HIGH) == MPR_MEMORY_HIGH);
    CHECK(at(65, -1, MPR_MEMORY_NEUTRAL) == MPR_MEMORY_NEUTRAL);
}

TEST_CASE("the redline is where the process would be held back, or a sixteenth before its end", "[host][load]") {
    LoadReading reading;
    CHECK(redlineOf(reading, 5) == noLimit);
    reading = {Source::group2, 160 * mega, 60 * mega, noLimit, -1};
    CHECK(redlineOf(reading, 7 * mega) == 57 * mega);
    reading.ample = 20 * mega;
    CHECK(redlineOf(reading, 7 * mega) == 27 * mega);
    reading.ample = 0; // beyond it already
    CHECK(redlineOf(reading, 7 * mega) < 7 * mega);
    reading = {Source::group2, 160 * mega, 0, noLimit, -1};
    CHECK(redlineOf(reading, 100 * mega) == 90 * mega - 1);
    CHECK(redlineOf(reading, 4 * mega) == 2 * mega); // not below half of it: what is left is not the heap's
    reading = {Source::host, noLimit - 1, noLimit - 1, noLimit, -1};
    CHECK(redlineOf(reading, noLimit - 5) == noLimit);
}

// ---- The runtime

TEST_CASE("without a request nobody is asked", "[host][load]") {
    System system;
    system.machine(1000 * mega, 1 * mega);
    Runtime runtime;
    MprMemoryLoad load;
    CHECK(mprGetMemoryLoad(&load) == MPR_ERR_NOT_READY);
    CHECK(load.source == MPR_LOAD_NONE);
    CHECK(load.state == MPR_MEMORY_NEUTRAL);
    CHECK(load.available == MPR_LOAD_UNKNOWN);
    CHECK(mprAlloc(10 * mega));
    CHECK(redline() == 0);
    CHECK(mprWatchMemoryLoad(0) == 0);
    CHECK(look().state == MPR_MEMORY_LOW);
    CHECK(mprWatchMemoryLoad(-1) == 0);
    CHECK(mprGetMemoryLoad(&load) == MPR_ERR_NOT_READY);
    CHECK(mprAlloc(10 * mega));
}

TEST_CASE("the load is what the files say, and the redline moves with the container", "[host][load]") {
    System system;
    system.machine(10000 * mega, 9000 * mega).group2("a/b", "1048576000", "max", 500 * mega);
    Runtime runtime;
    listen();
    CHECK(mprWatchMemoryLoad(0) == 0);
    MprMemoryLoad load = look();
    CHECK(load.source == MPR_LOAD_CGROUP2);
    CHECK(load.limit == 1000 * mega);
    CHECK(load.available == 500 * mega);
    CHECK(load.ample == MPR_LOAD_UNKNOWN);
    CHECK(load.percent == 50);
    CHECK(load.state == MPR_MEMORY_HIGH);
    CHECK(heard.high == 1);
    uint64 before = redline();
    CHECK(before > 430 * mega);
    CHECK(before < 450 * mega);
    system.group2("a/b", "1048576000", "629145600", 500 * mega); // memory.high is set
    load = look();
    CHECK(load.ample == 100 * mega);
    CHECK(redline() > 100 * mega);
    CHECK(redline() < 120 * mega);
    CHECK(load.percent == 84);
    CHECK(load.state == MPR_MEMORY_NEUTRAL);
    CHECK(heard.neutral == 1);
    system.group2("a/b", "2097152000", "max", 500 * mega); // memory.max is raised
    look();
    CHECK(redline() > 1300 * mega);
    mprSetMemLimits(static_cast<ssize>(300 * mega), 0, -1);
    CHECK(redline() == 300 * mega); // the program's, which is lower
    system.group2("a/b", "1048576000", "max", 800 * mega);
    look();
    CHECK(redline() < 150 * mega);
    CHECK(mprWatchMemoryLoad(-1) == 0);
    CHECK(redline() == 300 * mega);
    CHECK(heard.pruned == 0);
}

TEST_CASE("low memory tells handlers and pruners, collects, and gives memory back", "[host][load]") {
    System system;
    system.machine(1000 * mega, 900 * mega);
    Runtime runtime;
    listen();
    CHECK(mprWatchMemoryLoad(0) == 0);
    void *blocks[1000];
    for (void *&block : blocks) {
        block = mprAllocMem(20'000, MPR_ALLOC_HOLD);
    }
    for (void *block : blocks) {
        mprRelease(block);
    }
    const uint64 before = committed();
    CHECK(before > 15 * mega);
    const int collections = majors();
    system.machine(1000 * mega, 50 * mega);
    CHECK(look().state == MPR_MEMORY_LOW);
    CHECK(heard.low == 1);
    CHECK(heard.pruned == 1);
    CHECK(heard.cause == MPR_MEM_LOAD);
    CHECK(until([&] { return majors() > collections; }));
    CHECK(until([&] { return committed() < 8 * mega; }));
    look();
    CHECK(heard.times == 2); // high in the beginning, low once
    system.machine(1000 * mega, 900 * mega);
    CHECK(look().state == MPR_MEMORY_HIGH);
    CHECK(heard.times == 3);
    CHECK(heard.pruned == 1);
}

TEST_CASE("the heap asks before it grows, and takes nothing where there is nothing", "[host][load]") {
    System system;
    system.machine(1000 * mega, 900 * mega);
    Runtime runtime;
    CHECK(mprWatchMemoryLoad(0) == 0);
    static std::atomic<int> causes;
    causes = 0;
    mprSetMemNotifier([](int cause, int, size_t, size_t) { causes |= cause; });
    CHECK(mprAllocMem(30 * mega, MPR_ALLOC_HOLD));
    system.machine(1000 * mega, 20 * mega);
    CHECK_FALSE(mprAlloc(30 * mega));
    CHECK((causes & MPR_MEM_FAIL) != 0);
    CHECK(mprAlloc(10 * mega));
    system.machine(1000 * mega, 900 * mega);
    CHECK(mprAlloc(30 * mega));
}

TEST_CASE("a change is found where the heap grows, and after a collection", "[host][load]") {
    System system;
    system.machine(1000 * mega, 700 * mega);
    Runtime runtime;
    listen();
    CHECK(mprWatchMemoryLoad(0) == 0);
    system.machine(1000 * mega, 60 * mega);
    CHECK(mprAlloc(10 * mega)); // a region of its own
    CHECK(mprAlloc(10 * mega));
    CHECK(heard.low == 1);
    system.machine(1000 * mega, 700 * mega);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    for (int i = 0; i < 100000 && heard.high < 2; i++) {
        mprAlloc(1000);
    }
    CHECK(heard.high == 2);
}

TEST_CASE("a thread of the runtime's looks from time to time", "[host][load]") {
    System system;
    system.machine(1000 * mega, 700 * mega);
    Runtime runtime;
    listen();
    CHECK(mprWatchMemoryLoad(1) == 0);
    CHECK(heard.high == 1);
    system.machine(1000 * mega, 60 * mega);
    CHECK(until([] { return heard.low > 0; }));
    CHECK(until([] { return heard.pruned > 0; }));
    CHECK(mprWatchMemoryLoad(0) == 0);
    CHECK(mprWatchMemoryLoad(1) == 0);
    system.machine(1000 * mega, 700 * mega);
    CHECK(until([] { return heard.high > 1; }));
}

TEST_CASE("what the program says is told before what is found takes its place", "[host][load]") {
    System system;
    system.machine(1000 * mega, 700 * mega);
    Runtime runtime;
    listen();
    CHECK(mprWatchMemoryLoad(0) == 0);
    CHECK(heard.high == 1);
    const int collections = majors();
    CHECK(mprNoteMemoryLoad(MPR_MEMORY_LOW) == 0);
    CHECK(heard.low == 1);
    CHECK(heard.pruned == 1);
    CHECK(until([&] { return majors() > collections; }));
    MprMemoryLoad load;
    mprGetMemoryLoad(&load); // which looks
    CHECK(load.state == MPR_MEMORY_HIGH);
}

TEST_CASE("the program says itself how much memory there is", "[host][load]") {
    Runtime runtime;
    listen();
    const int collections = majors();
    CHECK(mprNoteMemoryLoad(MPR_MEMORY_LOW) == 0);
    CHECK(heard.low == 1);
    CHECK(heard.pruned == 1);
    CHECK(until([&] { return majors() > collections; }));
    CHECK(mprNoteMemoryLoad(MPR_MEMORY_LOW) == 0); // each time
    CHECK(heard.low == 2);
    CHECK(mprNoteMemoryLoad(MPR_MEMORY_HIGH) == 0);
    CHECK(heard.high == 1);
    CHECK(mprNoteMemoryLoad(MPR_MEMORY_NEUTRAL) == 0);
    CHECK(heard.neutral == 1);
    CHECK(heard.pruned == 2);
    CHECK(mprNoteMemoryLoad(0) == MPR_ERR_BAD_ARGS);
    CHECK(mprNoteMemoryLoad(4) == MPR_ERR_BAD_ARGS);
    mprRemoveMemoryLoadHandler(hear, nullptr);
    CHECK(mprNoteMemoryLoad(MPR_MEMORY_LOW) == 0);
    CHECK(heard.times == 4);

    // By a thread that is not attached: the next that allocates tells.
    CHECK(mprAddMemoryLoadHandler(hear, nullptr) == 0);
    const int before = majors();
    std::thread([] { mprNoteMemoryLoad(MPR_MEMORY_LOW); }).join();
    CHECK(heard.times == 4);
    for (int i = 0; i < 100000 && heard.times == 4; i++) {
        mprAlloc(1000);
    }
    CHECK(heard.low == 3);
    CHECK(until([&] { return majors() > before; }));
}

TEST_CASE("memory that is added outside of the heap lets a change of the load be told", "[host][load]") {
    Runtime runtime;
    listen();
    std::thread([] { mprNoteMemoryLoad(MPR_MEMORY_LOW); }).join();
    CHECK(heard.times == 0);
    CHECK(mprAddMemoryPressure(16) == 0);
    mprAlloc(100000);
    CHECK(heard.low == 1);
    CHECK(mprRemoveMemoryPressure(16) == 0);
}

TEST_CASE("handlers are as many as there are places, and end with the runtime", "[host][load]") {
    {
        Runtime runtime;
        listen();
        for (int i = 1; i < 16; i++) {
            CHECK(mprAddMemoryLoadHandler(hear, &heard) == 0);
        }
        CHECK(mprAddMemoryLoadHandler(hear, &heard) == MPR_ERR_MEMORY);
    }
    CHECK(mprNoteMemoryLoad(MPR_MEMORY_LOW) == MPR_ERR_BAD_STATE);
    Runtime runtime;
    CHECK(mprNoteMemoryLoad(MPR_MEMORY_LOW) == 0);
    CHECK(heard.times == 0);
}

TEST_CASE("a host that says how much memory there is, is asked and believed", "[host][load][pages]") {
    Log log;
    static std::atomic<unsigned long long> left;
    left = 900 * mega;
    PageHost host([](void *, MprMemoryLoad *load) {
        load->limit = 1000 * mega;
        load->available = left;
        return 0;
    });
    REQUIRE(mprCreate(0, nullptr, 0));
    static std::atomic<int> causes;
    causes = 0;
    mprSetMemNotifier([](int cause, int, size_t, size_t) { causes |= cause; });
    listen();
    CHECK(look().source == MPR_LOAD_HOST);
    CHECK(look().available == 900 * mega);
    CHECK(look().percent == 10);
    left = 20 * mega;
    pause(20); // a reading holds for 10 ms
    CHECK_FALSE(mprAlloc(30 * mega));
    CHECK((causes & MPR_MEM_HOST) != 0);
    CHECK(mprAlloc(1000));
    CHECK(look().state == MPR_MEMORY_LOW);
    CHECK(heard.low == 1);
    CHECK(mprDestroy());
    CHECK(host.reserved() == 0);
}
