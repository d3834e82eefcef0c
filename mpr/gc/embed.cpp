// SPDX-License-Identifier: MIT
/*
    embed.cpp - The hooks of a program that embeds the runtime, in a pause; and the C API of mpr/embed.h that sets them and
    looks at blocks. embed_memory.cpp has the rest of it.

    Without threads they are called by what handles do in a collection (handle_tracing.cpp), so that core, which has no
    room, knows nothing of them.
 */
#include "mpr/embed.h"

#include <iterator>
#include <span>
#include <utility>

#include "mpr/collect.h"
#include "mpr/gc/handle_store.hpp"
#include "mpr/gc/handle_tracing.hpp"
#include "mpr/gc/marker.hpp"
#include "mpr/gc/runtime.hpp"

namespace mpr::gc {

using heap::Byte;
using heap::Heap;
using heap::Region;
namespace head = heap::head;

namespace {

/** The callback that the calling thread is in; its own. */
enum class Callback : unsigned char { none, stop, roots, marked, clear };
constinit MPR_PER_THREAD Callback inCallback = Callback::none;

// A running thread changes these, under the lock; the collector reads them while all threads are stopped.
constinit os::Lock settingLock;
constinit MprEmbedder theEmbedder{};
constinit bool onlyYoung = false; // for mprIsMarked: old blocks are not told apart

/** A callback is about to be called: its calls of the runtime are refused, except those that this one admits. */
class Calling {
public:
    explicit Calling(Callback now) : was_(std::exchange(current, nullptr)) {
        os::assertUnlocked();
        attached->suspended.told = Told::embedder;
        inCallback = now;
    }
    ~Calling() {
        inCallback = Callback::none;
        attached->suspended.told = Told::nobody;
        current = was_;
    }
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;

private:
    Mutator* was_;
};

int generationOf(HandleScan scan) {
    return scan == HandleScan::young ? MPR_GENERATION_YOUNG : MPR_GENERATION_ALL;
}

void callStop() {
    if (theEmbedder.stop) {
        const Calling calling(Callback::stop);
        theEmbedder.stop(theEmbedder.data);
    }
}

void callResume() {
    if (theEmbedder.resume) {
        const Calling calling(Callback::none);
        theEmbedder.resume(theEmbedder.data);
    }
}

void callRoots(Marker&, HandleScan scan) {
    if (theEmbedder.roots) {
        const Calling calling(Callback::roots);
        theEmbedder.roots(theEmbedder.data, generationOf(scan));
    }
}

/** A number that rises with each block that is marked. */
std::size_t markedSoFar(const Marker& marker) {
    if constexpr (os::hasGenerations) {
        return marker.reachedSoFar().blocks;
    }
    Region* region = runtime().heap.firstRegion(); // the only one
    std::size_t count = 0;
    for (std::size_t at = 0; at < region->endGranule; at += heap::swar::bytes) {
        count += heap::swar::count(heap::swar::marked(region->map().word(at), runtime().heap.colours()));
    }
    return count;
}

void callMarked(Marker& marker, HandleScan scan, const HandleHooks* handles) {
    if (!theEmbedder.marked) {
        return;
    }
    onlyYoung = scan == HandleScan::young;
    for (int round = 0;; ++round) {
        const std::size_t before = markedSoFar(marker);
        {
            const Calling calling(Callback::marked);
            theEmbedder.marked(theEmbedder.data, generationOf(scan), round);
        }
        marker.drain();
        if (markedSoFar(marker) == before) {
            return;
        }
        if (handles) {
            handles->values(marker, scan);
        }
    }
}

void callClear(HandleScan scan) {
    if (theEmbedder.clear) {
        const Calling calling(Callback::clear);
        theEmbedder.clear(theEmbedder.data, generationOf(scan));
    }
}

bool hasHooks() {
    if constexpr (os::hasThreads) {
        return runtime().roots.embedder();
    }
    return embedHooks && runtime().roots.handles(); // else they are an earlier runtime's
}

void setHooks(const EmbedHooks* hooks) {
    if constexpr (os::hasThreads) {
        return runtime().roots.setEmbedder(hooks);
    }
    if (hooks) {
        handleStore.open(runtime().heap, runtime().roots); // which calls them
    }
    embedHooks = hooks;
}

void endEmbedder() {
    theEmbedder = {};
    setHooks(nullptr);
}

constexpr EmbedHooks callsOfTable = {callStop, callResume, callRoots, callMarked, callClear, endEmbedder};

} // namespace

bool isStopping() {
    return inCallback == Callback::stop;
}

} // namespace mpr::gc

using namespace mpr::gc;
using mpr::heap::Byte;
using mpr::heap::Heap;
using mpr::heap::Region;
namespace os = mpr::os;

int mprSetEmbedder(const MprEmbedder* wanted) {
    if (!admitRunning("mprSetEmbedder")) {
        return MPR_ERR_BAD_STATE;
    }
    {
        const os::Locked locked(settingLock);
        if (!wanted || !hasHooks()) {
            theEmbedder = wanted ? *wanted : MprEmbedder{};
            setHooks(wanted ? &callsOfTable : nullptr);
            return 0;
        }
    }
    misuse("mprSetEmbedder", wanted, "there is an embedder; end that one with NULL first");
    return MPR_ERR_ALREADY_EXISTS;
}

bool mprIsMarked(cvoid* block) {
    if (inCallback != Callback::marked && inCallback != Callback::clear) {
        misuse("mprIsMarked", block, "not in a callback that asks: marked, or clear");
        return true;
    }
    Heap& heap = runtime().heap;
    Region* region = block ? heap.find(block) : nullptr;
    Byte h = region ? region->headAt(block) : Byte{0};
    if (!Region::isBlock(h)) {
        const mpr::heap::Annex* annex = block ? heap.annex() : nullptr; // it may be pinned, in memory of the program's
        const mpr::heap::Place at = annex ? annex->find(block) : mpr::heap::Place{};
        if (!at.region) {
            return false;
        }
        h = at.head();
    }
    if (h & mpr::heap::head::held) {
        return true;
    }
    return os::hasThreads && inCallback == Callback::clear
               ? !heap.dead(h)
               : heap.colours().marked(h) || (onlyYoung && (h & mpr::heap::head::old));
}

void* mprBlockOf(cvoid* address) {
    return address && running() ? runtime().heap.blockAround(address) : nullptr;
}

namespace {

using BlockVisit = bool (*)(void* data, void* block, size_t size);

/** Call visit for each block that begins in a range and that choose(block) wants. @return How many. */
template <typename Choose>
size_t visitBlocks(Heap::Range in, BlockVisit visit, void* data, Choose&& choose) {
    size_t visited = 0;
    while (in.from < in.to) {
        Heap::Inside found[64];
        const unsigned count = runtime().heap.blocksIn(in.from, in.to, found, std::size(found));
        for (const Heap::Inside& each : std::span(found, count)) {
            const size_t word = mpr::heap::head::isLeaf(each.h) ? 0 : sizeof(MprManager);
            if (!choose(each)) {
                continue;
            }
            ++visited;
            if (!visit(data, each.block, (each.n << mpr::heap::granuleShift) - word)) {
                return visited;
            }
        }
    }
    return visited;
}
} // namespace

size_t mprBlocksIn(cvoid* begin, cvoid* end, BlockVisit visit, void* data) {
    if (!visit) {
        misuse("mprBlocksIn", begin, "NULL for what is to be called");
        return 0;
    }
    const Heap::Range range{static_cast<const Byte*>(begin), static_cast<const Byte*>(end)};
    return running() ? visitBlocks(runtime().heap.clip(range), visit, data, [](const Heap::Inside&) { return true; })
                     : 0;
}

size_t mprBlocksOf(MprManager manager, BlockVisit visit, void* data) {
    if (!visit) {
        misuse("mprBlocksOf", nullptr, "NULL for what is to be called");
        return 0;
    }
    if (!running() || !manager) {
        return 0;
    }
    Heap& heap = runtime().heap;
    return visitBlocks(heap.extent(), visit, data, [&heap, manager](const Heap::Inside& each) {
        // Another thread may have freed the block meanwhile, and its memory may be the system's.
        return heap.withBlock(each.block, [&each, manager](Region* region, std::size_t g, Byte h) {
            MprManager its = nullptr;
            return Region::isBlock(h) && !head::isLeaf(h) && peekManager(each.block, region->blockSize(g), its) &&
                   its == manager;
        });
    });
}
