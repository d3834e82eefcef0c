// SPDX-License-Identifier: MIT
/*
    handle_tracing.hpp - What a collection does with handles: handle_hooks.hpp says when.

    Dependent handles are ephemerons (B. Hayes, "Ephemerons: a New Finalization Mechanism", OOPSLA 1997): a value is
    marked when its key is. When all else is marked, those whose keys are not go into a hash table by key. From then on
    the marker tells of each block that it reaches (Marker::Watch); if the block is a key, its handles leave the table,
    and their values are marked next. So each handle is looked at twice, however long the chains are and whichever way
    they run. The table stands beside the handles in their segments, since a pause cannot rely on memory. Without
    threads, where marking has no room for such calls, all dependent handles are looked at again until nothing is new.
 */
#pragma once

#include "mpr/gc/embed_hooks.hpp"

namespace mpr::gc {

extern const HandleHooks handleHooks;

/** Without threads: what the program that embeds the runtime is asked, at its places; nullptr: there is none. */
extern constinit const EmbedHooks* embedHooks;

/** Whether the calling thread may see a block whose long weak handles are dying: it calls managers of the dead. */
bool isFinalizing();

} // namespace mpr::gc
