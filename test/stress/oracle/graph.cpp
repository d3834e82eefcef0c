// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/graph.cpp - Operations on heap and records at once, and their comparison.
 */
#include "test/stress/oracle/graph.hpp"

#include "test/stress/oracle/fault.hpp"

#include <string>

namespace oracle {

Graph::Graph(size_t slots, Random &random) {
    constexpr Kind kinds[] = {Kind::plain, Kind::barrier, Kind::barrier, Kind::noFree, Kind::table, Kind::vector};
    table = make({kinds[random.below(6)], 0, slots, false}, random);
    if (table && table->refs.size() == slots) {
        table->stands = true;
        random.chance(50) ? addRoot(*table) : static_cast<void>(addReference(table));
    } else {
        table = nullptr;
    }
}

Graph::~Graph() {
    for (Reference *reference : references) {
        delete reference;
    }
}

Record *Graph::make(const Shape &shape, Random &random) {
    Record *record = records.take();
    if (!allocate(*record, shape, random)) {
        records.give(record);
        return nullptr;
    }
    record->eager = random.chance(3);
    if (record->held) {
        record->wasHeld = true;
        holds.push_back(record);
    }
    return record;
}

Record *Graph::pick(Random &random) {
    Record *record = table->refs[random.below(slots())];
    for (size_t steps = random.below(4); record && steps > 0 && !record->refs.empty(); steps--) {
        Record *next = record->refs[random.below(record->refs.size())];
        record = next ? next : record;
    }
    if (record) {
        lookAt(*record, false);
    }
    return record;
}

Record *Graph::pickLonely(Random &random, size_t &slot) {
    for (int tries = 0; tries < 4; tries++) {
        slot = random.below(slots());
        Record *record = table->refs[slot];
        if (record && record->in == 1 && record->rooted == 0 && !record->mapped) {
            lookAt(*record, true);
            return record;
        }
    }
    return nullptr;
}

void Graph::set(Record &owner, size_t at, Record *target, Random &random, bool fresh) {
    if (!storeField(owner, at, target ? target->ptr : nullptr, random, fresh)) {
        return; // without memory to grow
    }
    Record *&ref = owner.refs[at];
    if (target) {
        target->in++;
        target->mapped |= refersElsewhere(owner.kind);
    }
    if (ref) {
        ref->in--;
    }
    ref = target;
}

void Graph::shift(Record &owner, size_t to, size_t from, size_t count) {
    auto fields = static_cast<Head *>(owner.ptr)->fields();
    mprSetRefs(owner.ptr, fields + to, fields + from, count);
    const std::vector<Record *> moved(owner.refs.begin() + static_cast<ptrdiff_t>(from),
                                      owner.refs.begin() + static_cast<ptrdiff_t>(from + count));
    for (size_t i = 0; i < count; i++) {
        Record *&ref = owner.refs[to + i];
        if (moved[i]) {
            moved[i]->in++;
        }
        if (ref) {
            ref->in--;
        }
        ref = moved[i];
    }
}

bool Graph::resize(Record &record, size_t count) {
    if (!resizeRow(record, count)) {
        return false;
    }
    for (size_t at = count; at < record.refs.size(); at++) {
        if (record.refs[at]) {
            record.refs[at]->in--;
        }
    }
    record.refs.resize(count, nullptr);
    return true;
}

void Graph::put(Record *record, Random &random) {
    if (record) {
        set(*table, random.below(slots()), record, random);
    }
}

void Graph::freeByHand(Record &record) {
    if (mprFree(record.ptr) != 0) {
        fault("mprFree refuses a %s", nameOf(record.kind));
    }
    if (callsFree(record.kind) && record.freed != 1) {
        fault("mprFree of a %s called its manager %d times", nameOf(record.kind), record.freed.load());
    }
    forgetHandles(record);
    unlink(record);
    records.give(&record);
}

void Graph::resizeBlock(Record &record, size_t slot, size_t size, Random &random) {
    set(*table, slot, nullptr, random); // it may move: no other reference may exist
    const size_t least = inOneBlock(record.kind) ? sizeof(Head) + record.refs.size() * sizeof(void *) : 0;
    size = size < least ? least : size;
    if (void *ptr = mprRealloc(record.ptr, size)) {
        const size_t kept = size < record.size ? size : record.size;
        record.ptr = ptr;
        if (!mprIsValid(ptr) || mprGetBlockSize(ptr) < size || (withHead(record.kind) && !headIntact(ptr, record)) ||
            !patternIntact(record, kept)) {
            fault("mprRealloc of a %s from %zu to %zu bytes lost it", nameOf(record.kind), record.size, size);
        }
        record.size = size;
        fillPattern(record);
        handles.expectMoved(record);
    }
    set(*table, slot, &record, random);
}

void Graph::addRoot(Record &record) {
    mprAddRoot(record.ptr);
    record.rooted++;
    roots.push_back(&record);
}

void Graph::removeRoot(size_t at) {
    Record &record = *roots[at];
    lookAt(record, true);
    mprRemoveRoot(record.ptr);
    record.rooted--;
    roots[at] = roots.back();
    roots.pop_back();
}

void Graph::hold(Record &record) {
    record.wasHeld = true;
    mprHold(record.ptr);
    record.held++;
    holds.push_back(&record);
}

void Graph::release(size_t at) {
    Record &record = *holds[at];
    lookAt(record, false);
    mprRelease(record.ptr);
    record.held--;
    holds[at] = holds.back();
    holds.pop_back();
}

Reference &Graph::addReference(Record *record) {
    auto reference = new Reference;
    references.push_back(reference);
    setReference(*reference, record);
    mprLinkRootRef(&reference->ref);
    return *reference;
}

void Graph::setReference(Reference &reference, Record *record) {
    if (record) {
        record->in++;
    }
    if (reference.record) {
        reference.record->in--;
    }
    reference.record = record;
    mprPublish(record ? record->ptr : nullptr);
    reference.ref.ptr = record ? record->ptr : nullptr;
}

void Graph::removeReference(size_t at) {
    Reference *reference = references[at];
    mprUnlinkRootRef(&reference->ref);
    setReference(*reference, nullptr);
    delete reference;
    references[at] = references.back();
    references.pop_back();
}

void Graph::keep(Record *record) {
    const std::string name = "graph " + std::to_string(reinterpret_cast<uintptr_t>(this));
    mprSetKey(name.c_str(), record ? record->ptr : nullptr);
    if (mprGetKey(name.c_str()) != (record ? record->ptr : nullptr)) {
        return; // without memory for an entry; the next collections tell whether the old one is still there
    }
    if (record) {
        record->in++;
        record->mapped = true;
    }
    if (kept) {
        kept->in--;
    }
    kept = record;
}

/* It is gone: it refers to nothing any more. */
void Graph::unlink(Record &record) {
    for (Record *target : record.refs) {
        if (target) {
            target->in--;
        }
    }
    record.refs.assign(record.refs.size(), nullptr);
}

void Graph::reach(Record *record) {
    if (record && record->visit != visit) {
        record->visit = visit;
        stack.push_back(record);
    }
}

void Graph::trace() {
    visit++;
    for (Record *root : roots) {
        reach(root);
    }
    for (Reference *reference : references) {
        reach(reference->record);
    }
    reach(kept);
    for (const Handle *handle : handles.all) {
        if (handle->isStrong()) {
            reach(handle->block);
        } else if (handle->isDependent() && handle->block && handle->block->held > 0) {
            reach(handle->value);
        }
    }
    reachAll();
}

void Graph::reachAll() {
    while (!stack.empty()) {
        Record *record = stack.back();
        stack.pop_back();
        for (Record *target : record->refs) {
            reach(target);
        }
        for (const Handle *handle : record->handles) {
            if (handle->block == record && handle->isDependent()) {
                reach(handle->value);
            }
        }
    }
}

void Graph::check() {
    trace();
    records.forEach([&](Record &record) {
        if (record.visit == visit) {
            lookAt(record, true);
        } else if (record.held > 0) {
            lookAt(record, false);
        }
    });
    handles.check(visit);
}

bool Graph::settled(bool report) {
    trace();
    bool all = handles.areCleared(visit, report);
    records.forEach([&](Record &record) {
        if (record.visit != visit && record.held == 0 && callsFree(record.kind) && record.freed == 0) {
            all = false;
            if (report) {
                fault("MPR_MANAGE_FREE was never called for a %s that is dead (of %zu bytes at %p)",
                      nameOf(record.kind), record.size, record.ptr);
            }
        }
    });
    if (all) {
        forget();
    }
    return all;
}

void Graph::forget() {
    records.forEach([&](Record &record) {
        if (record.visit != visit) {
            unlink(record); // also what is only held: what it refers to is gone, and nobody will look
        }
    });
    records.forEach([&](Record &record) {
        if (record.visit != visit) {
            if (record.held == 0) {
                forgetHandles(record);
                records.give(&record);
            } else {
                record.dangling = true;
            }
        }
    });
}

void Graph::checkEnd() {
    records.forEach([&](Record &record) {
        if (callsFree(record.kind) && record.freed != 1) {
            fault("at the end of the runtime MPR_MANAGE_FREE has been called %d times for a %s", record.freed.load(),
                  nameOf(record.kind));
        }
    });
}

} // namespace oracle
