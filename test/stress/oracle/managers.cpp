// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/managers.cpp - Managers: they mark, and they compare a block that is freed with its record.
 */
#include "test/stress/oracle/blocks.hpp"

#include "mpr.h"
#include "test/stress/oracle/fault.hpp"
#include "test/stress/oracle/handles.hpp"
#include "test/stress/oracle/objects.hpp"
#include "test/stress/oracle/signals.hpp"
#include "test/stress/oracle/trespass.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace oracle {

namespace {

std::atomic<bool> ending;
std::mutex managerLock;

/* What a manager may do in MPR_MANAGE_FREE. */
void beEager() {
    std::lock_guard guard(managerLock);
    void *made = mprAlloc(40);
    void *kept = palloc(24);
    if (made) {
        memset(made, 0x77, 40);
        mprFree(made);
    }
    mprAlloc(100);
    pfree(kept);
}

/* What a block that dies refers to can still be read, and is whole. */
void lookAtTargets(const Record &record) {
    size_t left = 64;
    for (const Record *target : record.refs) {
        if (target && withHead(target->kind) && !headIntact(target->ptr, *target)) {
            fault("a block of kind %s is gone while the manager of a %s that refers to it runs", nameOf(target->kind),
                  nameOf(record.kind));
        }
        if (--left == 0) {
            break;
        }
    }
}

/* MPR_MANAGE_FREE for a block. */
void called(Record &record, const void *ptr) {
    const char *kind = nameOf(record.kind);
    if (record.ptr != ptr) {
        fault("MPR_MANAGE_FREE for a %s at %p that moved to %p", kind, ptr, record.ptr);
    }
    if (record.freed > 0) {
        fault("MPR_MANAGE_FREE twice for one %s (serial %llu)", kind, static_cast<unsigned long long>(record.serial));
    }
    if (!ending && record.rooted > 0) {
        fault("MPR_MANAGE_FREE for a %s that is a root", kind);
    }
    if (!ending && record.held > 0) {
        fault("MPR_MANAGE_FREE for a %s that is held", kind);
    }
    if (withPattern(record.kind) && !patternIntact(record, record.size)) {
        fault("MPR_MANAGE_FREE for a %s whose contents are not its own", kind);
    }
    if (!record.wasHeld) {
        lookAtTargets(record);
    }
    lookAtHandles(record, ending);
    const bool eager = record.eager;
    if (record.freed++ != 0) {
        fault("MPR_MANAGE_FREE twice at a time for one %s", kind);
    }
    if (eager) {
        beEager();
    }
    if (eager && doManagersTrespass() && !ending && !isProgramThread()) {
        trespassInFree();
    }
}

/* MPR_MANAGE_MARK: the block may be in the midst of being freed by hand. */
Head &headToMark(void *ptr) {
    marks();
    if (!headSane(ptr)) {
        fault("MPR_MANAGE_MARK for a block at %p that has been overwritten", ptr);
    }
    return *static_cast<Head *>(ptr);
}

void managePlain(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        Head &head = headToMark(ptr);
        for (uint32_t i = 0; i < head.count; i++) {
            mprMark(head.fields()[i]);
        }
    }
    if (flags & MPR_MANAGE_FREE) {
        freed(ptr);
    }
}

void manageRow(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        Head &head = headToMark(ptr);
        mprMarkRefs(head.fields(), head.count);
    }
    if (flags & MPR_MANAGE_FREE) {
        freed(ptr);
    }
}

void manageFields(void *ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        Head &head = headToMark(ptr);
        for (uint32_t i = 0; i < head.count; i++) {
            mprMarkRef(head.fields() + i);
        }
    }
    if (flags & MPR_MANAGE_FREE) {
        freed(ptr);
    }
}

/* Without MPR_MANAGE_FREE: called with it all the same by mprFree perhaps, and that is fine. */
void manageNoFree(void *ptr, int flags) {
    manageRow(ptr, flags & MPR_MANAGE_MARK);
}

void manageTable(void *ptr, int flags) {
    auto table = static_cast<Table *>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        headToMark(ptr);
        mprMarkRefs(table->row, table->count);
    }
    if (flags & MPR_MANAGE_FREE) {
        freed(ptr);
        free(table->row);
    }
}

} // namespace

void freed(void *ptr) {
    Record *record = recordOf(ptr);
    if (!record) {
        fault("MPR_MANAGE_FREE for a block at %p that is no block of this program any more", ptr);
    }
    called(*record, ptr);
}

void freedElements(Record &record, uint64_t serial, const void *ptr) {
    if (record.serial != serial) {
        fault("the destructor of an element of an array that was destroyed before");
    }
    called(record, ptr);
}

MprManager managerOf(Kind kind, Random &random) {
    switch (kind) {
    case Kind::plain: return random.chance(50) ? managePlain : manageRow;
    case Kind::barrier: return random.chance(50) ? manageFields : manageRow;
    case Kind::table: return manageTable;
    default: return manageNoFree;
    }
}

void setEnding(bool on) {
    ending = on;
}

void lockAsManagersDo() {
    std::lock_guard guard(managerLock);
}

void whileNoManagerAllocates(const std::function<void()> &f) {
    std::lock_guard guard(managerLock);
    f();
}

} // namespace oracle
