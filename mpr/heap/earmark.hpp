// SPDX-License-Identifier: MIT
/*
    earmark.hpp - What a collection earmarks for a thread that was refused memory and waits for it in a complete yield.

    Threads run while a sweep frees memory, and a thread that waits for its end is the last to come by. With many threads
    under a small limit, those that run would have taken all of it again, and the one that waited would be refused for
    ever, however little lives. So the sweep ends by making a block of the size that was refused for each thread that
    waits, and threads that need more than their context has make way for that, once in a sweep (Collector::makeWay). The
    thread that goes on exchanges the block for an allocation that would fail, in one hold of the heap's lock. What it has
    not used when it stops again is free.

        refused by an allocation -> wanted while the thread waits for a sweep -> block until it is used or the thread stops

    Foreign threads have none. One that ended while it waits would stay in the list; an attached thread is detached, which
    takes it out.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpr/os/target.hpp"

namespace mpr::heap {

struct Earmark {
    /** An allocation of n granules was refused, when so many sweeps had ended. */
    void noteRefused(std::size_t n, std::uint32_t swept) {
        refused = n;
        refusedIn = swept;
    }
    /** Whether the thread still wants that: it has not come back since, and no more than one sweep has ended. */
    bool wantsRefused(std::uint32_t swept) {
        if (swept - refusedIn > 1) {
            refused = 0;
        }
        return refused != 0;
    }

    // The thread's own:
    std::size_t refused = 0;     // granules, of the last allocation that was refused
    std::uint32_t refusedIn = 0; // how many sweeps had ended then; after more than another it is forgotten
    bool waits = false;          // from beginWait, if it was put into the list, to endWait
    std::uint32_t wayIn = 0;     // the sweep for which it has made way last: as many as had ended, and one

    // The thread's own while it runs, under the heap's lock while it waits:
    std::size_t wanted = 0;              // granules, while it waits and has nothing; then it is in the list
    void* block = nullptr;               // held
    os::Shared<Earmark*> next = nullptr; // of those that want something
};

} // namespace mpr::heap
