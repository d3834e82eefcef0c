// SPDX-License-Identifier: MIT
/*
    handle_hooks.hpp - What a collection, a free by hand and the end of a thread have to tell the store of handles.

    The first handle that is created puts these into Roots. Until then there is nothing to call, and a static link
    without mpr/handle.h has none of the code behind it.
 */
#pragma once

#include "mpr/heap/heap.hpp"

namespace mpr::gc {

class Marker;
struct Mutator;

/**
    Which handles are looked at: those that may refer to young blocks, or all; or all, by the marking verifier; or all, at
    the end of the runtime, when every block dies.
 */
enum class HandleScan : unsigned char { young, all, check, end };

struct HandleHooks {
    /** Threads are stopped: mark what strong handles refer to. */
    void (*mark)(Marker& marker, HandleScan scan);
    /**
        Threads are stopped, and all else is marked: mark the values of dependent handles whose keys live, and what those
        lead to. Without threads this does all that a collection has to do for handles, from mark to clear.
     */
    void (*close)(Marker& marker, HandleScan scan);
    /** More was marked after that: mark the values of dependent handles whose keys live now. With threads only. */
    void (*values)(Marker& marker, HandleScan scan);
    /** Threads are stopped, and it is decided what is dead: clear weak handles, before anything is called or swept. */
    void (*clear)(HandleScan scan);
    /** The managers of the dead have returned, threads run, and nothing is swept yet: clear long weak handles. */
    void (*finalized)();
    /** The collection's verifier: note the values of dependent handles whose keys are not dead. */
    void (*see)(Marker& marker);
    /**
        A block is about to be freed by hand: clear weak handles to it, long ones only if it has no manager.
        @return false when a handle keeps it (named).
     */
    bool (*release)(const void* block);
    /** The block's manager has returned: clear long weak handles to it, and whatever the manager has made refer to it. */
    void (*released)(const void* block);
    /** A block has moved: handles refer to the new one. */
    void (*move)(const void* from, void* to);
    /** A thread ends. */
    void (*leave)(Mutator& m);
    /** The runtime has ended. */
    void (*end)();
};

} // namespace mpr::gc
