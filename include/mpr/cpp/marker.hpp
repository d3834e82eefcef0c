// SPDX-License-Identifier: MIT
/*
    mpr/cpp/marker.hpp - What a trace function says: these are my references.
 */
#ifndef MPR_CPP_MARKER_HPP
#define MPR_CPP_MARKER_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/detail/traced.hpp"

#include <cstddef>
#include <iterator>
#include <type_traits>

namespace mpr {

/**
    A type whose objects say what they reference. The function is public, const or not, virtual or not:

        void trace(mpr::Marker& marker) { marker(left, right, children); }

    It hands every managed reference of the object to the marker and does nothing else: no allocation, no lock, no
    write, no use of other managed objects. It may run several times in a collection. A derived class calls its base's
    trace, too.

    All threads are stopped while it runs if the type has a destructor that does something, except at a yield of a
    thread with batches (mprSetBatches). Then, and without such a destructor, threads may be running: whatever it reads,
    except Members, must then be atomic or constant once the object is built.

    It may be called for an object whose constructor yields (see make): fields that are not constructed yet are all
    bits zero then. In that state a Member reads as nullptr, and a vector, span or array as empty. A field of any other
    type (a list, a map) must be constructed before the first yield.

    In a type with a trivial destructor it marks only what lies in the object itself; one that reaches its references
    through a pointer to unmanaged memory (a table of a C library, a static array) needs a destructor, an empty one
    will do.
 */
template <class T>
concept Traceable = detail::HasTrace<T>;

namespace detail {
template <class T>
struct Tracing;
} // namespace detail

/**
    Passed to trace functions. Calling it names references:

        marker(member);                 a Member, or a plain pointer to the start of a block; nullptr is fine
        marker(part);                   a part of the object, itself Traceable: as if written out here
        marker(range);                  each element: an array or container of any of these, or of pairs (a map)
        marker(span);                   each element, and the block in which they lie if it begins with the first
        marker(first, second, ...);     all of these

    A plain pointer field may be set by the constructor only; one that changes later must be a Member (see there).
    Parts and elements are traced as what they are declared, without virtual dispatch.

    Threads: within trace only; do not keep it. Yields: never. Cost: constant for a reference, no recursion.
 */
class Marker {
public:
    template <class... Ts>
    void operator()(Ts&&... references) {
        (mark(references), ...);
    }

private:
    template <class T>
    friend struct detail::Tracing;

    Marker() = default;

    template <class T>
    void mark(T& reference) {
        using Plain = std::remove_cv_t<T>;
        if constexpr (std::is_pointer_v<Plain>) {
            mprMark(reference);
        } else if constexpr (detail::isMember<Plain>) {
            mprMarkRef(&reference);
        } else if constexpr (detail::HasTrace<T>) {
            reference.T::trace(*this);
        } else if constexpr (detail::isPair<Plain>) {
            markPair(reference);
        } else if constexpr (detail::Range<T>) {
            markRange(reference);
        } else {
            static_assert(sizeof(Plain) == 0, "mpr::Marker: takes a Member, a pointer, a part with "
                                              "trace(mpr::Marker&), or a range of those; this is none");
        }
    }

    template <class T>
    void markPair(T& pair) {
        using First = typename T::first_type;
        using Second = typename T::second_type;
        static_assert(detail::isTraced<First>() || detail::isTraced<Second>(),
                      "mpr::Marker: takes a pair of which one or both are references; in this one none is");
        if constexpr (detail::isTraced<First>()) {
            mark(pair.first);
        }
        if constexpr (detail::isTraced<Second>()) {
            mark(pair.second);
        }
    }

    template <class T>
    void markRange(T& range) {
        if constexpr (detail::isSpan<std::remove_cv_t<T>>) {
            if (mprIsValid(range.data())) {
                mprMark(range.data());
            }
        }
        if constexpr (detail::isRowOfMembers<T>) {
            mprMarkRefs(std::data(range), std::size(range));
        } else {
            for (auto&& element : range) {
                mark(element);
            }
        }
    }
};

} // namespace mpr

#endif /* MPR_CPP_MARKER_HPP */
