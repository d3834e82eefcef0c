// SPDX-License-Identifier: MIT
/*
    embed_hooks.hpp - What a pause has to ask of a program that embeds the runtime: mpr/embed.h.

    mprSetEmbedder puts these into Roots; without threads it has what handles do in a collection call them. Until then
    there is nothing to call, and a static link without mpr/embed.h has none of the code behind it.
 */
#pragma once

#include "mpr/gc/handle_hooks.hpp"

namespace mpr::gc {

struct EmbedHooks {
    /** All attached threads have stopped: have the program stop its own. */
    void (*stop)();
    /** They may go on. */
    void (*resume)();
    /** Have the program mark its roots. Several times in a pause. */
    void (*mark)(Marker& marker, HandleScan scan);
    /** All that can be reached is marked: have the program mark more, and trace that, until nothing is new. */
    void (*close)(Marker& marker, HandleScan scan, const HandleHooks* handles);
    /** It is decided what is dead; nothing is called or swept yet. */
    void (*clear)(HandleScan scan);
    /** The runtime has ended. */
    void (*end)();
};

/** Whether the calling thread is in the callback stop. */
bool isStopping();

/** Without threads: see handle_tracing.hpp. */
struct NoEmbedHooks {
    static const EmbedHooks* load(std::memory_order) { return nullptr; }
    static void store(const EmbedHooks*, std::memory_order) {}
};

} // namespace mpr::gc
