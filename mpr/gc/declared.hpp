// SPDX-License-Identifier: MIT
/*
    declared.hpp - What files of the runtime declare about their own blocks and data, for the checks that look for mistakes
    of programs. Static objects, which link themselves when the program starts, before there are threads.
 */
#pragma once

#include <utility>

namespace mpr::gc {

/** All static objects of class T, which derives from this. */
template <class T>
class Declared {
public:
    Declared(const Declared&) = delete;
    Declared& operator=(const Declared&) = delete;

    /** @return The first that matches(T) is true of, or nullptr. */
    template <class Matches>
    static const T* find(Matches matches) {
        const Declared* one = first;
        while (one && !matches(static_cast<const T&>(*one))) {
            one = one->next_;
        }
        return static_cast<const T*>(one);
    }

protected:
    Declared() : next_(std::exchange(first, this)) {}
    ~Declared() = default;

private:
    static inline constinit const Declared* first = nullptr;
    const Declared* const next_;
};

} // namespace mpr::gc
