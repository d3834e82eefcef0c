// SPDX-License-Identifier: MIT
/*
    test/fuzz/corpus.hpp - What a fuzz target's corpus has: texts, and pieces to be put into them.
 */
#pragma once

#include <string>
#include <vector>

std::vector<std::string> fuzzTexts();
std::vector<std::string> fuzzPieces();
