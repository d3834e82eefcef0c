// SPDX-License-Identifier: MIT
/*
    test/http/guard.cpp - The guard of heads: which bytes a line may have, wherever they stand.
 */
#include "test/support/runtime.hpp"

#include "mpr/http/guard.hpp"

using mpr::http::HeadGuard;

namespace {

/** Whether a head with one line passes. */
bool passes(const std::string& line) {
    const std::string head = "X: " + line + "\r\n\r\n";
    HeadGuard guard;
    guard.begin();
    return guard.look(head.data(), head.size()) == HeadGuard::Found::end;
}
} // namespace

TEST_CASE("a control character is found wherever it stands in a line", "[http][guard]") {
    int wrong = 0;
    for (std::size_t length = 1; length < 28;
         ++length) { // bytes are looked at by eights, and those left over one by one
        for (std::size_t at = 0; at < length; ++at) {
            for (int byte = 0; byte < 256; ++byte) {
                const bool ends = byte == '\n' || (byte == '\r' && at + 1 == length); // another line, and a bare LF
                std::string line(length, 'a');
                line[at] = static_cast<char>(byte);
                const bool allowed = (byte >= ' ' || byte == '\t') && byte != 0x7F;
                wrong += !ends && passes(line) != allowed;
                line[length - 1 - at] = '\t'; // a tab is looked at twice
                wrong += !ends && line[at] != '\t' && passes(line) != allowed;
            }
        }
    }
    CHECK(wrong == 0);
}
