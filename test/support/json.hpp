// SPDX-License-Identifier: MIT
/*
    test/support/json.hpp - JSON in tests: texts parsed, trees printed and checked.
 */
#pragma once

#include "mpr.hpp"
#include "test/support/runtime.hpp"

#include <string>
#include <string_view>

namespace test {

/* What mprParseJsonText says of a text: "" when it is taken. */
inline std::string mistake(std::string_view text, const MprJsonRules &rules = {}) {
    cchar *message = "";
    MprJson *tree = mprParseJsonText(text.data(), static_cast<ssize>(text.size()), &rules, &message);
    return tree ? "" : message ? message : "(memory)";
}

inline const MprJsonRules relaxed = {MPR_JSON_RELAXED, 0, 0};

/* A tree. */
inline MprJson *parsed(std::string_view text, const MprJsonRules &rules = {}) {
    cchar *message = nullptr;
    MprJson *tree = mprParseJsonText(text.data(), static_cast<ssize>(text.size()), &rules, &message);
    INFO(text << ": " << (message ? message : ""));
    REQUIRE(tree);
    return tree;
}

inline std::string printed(MprJson *tree, int flags = MPR_JSON_QUOTES) {
    char *text = mprJsonToString(tree, flags);
    return text ? text : "(null)";
}

inline std::string str(cchar *text) {
    return text ? text : "(null)";
}

/* Whether siblings and counts of a tree are as they should be. */
inline bool isSound(MprJson *node) {
    MprJson *child, *before = nullptr;
    int index;
    for (ITERATE_JSON(node, child, index)) {
        if (before ? child->prev != before : child->prev->next != nullptr) {
            return false;
        }
        if (((node->type & MPR_JSON_OBJ) != 0) != (child->name != nullptr) || !isSound(child)) {
            return false;
        }
        before = child;
    }
    const bool simple = (node->type & MPR_JSON_VALUE) != 0;
    return index == node->length && simple == (node->value != nullptr) && (!simple || !node->children) &&
           (!node->children || node->children->prev == before);
}

} // namespace test
