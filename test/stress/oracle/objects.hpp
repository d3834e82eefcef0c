// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/objects.hpp - The types of blocks that are more than a head with references behind it. Only for
    blocks.cpp and managers.cpp.
 */
#pragma once

#include "mpr.hpp"
#include "test/stress/oracle/record.hpp"

#include <vector>

namespace oracle {

struct Any; /* Members refer to blocks of all kinds */
using Field = mpr::Member<Any>;
using Map = mpr::HashMap<uint64_t, Any>;

/* MPR_MANAGE_FREE for a block that begins with a head, and for an array whose first element names the record. */
void freed(void *ptr);
void freedElements(Record &record, uint64_t serial, const void *ptr);

/* One of the managers that serve a kind of block. */
MprManager managerOf(Kind kind, Random &random);

/* A block with a row in memory from malloc. */
struct Table {
    Head head;
    void **row;
    size_t count;
};

template <class Vector>
struct Object {
    Head head;
    Vector row;

    explicit Object(Record &record) noexcept { setHead(this, record, 0); }
    ~Object() { freed(this); }
    void trace(mpr::Marker &marker) { marker(row); }
};
using VectorObject = Object<std::vector<Field>>;
using PmrObject = Object<std::vector<Field, mpr::HeldAllocator<Field>>>;

/* One of an array; the first knows the array's record. */
struct Element {
    Field field;
    Record *record = nullptr;
    uint64_t serial = 0;

    ~Element() {
        if (record) {
            freedElements(*record, serial, this);
        }
    }
    void trace(mpr::Marker &marker) { marker(field); }
};

} // namespace oracle
