// SPDX-License-Identifier: MIT
/*
    part.hpp - Parts of a text, without string_view::substr, which can throw and so needs the C++ library.
 */
#pragma once

#include <algorithm>
#include <string_view>

namespace mpr::base {

/** At most count characters from an index; what is not there is left out. */
constexpr std::string_view part(std::string_view text, std::size_t from, std::size_t count = std::string_view::npos) {
    from = std::min(from, text.size());
    return {text.data() + from, std::min(count, text.size() - from)};
}

} // namespace mpr::base
