// SPDX-License-Identifier: MIT
/*
    retained.hpp - A list of blocks that the runtime retains while libuv may call for them: handlers that wait, commands
    that run, handlers of signals.

    Its head is a block, made when the list is first needed, and marked by the room's service. The loop guards the list:
    whoever changes it uses the loop. What stands in it has a reference `next`, written through the barrier.
 */
#pragma once

#include <atomic>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/gc/runtime.hpp"

namespace mpr::io {

template <typename T>
class Retained {
public:
    struct Head {
        T* first; // reference
    };

    /** The list, made if there is none yet, and the room that marks and closes it known. @return nullptr: memory is short. */
    Head* open(gc::Service& room) {
        Head* head = head_.load(std::memory_order_acquire);
        if (head) {
            return head;
        }
        Head* made = base::makeReferring<Head>(manage);
        if (!made) {
            return nullptr;
        }
        gc::runtime().services.add(room);
        mprPublish(made);
        return head_.compare_exchange_strong(head, made) ? made : head;
    }
    /** nullptr before it is opened. */
    Head* head() const { return head_.load(); }

    // For the room's service:
    void mark() const { mprMark(head_.load()); }
    void close() { head_.store(nullptr); }

    // For what has a `previous`, too:
    void link(T& item) {
        Head& all = *head_.load();
        item.previous = nullptr;
        base::setRef(&item, item.next, all.first);
        if (all.first) {
            all.first->previous = &item;
        }
        base::setRef(&all, all.first, &item);
    }
    void unlink(T& item) {
        Head& all = *head_.load();
        if (item.previous) {
            base::setRef(item.previous, item.previous->next, item.next);
        } else {
            base::setRef(&all, all.first, item.next);
        }
        if (item.next) {
            item.next->previous = item.previous;
        }
        base::setRef(&item, item.next, nullptr);
    }

private:
    static void manage(void* ptr, int flags) {
        if (flags & MPR_MANAGE_MARK) {
            mprMarkRef(&static_cast<Head*>(ptr)->first);
        }
    }

    std::atomic<Head*> head_{nullptr};
};

} // namespace mpr::io
