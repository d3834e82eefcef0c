// SPDX-License-Identifier: MIT
/*
    test/base/json_misuse.cpp - Calls for JSON by threads in the wrong state are named, and do nothing.
 */
#include "test/support/wrong_state.hpp"

using namespace test;

namespace {

/* No tree: where a call is refused it is not looked at, and elsewhere these calls are not tried. */
MprJson *tree() {
    return reinterpret_cast<MprJson *>(things.node);
}
MprBuf *buffer() {
    return reinterpret_cast<MprBuf *>(things.node);
}

const Call table[] = {
    {"mprAllocMem", running, [] { mprCreateJson(MPR_JSON_OBJ); }},
    {"mprAlloc", running, [] { mprCreateJsonValue("x", 0); }},
    {"mprCloneJson", running, [] { mprCloneJson(tree()); }, true},
    {"mprParseJson", running, [] { mprParseJson("[1]"); }},
    {"mprParseJsonText", running, [] { mprParseJsonText("[1]", 3, nullptr, nullptr); }},
    {"mprParseJsonInto", running, [] { mprParseJsonInto("[1]", tree()); }, true},
    {"mprParseJsonEx", running, [] { mprParseJsonEx("[1]", nullptr, nullptr, nullptr, nullptr); }},
    {"mprJsonToString", running, [] { mprJsonToString(tree(), 0); }, true},
    {"mprFormatJsonName", running, [] { mprFormatJsonName(buffer(), "x", 0); }, true},
    {"mprFormatJsonString", running, [] { mprFormatJsonString(buffer(), "x"); }, true},
    {"mprFormatJsonValue", running, [] { mprFormatJsonValue(buffer(), MPR_JSON_TRUE, "true", 0); }, true},
    {"mprLogJson", running, [] { mprLogJson(0, tree(), "x"); }, true},
    {"mprGetJsonLength", running, [] { mprGetJsonLength(tree()); }, true},
    {"mprReadJson", running, [] { mprReadJson(tree(), "x"); }, true},
    {"mprReadJsonObj", running, [] { mprReadJsonObj(tree(), "x"); }, true},
    {"mprReadJsonValue", running, [] { mprReadJsonValue(tree(), "x"); }, true},
    {"mprWriteJson", running, [] { mprWriteJson(tree(), "x", "y", 0); }, true},
    {"mprWriteJsonObj", running, [] { mprWriteJsonObj(tree(), "x", tree()); }, true},
    {"mprRemoveJsonChild", running, [] { mprRemoveJsonChild(tree(), tree()); }, true},
    {"mprQueryJson", running, [] { mprQueryJson(tree(), "x", nullptr, 0); }, true},
    {"mprQueryJson", running, [] { mprQueryJson(tree(), "x", "y", 0); }, true},
    {"mprGetJson", running, [] { mprGetJson(tree(), "x"); }, true},
    {"mprGetJsonObj", running, [] { mprGetJsonObj(tree(), "x"); }, true},
    {"mprSetJson", running, [] { mprSetJson(tree(), "x", "y", 0); }, true},
    {"mprSetJsonObj", running, [] { mprSetJsonObj(tree(), "x", tree()); }, true},
    {"mprRemoveJson", running, [] { mprRemoveJson(tree(), "x"); }, true},
    {"mprBlendJson", running, [] { mprBlendJson(tree(), tree(), 0); }, true},
    {"mprJsonToHash", running, [] { mprJsonToHash(tree()); }, true},
    {"mprHashToJson", running, [] { mprHashToJson(things.hash); }, true},
    {"mprJsonToEnv", running, [] { mprJsonToEnv(tree(), "x", nullptr); }, true},
    {"mprParseJson", running, [] { mprDeserialize("{}"); }},
    {"mprDeserializeInto", running, [] { mprDeserializeInto("{}", things.hash); }},
    {"mprHashToJson", running, [] { mprSerialize(things.hash, 0); }, true},
    {"mprAlloc", running, [] { stemplateJson("${x}", tree()); }, true},
};
} // namespace

TEST_CASE("a call for JSON by a thread in the wrong state is named and does nothing", "[base][json]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}
