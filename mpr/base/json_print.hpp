// SPDX-License-Identifier: MIT
/*
    json_print.hpp - Prints trees of JSON to a sink.
 */
#pragma once

#include "mpr/base/json.hpp"
#include "mpr/base/sink.hpp"

namespace mpr::base::json {

/** Put a string in quotes. */
void putString(Sink& out, std::string_view text);

class Printer {
public:
    /** @param flags Of printing, MPR_JSON_*. */
    Printer(Sink& out, int flags);

    /** Put a tree. @return false when memory is short. */
    bool operator()(MprJson* tree);
    void name(std::string_view name);
    void simple(int type, const char* value);

private:
    void begin(const MprJson* node, std::size_t level, bool named);
    void newLine(std::size_t level);

    Sink& out_;
    const int flags_;
    const bool bare_;
};

} // namespace mpr::base::json
