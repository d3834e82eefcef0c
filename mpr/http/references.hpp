// SPDX-License-Identifier: MIT
/*
    references.hpp - References between the blocks of this room: all of them are barrier blocks.

    The service marks in each pause what programs store by plain assignment (stream->data and its kin): see
    service.hpp.
 */
#pragma once

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"

namespace mpr::http {

using base::setRef;

/**
    Store a text that is no block of its own: static, or a part of what the owner refers to. The collector need not be
    told, but may read the field meanwhile.
 */
inline void setText(char*& field, char* text) {
    __atomic_store_n(&field, text, __ATOMIC_RELAXED);
}

/** Mark each of some references. */
template <typename... T>
inline void markAll(T* const&... fields) {
    (mprMarkRef(&fields), ...);
}

} // namespace mpr::http
