// SPDX-License-Identifier: MIT
/*
    test/base/digest_misuse.cpp - Calls for codes, digests and passwords by threads in the wrong state are named, and do
    nothing.
 */
#include "test/support/wrong_state.hpp"

using namespace test;

namespace {

const Call table[] = {
    {"mprAlloc", running, [] { mprEncode64("x"); }},
    {"mprAlloc", running, [] { mprEncode64Block("x", 1); }},
    {"mprAlloc", running, [] { mprDecode64("Zg=="); }},
    {"mprAlloc", running, [] { mprDecode64Block("Zg==", nullptr, 0); }},
    {"mprAlloc", running, [] { mprGetMD5("x"); }},
    {"mprAlloc", running, [] { mprGetMD5WithPrefix("x", 1, "y"); }},
    {"mprAlloc", running, [] { mprGetSHA("x"); }},
    {"mprAlloc", running, [] { mprGetSHABase64("x"); }},
    {"mprAlloc", running, [] { mprGetSHAWithPrefix("x", 1, "y"); }},
    {"mprAlloc", running, [] { mprGetSHA256("x"); }},
    {"mprAlloc", running, [] { mprGetSHA256Base64("x"); }},
    {"mprAlloc", running, [] { mprGetSHA256WithPrefix("x", 1, "y"); }},
    {"mprAlloc", running, [] { mprMakeSalt(8); }},
#if MPR_HAVE_CRYPT // else each says so, wherever it is called
    {"mprMakePassword", everywhere, [] { mprMakePassword("x", 16, 0); }},
    {"mprCryptPassword", everywhere, [] { mprCryptPassword("x", "y", 0); }},
    {"mprCheckPassword", everywhere, [] { mprCheckPassword("x", "$2b$"); }},
#endif
};
} // namespace

TEST_CASE("a call for digests by a thread in the wrong state is named and does nothing", "[base][digest]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}
