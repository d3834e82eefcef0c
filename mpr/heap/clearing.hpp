/*
    clearing.hpp - The map of a nursery is cleared of the dead, and its gaps are noted.

    Without the heap's lock: what is dead nobody else touches, so that whole words can be cleared where nothing else is;
    others touch blocks that live. When they free some by hand meanwhile, the nursery is pierced, and what was noted is void.
 */
#pragma once

#include <algorithm>

#include "mpr/heap/gaps.hpp"
#include "mpr/heap/region.hpp"

namespace mpr::heap {

/** Made for one nursery, run once. */
class Clearing {
public:
    /** @param youngOnly Whether only the young may be dead. */
    Clearing(Region* region, std::size_t i, Colours colours, bool youngOnly)
        : region_(region), colours_(colours), young_(youngOnly), begin_(region->nurseries.begin(i)),
          end_(region->nurseries.begin(i + 1)), used_(std::min<std::size_t>(region->nurseries.pieces[i].used, end_)),
          lastEnd_(begin_) {}

    void run();

    std::size_t blocks = 0; // cleared
    bool heldDead = false;  // whether the ordinary sweep has to look, too
    Gaps gaps;
    /** Free granules. */
    std::size_t room() const { return end_ - begin_ - kept_; }

private:
    template <typename Dead>
    void clear(Dead deadIn);
    bool clearSome(std::size_t at, swar::Word word, swar::Word dead, bool clearing);
    void keep(std::size_t g);

    Region* region_;
    Colours colours_;
    bool young_; // only the young may be dead
    std::size_t begin_, end_;
    std::size_t used_;     // up to here
    std::size_t lastEnd_;  // of the last that stays
    std::size_t kept_ = 0; // granules of what stays
};

} // namespace mpr::heap
