// SPDX-License-Identifier: MIT
/*
    test/fuzz/digest_corpus.cpp - For Base64: codes, and what is nearly one.
 */
#include "test/fuzz/corpus.hpp"

std::vector<std::string> fuzzTexts() {
    return {"",     "Zg==", "Zm8=", "Zm9v", "Zm9vYmFyZm9vYmFy",   "////++++",
            "Zh==", "Z===", "Zg=",  "A",    std::string(100, 'A')};
}

std::vector<std::string> fuzzPieces() {
    return {"=", "==", "A", "/", "+", "-", "_", "\n", "\xff"};
}
