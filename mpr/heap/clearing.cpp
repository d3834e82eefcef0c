/*
    clearing.cpp - The loop over a nursery's map: for the sweep of the young, which is most, with few instructions a word.
 */
#include "mpr/heap/clearing.hpp"

#include <bit>

namespace mpr::heap {

namespace {

/** What is dead in a word of a map, as the high bits of its bytes; what is held stays. */
struct YoungDead {
    swar::Word born;
    swar::Word operator()(swar::Word word) const {
        constexpr swar::Word looked = swar::spread(head::inUse | head::held | head::old | head::parity);
        constexpr swar::Word high = swar::spread(0x80);
        const swar::Word other = (word ^ born) & looked;
        return ~(((other & ~high) + ~high) | other) & high;
    }
};
struct AnyDead {
    Colours colours;
    swar::Word operator()(swar::Word word) const { return (swar::unmarked(word, colours) & ~swar::held(word)) << 7; }
};

} // namespace

void Clearing::run() {
    if (young_) {
        clear(YoungDead{swar::spread(static_cast<Byte>(head::inUse | (colours_.youngParity ^ 1)))});
    } else {
        clear(AnyDead{colours_});
    }
    region_->map().clear(used_, end_);
    gaps.add(lastEnd_ - begin_, end_ - begin_);
}

template <typename Dead>
void Clearing::clear(Dead deadIn) {
    const GranuleMap map = region_->map();
    bool clearing = false; // what was seen last is dead
    std::size_t cleared = 0;
    std::size_t at = begin_;
    for (const std::size_t whole = used_ & ~std::size_t{swar::bytes - 1}; at < whole;) {
        const swar::Word word = map.word(at);
        const swar::Word dead = deadIn(word);
        const swar::Word stays =
            (((word & swar::spread(0x7F)) + swar::spread(0x04)) | word) & ~dead & swar::spread(0x80);
        if (stays == 0 && clearing) [[likely]] {
            cleared += swar::count(dead >> 7);
            map.clearWord(at);
            at += swar::bytes;
        } else if ((stays | dead) == 0) {
            at += swar::bytes;
        } else {
            clearing = clearSome(at, word, dead, clearing);
            at = clearing ? at + swar::bytes : std::max(at + swar::bytes, lastEnd_ & ~std::size_t{swar::bytes - 1});
        }
    }
    if (at < used_) {
        clearSome(at, map.word(at), deadIn(map.word(at)), clearing);
    }
    blocks += cleared;
}

/** A word in which something stays, or that is the first of the dead or the last of all. @return whether its end is dead. */
bool Clearing::clearSome(std::size_t at, swar::Word word, swar::Word dead, bool clearing) {
    constexpr swar::Word high = swar::spread(0x80);
    constexpr swar::Word all = ~swar::Word{0};
    const swar::Word looked = used_ - at < swar::bytes ? ~(all << 8 * (used_ - at)) : all;
    swar::Word cleared = clearing ? looked : 0; // the bytes that belong to the dead
    for (swar::Word left = swar::boundaries(word) & looked; left != 0; left &= left - 1) {
        const auto shift = static_cast<unsigned>(std::countr_zero(left));
        clearing = (dead >> shift & 0x80) != 0;
        if (clearing) {
            ++blocks;
            cleared |= looked & all << shift;
        } else {
            keep(at + shift / 8);
            cleared &= ~(all << shift);
        }
    }
    word &= cleared;
    for (swar::Word some = (((word & ~high) + ~high) | word) & high; some != 0; some &= some - 1) {
        region_->map().set(at + swar::first(some), 0);
    }
    return clearing;
}

/** A block or the fence; of a hole it does not matter what is noted. */
void Clearing::keep(std::size_t g) {
    const GranuleMap map = region_->map();
    const Byte h = map.get(g);
    heldDead =
        heldDead || ((h & head::inUse) && (h & head::held) && !colours_.marked(h) && !(young_ && (h & head::old)));
    gaps.add(lastEnd_ - begin_, g - begin_);
    const std::size_t n = map.blockSize(g);
    kept_ += n;
    lastEnd_ = std::min(g + n, end_);
}

} // namespace mpr::heap
