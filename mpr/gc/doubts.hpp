// SPDX-License-Identifier: MIT
/*
    doubts.hpp - References to what is no block, until it is known whether the program is to blame.

    A manager that names what is no block has a field that outlived its block. That is a misuse if the field's owner can
    be reached. But pauses trace dead owners, too: old plain blocks, remembered ones, blocks that died after a major
    collection under way had reached them, and all that those lead to. What a dead block referred to belongs to others,
    who may have freed it by hand. So what such a pause finds is a doubt, and waits here for one of these:
      - A full collection. It traces only what can be reached.
      - The last pause of a major collection that began after the doubt arose. The owner was unmarked then, so it is marked
        only if it could be reached at that time or later; and nobody can reach again what could not be reached before.
      - The marking verifier (option check, and stress mode), which traces from the roots.
    While threads run, marking may read a reference whose block the program has just freed and whose field it is about to
    clear. So the owner is looked at again in the last pause, if it is marked; what is still there is in doubt from then on.

    A doubt goes when its owner does. Since pauses make old whatever they trace, another block in the owner's place is
    known by its age at the next one.
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "mpr/gc/mark_stack.hpp"
#include "mpr/os/lock.hpp"

namespace mpr::gc {

struct Doubt {
    const void* pointer = nullptr;
    MarkEntry owner;         // none: a root, which is no matter of doubt
    std::uint32_t major = 0; // that had begun last
};

class Doubts {
public:
    static constexpr unsigned most = 32; // with more than that the first are enough to begin with

    enum class Verdict : std::uint8_t { open, right, wrong };

    /**
        A pause begins to mark. @param major The number of the last major collection that has begun. @param isSame Says
        whether an owner is still a block with references that has outlived a pause.
     */
    template <typename IsSame>
    void begin(std::uint32_t major, IsSame&& isSame) {
        const os::Locked locked(lock_);
        major_ = major;
        missed_ = 0;
        drop([&](const Doubt& doubt) { return !isSame(doubt.owner); });
    }
    /** From here on, whether a reference that no block has is a root's; else nothing is known of it. */
    void setRoots(bool certain) { roots_ = certain; }

    /** In a pause, any marker: note a reference to what is no block, by an owner or by none. */
    void add(const void* pointer, MarkEntry owner) {
        const os::Locked locked(lock_);
        const auto same = [&](const Doubt& doubt) {
            return doubt.pointer == pointer && doubt.owner.bits() == owner.bits();
        };
        if ((!owner && !roots_) || std::any_of(doubts_, doubts_ + count_, same)) {
            return;
        }
        if (count_ == most) {
            ++missed_;
            return;
        }
        doubts_[count_++] = {pointer, owner, major_};
    }

    /** Threads run, any marker: an owner has a reference to what is no block. Of more than there is room for the first do. */
    void lookAgain(MarkEntry owner) {
        const os::Locked locked(lock_);
        if (owner && ownerCount_ < most && (ownerCount_ == 0 || owners_[ownerCount_ - 1].bits() != owner.bits())) {
            owners_[ownerCount_++] = owner;
        }
    }
    /** Markers have ended: forget the owners that are to be looked at again, and call f(owner) for each, without the lock. */
    template <typename F>
    void takeOwners(F&& f) {
        MarkEntry owners[most];
        unsigned count = 0;
        {
            const os::Locked locked(lock_);
            count = std::exchange(ownerCount_, 0u);
            std::copy(owners_, owners_ + count, owners);
        }
        std::for_each(owners, owners + count, f);
    }

    /** Markers have ended. @return Whether anything waits. */
    bool any() const MPR_UNANALYSED { return count_ > 0; }
    /** References of this pause that found no room. */
    unsigned missed() const MPR_UNANALYSED { return missed_; }

    /** Markers have ended: judge each by verdictOn(doubt), and say(doubt) those that are right, without the lock. */
    template <typename VerdictOn, typename Say>
    void settle(VerdictOn&& verdictOn, Say&& say) {
        Doubt right[most];
        unsigned count = 0;
        {
            const os::Locked locked(lock_);
            drop([&](const Doubt& doubt) {
                const Verdict verdict = verdictOn(doubt);
                if (verdict == Verdict::right) {
                    right[count++] = doubt;
                }
                return verdict != Verdict::open;
            });
        }
        std::for_each(right, right + count, say);
    }

private:
    template <typename Goes>
    void drop(Goes&& goes) MPR_REQUIRES(lock_) {
        count_ = static_cast<unsigned>(std::remove_if(doubts_, doubts_ + count_, goes) - doubts_);
    }

    os::Lock lock_; // the last of all to be taken
    Doubt doubts_[most] MPR_GUARDED_BY(lock_);
    unsigned count_ MPR_GUARDED_BY(lock_) = 0;
    unsigned missed_ MPR_GUARDED_BY(lock_) = 0;
    MarkEntry owners_[most] MPR_GUARDED_BY(lock_); // to be looked at again
    unsigned ownerCount_ MPR_GUARDED_BY(lock_) = 0;
    std::uint32_t major_ MPR_GUARDED_BY(lock_) = 0;
    bool roots_ = true; // changed between two steps of a pause, whose markers have ended
};

} // namespace mpr::gc
