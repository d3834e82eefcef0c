// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/trespass.hpp - Calls that the runtime must refuse: by threads in the wrong state, and with pointers
    that are none of its blocks.

    Each is entered in the ledger, must return what it returns for a failure, and must change nothing; that nothing has
    changed is seen when the heap is compared with the reference.
 */
#pragma once

#include "test/stress/oracle/record.hpp"

namespace oracle {

/* The states of threads in which calls are refused. */
enum Standing : unsigned { foreign = 1, yielded = 2, exempt = 4, marking = 8, notified = 16, forked = 32 };

/* What wrong calls are made with: all of it is alive and stays so. */
struct Targets {
    void *leaf = nullptr; /* Neither held nor a root */
    size_t size = 0;      /* Of the leaf */
    void *node = nullptr; /* Room for a manager, references written by mprSetRefs only */
    void **field = nullptr;
    void *permanent = nullptr;
};

/* Make some of the calls that are refused in a state. The calling thread is in it. */
void trespass(Standing standing, const Targets &targets, uint64_t seed, size_t count);

/* Make some wrong calls with what is no block, or not the right kind. The calling thread runs. */
void pointWrongly(const Targets &targets, uint64_t seed, size_t count);

/* A leaf is freed, and then freed again, and so on. Nobody else may allocate meanwhile. */
void useDead(void *leaf, uint64_t seed);

/* In MPR_MANAGE_FREE, on the collector's thread. */
void trespassInFree();

/* ---- Errands: somebody else is to call ---- */

/* The next manager that marks, on whatever thread. @return false when another errand waits. */
bool sendIntoMark(const Targets &targets, uint64_t seed);
void marks(); /* A manager marks */
/* Take an errand back, or wait until it is done. */
void recallErrand();

/* The notifier, called by an allocation that can never be served. */
void sendIntoNotifier(const Targets &targets, uint64_t seed);
/* @return Whether the notifier was called for an errand, which is done. */
bool isNotifiedForErrand();

/* Managers call wrongly in MPR_MANAGE_FREE, too. */
void setManagersTrespass(bool on);
bool doManagersTrespass();

} // namespace oracle
