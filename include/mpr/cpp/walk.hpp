// SPDX-License-Identifier: MIT
/*
    mpr/cpp/walk.hpp - Visit all managed objects of a type.
 */
#ifndef MPR_CPP_WALK_HPP
#define MPR_CPP_WALK_HPP

#include "mpr/cpp/make.hpp"

#include <cstddef>
#include <type_traits>

namespace mpr {

/**
    Call visit(object) for each living T that mpr::make or mpr::makeWithRoom has made, in order of addresses:

        mpr::forEachOf<Session>([&](Session& session) { ++states[session.state]; });

    For statistics, for debugging, for what an interpreter asks its heap. It sees objects that nothing leads to any more as
    well, until a collection has found them dead, and those of other threads, which may be changing them. If visit
    returns false that ends the walk; it may return nothing. It may make objects, which are visited or not.

    T is traced or has a destructor: other objects do not know their type.

    @return How many were visited. Threads: attached. Yields: never, nor must visit. Time: as mprBlocksOf.
 */
template <class T, class F>
std::size_t forEachOf(F&& visit) {
    static_assert(!std::is_const_v<T>,
                  "mpr::forEachOf<T>: T is a type that objects were made as, which is never const");
    static_assert(detail::isTraced<T>() || detail::destroyed<T>,
                  "mpr::forEachOf<T>: a T that references nothing and has no destructor is a block without a type");
    using Visit = std::remove_reference_t<F>;
    return mprBlocksOf(
        detail::completeManager<T>,
        [](void* data, void* block, std::size_t) {
            Visit& call = *static_cast<Visit*>(data);
            if constexpr (std::is_void_v<decltype(call(*static_cast<T*>(block)))>) {
                call(*static_cast<T*>(block));
                return true;
            } else {
                return static_cast<bool>(call(*static_cast<T*>(block)));
            }
        },
        const_cast<std::remove_const_t<Visit>*>(&visit));
}

} // namespace mpr

#endif /* MPR_CPP_WALK_HPP */
