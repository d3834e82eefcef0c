// SPDX-License-Identifier: MIT
/*
    test/gc/type_name.cpp - The name of a type in the text that a compiler has for a function.
 */
#include "mpr/gc/type_name.hpp"

#include "test/catch.hpp"

#include <string>
#include <vector>

using mpr::gc::typeIn;

namespace {

struct Plain {};

/* What this compiler writes: the same way in which the C++ API asks. */
template <typename T>
const char *nameOf() {
    return __PRETTY_FUNCTION__;
}

} // namespace

TEST_CASE("a type is found in what GCC and Clang write", "[gc][typename]") {
    CHECK(typeIn("const char* f() [with T = Order]") == "Order");
    CHECK(typeIn("const char *f() [T = Order]") == "Order");
    CHECK(typeIn("const char* f() [with T = std::vector<int>]") == "std::vector<int>");
}

TEST_CASE("a type is found in what this compiler writes", "[gc][typename]") {
    CHECK(std::string(typeIn(nameOf<int>())) == "int");
    CHECK(std::string(typeIn(nameOf<Plain>())).find("Plain") != std::string::npos);
    CHECK(typeIn(nameOf<std::vector<int>>()).find(']') == std::string_view::npos);
}

TEST_CASE("a text without a type is the name as a whole", "[gc][typename]") {
    CHECK(typeIn("whatever a compiler writes") == "whatever a compiler writes");
    CHECK(typeIn("") == "");
    CHECK(typeIn("T = ") == "");
}
