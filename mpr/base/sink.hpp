// SPDX-License-Identifier: MIT
/*
    sink.hpp - Where formatted text goes: a window of memory that is written to directly, and a function that makes room
    when the window is full. What finds no room is dropped, and the sink knows.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mpr::base {

class Sink {
public:
    void put(char c) {
        if (at_ != end_ || more(1)) [[likely]] {
            *at_++ = c;
        }
    }
    void put(const char* text, std::size_t count) {
        if (count <= room()) [[likely]] {
            std::memcpy(at_, text, count);
            at_ += count;
        } else {
            putSlow(text, count);
        }
    }
    void fill(char c, std::size_t count);

    /** Whether nothing was lost for want of room. */
    bool whole() const { return !full_; }

protected:
    /** Set a new window with room for a byte at least, as many as wanted if possible. false: nothing more can be stored. */
    using More = bool (*)(Sink& self, std::size_t wanted);

    Sink(More makeRoom, char* window, std::size_t size) : at_(window), end_(window + size), more_(makeRoom) {}
    ~Sink() = default;

    void setWindow(char* at, char* end) {
        at_ = at;
        end_ = end;
    }
    char* at() const { return at_; }
    std::size_t room() const { return static_cast<std::size_t>(end_ - at_); }

private:
    bool more(std::size_t wanted);
    void putSlow(const char* text, std::size_t count);

    char* at_;
    char* end_;
    More more_;
    bool full_ = false;
};

/** Text in a buffer on the stack, in a block once it is longer. */
class StringSink : public Sink {
public:
    /** @param most Bytes after which what comes is dropped. */
    explicit StringSink(std::size_t most = SIZE_MAX)
        : Sink(grow, stack_, most < sizeof(stack_) ? most : sizeof(stack_)), most_(most) {}
    ~StringSink();
    StringSink(const StringSink&) = delete;
    StringSink& operator=(const StringSink&) = delete;

    /** What there is so far. */
    const char* text() const { return block_ ? block_ : stack_; }
    std::size_t length() const { return static_cast<std::size_t>(at() - text()); }

    /** A new managed string of exact size; nullptr when there is no memory. The last call. */
    char* finish();

private:
    static bool grow(Sink& self, std::size_t wanted);

    char* block_ = nullptr;
    std::size_t size_ = sizeof(stack_);
    const std::size_t most_;
    char stack_[480];
};

/** Text in a buffer of the caller; what does not fit is cut. */
class FixedSink : public Sink {
public:
    /** @param size At least 1. */
    FixedSink(char* buffer, std::size_t size)
        : Sink([](Sink&, std::size_t) { return false; }, buffer, size - 1), begin_(buffer) {}

    /** Terminate. @return The length. */
    std::size_t finish() {
        *at() = '\0';
        return static_cast<std::size_t>(at() - begin_);
    }

private:
    char* begin_;
};

} // namespace mpr::base
