// SPDX-License-Identifier: MIT
/*
    sort.cpp - mprSort: a stable merge sort over elements of any width.

    Halves are sorted and merged through a buffer of half the array. Where there is no memory for one they are merged in
    place, by rotations (K. Dudzinski, A. Dydek, "On a stable storage merging algorithm", Information Processing Letters,
    1981): slower, the same result. A comparison that contradicts itself gives some order, never a wild access.
 */
#include <algorithm>
#include <cstring>

#include "mpr/list.h"
#include "mpr/memory.h"

namespace {

int compareText(cvoid* p1, cvoid* p2, void*) {
    const char* s1 = *static_cast<const char* const*>(p1);
    const char* s2 = *static_cast<const char* const*>(p2);
    if (!s1 || !s2) {
        return (s1 != nullptr) - (s2 != nullptr);
    }
    return std::strcmp(s1, s2);
}

/** The width of an element: a constant where it is that of a pointer, so that copies of one are single instructions. */
struct PointerWidth {
    static constexpr std::size_t bytes = sizeof(void*);
};
struct AnyWidth {
    std::size_t bytes;
};

template <class Width>
class Sorter {
public:
    static constexpr std::size_t shortRun = 8; // elements, sorted without merging

    Sorter(char* base, Width width, MprSortProc compare, void* ctx, char* buffer)
        : base_(base), width_(width), compare_(compare), ctx_(ctx), buffer_(buffer) {}

    void sort(std::size_t from, std::size_t to) {
        if (to - from <= shortRun) {
            insertionSort(from, to);
            return;
        }
        const std::size_t middle = from + (to - from) / 2;
        sort(from, middle);
        sort(middle, to);
        if (!inOrder(at(middle - 1), at(middle))) {
            if (buffer_) {
                merge(from, middle, to);
            } else {
                mergeInPlace(from, middle, to);
            }
        }
    }

private:
    char* at(std::size_t i) const { return base_ + i * width_.bytes; }
    bool inOrder(const char* first, const char* second) const { return compare_(first, second, ctx_) <= 0; }
    void copy(char* to, const char* from) const { std::memcpy(to, from, width_.bytes); }

    void insertionSort(std::size_t from, std::size_t to) {
        for (std::size_t i = from + 1; i < to; ++i) {
            std::size_t place = i;
            while (place > from && !inOrder(at(place - 1), at(i))) {
                --place;
            }
            if (place != i) {
                moveDown(i, place);
            }
        }
    }

    /** Put the element at i where place is, and those between one further. */
    void moveDown(std::size_t i, std::size_t place) {
        char held[64];
        if (width_.bytes > sizeof(held)) {
            std::rotate(at(place), at(i), at(i + 1));
            return;
        }
        copy(held, at(i));
        std::memmove(at(place + 1), at(place), (i - place) * width_.bytes);
        copy(at(place), held);
    }

    void merge(std::size_t from, std::size_t middle, std::size_t to) {
        const char* left = buffer_;
        const char* leftEnd = buffer_ + (middle - from) * width_.bytes;
        const char* right = at(middle);
        const char* rightEnd = at(to);
        std::memcpy(buffer_, at(from), (middle - from) * width_.bytes);
        char* out = at(from);
        while (left != leftEnd && right != rightEnd) {
            const char*& next = inOrder(left, right) ? left : right;
            copy(out, next);
            next += width_.bytes;
            out += width_.bytes;
        }
        std::memcpy(out, left, static_cast<std::size_t>(leftEnd - left));
    }

    /** The first place in [from, to) whose element belongs behind (orEqual: or beside) the element at i. */
    std::size_t bound(std::size_t from, std::size_t to, std::size_t i, bool orEqual) const {
        while (from < to) {
            const std::size_t middle = from + (to - from) / 2;
            const bool before = orEqual ? !inOrder(at(i), at(middle)) : inOrder(at(middle), at(i));
            if (before) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        return from;
    }

    void mergeInPlace(std::size_t from, std::size_t middle, std::size_t to) {
        while (from < middle && middle < to && !inOrder(at(middle - 1), at(middle))) {
            std::size_t leftCut;
            std::size_t rightCut;
            if (middle - from >= to - middle) {
                leftCut = from + (middle - from) / 2;
                rightCut = bound(middle, to, leftCut, true);
            } else {
                rightCut = middle + (to - middle) / 2;
                leftCut = bound(from, middle, rightCut, false);
            }
            std::rotate(at(leftCut), at(middle), at(rightCut));
            const std::size_t cut = leftCut + (rightCut - middle);
            // The shorter part by a call, the longer by the loop: the depth is logarithmic.
            if (cut - from < to - cut) {
                mergeInPlace(from, leftCut, cut);
                from = cut;
                middle = rightCut;
            } else {
                mergeInPlace(cut, rightCut, to);
                to = cut;
                middle = leftCut;
            }
        }
    }

    char* base_;
    Width width_;
    MprSortProc compare_;
    void* ctx_;
    char* buffer_;
};
} // namespace

void* mprSort(void* base, ssize num, ssize width, MprSortProc compare, void* ctx) {
    if (ssize all = 0; !base || num < 2 || width <= 0 || __builtin_mul_overflow(num, width, &all)) {
        return base; // no array is that long
    }
    const auto count = static_cast<std::size_t>(num);
    const auto bytes = static_cast<std::size_t>(width);
    const bool merges = count > Sorter<AnyWidth>::shortRun;
    auto* buffer = merges ? static_cast<char*>(mprAlloc(count / 2 * bytes)) : nullptr;
    if (!compare) {
        compare = compareText;
    }
    if (bytes == sizeof(void*)) {
        Sorter(static_cast<char*>(base), PointerWidth{}, compare, ctx, buffer).sort(0, count);
    } else {
        Sorter(static_cast<char*>(base), AnyWidth{bytes}, compare, ctx, buffer).sort(0, count);
    }
    mprFree(buffer);
    return base;
}
