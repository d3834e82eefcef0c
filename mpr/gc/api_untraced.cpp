// SPDX-License-Identifier: MIT
/*
    api_untraced.cpp - References in C++ objects that have no trace function. It is a separate file so that C programs
    omit it.
 */
#include "mpr/barrier.h"

#include "mpr/gc/runtime.hpp"
#include "mpr/gc/type_name.hpp"
#include "mpr/os/log.hpp"

namespace os = mpr::os;

bool mprNameUntraced(cvoid* objects, size_t size, cchar* type) {
    mpr::heap::Heap& heap = mpr::gc::runtime().heap;
    const auto* words = static_cast<void* const*>(objects);
    for (std::size_t i = 0; i < size / sizeof(void*); ++i) {
        const void* word = __atomic_load_n(words + i, __ATOMIC_RELAXED);
        mpr::heap::Region* region = word && word != objects ? heap.find(word) : nullptr;
        if (region && region->isBlock(word)) {
            os::Message message;
            message
                << "mpr::make<" << mpr::gc::typeIn(type) << ">: object " << objects << " has at offset "
                << i * sizeof(void*) << " the address of block " << word
                << ", but its type has no trace(mpr::Marker&) to keep that alive; an empty one says that it need not";
            os::log(os::Level::warning, message);
            os::afterMistake();
            return true;
        }
    }
    return false;
}
