/*
    test/stress/oracle/sabotage.cpp - Deeds that a runtime without faults cannot have done: what the oracle must notice.
 */
#include "test/stress/oracle/sabotage.hpp"

#include "test/stress/oracle/objects.hpp"

namespace oracle {

namespace {

Record *makePlain(Graph &graph, Random &random) {
    return graph.make({Kind::plain, 100, 2, false}, random);
}

/* A block that only a hold keeps, and the hold is gone. */
void loseHold(Graph &graph, Random &random) {
    if (Record *record = graph.make({Kind::plain, 40, 0, true}, random)) {
        mprRelease(record->ptr);
    }
}

void loseRoot(Graph &graph, Random &random) {
    if (Record *record = makePlain(graph, random)) {
        graph.addRoot(*record);
        mprRemoveRoot(record->ptr);
    }
}

void change(Graph &graph, Random &random) {
    if (Record *record = makePlain(graph, random)) {
        graph.addRoot(*record);
        static_cast<unsigned char *>(record->ptr)[record->size - 1] ^= 1;
    }
}

void changeReference(Graph &graph, Random &random) {
    if (Record *record = makePlain(graph, random)) {
        graph.addRoot(*record);
        static_cast<Head *>(record->ptr)->fields()[1] = record->ptr;
    }
}

void callTwice(Graph &graph, Random &random) {
    if (Record *record = makePlain(graph, random)) {
        freed(record->ptr); // and by the collector again
    }
}

/* The reference does not know of its root. */
void neverCall(Graph &graph, Random &random) {
    if (Record *record = makePlain(graph, random)) {
        mprAddRoot(record->ptr);
    }
}

} // namespace

const Sabotage sabotages[] = {
    {"hold", loseHold, "MPR_MANAGE_FREE for a plain that is held"},
    {"root", loseRoot, "MPR_MANAGE_FREE for a plain that is a root"},
    {"contents", change, "the contents of a plain that is alive are overwritten"},
    {"reference", changeReference, "reference 1 of 2 of a plain that is alive is not what was stored"},
    {"twice", callTwice, "MPR_MANAGE_FREE twice for one plain"},
    {"never", neverCall, "MPR_MANAGE_FREE was never called for a plain that is dead"},
};
const size_t sabotageCount = std::size(sabotages);

} // namespace oracle
