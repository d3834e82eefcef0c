// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/handles.cpp - Handles are made, changed and destroyed in runtime and reference at once, and compared.
 */
#include "test/stress/oracle/handles.hpp"

#include "test/stress/oracle/blocks.hpp"
#include "test/stress/oracle/fault.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "mpr.h"

namespace oracle {

namespace {

/* Guards which handles a record has, and what they refer to: managers look. */
std::mutex handleLock;
std::vector<MprHandle> abandoned; /* Under the lock */

void *ptrOf(const Record *record) {
    return record ? record->ptr : nullptr;
}

void attach(Handle &handle, Record *block, Record *value) {
    handle.block = block;
    handle.value = block ? value : nullptr;
    for (Record *record : {handle.block, handle.value}) {
        if (record) {
            record->handles.push_back(&handle);
        }
    }
}

void detach(Handle &handle) {
    for (Record *record : {handle.block, handle.value}) {
        if (record) {
            auto &its = record->handles;
            its.erase(std::find(its.begin(), its.end(), &handle));
        }
    }
    handle.block = handle.value = nullptr;
}

const char *nameOf(const Handle &handle) {
    return handle.isDependent() ? "dependent" : handle.isStrong() ? "strong" : handle.isLong() ? "long weak" : "weak";
}

[[noreturn]] void faultOf(const Handle &handle, const char *what) {
    fault("a %s handle (type %d) to a %s (serial %llu) %s", nameOf(handle), handle.type,
          handle.block ? oracle::nameOf(handle.block->kind) : "nothing",
          static_cast<unsigned long long>(handle.block ? handle.block->serial : 0), what);
}

void expectBlock(const Handle &handle, const void *block) {
    if (mprGetHandle(handle.number) != block) {
        faultOf(handle, "does not refer to what it was set to");
    }
}

} // namespace

bool Handle::isStrong() const {
    switch (type) {
    case MPR_HANDLE_STRONG:
    case MPR_HANDLE_PINNED:
    case MPR_HANDLE_ASYNC_PINNED:
    case MPR_HANDLE_SIZED: return true;
    case MPR_HANDLE_VARIABLE: return extra == MPR_HANDLE_STRONG;
    case MPR_HANDLE_REFCOUNTED: return extra > 0;
    default: return false;
    }
}

bool Handle::isLong() const {
    return type == MPR_HANDLE_WEAK_LONG || (type == MPR_HANDLE_VARIABLE && extra == MPR_HANDLE_WEAK_LONG);
}

Handles::~Handles() {
    for (Handle *handle : all) {
        delete handle;
    }
}

Handle *Handles::create(const Handle &what, int owner) {
    const std::lock_guard guard(handleLock);
    void *const extra = what.isDependent() ? ptrOf(what.value) : reinterpret_cast<void *>(what.extra);
    const MprHandle number = owner == 0 && !extra ? mprCreateHandle(what.type, ptrOf(what.block))
                                                  : mprCreateHandleFor(what.type, ptrOf(what.block), extra, owner);
    if (number == 0) {
        return nullptr;
    }
    auto handle = new Handle(what);
    handle->number = number;
    handle->at = all.size();
    all.push_back(handle);
    attach(*handle, what.block, what.value);
    expectBlock(*handle, ptrOf(what.block));
    return handle;
}

Handle *Handles::duplicate(const Handle &handle) {
    const std::lock_guard guard(handleLock);
    const MprHandle number = mprDuplicateHandle(handle.number);
    if (number == 0) {
        return nullptr;
    }
    auto made = new Handle(handle);
    made->number = number;
    made->at = all.size();
    all.push_back(made);
    void *const block = mprGetHandle(number);
    if (block && block != ptrOf(handle.block)) {
        faultOf(handle, "was duplicated, and the other one refers to something else");
    }
    attach(*made, block ? handle.block : nullptr, handle.value);
    return made;
}

void Handles::destroy(Handle &handle, bool elsewhere) {
    const std::lock_guard guard(handleLock);
    detach(handle);
    if (elsewhere) {
        mprSetHandle(handle.number, nullptr);
        abandoned.push_back(handle.number);
    } else if (mprDestroyHandle(handle.number) != 0) {
        fault("mprDestroyHandle refuses a handle of type %d", handle.type);
    }
    all[handle.at] = all.back();
    all[handle.at]->at = handle.at;
    all.pop_back();
    delete &handle;
}

void Handles::set(Handle &handle, Record *block) {
    const std::lock_guard guard(handleLock);
    if (mprSetHandle(handle.number, ptrOf(block)) != 0) {
        faultOf(handle, "cannot be set");
    }
    expectBlock(handle, ptrOf(block));
    // A dependent handle that had lost its key, or that gets none, has no value; else the value stays.
    Record *value = handle.isDependent() && mprGetHandleValue(handle.number) ? handle.value : nullptr;
    detach(handle);
    attach(handle, block, value);
}

void Handles::exchange(Handle &handle, Record *block, Record *expected) {
    const std::lock_guard guard(handleLock);
    const void *const before = mprGetHandle(handle.number);
    if (before && before != ptrOf(handle.block)) {
        faultOf(handle, "refers to something else");
    }
    const bool sets = before == ptrOf(expected);
    const bool done = expected
                          ? mprCompareExchangeHandle(handle.number, ptrOf(block), ptrOf(expected)) == ptrOf(expected)
                          : mprSetHandleIfNull(handle.number, ptrOf(block));
    if (done != sets) {
        faultOf(handle, "was exchanged, or was not, against what it referred to");
    }
    expectBlock(handle, sets ? ptrOf(block) : before);
    if (!before && !sets) {
        detach(handle); // it had lost its block; whoever changes it ends what managers see
    } else if (sets) {
        Record *value = handle.isDependent() && mprGetHandleValue(handle.number) ? handle.value : nullptr;
        detach(handle);
        attach(handle, block, value);
    }
}

void Handles::setValue(Handle &handle, Record *value) {
    const std::lock_guard guard(handleLock);
    const bool hasKey = mprGetHandle(handle.number) != nullptr;
    const int result = mprSetHandleValue(handle.number, ptrOf(value));
    if (result != (hasKey ? 0 : MPR_ERR_BAD_STATE)) {
        faultOf(handle, "takes a value without a key, or none with one");
    }
    if (hasKey) {
        Record *const block = handle.block;
        detach(handle);
        attach(handle, block, value);
    }
}

void Handles::change(Handle &handle, intptr_t extra) {
    const std::lock_guard guard(handleLock);
    if (handle.type == MPR_HANDLE_REFCOUNTED) {
        if (mprAddHandleCount(handle.number, extra - handle.extra) != extra) {
            faultOf(handle, "counts wrongly");
        }
    } else if (mprSetHandleExtra(handle.number, reinterpret_cast<void *>(extra)) != 0) {
        faultOf(handle, "does not take a further word");
    }
    handle.extra = extra;
    if (!mprGetHandle(handle.number)) { // it had lost its block; a manager does not find it any more, either
        detach(handle);
    }
}

Record *Handles::follow(const Handle &handle) const {
    const void *const block = mprGetHandle(handle.number);
    if (!block && handle.block && handle.isStrong()) {
        faultOf(handle, "has lost it");
    }
    if (block && block != ptrOf(handle.block)) {
        faultOf(handle, "refers to something else");
    }
    if (block) {
        lookAt(*handle.block, false);
    }
    return block ? handle.block : nullptr;
}

Record *Handles::followValue(const Handle &handle) const {
    const void *const value = mprGetHandleValue(handle.number);
    if (value && value != ptrOf(handle.value)) {
        faultOf(handle, "has another value");
    }
    if (value) {
        lookAt(*handle.value, false);
    }
    return value ? handle.value : nullptr;
}

void Handles::expectMoved(const Record &record) const {
    for (const Handle *handle : record.handles) {
        if (handle->block == &record) {
            expectBlock(*handle, record.ptr);
        } else if (followValue(*handle) != &record && mprGetHandle(handle->number)) {
            faultOf(*handle, "has lost its value, which has moved");
        }
    }
}

/* ---- At rest ---- */

void Handles::checkOne(const Handle &handle, bool alive) const {
    const void *const block = mprGetHandle(handle.number);
    if (block ? block != ptrOf(handle.block) : alive) {
        faultOf(handle, block ? "refers to something else" : "has lost it, and it is alive");
    }
    if (block && handle.block->freed > 0) {
        faultOf(handle, "refers to it, and its manager was called");
    }
    if (handle.isDependent()) {
        const void *const value = mprGetHandleValue(handle.number);
        if (value != (block ? ptrOf(handle.value) : nullptr)) {
            faultOf(handle, value ? "has another value" : "has lost its value");
        }
    }
    if (mprGetHandleType(handle.number) != handle.type) {
        faultOf(handle, "has another type");
    }
}

void Handles::check(uint32_t visit) const {
    for (const Handle *handle : all) {
        checkOne(*handle, handle->block && (handle->block->visit == visit || handle->block->held > 0));
    }
}

bool Handles::areCleared(uint32_t visit, bool report) const {
    bool cleared = true;
    for (const Handle *handle : all) {
        const Record *block = handle->block;
        if (block && block->visit != visit && block->held == 0 && mprGetHandle(handle->number)) {
            cleared = false;
            if (report) {
                faultOf(*handle, "was never cleared, and it is dead");
            }
        }
    }
    return cleared;
}

void forgetHandles(Record &record) {
    const std::lock_guard guard(handleLock);
    while (!record.handles.empty()) {
        Handle &handle = *record.handles.back();
        const bool isKey = handle.block == &record;
        if (isKey ? mprGetHandle(handle.number) != nullptr
                  : mprGetHandleValue(handle.number) == record.ptr && record.ptr) {
            faultOf(handle, isKey ? "still refers to it, and it is gone" : "still has its value, and that is gone");
        }
        Record *const block = handle.block;
        detach(handle);
        attach(handle, isKey ? nullptr : block, nullptr);
    }
}

bool hasStrongHandle(const Record &record) {
    return std::any_of(record.handles.begin(), record.handles.end(),
                       [&](const Handle *handle) { return handle->block == &record && handle->isStrong(); });
}

void lookAtHandles(const Record &record, bool ending) {
    const std::lock_guard guard(handleLock);
    for (const Handle *handle : record.handles) {
        if (handle->block != &record) {
            continue;
        }
        if (handle->isStrong()) {
            if (!ending) {
                fault("MPR_MANAGE_FREE for a %s that a strong handle refers to", oracle::nameOf(record.kind));
            }
            continue;
        }
        const void *const block = mprGetHandle(handle->number);
        if (block != (handle->isLong() ? record.ptr : nullptr)) {
            faultOf(*handle, block ? "still refers to it while its manager runs"
                                   : "does not give it to its manager in MPR_MANAGE_FREE");
        }
    }
}

void destroyAbandoned() {
    MprHandle number = 0;
    {
        const std::lock_guard guard(handleLock);
        if (abandoned.empty()) {
            return;
        }
        number = abandoned.back();
        abandoned.pop_back();
    }
    if (mprDestroyHandle(number) != 0) {
        fault("mprDestroyHandle refuses a handle that its owner has given up");
    }
}

void forgetAbandoned() {
    const std::lock_guard guard(handleLock);
    abandoned.clear();
}

/* ---- Blocks that say what they are ---- */

namespace {
struct Label {
    uint64_t seed;
    size_t size;
    uint64_t check;
};
uint64_t checkOf(const Label &label) {
    return Random(label.seed ^ label.size).next();
}
} // namespace

void *makeLabelled(Random &random) {
    const size_t size = sizeof(Label) + random.below(random.chance(95) ? 200 : 20000);
    void *const ptr = mprAlloc(size);
    if (ptr) {
        Label label{random.next(), size, 0};
        label.check = checkOf(label);
        test::fill(ptr, size, label.seed, sizeof(Label));
        memcpy(ptr, &label, sizeof(label));
    }
    return ptr;
}

void lookAtLabelled(const void *ptr, const char *where) {
    if (!ptr) {
        return;
    }
    Label label;
    if (!mprIsValid(ptr)) {
        fault("what %s is no block", where);
    }
    memcpy(&label, ptr, sizeof(label));
    if (label.check != checkOf(label) || mprGetBlockSize(ptr) < label.size ||
        !test::filled(ptr, label.size, label.seed, sizeof(Label))) {
        fault("what %s has been overwritten", where);
    }
}

/* ---- Contest ---- */

void Contest::open(void *key) {
    constexpr int types[] = {MPR_HANDLE_WEAK_SHORT, MPR_HANDLE_WEAK_LONG, MPR_HANDLE_STRONG, MPR_HANDLE_DEPENDENT};
    for (size_t i = 0; i < count; i++) {
        const int type = types[i % 4];
        handles[i] = mprCreateHandle(type, type == MPR_HANDLE_DEPENDENT ? key : nullptr);
    }
}

void Contest::stepValue(MprHandle handle, Random &random) const {
    lookAtLabelled(mprGetHandleValue(handle), "a handle that all threads use has as its value");
    if (random.chance(50)) {
        mprSetHandleValue(handle, random.chance(90) ? makeLabelled(random) : nullptr);
    }
}

void Contest::step(Random &random) {
    const size_t i = random.below(count);
    const MprHandle handle = handles[i];
    if (handle == 0) {
        return;
    }
    if (i % 4 == 3) {
        return stepValue(handle, random);
    }
    const char *const where = "a handle that all threads use refers to";
    void *const seen = mprGetHandle(handle);
    lookAtLabelled(seen, where);
    void *const made = random.chance(60) ? makeLabelled(random) : nullptr;
    switch (random.below(4)) {
    case 0: mprSetHandle(handle, made); break;
    case 1: lookAtLabelled(mprCompareExchangeHandle(handle, made, seen), where); break;
    case 2: mprSetHandleIfNull(handle, made); break;
    default: lookAtLabelled(mprGetHandle(handle), where); break;
    }
    lookAtLabelled(seen, where); // it is there until this thread yields, whatever others do
}

void Contest::close() {
    for (MprHandle &handle : handles) {
        mprDestroyHandle(handle);
        handle = 0;
    }
}

} // namespace oracle
