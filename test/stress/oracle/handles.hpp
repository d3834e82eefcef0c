// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/handles.hpp - Handles of a graph, and what each of them must refer to.

    Strong handles are roots of the reference. A weak one must refer to its block while that is alive, and to nothing when
    complete collections have found it dead; in between either is right. A manager that is called with MPR_MANAGE_FREE finds
    its block by long weak handles, and no longer by others.

    Only the thread that has the graph changes them. Managers, on the collector's thread, look at those of their block.
 */
#pragma once

#include "test/stress/oracle/record.hpp"

#include <vector>

#include "mpr/handle.h"

namespace oracle {

struct Handle {
    MprHandle number = 0;
    int type = MPR_HANDLE_WEAK_SHORT;
    intptr_t extra = 0; /* A variable one's type, a count, or the program's */
    Record *block = nullptr;
    Record *value = nullptr; /* Of a dependent handle */
    size_t at = 0;           /* Among the graph's */

    bool isStrong() const;
    bool isLong() const;
    bool isDependent() const { return type == MPR_HANDLE_DEPENDENT; }
};

class Handles {
public:
    Handles() = default;
    ~Handles();
    Handles(const Handles &) = delete;
    Handles &operator=(const Handles &) = delete;

    /* @param what Type, further word, block and value. @return NULL when there is no memory. */
    Handle *create(const Handle &what, int owner);
    Handle *duplicate(const Handle &handle);
    /* @param elsewhere It refers to nothing more, and some thread destroys it some time: destroyAbandoned. */
    void destroy(Handle &handle, bool elsewhere);
    void set(Handle &handle, Record *block);
    /* By mprCompareExchangeHandle or mprSetHandleIfNull; with what is expected, or with something else. */
    void exchange(Handle &handle, Record *block, Record *expected);
    void setValue(Handle &handle, Record *value);
    /* The further word of a variable or counted handle. */
    void change(Handle &handle, intptr_t extra);
    /* What a handle refers to, which lives until the calling thread yields; NULL. */
    Record *follow(const Handle &handle) const;
    Record *followValue(const Handle &handle) const;

    /* A block has moved. */
    void expectMoved(const Record &record) const;

    /* ---- At rest ---- */
    /* Fault unless each refers to what it must. @param visit Of the trace that has reached what is alive. */
    void check(uint32_t visit) const;
    /* Whether those to dead blocks are cleared. @param report Fault if not. */
    bool areCleared(uint32_t visit, bool report) const;

    std::vector<Handle *> all;

private:
    void checkOne(const Handle &handle, bool alive) const;
};

/* A block has been freed by hand, or is known to be gone: nothing may refer to it any more. */
void forgetHandles(Record &record);
/* Whether a strong handle refers to it. */
bool hasStrongHandle(const Record &record);
/* In MPR_MANAGE_FREE for a block. @param ending Of the runtime, when blocks die that strong handles refer to. */
void lookAtHandles(const Record &record, bool ending);

/* Handles that their graph has given up. An attached thread in any state. */
void destroyAbandoned();
/* The runtime has ended. */
void forgetAbandoned();

/* Handles that all threads use at once, without a lock. What they refer to says what its contents are. */
class Contest {
public:
    /* @param key A block that lives as long as the runtime, or NULL. */
    void open(void *key);
    void step(Random &random);
    void close();

private:
    static constexpr size_t count = 12;
    void stepValue(MprHandle handle, Random &random) const;

    MprHandle handles[count] = {};
};

/* A leaf that says what its contents are; NULL without memory. Fault unless it is one. */
void *makeLabelled(Random &random);
void lookAtLabelled(const void *ptr, const char *where);

} // namespace oracle
