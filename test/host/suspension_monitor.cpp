// SPDX-License-Identifier: MIT
/*
    test/host/suspension_monitor.cpp - The log names every time that threads lose, and tools can read the histograms.
 */
#include "test/catch.hpp"

#include "mpr.h"
#include "mpr/host/histogram.hpp"
#include "test/support/every_yield.hpp"
#include "test/support/folder.hpp"
#include "test/support/mutator.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#if __has_include(<zlib.h>)
#include <zlib.h>
#endif

using namespace test;
using mpr::host::Encoded;
using mpr::host::Histogram;

namespace {

/* The log while this exists: lines of the monitor as text, whatever their level. */
class Lines {
public:
    Lines() : before(mprGetLogLevel()) {
        lines.clear();
        mprSetLogLevel(9);
        handler = mprSetLogHandler(take);
    }
    ~Lines() {
        mprSetLogHandler(handler);
        mprSetLogLevel(before);
    }

    struct Line {
        int level;
        std::string text;
    };
    static std::vector<Line> taken() {
        const std::lock_guard<std::mutex> locked(mutex);
        return lines;
    }

private:
    static void take(cchar *tags, int level, cchar *text) {
        if (strcmp(tags, "suspension") == 0) {
            const std::lock_guard<std::mutex> locked(mutex);
            lines.push_back({level, text});
        }
    }

    const int before;
    MprLogHandler handler;
    static inline std::mutex mutex;
    static inline std::vector<Line> lines;
};

/* What a line says. */
struct Named {
    char thread[32];
    unsigned number;
    unsigned long long total, begin;
};
bool read(const std::string &line, Named &named) {
    return sscanf(line.c_str(), "thread \"%31[^\"]\" (%u) stood still for %llu ns from %llu", named.thread,
                  &named.number, &named.total, &named.begin) == 4;
}

unsigned long long now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<unsigned long long>(time.tv_sec) * 1'000'000'000ull +
           static_cast<unsigned long long>(time.tv_nsec);
}

/* How often the calling thread has gone to sleep of its own accord, rather than been sent away by the system. */
long sleeps() {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

struct Gap {
    unsigned long long begin, end;
};

/* Read the clock in a loop. Kept are gaps over 50 us in which the thread slept. */
template <class Step>
std::vector<Gap> gapsOf(Mutator &self, Step step) {
    std::vector<Gap> gaps;
    gaps.reserve(100'000);
    long slept = sleeps();
    for (unsigned long long last = now(); self.go();) {
        step();
        const unsigned long long here = now();
        const long before = std::exchange(slept, sleeps());
        if (here - last > 50'000 && before != slept && gaps.size() < gaps.capacity()) {
            gaps.push_back({last, here});
        }
        last = now();
    }
    return gaps;
}

/* ---- A reader of HdrHistogram's compressed encoding V2, from its public description ---- */

using Bytes = std::vector<unsigned char>;

Bytes decode64(const std::string &text) {
    const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    Bytes bytes;
    unsigned group = 0, count = 0;
    for (const char c : text.substr(0, text.find('='))) {
        group = group << 6 | static_cast<unsigned>(letters.find(c));
        if (++count % 4 != 1) {
            bytes.push_back(static_cast<unsigned char>(group >> (6 - (count - 1) % 4 * 2)));
        }
    }
    return bytes;
}

uint64_t big(const Bytes &bytes, size_t at, size_t size) {
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        number = number << 8 | bytes.at(at + i);
    }
    return number;
}

int64_t readZigZag(const Bytes &bytes, size_t &at) {
    uint64_t number = 0;
    for (unsigned i = 0;; i++) {
        const uint64_t byte = bytes.at(at++);
        if (i == 8) {
            number |= byte << 56;
            break;
        }
        number |= (byte & 0x7F) << 7 * i;
        if (byte < 0x80) {
            break;
        }
    }
    return static_cast<int64_t>(number >> 1) ^ -static_cast<int64_t>(number & 1);
}

Bytes inflated(const Bytes &bytes) {
#ifdef ZLIB_VERSION
    Bytes out(1 << 20);
    uLongf size = out.size();
    REQUIRE(uncompress(out.data(), &size, bytes.data() + 8, static_cast<uLong>(big(bytes, 4, 4))) == Z_OK);
    out.resize(size);
    return out;
#else
    return Bytes(bytes.begin() + 15, bytes.end() - 4); // one stored block
#endif
}

/* @return The count of each index. */
std::vector<int64_t> readHistogram(const std::string &text) {
    const Bytes bytes = decode64(text);
    REQUIRE(big(bytes, 0, 4) == 0x1C849314);
    REQUIRE(big(bytes, 4, 4) == bytes.size() - 8);
    const Bytes inner = inflated(bytes);
    REQUIRE(big(inner, 0, 4) == 0x1C849313);
    REQUIRE(big(inner, 4, 4) == inner.size() - 40);
    CHECK(big(inner, 8, 4) == 0);
    CHECK(big(inner, 12, 4) == 2);
    CHECK(big(inner, 16, 8) == 1);
    CHECK(big(inner, 24, 8) == Histogram::greatest);
    CHECK(big(inner, 32, 8) == 0x3FF0000000000000);
    std::vector<int64_t> counts;
    for (size_t at = 40; at < inner.size();) {
        const int64_t number = readZigZag(inner, at);
        if (number < 0) {
            counts.resize(counts.size() + static_cast<size_t>(-number));
        } else {
            counts.push_back(number);
        }
    }
    return counts;
}

/* HdrHistogram's index of a value, for lowest value 1 and two digits, as its description computes it. */
size_t indexOf(uint64_t value) {
    const int subBucketHalfCountMagnitude = 7, subBucketHalfCount = 128;
    const uint64_t subBucketMask = 255;
    const int pow2ceiling = 64 - __builtin_clzll(value | subBucketMask);
    const int bucketIndex = pow2ceiling - (subBucketHalfCountMagnitude + 1);
    const auto subBucketIndex = static_cast<int>(value >> bucketIndex);
    const int bucketBaseIndex = (bucketIndex + 1) << subBucketHalfCountMagnitude;
    return static_cast<size_t>(bucketBaseIndex + subBucketIndex - subBucketHalfCount);
}

std::vector<std::string> linesOf(const std::string &path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

/* Sum of the counts of the lines with a tag. */
int64_t countIn(const std::vector<std::string> &lines, const std::string &tag) {
    int64_t sum = 0;
    for (const std::string &line : lines) {
        if (line.rfind("Tag=" + tag + ",", 0) == 0) {
            for (const int64_t count : readHistogram(line.substr(line.rfind(',') + 1))) {
                sum += count;
            }
        }
    }
    return sum;
}
} // namespace

TEST_CASE("a histogram says what was counted, in HdrHistogram's form", "[host][histogram]") {
    const uint64_t values[] = {0,    1,     127,     128,        255,           256,           257,
                               1000, 65535, 1000000, 1234567890, 3600000000000, 9900000000000, ~uint64_t{0}};
    auto histogram = std::make_unique<Histogram>();
    std::vector<int64_t> expected(Histogram::places);
    for (const uint64_t value : values) {
        const uint64_t counted = std::min(value, Histogram::greatest);
        for (unsigned times = 0; times <= counted % 7; times++) {
            histogram->record(value);
            expected[indexOf(counted)]++;
        }
        CHECK(Histogram::placeOf(counted) == indexOf(counted));
        CHECK(Histogram::upperBound(Histogram::placeOf(counted)) >= counted);
        CHECK(Histogram::upperBound(Histogram::placeOf(counted)) <= counted + counted / 128);
        CHECK(Histogram::placeOf(Histogram::upperBound(Histogram::placeOf(counted))) == indexOf(counted));
    }
    expected[5] = 1'000'000'000; // a number of many bytes
    auto encoded = std::make_unique<Encoded>();
    encoded->clear();
    uint64_t total = 0;
    for (unsigned place = 0; place < Histogram::places; place++) {
        const uint64_t count = place == 5 ? 1'000'000'000 : histogram->take(place);
        encoded->add(count);
        total += count;
    }
    CHECK(encoded->total() == total);
    CHECK(encoded->greatest() == Histogram::upperBound(Histogram::placeOf(Histogram::greatest)));
    while (expected.back() == 0) {
        expected.pop_back();
    }
    CHECK(readHistogram(encoded->text()) == expected);
    for (unsigned place = 0; place < Histogram::places; place++) {
        REQUIRE(histogram->count(place) == 0);
    }
}

TEST_CASE("a histogram without a count can be read, and one with all", "[host][histogram]") {
    auto encoded = std::make_unique<Encoded>();
    encoded->clear();
    CHECK(readHistogram(encoded->text()).empty());
    encoded->clear();
    for (unsigned place = 0; place < Histogram::places; place++) {
        encoded->add(0x7FFF'FFFF'FFFF'FFFF);
    }
    const auto counts = readHistogram(encoded->text());
    REQUIRE(counts.size() == Histogram::places);
    CHECK(counts.front() == 0x7FFF'FFFF'FFFF'FFFF);
    CHECK(counts.back() == 0x7FFF'FFFF'FFFF'FFFF);
}

TEST_CASE("each suspension is a line of the log and a count in a histogram", "[host][suspension]") {
    const Folder folder;
    const std::string path = (folder / "histograms.hlog"), second = (folder / "second.hlog");
    MprLostTime lost;
    {
        Runtime runtime("young=64k,everyyield=0,everyalloc=0");
        const Lines log;
        MprSuspensionMonitor settings{};
        settings.histogramLog = path.c_str();
        settings.interval = 30;
        REQUIRE(mprStartSuspensionMonitor(&settings) == 0);
        CHECK(mprStartSuspensionMonitor(&settings) == MPR_ERR_ALREADY_EXISTS);
        {
            Mutator other("other", [](Mutator &self) {
                while (self.go()) {
                    mprAlloc(200);
                    mprYield(0);
                }
            });
            for (int i = 0; i < 50; i++) {
                mprGC(i % 2 ? MPR_GC_FORCE : MPR_GC_MINOR);
                mprVerifyHeap();
                pause(2);
            }
        }
        CHECK(mprWriteSuspensionHistograms(second.c_str()) == 0);
        CHECK(mprWriteSuspensionHistograms((folder / "none/at/all").c_str()) == MPR_ERR_CANT_OPEN);
        mprGetLostTime(&lost);
        REQUIRE(mprStopSuspensionMonitor() == 0);
        CHECK(mprStopSuspensionMonitor() == MPR_ERR_BAD_STATE);
        CHECK(mprWriteSuspensionHistograms(second.c_str()) == MPR_ERR_BAD_STATE);
        unsigned long long count = 0, total = 0;
        size_t levels = 0;
        for (const Lines::Line &line : Lines::taken()) {
            Named named;
            if (read(line.text, named)) {
                count++;
                total += named.total;
                levels += line.level != (named.total < 1'000'000 ? 3 : named.total < 10'000'000 ? 2 : 1);
            }
        }
        CHECK(levels == 0);
        CHECK(count == lost.count);
        CHECK(total == lost.total);
    }
    const auto lines = linesOf(path);
    REQUIRE(lines.size() > 4);
    CHECK(lines[0] == "#[Histogram log format version 1.3]");
    CHECK(lines[1].rfind("#[StartTime: ", 0) == 0);
    CHECK(lines[2] == "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"");
    CHECK(countIn(lines, "young") >= 25);
    CHECK(countIn(lines, "all") >= 25);
    CHECK(countIn(lines, "young") + countIn(lines, "all") + countIn(lines, "none") == static_cast<int64_t>(lost.count));
    CHECK(linesOf(second).at(0) == lines[0]);
}

TEST_CASE("severities are where they are set, and must make sense", "[host][suspension]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    const Lines log;
    MprSuspensionMonitor settings{};
    settings.infoFrom = 2;
    settings.warnFrom = 1;
    CHECK(mprStartSuspensionMonitor(&settings) == MPR_ERR_BAD_ARGS);
    settings.infoFrom = 1;
    settings.warnFrom = 2;
    REQUIRE(mprStartSuspensionMonitor(&settings) == 0);
    mprGC(MPR_GC_FORCE);
    REQUIRE(mprStopSuspensionMonitor() == 0);
    const auto lines = Lines::taken();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].level == 1);
    CHECK(lines[0].text.find("thread \"main\"") == 0);
    CHECK(lines[0].text.find("collection of all") != std::string::npos);
    settings.histogramLog = "/nowhere/at/all";
    CHECK(mprStartSuspensionMonitor(&settings) == MPR_ERR_CANT_OPEN);
    CHECK(mprStartSuspensionMonitor(nullptr) == 0);
    CHECK(mprStopSuspensionMonitor() == 0);
}

TEST_CASE("the monitor is not ended by a handler of its own lines", "[host][suspension]") {
    Runtime runtime("everyyield=0,everyalloc=0");
    static std::atomic<int> answer;
    answer = 1;
    const int level = mprGetLogLevel();
    mprSetLogLevel(9);
    const MprLogHandler before = mprSetLogHandler([](cchar *tags, int, cchar *) {
        if (strstr(tags, "suspension")) {
            answer = mprStopSuspensionMonitor();
        }
    });
    MprSuspensionMonitor settings{};
    settings.infoFrom = settings.warnFrom = 1;
    REQUIRE(mprStartSuspensionMonitor(&settings) == 0);
    mprGC(MPR_GC_FORCE);
    untilUnyielded([] { return answer != 1; });
    mprSetLogHandler(before);
    mprSetLogLevel(level);
    CHECK(answer == MPR_ERR_BAD_STATE);
    CHECK(mprStopSuspensionMonitor() == 0);
}

TEST_CASE("a thread finds no gap in which it slept that the log does not name", "[host][suspension]") {
    // A gap in which a thread did not sleep is the system's doing, or work of its own in a step that was begun by a
    // yield, which the other tests account for.
    std::vector<Gap> gaps[2];
    {
        Runtime runtime("young=64k");
        const Lines log;
        REQUIRE(mprStartSuspensionMonitor(nullptr) == 0);
        {
            const auto body = [&](int which) {
                return [&gaps, which](Mutator &self) { gaps[which] = gapsOf(self, [] { mprYield(0); }); };
            };
            Mutator one("one", body(0)), two("two", body(1));
            for (const Stretch stretch(500); stretch.lasts([] { return true; });) {
                for (int i = 0; i < 200; i++) {
                    mprAlloc(200);
                    mprYield(0);
                }
                mprGC(MPR_GC_FORCE);
                pause(1);
            }
        }
        REQUIRE(mprStopSuspensionMonitor() == 0);
    }
    std::vector<Named> named[2];
    for (const Lines::Line &line : Lines::taken()) {
        Named name;
        CHECK(line.text.find("are missing") == std::string::npos);
        if (read(line.text, name) && (!strcmp(name.thread, "one") || !strcmp(name.thread, "two"))) {
            named[!strcmp(name.thread, "two")].push_back(name);
        }
    }
    for (int which : {0, 1}) {
        size_t unnamed = 0;
        for (const Gap &gap : gaps[which]) {
            unnamed += std::none_of(named[which].begin(), named[which].end(), [&](const Named &name) {
                return name.begin >= gap.begin && name.begin + name.total <= gap.end;
            });
        }
        INFO(gaps[which].size() << " gaps");
        if (!test::delayed) { // else it sleeps elsewhere, too
            CHECK(unnamed == 0);
        }
        CHECK(!named[which].empty());
    }
}
