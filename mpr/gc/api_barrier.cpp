/*
    api_barrier.cpp - The C API of mpr/barrier.h, as far as it is not inline.
 */
#include "mpr/barrier.h"

void mprSetRefs(void* owner, void* fields, cvoid* values, size_t count) {
    auto* to = static_cast<void**>(fields);
    auto* from = static_cast<void* const*>(values);
    if (to <= from) {
        for (size_t i = 0; i < count; ++i) {
            mprSetRef(owner, to + i, from[i]);
        }
    } else {
        for (size_t i = count; i-- > 0;) {
            mprSetRef(owner, to + i, from[i]);
        }
    }
}
