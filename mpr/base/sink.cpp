// SPDX-License-Identifier: MIT
/*
    sink.cpp - Where formatted text goes: the parts of sink.hpp that are seldom needed.
 */
#include "mpr/base/sink.hpp"

#include <algorithm>

#include "mpr/base/string.hpp"
#include "mpr/memory.h"

namespace mpr::base {

bool Sink::more(std::size_t wanted) {
    if (!full_ && !more_(*this, wanted)) {
        full_ = true;
        end_ = at_; // what comes is dropped
    }
    return !full_;
}

void Sink::putSlow(const char* text, std::size_t count) {
    while (count > 0 && (room() > 0 || more(count))) {
        const std::size_t part = count < room() ? count : room();
        std::memcpy(at_, text, part);
        at_ += part;
        text += part;
        count -= part;
    }
}

void Sink::fill(char c, std::size_t count) {
    while (count > 0 && (room() > 0 || more(count))) {
        const std::size_t part = count < room() ? count : room();
        std::memset(at_, c, part);
        at_ += part;
        count -= part;
    }
}

StringSink::~StringSink() {
    mprFree(block_);
}

bool StringSink::grow(Sink& self, std::size_t wanted) {
    auto& sink = static_cast<StringSink&>(self);
    const std::size_t used = sink.length();
    if (used == sink.most_) {
        return false;
    }
    wanted = std::min(wanted, sink.most_ - used);
    std::size_t size = 0;
    if (__builtin_add_overflow(used, wanted, &size) || __builtin_add_overflow(size, sink.size_ + 1, &size)) {
        return false;
    }
    auto* block = static_cast<char*>(mprRealloc(sink.block_, size));
    if (!block) {
        return false;
    }
    if (!sink.block_) {
        std::memcpy(block, sink.stack_, used);
    }
    sink.block_ = block;
    sink.size_ = size;
    sink.setWindow(block + used, block + std::min(size - 1, sink.most_)); // one is for the zero
    return true;
}

char* StringSink::finish() {
    if (!whole()) {
        return nullptr;
    }
    const std::size_t used = length();
    if (!block_) {
        return newString(stack_, used);
    }
    char* string = block_;
    block_ = nullptr;
    string[used] = '\0';
    auto* exact = static_cast<char*>(mprRealloc(string, used + 1));
    return exact ? exact : string;
}

} // namespace mpr::base
