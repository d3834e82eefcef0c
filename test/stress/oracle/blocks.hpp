// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/blocks.hpp - The blocks that programs are made of: how each kind is allocated, where its references
    stand, and what its manager sees to.
 */
#pragma once

#include "test/stress/oracle/record.hpp"

#include <functional>

namespace oracle {

/* What to allocate. */
struct Shape {
    Kind kind = Kind::leaf;
    size_t size = 0;  /* Of contents; raised to what the head needs */
    size_t count = 0; /* References */
    bool hold = false;
};

/* Make a block and its record's contents. @return false when there was no memory. */
bool allocate(Record &record, const Shape &shape, Random &random);

/* A reference as it stands in the block. */
void *loadField(const Record &record, size_t at);

/*
    Store a reference in the manner of the block's kind, not in the record.
    @param fresh The block has not been published: plain stores will do. @return false when there was no memory.
 */
bool storeField(Record &record, size_t at, void *value, Random &random, bool fresh = false);

/* A row of another length in new memory; the old memory is overwritten with what is no block, and freed. */
bool resizeRow(Record &record, size_t count);

/* Set the manager anew, to another one that does the same. */
void changeManager(const Record &record, Random &random);

/* Fault unless the block is there with its contents. @param fields Look at references, too. */
void lookAt(const Record &record, bool fields);

/* A runtime has begun: there is a range for pinned blocks. */
void openRange(Random &random);
/* Pinned blocks for which that range had no room. */
uint64_t rangeShortages();

/* From here on managers of rooted and held blocks may be called: the runtime ends. */
void setEnding(bool on);

/* A lock that managers take in MPR_MANAGE_FREE, and threads that run, too. */
void lockAsManagersDo();

/* Call f while no manager allocates. */
void whileNoManagerAllocates(const std::function<void()> &f);

} // namespace oracle
