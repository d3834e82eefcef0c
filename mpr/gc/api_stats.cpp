// SPDX-License-Identifier: MIT
/*
    api_stats.cpp - The C API of mpr/stats.h.
 */
#include <utility>

#include "mpr/gc/batch.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/gc/guard.hpp"
#include "mpr/gc/naming.hpp"
#include "mpr/gc/origins.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/heap/granule.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"
#include "mpr/stats.h"

using namespace mpr::gc;
using mpr::heap::Byte;
using mpr::heap::granuleShift;
namespace head = mpr::heap::head;
namespace os = mpr::os;

namespace {

uint64 limitOrNone(std::size_t limit) {
    return limit == mpr::heap::Limits::none ? 0 : limit;
}

void line(os::Message& message) {
    message << "\n";
    os::write(message.text(), message.length());
}

/** "8 bytes into block 0x... (32 bytes, Node), barrier, old". Under the heap's lock. */
[[maybe_unused]] void describeBlock(os::Message& message, const mpr::heap::Heap::Inside& at, const void* address) {
    const auto offset = static_cast<const Byte*>(address) - at.block;
    if (offset > 0) {
        message << static_cast<std::size_t>(offset) << " bytes into ";
    }
    message << "block ";
    nameBlock(message, at);
    const bool isOld = (at.h & head::old) != 0;
    message << (head::isLeaf(at.h)      ? ", leaf"
                : head::isBarrier(at.h) ? ", barrier"
                                        : ", plain")
            << (isOld ? ", old" : ", young");
    const std::pair<bool, const char*> states[] = {
        {(at.h & head::held) != 0, ", held"},
        {(at.h & head::referenced) != 0, ", root or handle"},
        {isOld && head::isBarrier(at.h) && (at.h & head::remembered) != 0, ", written"},
        {runtime().collector.isDoomed(at.h), ", dead"},
    };
    for (const auto& [is, name] : states) {
        message << (is ? name : "");
    }
}

void timesLine(const char* name, const MprTimes& t) {
    os::Message message;
    message << "  " << name << ": " << t.count << " times, us p50 " << t.p50 / 1000 << ", p99 " << t.p99 / 1000
            << ", max " << t.max / 1000;
    line(message);
}
} // namespace

void mprReadMemStats(MprMemStats* s) {
    if (!mpr::gc::mayFill("mprReadMemStats", s)) {
        return;
    }
    *s = {};
    s->ram = os::ram();
    s->numCpu = os::processors();
    s->pageSize = static_cast<int>(os::pageSize());
    if constexpr (os::hasThreads) {
        s->rss = os::resident();
        s->cpuUsage = os::cpuTime();
    }
    if (!running()) {
        return;
    }
    Runtime& rt = runtime();
    const mpr::heap::Totals totals = rt.heap.totals();
    const mpr::heap::Limits limits = rt.heap.limits();
    s->blocksAllocated = totals.blocksAllocated;
    s->bytesAllocated = uint64{totals.granulesAllocated} << granuleShift;
    s->blocksFreed = totals.blocksFreed;
    s->bytesFreed = uint64{totals.granulesFreed} << granuleShift;
    s->bytesLive = totals.granulesInUse() << granuleShift;
    s->heap = limits.committed();
    s->heapPeak = limits.peak();
    if constexpr (os::hasThreads) {
        s->bytesAllocatedPeak = s->heapPeak;
    }
    s->bytesFree = rt.heap.freeBytes();
    s->largestFree = rt.heap.largestFree();
    s->warnHeap = limitOrNone(limits.warn());
    s->maxHeap = limitOrNone(limits.maximum());
    s->cacheHeap = rt.collector.pacer().cache();
    s->youngBudget = rt.collector.trigger();
    s->regions = totals.regions;
    s->markOverflows = rt.collector.marker().overflows();
    s->purged = totals.purgedBytes;
    s->redlines = limits.crossings();
    s->errors = rt.depletion.errors();
    s->misuses = rt.misuses.load(std::memory_order_relaxed) + rt.collector.marker().misuses() + rt.heap.damages();
    s->threads = rt.collector.threads();
    rt.collector.stats().report(*s);
}

void mprReadBatchStats(MprBatchStats* stats) {
    if (!mpr::gc::mayFill("mprReadBatchStats", stats)) {
        return;
    }
    if constexpr (os::hasThreads) {
        readBatchStats(*stats);
    } else {
        *stats = {};
    }
}

MprMemStats* mprGetMemStats(void) {
    static MprMemStats stats;
    mprReadMemStats(&stats);
    return &stats;
}

size_t mprGetMem(void) {
    return os::resident();
}

uint64 mprGetCPU(void) {
    return os::cpuTime();
}

/** Verify the heap, and those with pinned blocks. */
static int verifyAll(mpr::heap::Heap& heap) {
    const mpr::heap::Annex* annex = os::hasThreads ? heap.annex() : nullptr;
    return heap.verify() + (annex ? annex->verify() : 0);
}

int mprVerifyHeap(void) {
    if (!admitRunning("mprVerifyHeap")) {
        return MPR_ERR_BAD_STATE;
    }
    if (current->isCollector) {
        misuse("mprVerifyHeap", nullptr, "called by a manager: the collector cannot stop the threads then");
        return MPR_ERR_BAD_STATE;
    }
    if (os::isLogging()) {
        misuse("mprVerifyHeap", nullptr, "called by the log's handler, for which other threads cannot be stopped");
        return MPR_ERR_BAD_STATE;
    }
    Runtime& rt = runtime();
    int defects = 0;
    if (!rt.collector.stopOthers([&] { defects = verifyAll(rt.heap); })) {
        os::Message message;
        os::log(os::Level::error, message << "mprVerifyHeap: other threads do not stop");
        return MPR_ERR_TIMEOUT;
    }
    if constexpr (os::hasThreads) {
        rt.heap.tell();
        if (const mpr::heap::Annex* annex = rt.heap.annex()) {
            annex->tell();
        }
    }
    return defects;
}

void mprPrintMem(cchar* msg, int) {
    MprMemStats s;
    mprReadMemStats(&s);
    line(os::Message() << (msg ? msg : "Memory"));
    line(os::Message() << "  heap " << s.heap << " (peak " << s.heapPeak << ", redline " << s.warnHeap << ", limit "
                       << s.maxHeap << "), resident " << std::uint64_t{mprGetMem()});
    line(os::Message() << "  blocks " << s.blocksAllocated - s.blocksFreed << ", bytes " << s.bytesLive << ", free "
                       << s.bytesFree << ", largest free " << s.largestFree << ", regions " << s.regions);
    line(os::Message() << "  collections " << s.collections << ", next after " << s.youngBudget << ", errors "
                       << s.errors << ", misuses " << s.misuses << ", late threads " << s.late);
    timesLine("pause", s.pause);
    timesLine("stall", s.stall);
    timesLine("rendezvous", s.rendezvous);
    timesLine("mark", s.mark);
    timesLine("sweep", s.sweep);
    if constexpr (os::hasThreads) {
        printCensus();
    }
}

void mprPrintBlock([[maybe_unused]] cvoid* address) {
    if constexpr (os::hasThreads) {
        os::Message message;
        message << address << ": ";
        const void* block = nullptr;
        const bool looked = running() && runtime().heap.tryAround(address, [&](const mpr::heap::Heap::Inside& at) {
            block = at.block;
            if (at.block) {
                describeBlock(message, at, address);
            } else {
                message << (runtime().heap.findField(address) ? "in the heap, in no block" : "not in the heap");
            }
        });
        message << (looked ? "" : running() ? "another thread has the heap's lock" : "there is no runtime");
        line(message);
        tellOrigin(block);
    }
}

void mprSetManagerName([[maybe_unused]] MprManager manager, [[maybe_unused]] cchar* name) {
    if constexpr (os::hasThreads) {
        census.name(manager, name);
    }
}
