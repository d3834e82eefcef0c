// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/ledger.cpp - A fixed table without locks: entries are made in managers that mark and in children of
    fork, where nobody may wait.
 */
#include "test/stress/oracle/ledger.hpp"

#include "test/stress/oracle/fault.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace oracle {

namespace {

/* So many wrong calls of a runtime must be named, whatever the others are; the log's bound is a little higher. */
constexpr uint64_t surelyNamed = 20;

constexpr const char *functions[] = {
    "mprAlloc",
    "mprAllocZeroed",
    "mprAllocMem",
    "mprRealloc",
    "mprFree",
    "mprSetManager",
    "mprSetRefs",
    "mprAddRoot",
    "mprRemoveRoot",
    "mprHold",
    "mprRelease",
    "mprLinkRootRef",
    "mprYield",
    "mprResetYield",
    "mprGC",
    "mprEnableGC",
    "mprVerifyHeap",
    "mprDestroy",
    "mprDetachThread",
    "mprAttachThread",
    "mprSetThreadYield",
    "mprSetMemLimits",
    "mprSetMemPolicy",
    "palloc",
    "pfree",
    "prealloc",
    "mprLock",
    "mprTryLock",
    "mprUnlock",
    "mprAddItem",
    "mprCreateEventOutside",
    "mprSetMemNotifier",
    "mprGetHandle",
    "mprSetHandle",
    "mprDestroyHandle",
    "mprCreateHandle",
    "mprSetHandleValue",
    "mprCompareExchangeHandle",
    "mprSetKey",
    "mprNoteChanged",
    "mprAllocPinned",
};
constexpr size_t functionCount = std::size(functions);

struct Entry {
    std::atomic<uint64_t> entered{0}, named{0};
    std::atomic<bool> due{false};
};
Entry entries[functionCount];
std::atomic<uint64_t> total;

/* Named, and no misuse: memory is short, or deadline=1 leaves the other threads 8 ms to stop. */
constexpr const char *failures[] = {": no memory to ", ": no memory for ", "mprVerifyHeap: other threads do not stop"};

bool isFailure(const char *message) {
    return std::any_of(std::begin(failures), std::end(failures),
                       [&](const char *failure) { return strstr(message, failure) != nullptr; });
}

/* The function that a text begins with; NULL: none that can be misused. */
Entry *entryOf(const char *text, size_t length) {
    for (size_t i = 0; i < functionCount; i++) {
        if (strlen(functions[i]) == length && strncmp(functions[i], text, length) == 0) {
            return &entries[i];
        }
    }
    return nullptr;
}

} // namespace

void enterMisuse(const char *function) {
    Entry *entry = entryOf(function, strlen(function));
    if (!entry) {
        fault("the ledger has no line for %s", function);
    }
    entry->entered++;
    if (total++ < surelyNamed) {
        entry->due = true;
    }
}

void noteMessage(const char *message) {
    const size_t length = strcspn(message, ":(");
    Entry *entry = message[length] ? entryOf(message, length) : nullptr;
    if (entry && !isFailure(message)) {
        entry->named++;
    }
}

void openLedger() {
    total = 0;
    continueLedger();
}

void continueLedger() {
    for (Entry &entry : entries) {
        entry.entered = entry.named = 0;
        entry.due = false;
    }
}

std::string disagreement() {
    for (size_t i = 0; i < functionCount; i++) {
        const Entry &entry = entries[i];
        if (entry.due && entry.named == 0) {
            return std::string(functions[i]) + " was misused, and is not named";
        }
        if (entry.named > entry.entered) {
            return std::string(functions[i]) + " is named for a misuse that there was not";
        }
    }
    return "";
}

std::string disagreement(uint64_t counted) {
    if (counted != total) {
        return "the runtime counts " + std::to_string(counted) + " misuses, there were " + std::to_string(total);
    }
    return disagreement();
}

uint64_t misuses() {
    return total;
}

} // namespace oracle
