// SPDX-License-Identifier: MIT
/*
    mpr.hpp - The C++ API of mpr, all subjects.

    Header-only over the C API (mpr.h), C++20, with or without exceptions and run-time type information. Include this
    header, or one of mpr/cpp/ by subject.

        struct Node {
            int value = 0;
            mpr::Member<Node> next;                               // a reference from managed object to managed object
            void trace(mpr::Marker& marker) { marker(next); }     // says what the object references
        };

        mpr::Runtime runtime;
        mpr::Root<Node> head = mpr::make<Node>();                 // kept, with all it reaches, while head exists
        mpr::yield();                                             // here the collector may work

    The contract is that of the C API: what a thread has just made, or just read from the heap, is safe in plain
    pointers until that thread yields; what is needed after a yield must be reachable from a Root, or Held. A call that
    yields says so in its comment; no other does.
 */
#ifndef MPR_HPP
#define MPR_HPP

#if __cplusplus < 202002L
#error "mpr.hpp is C++20: compile with -std=c++20, or link the CMake target mpr::mpr, which asks for it"
#else

#include "mpr/cpp/detail/c_api.hpp"

#include "mpr/cpp/array.hpp"
#include "mpr/cpp/batch.hpp"
#include "mpr/cpp/collect.hpp"
#include "mpr/cpp/copy.hpp"
#include "mpr/cpp/hash_map.hpp"
#include "mpr/cpp/held.hpp"
#include "mpr/cpp/held_memory.hpp"
#include "mpr/cpp/json.hpp"
#include "mpr/cpp/make.hpp"
#include "mpr/cpp/marker.hpp"
#include "mpr/cpp/member.hpp"
#include "mpr/cpp/pinned.hpp"
#include "mpr/cpp/memory_pressure.hpp"
#include "mpr/cpp/private_heap.hpp"
#include "mpr/cpp/reference_array.hpp"
#include "mpr/cpp/root.hpp"
#include "mpr/cpp/runtime.hpp"
#include "mpr/cpp/text_map.hpp"
#include "mpr/cpp/thread.hpp"
#include "mpr/cpp/walk.hpp"
#include "mpr/cpp/weak.hpp"

#endif
#endif /* MPR_HPP */
