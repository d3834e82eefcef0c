// SPDX-License-Identifier: MIT
/*
    mpr/cpp/batch.hpp - A thread takes back its own garbage when it yields.
 */
#ifndef MPR_CPP_BATCH_HPP
#define MPR_CPP_BATCH_HPP

#include "mpr/cpp/detail/c_api.hpp"

namespace mpr {

/**
    While one exists, the calling thread takes back at each yield what it has made since the yield before and not
    published: mprSetBatches (mpr/collect.h) says what that promises. Members and Roots publish by themselves.

        mpr::Batch batch;
        while (Request* request = next()) {
            handle(*request);
            batch.end(); // a yield: what the request has left nowhere is used again
        }

    An object whose type has a destructor to run lives until the collector finds it dead; so does what it references.

    Threads: attached; construct and destroy on the same thread. Yields: end() only. Cost: some memory for the thread, so
    make one for many requests.
 */
class Batch {
public:
    Batch() noexcept : was_(mprSetBatches(true)) {}
    ~Batch() {
        if (!was_) {
            mprSetBatches(false);
        }
    }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    /** Yield, and take back. */
    static void end() noexcept { mprYield(MPR_YIELD_DISCARD); }

private:
    bool was_;
};

} // namespace mpr

#endif /* MPR_CPP_BATCH_HPP */
