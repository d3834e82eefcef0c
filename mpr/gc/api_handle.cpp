// SPDX-License-Identifier: MIT
/*
    api_handle.cpp - The C API of mpr/handle.h: checks its arguments and calls the store.
 */
#include "mpr/gc/handle_store.hpp"
#include "mpr/gc/handle_tracing.hpp"
#include "mpr/gc/handle_types.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/handle.h"
#include "mpr/os/log.hpp"

using namespace mpr::gc;
namespace os = mpr::os;

static_assert(sizeof(MprHandle) == 8 && HandleSegment::offset % 8 == 0);

namespace {

[[gnu::cold]] void nameStale(const char* function, MprHandle handle) {
    misuse(function, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(handle)),
           "no handle, or one that was destroyed");
}

[[gnu::cold]] int refuseBlock(const char* function, const void* block) {
    misuse(function, block, "not the start of a block in use");
    return MPR_ERR_BAD_ARGS;
}

/** The place of a handle that the calling thread may use; otherwise names the wrong call and gives nullptr. */
MPR_INLINE Slot* admit(const char* function, MprHandle handle) {
    if (!admitRunning(function)) [[unlikely]] {
        return nullptr;
    }
    if (os::checked && handle != 0 && !handleStore.contains(handle)) {
        nameStale(function, handle); // before it is looked at: it may be any number
        return nullptr;
    }
    Slot* slot = HandleStore::find(handle);
    if (!slot) [[unlikely]] {
        nameStale(function, handle);
    }
    return slot;
}

/** admit() for less frequent calls: not inlined. */
[[gnu::noinline]] Slot* admitOnce(const char* function, MprHandle handle) {
    return admit(function, handle);
}

int typeOf(Slot* slot) {
    return HandleSegment::of(slot)->kind();
}

int ownerOf(const Slot* slot) {
#if UINTPTR_MAX > 0xFFFFFFFFu
    return static_cast<int>(__atomic_load_n(&slot->site, __ATOMIC_RELAXED) >> 48);
#else
    return __atomic_load_n(&slot->owner, __ATOMIC_RELAXED);
#endif
}

const void* siteOf(const Slot* slot) {
    const std::uintptr_t address = sizeof(void*) == 8 ? ~std::uintptr_t{0} >> 16 : ~std::uintptr_t{0};
    return reinterpret_cast<const void*>(__atomic_load_n(&slot->site, __ATOMIC_RELAXED) & address);
}

HandleCache* ownHandles() {
    return current ? cacheIn(current->handles) : nullptr;
}

MPR_APART void openStore() {
    handleStore.open(runtime().heap, runtime().roots);
}

constexpr char notVariable[] =
    "a variable handle whose further word is not MPR_HANDLE_WEAK_SHORT, _WEAK_LONG or _STRONG";

[[gnu::noinline]] MprHandle create(const char* function, int type, const void* block, HandleStore::Traits traits) {
    if (!admitRunning(function)) [[unlikely]] {
        return 0;
    }
    if (static_cast<unsigned>(type) >= MPR_HANDLE_TYPES || static_cast<unsigned>(traits.owner) > 0xFFFF) [[unlikely]] {
        misuse(function, block, "no type of handle, or no owner from 0 to 65535");
        return 0;
    }
    if (type == MPR_HANDLE_VARIABLE && !isVariable(traits.extra)) [[unlikely]] {
        misuse(function, block, notVariable);
        return 0;
    }
    if (!runtime().roots.handles()) [[unlikely]] {
        openStore();
    }
    if (!handleStore.refer(block)) [[unlikely]] {
        refuseBlock(function, block);
        return 0;
    }
    if (type == MPR_HANDLE_DEPENDENT && traits.extra) [[unlikely]] {
        if (!handleStore.refer(traits.extra)) {
            refuseBlock(function, traits.extra);
            return 0;
        }
        traits.extra = block ? traits.extra : nullptr;
    } else if (type == MPR_HANDLE_SIZED) {
        traits.extra = nullptr; // the runtime's
    }
    const MprHandle handle = handleStore.create(ownHandles(), type, block, traits);
    if (handle == 0) [[unlikely]] {
        tellFailure(function, block, "no memory for another handle");
    }
    return handle;
}
} // namespace

MprHandle mprCreateHandle(int type, cvoid* block) {
    return create("mprCreateHandle", type, block, {nullptr, 0, __builtin_return_address(0)});
}

MprHandle mprCreateHandleFor(int type, cvoid* block, void* extra, int owner) {
    return create("mprCreateHandle", type, block, {extra, owner, __builtin_return_address(0)});
}

MprHandle mprDuplicateHandle(MprHandle handle) {
    Slot* slot = admitOnce("mprDuplicateHandle", handle);
    if (!slot) {
        return 0;
    }
    int type = 0;
    const void* block = nullptr;
    HandleStore::Traits traits{nullptr, 0, __builtin_return_address(0)};
    const auto read = [&](const Slot* place) {
        type = HandleSegment::of(slot)->kind();
        block = HandleStore::isDying(handle) ? nullptr : word::load(place->block); // the block of one that dies is dead
        traits.extra = word::load(place->extra);
        traits.owner = ownerOf(place);
    };
    if (!HandleStore::change(handle, true, read)) {
        nameStale("mprDuplicateHandle", handle);
        return 0;
    }
    return create("mprDuplicateHandle", type, block, traits);
}

int mprDestroyHandle(MprHandle handle) {
    if (handle == 0) {
        return 0;
    }
    // A pause may have looked at a root before the calling thread, which had yielded, gave the block to that: it waits for the end.
    const Visit visit("mprDestroyHandle");
    if (!visit) {
        return MPR_ERR_BAD_STATE;
    }
    if ((os::checked && !handleStore.contains(handle)) || !handleStore.destroy(ownHandles(), handle)) [[unlikely]] {
        nameStale("mprDestroyHandle", handle);
        return MPR_ERR_BAD_HANDLE;
    }
    return 0;
}

void* mprGetHandleSlow(MprHandle handle) {
    if (handle == 0) {
        return nullptr;
    }
    const Slot* slot = HandleStore::find(handle);
    if (!slot) {
        nameStale("mprGetHandle", handle);
        return nullptr;
    }
    const bool dies = HandleStore::isDying(handle); // it may just have ended
    void* block = word::load(slot->block);
    if (!HandleStore::find(handle)) {
        nameStale("mprGetHandle", handle); // it may be the block of the next handle there
        return nullptr;
    }
    return dies && !isFinalizing() ? nullptr : block;
}

namespace {
/** Change a handle's words: HandleStore::change. A handle that was destroyed meanwhile is named. @return 0 or an error. */
template <typename F>
MPR_INLINE int change(const char* function, MprHandle handle, bool dies, F&& f) {
    if (HandleStore::change(handle, dies, f)) [[likely]] {
        return 0;
    }
    nameStale(function, handle);
    return MPR_ERR_BAD_HANDLE;
}

/** A dependent handle without a key has no value: before it gets one, and when it has lost it. */
void forgetIfKeyless(Slot* slot) {
    if (typeOf(slot) == MPR_HANDLE_DEPENDENT) {
        HandleStore::forgetValue(slot);
    }
}

/** The block of a handle that dies, for those who may still see it. */
void* dyingBlock(MprHandle handle, const Slot* slot) {
    void* block = isFinalizing() ? word::load(slot->block) : nullptr; // as mprGetHandle
    return HandleStore::isDying(handle) ? block : nullptr;
}

/** As mprCompareExchangeHandle. @param refused What is returned when the call is wrong. */
[[gnu::noinline]] void* exchange(const char* function, MprHandle handle, cvoid* block, cvoid* expected, void* refused) {
    const Slot* admitted = admit(function, handle);
    if (!admitted) {
        return refused;
    }
    if (!handleStore.refer(block)) {
        refuseBlock(function, block);
        return refused;
    }
    void* dead = nullptr;
    if (HandleStore::isDying(handle)) [[unlikely]] {
        dead = dyingBlock(handle, admitted);
        if (dead != expected) {
            return dead;
        }
        expected = nullptr;
    }
    void* before = nullptr;
    const int result = change(function, handle, false, [&](Slot* slot) {
        if (!expected) {
            forgetIfKeyless(slot);
        }
        before = HandleStore::compareExchange(slot, block, expected);
        if (!block) {
            forgetIfKeyless(slot);
        }
    });
    return result != 0 ? refused : before ? before : dead;
}
} // namespace

int mprSetHandle(MprHandle handle, cvoid* block) {
    if (!admit("mprSetHandle", handle)) {
        return MPR_ERR_BAD_HANDLE;
    }
    if (!handleStore.refer(block)) {
        return refuseBlock("mprSetHandle", block);
    }
    return change("mprSetHandle", handle, false, [=](Slot* slot) {
        forgetIfKeyless(slot);
        HandleStore::set(slot, block);
        forgetIfKeyless(slot);
    });
}

void* mprCompareExchangeHandle(MprHandle handle, cvoid* block, cvoid* expected) {
    return exchange("mprCompareExchangeHandle", handle, block, expected, nullptr);
}

bool mprSetHandleIfNull(MprHandle handle, cvoid* block) {
    return !exchange("mprSetHandleIfNull", handle, block, nullptr, &handleStore);
}

// ---- The further word -------------------------------------------------------------------------------------------

void* mprGetHandleExtra(MprHandle handle) {
    Slot* slot = admitOnce("mprGetHandleExtra", handle);
    void* extra = slot && typeOf(slot) != MPR_HANDLE_DEPENDENT ? word::load(slot->extra) : nullptr;
    return slot && HandleStore::find(handle) ? extra : nullptr; // else it may be that of the next handle there
}

int mprSetHandleExtra(MprHandle handle, void* extra) {
    Slot* slot = admitOnce("mprSetHandleExtra", handle);
    if (!slot) {
        return MPR_ERR_BAD_HANDLE;
    }
    const int type = typeOf(slot);
    if (type == MPR_HANDLE_DEPENDENT || type == MPR_HANDLE_SIZED) {
        misuse("mprSetHandleExtra", word::load(slot->block), "the further word of such a handle is the runtime's");
        return MPR_ERR_BAD_ARGS;
    }
    if (type == MPR_HANDLE_VARIABLE && !isVariable(extra)) {
        misuse("mprSetHandleExtra", word::load(slot->block), notVariable);
        return MPR_ERR_BAD_ARGS;
    }
    // A variable one may be strong from here on.
    return change("mprSetHandleExtra", handle, type != MPR_HANDLE_VARIABLE,
                  [=](Slot* place) { word::store(place->extra, extra); });
}

ptrdiff_t mprAddHandleCount(MprHandle handle, ptrdiff_t by) {
    Slot* slot = admitOnce("mprAddHandleCount", handle);
    if (!slot) {
        return 0;
    }
    if (typeOf(slot) != MPR_HANDLE_REFCOUNTED) {
        misuse("mprAddHandleCount", word::load(slot->block), "the handle is not of type MPR_HANDLE_REFCOUNTED");
        return 0;
    }
    ptrdiff_t count = 0;
    bool wraps = false;
    change("mprAddHandleCount", handle, true, [&](Slot* place) {
        const auto before = static_cast<ptrdiff_t>(reinterpret_cast<std::uintptr_t>(word::load(place->extra)));
        wraps = __builtin_add_overflow(before, by, &count);
        if (wraps) {
            count = before;
        }
        word::store(place->extra, reinterpret_cast<void*>(static_cast<std::uintptr_t>(count)));
    });
    if (wraps) {
        misuse("mprAddHandleCount", word::load(slot->block), "more than can be counted");
    }
    return count;
}

namespace {
/** The place of a dependent handle; otherwise names the wrong call. */
Slot* admitDependent(const char* function, MprHandle handle) {
    Slot* slot = admitOnce(function, handle);
    if (slot && typeOf(slot) != MPR_HANDLE_DEPENDENT) {
        misuse(function, word::load(slot->block), "the handle is not of type MPR_HANDLE_DEPENDENT");
        return nullptr;
    }
    return slot;
}
} // namespace

void* mprGetHandleValue(MprHandle handle) {
    Slot* slot = admitDependent("mprGetHandleValue", handle);
    void* value = slot && word::load(slot->block) ? word::load(slot->extra) : nullptr;
    return slot && HandleStore::find(handle) ? value : nullptr;
}

int mprSetHandleValue(MprHandle handle, cvoid* value) {
    Slot* slot = admitDependent("mprSetHandleValue", handle);
    if (!slot) {
        return MPR_ERR_BAD_HANDLE;
    }
    if (!handleStore.refer(value)) {
        return refuseBlock("mprSetHandleValue", value);
    }
    bool keyless = false;
    const int result = change("mprSetHandleValue", handle, true, [&](Slot* place) {
        keyless = !word::load(place->block);
        if (!keyless) {
            word::store(place->extra, const_cast<void*>(value));
            HandleStore::setDirty(place);
        }
    });
    return keyless ? MPR_ERR_BAD_STATE : result;
}

size_t mprGetHandleSize(MprHandle handle) {
    Slot* slot = admitOnce("mprGetHandleSize", handle);
    const void* size = slot && typeOf(slot) == MPR_HANDLE_SIZED ? word::load(slot->extra) : nullptr;
    return slot && HandleStore::find(handle) ? reinterpret_cast<std::uintptr_t>(size) : 0;
}

// ---- Looking ------------------------------------------------------------------------------------------------------

int mprGetHandleType(MprHandle handle) {
    Slot* slot = admitOnce("mprGetHandleType", handle);
    return slot ? typeOf(slot) : MPR_ERR_BAD_HANDLE;
}

bool mprContainsHandle(MprHandle handle) {
    return inAnyState("mprContainsHandle", [=] { return handle != 0 && handleStore.contains(handle); });
}

namespace {
/** Call f(type, slot) for each handle. */
template <typename F>
void forEachHandle(F&& f) {
    handleStore.forEach(~0u, HandleScan::all, [&](HandleSegment& segment, Slot* slot) { f(segment.kind(), slot); });
}
} // namespace

size_t mprCountHandles(int type, int owner, cvoid* site) {
    return inAnyState("mprCountHandles", [=] {
        size_t count = 0;
        forEachHandle([&](int its, const Slot* slot) {
            count += (type == MPR_HANDLE_ANY || its == type) && (owner == MPR_HANDLE_ANY || ownerOf(slot) == owner) &&
                     (!site || siteOf(slot) == site);
        });
        return count;
    });
}

int mprCountHandlesBySite(MprHandleCount* counts, int most) {
    if (most > 0 && !mayFill("mprCountHandlesBySite", counts)) {
        return 0;
    }
    return inAnyState("mprCountHandlesBySite", [=] {
        int found = 0;
        forEachHandle([&](int type, const Slot* slot) {
            int i = 0;
            while (i < found &&
                   (counts[i].site != siteOf(slot) || counts[i].type != type || counts[i].owner != ownerOf(slot))) {
                ++i;
            }
            if (i == found && found < most) {
                counts[found++] = {siteOf(slot), type, ownerOf(slot), 0};
            }
            if (i < found) {
                ++counts[i].count;
            }
        });
        return found;
    });
}

void mprDumpHandles(void) {
    inAnyState("mprDumpHandles", [] {
        static constexpr const char* names[] = {"weak short", "weak long", "strong",       "pinned", "variable",
                                                "counted",    "dependent", "async pinned", "sized"};
        static_assert(sizeof(names) / sizeof(*names) == MPR_HANDLE_TYPES);
        forEachHandle([&](int type, const Slot* slot) {
            os::Message message;
            message << "handle " << static_cast<const void*>(slot) << ": "
                    << (type < MPR_HANDLE_TYPES ? names[type] : "none") << ", block " << word::load(slot->block)
                    << ", further word " << word::load(slot->extra) << ", owner " << std::uint64_t(ownerOf(slot))
                    << ", created in ";
            message.code(siteOf(slot));
            os::log(os::Level::info, message);
        });
    });
}
