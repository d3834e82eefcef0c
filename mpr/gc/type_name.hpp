// SPDX-License-Identifier: MIT
/*
    type_name.hpp - The name of a C++ type in what a compiler writes for a function that has the type as its parameter.
 */
#pragma once

#include <cstring>
#include <string_view>

namespace mpr::gc {

/** "constexpr const char* mpr::detail::nameOf() [with T = Type]", or however a compiler writes it: Type. Else all of it. */
inline std::string_view typeIn(const char* function) {
    const char* equals = std::strstr(function, "T = ");
    const char* begin = equals ? equals + 4 : function;
    const std::size_t length = std::strlen(begin);
    return {begin, equals && length > 0 ? length - 1 : length};
}

} // namespace mpr::gc
