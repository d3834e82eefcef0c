/* SPDX-License-Identifier: MIT */
/*
    policy_malloc.h - The policy of malloc and free: whichever library the dynamic linker puts in front.

    A policy is a struct `Alloc` of static functions that a workload is compiled against, so that every call is direct:

      collects          dropping the last reference is enough; else drop() gives the block back
      begin, end        make and end the runtime; begin takes its options
      alloc, drop       a leaf block; give it up
      allocNode         a block of the type that holds references (Node or Pair of work.h)
      dropNode          give such a block up
      allocTable        a rooted table of references, zeroed; dropTable gives it up
      tick              what a service does now and then: a yield point
      attach, detach    around a thread's work
      block, unblock    around a call that waits
      collect           free all garbage now and wait for that
      trim              give free memory back to the system, as far as the allocator can be asked to
      heapBytes         what the allocator believes to have committed; 0: it does not say
 */
#ifndef POLICY_MALLOC_H
#define POLICY_MALLOC_H

#include "bench.h"

#include <dlfcn.h>
#include <malloc.h>

struct Alloc {
    static constexpr bool collects = false;

    static void begin(const char *) {}
    static void end() {}

    static void *alloc(size_t size) { return malloc(size); }
    static void drop(void *ptr) { free(ptr); }

    template <typename T>
    static T *allocNode() {
        return (T *) malloc(sizeof(T));
    }
    static void dropNode(void *ptr) { free(ptr); }

    static void **allocTable(size_t count) { return bench::sideTable<void *>(count); }
    static void dropTable(void **table, size_t count) { bench::freeSideTable(table, count); }

    static void tick() {}
    static void attach() {}
    static void detach() {}
    static void block() {}
    static void unblock() {}
    static void collect() {}
    static size_t heapBytes() { return 0; }

    static void trim() {
        /* Found at run time: the executable is the same for all of them. */
        typedef void (*MiCollect)(bool force);
        typedef int (*Mallctl)(const char *name, void *old, size_t *oldSize, void *fresh, size_t freshSize);
        if (auto collect = (MiCollect) dlsym(RTLD_DEFAULT, "mi_collect")) {
            collect(true);
        } else if (auto control = (Mallctl) dlsym(RTLD_DEFAULT, "mallctl")) {
            control("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
            control("arena.4096.purge", nullptr, nullptr, nullptr, 0); /* 4096 is MALLCTL_ARENAS_ALL */
        } else {
            malloc_trim(0);
        }
    }
};

#endif /* POLICY_MALLOC_H */
