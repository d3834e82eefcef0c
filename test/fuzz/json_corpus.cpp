// SPDX-License-Identifier: MIT
/*
    test/fuzz/json_corpus.cpp - For JSON: the texts of the parsing test-suite, and some paths.
 */
#include "test/base/json_suite.hpp"
#include "test/fuzz/corpus.hpp"

std::vector<std::string> fuzzTexts() {
    std::vector<std::string> texts = {"a[1].b", "..a",     "a[0:-1]", "a[b == 'c'].a", "a[@ != 1]",
                                      "b.a.a",  "['c d']", "a[$]",    "a.*",           "..[a > 2]"};
    for (const auto &entry : test::suite) {
        texts.emplace_back(entry.text);
    }
    return texts;
}

std::vector<std::string> fuzzPieces() {
    return {"\"",   "\\",   "{",  "}",      "[",  "]",  ",",     ":",        "\\u",
            "d800", "e9",   "..", "[@ ~ ^", "/*", "*/", "//",    "\xc0\x80", "\xf0\x9f\x98\x80",
            "true", "null", "-0", "'",      "`",  "+",  "\"a\":"};
}
