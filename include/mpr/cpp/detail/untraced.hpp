// SPDX-License-Identifier: MIT
/*
    mpr/cpp/detail/untraced.hpp - Types that hold references and have no trace function to say so. Not part of the API.

    Nobody can ask a C++ 20 type for its fields, but an aggregate can be asked whether it would take a value at some
    place of its list of initializers. So it is asked, place after place, whether it takes one that converts to Members,
    and to what else is traced, and to nothing else. Arrays and aggregates in it are not offered anything as a whole,
    hence their braces count as left out and their fields are places as well.

    Classes with constructors keep that to themselves. They may have a function that takes a Marker and is not called
    trace, or one called trace that does not take it by reference: both are named. Of the rest those are suspected that
    are special as a Member makes them: their copies are not trivial, their destructors are. They are watched.
 */
#ifndef MPR_CPP_DETAIL_UNTRACED_HPP
#define MPR_CPP_DETAIL_UNTRACED_HPP

#include "mpr/cpp/detail/c_api.hpp"
#include "mpr/cpp/detail/traced.hpp"

#include <atomic>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace mpr::detail {

template <class T>
inline constexpr bool destroyed = !std::is_trivially_destructible_v<T>;

/** Special as a Member makes a class special. Pairs are always, so it is their parts that count. */
template <class T>
constexpr bool isSpecial() {
    if constexpr (isPair<T>) {
        return isSpecial<typename T::first_type>() || isSpecial<typename T::second_type>();
    } else {
        return std::is_class_v<T> && !destroyed<T> && !std::is_trivially_copyable_v<T>;
    }
}

/** Converts to any field that is no aggregate itself. */
struct AnyField {
    template <class F>
    requires(!std::is_aggregate_v<F>) operator F() const noexcept;
};

/** Converts to any field that is traced. */
struct TracedField {
    template <class F>
    requires(isTraced<F>()) operator F() const noexcept;
};

/** Converts to any field that is no aggregate and may hold a Member for all that can be seen. */
struct SpecialField {
    template <class F>
    requires(!std::is_aggregate_v<F> && isSpecial<F>()) operator F() const noexcept;
};

/** Converts to no field: one that takes it (std::any) takes everything, and says nothing by that. */
struct NoField {};

template <std::size_t>
using AnyFieldAt = AnyField;

/** Whether T may be initialised by {any, any, ..., Last}, with as many of any as there are indices. */
template <class T, class Last, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires {
        T{AnyFieldAt<I>{}..., Last{}};
    };
}
/** Whether T may be initialised by {any, any, ..., {}}: whether there is a field at the place of the last. */
template <class T, std::size_t... I>
constexpr bool hasField(std::index_sequence<I...>) {
    return requires {
        T{AnyFieldAt<I>{}..., {}};
    };
}

enum class HasMembers { no, yes, unknown };

/** Whether an aggregate has Members, or containers of them, among its first places. @param before As far as is
    known. */
template <class T, HasMembers before = HasMembers::no, std::size_t Place = 0>
constexpr HasMembers membersFrom() {
    constexpr std::size_t most = 32;
    using Before = std::make_index_sequence<Place>;
    if constexpr (Place == most || takes<T, NoField>(Before())) {
        return HasMembers::unknown;
    } else if constexpr (takes<T, TracedField>(Before())) {
        return HasMembers::yes;
    } else if constexpr (takes<T, AnyField>(Before())) {
        return membersFrom < T, takes<T, SpecialField>(Before()) ? HasMembers::unknown : before, Place + 1 > ();
    } else if constexpr (hasField<T>(Before())) {
        return HasMembers::unknown;
    } else {
        return Place > 0 || std::is_empty_v<T> ? before : HasMembers::unknown;
    }
}

/** T is not traced. */
template <class T>
constexpr HasMembers hasMembers() {
    if constexpr (!std::is_class_v<T>) {
        return HasMembers::no;
    } else if constexpr (std::is_aggregate_v<T>) {
        return membersFrom<T>();
    } else {
        return HasMembers::unknown;
    }
}

/** Pointers to member functions with a Marker for their only parameter. */
template <class F>
inline constexpr bool takesMarker = false;
template <class P>
inline constexpr bool isMarker =
    std::is_same_v<std::remove_cv_t<std::remove_pointer_t<std::remove_cvref_t<P>>>, Marker>;
template <class R, class C, class P>
inline constexpr bool takesMarker<R (C::*)(P)> = isMarker<P>;
template <class R, class C, class P>
inline constexpr bool takesMarker<R (C::*)(P) const> = isMarker<P>;
template <class R, class C, class P>
inline constexpr bool takesMarker<R (C::*)(P) noexcept> = isMarker<P>;
template <class R, class C, class P>
inline constexpr bool takesMarker<R (C::*)(P) const noexcept> = isMarker<P>;
template <class R, class P>
inline constexpr bool takesMarker<R (*)(P)> = isMarker<P>;

/** T is not traced, and has a function called trace that takes the marker in another way than by reference. */
template <class T>
constexpr bool tracesWrongly() {
    if constexpr (requires { &T::trace; }) {
        return takesMarker<decltype(&T::trace)>;
    } else {
        return false;
    }
}

/** T is not traced, and has a function that takes a marker and has another name. */
template <class T>
constexpr bool misspellsTrace() {
    bool found = false;
    if constexpr (requires { &T::Trace; }) {
        found = found || takesMarker<decltype(&T::Trace)>;
    }
    if constexpr (requires { &T::mark; }) {
        found = found || takesMarker<decltype(&T::mark)>;
    }
    if constexpr (requires { &T::Mark; }) {
        found = found || takesMarker<decltype(&T::Mark)>;
    }
    if constexpr (requires { &T::visit; }) {
        found = found || takesMarker<decltype(&T::visit)>;
    }
    if constexpr (requires { &T::manage; }) {
        found = found || takesMarker<decltype(&T::manage)>;
    }
    return found;
}

/**
    Not traced, perhaps with Members: its objects are watched. Of types with destructors there are too many that hold a
    string or a file; option check=fields watches those.
 */
template <class T>
inline constexpr bool suspect = [] {
    if constexpr (std::is_class_v<T> && !isTraced<T>() && isSpecial<T>()) {
        return hasMembers<T>() == HasMembers::unknown;
    } else {
        return false;
    }
}();

/** The name of a type, as compilers write it: "mpr::detail::NameOf<...". */
template <class T>
constexpr const char* nameOf() {
    return __PRETTY_FUNCTION__;
}

/** Tells mprPrintMem when the program starts what type a manager stands for. Whoever uses `done` has it done. */
template <class T, MprManager manager>
struct Named {
    static inline const bool done = (mprSetManagerName(manager, nameOf<T>()), true);
};

/** Look whether an object, or objects in a row, of a suspect hold a reference, and name the type if so; once. */
template <class T>
void watch(const void* objects, std::size_t size) noexcept {
    static constinit std::atomic<bool> isNamed{false};
    if (!isNamed.load(std::memory_order_relaxed) && mprNameUntraced(objects, size, nameOf<T>())) {
        isNamed.store(true, std::memory_order_relaxed);
    }
}

} // namespace mpr::detail

#endif /* MPR_CPP_DETAIL_UNTRACED_HPP */
