// SPDX-License-Identifier: MIT
/*
    globals.cpp - Reading static data for the addresses of dying blocks.
 */
#include "mpr/gc/globals.hpp"

#include <algorithm>

#include "mpr/gc/guard.hpp"
#include "mpr/gc/naming.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/gc/unmarked.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"

namespace mpr::gc {

namespace {

/**
    Read a word. Threads that the runtime does not know may be writing to it, and what lies between variables is forbidden by
    sanitizers.
 */
__attribute__((no_sanitize("thread"), no_sanitize("address"))) const void* at(const void* const* word) {
    return *static_cast<const void* const volatile*>(word);
}
} // namespace

bool OwnData::has(const void* address) {
    return find([=](const OwnData& data) { return address >= data.begin_ && address < data.end_; });
}

void Globals::checkAll() {
    founds_ = 0;
    os::forEachData(
        [](void* self, Words begin, Words end) {
            const auto* own = reinterpret_cast<Words>(runtimeMemory);
            static_cast<Globals*>(self)->readAround(begin, end, own, own + sizeof(Runtime) / sizeof(*own));
        },
        this, runtimeMemory);
    std::for_each(found_, found_ + founds_, [this](const Found& found) { say(found); });
}

/** Read words, except those in a range. */
void Globals::readAround(Words begin, Words end, Words withoutBegin, Words withoutEnd) {
    if (withoutBegin < begin || withoutBegin >= end) {
        return read(begin, end);
    }
    read(begin, withoutBegin);
    read(withoutEnd, end);
}

void Globals::read(Words begin, Words end) {
    for (Words word = begin; word < end; ++word) {
        // A heap in a static buffer is no global.
        if (const heap::Place dying = named_.dyingAt(heap_, at(word));
            dying.region && !heap_.findField(word) && !OwnData::has(word)) {
            see(word, dying);
        }
    }
}

/** A word has the address of a block about to be freed. It is named if there is room, or else another time. */
void Globals::see(Words word, heap::Place dying) {
    Row* const row = rowOf(word);
    if (row && word < row->end) {
        return;
    }
    if (row && row->end - row->begin >= mostInRow) {
        ++row->end;
        if (founds_ > 0 && found_[founds_ - 1].row.end == word) {
            ++found_[founds_ - 1].row.end;
        }
        return;
    }
    if (founds_ == mostInCollection || (!row && !named_.add({word, word + 1}))) {
        return;
    }
    if (row) {
        ++row->end;
    }
    found_[founds_++] = {{word, word + 1}, dying};
}

/** The row that a word is in, or just behind. */
Globals::Row* Globals::rowOf(Words word) const {
    Row* const row = std::find_if(named_.begin(), named_.end(),
                                  [word](const Row& known) { return word >= known.begin && word <= known.end; });
    return row == named_.end() ? nullptr : row;
}

void Globals::say(const Found& found) const {
    os::Message message;
    message << "check: global without a root? ";
    message.code(found.row.begin);
    if (const std::size_t more = static_cast<std::size_t>(found.row.end - found.row.begin) - 1; more > 0) {
        message << ", and " << more << (more == 1 ? " word" : " words") << " behind it,";
    }
    message << " has the address of a block about to be freed, ";
    nameBlock(message, found.dying);
    suspect(message << "; is it to be a root (mprAddRoot, mprLinkRootRef, mpr::Root), or NULL?", found.dying);
}

} // namespace mpr::gc
