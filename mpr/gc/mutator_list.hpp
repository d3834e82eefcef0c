// SPDX-License-Identifier: MIT
/*
    mutator_list.hpp - All threads that are attached or announced. Whoever looks at the list holds its lock.
 */
#pragma once

#include "mpr/gc/mutator.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::gc {

class MutatorList {
public:
    /** The list while the calling thread holds its lock: no thread comes or goes. */
    class MPR_SCOPED_CAPABILITY Locked {
    public:
        explicit Locked(MutatorList& list) MPR_ACQUIRES(list.lock_) MPR_UNANALYSED : list_(list), locked_(list.lock_) {}
        ~Locked() MPR_RELEASES() MPR_UNANALYSED {}
        Locked(const Locked&) = delete;
        Locked& operator=(const Locked&) = delete;

        class Iterator {
        public:
            explicit Iterator(Mutator* m) : m_(m) {}
            Mutator& operator*() const { return *m_; }
            Iterator& operator++() {
                m_ = m_->next;
                return *this;
            }
            bool operator!=(const Iterator& other) const { return m_ != other.m_; }

        private:
            Mutator* m_;
        };
        Iterator begin() const { return Iterator(list_.first_); }
        static Iterator end() { return Iterator(nullptr); }

        void add(Mutator& m) {
            m.number = ++list_.added_;
            m.next = list_.first_;
            if (m.next) {
                m.next->previous = &m;
            }
            list_.first_ = &m;
        }
        void remove(Mutator& m) {
            MPR_ASSERT((m.previous ? m.previous->next : list_.first_) == &m);
            MPR_ASSERT(!m.next || m.next->previous == &m);
            (m.previous ? m.previous->next : list_.first_) = m.next;
            if (m.next) {
                m.next->previous = m.previous;
            }
        }

    private:
        MutatorList& list_;
        os::Locked locked_;
    };

private:
    os::Lock lock_;
    Mutator* first_ = nullptr; // guarded by the lock: only Locked reaches it
    std::uint32_t added_ = 0;  // the same
};

} // namespace mpr::gc
