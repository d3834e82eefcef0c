// SPDX-License-Identifier: MIT
/*
    test/fuzz/tls_corpus.cpp - For TLS: each kind of connection, with no change, and with one at a place of each message.
 */
#include "test/fuzz/corpus.hpp"

namespace {

std::string change(int what, bool toServer, unsigned at, unsigned value) {
    return {static_cast<char>(what + (toServer ? 8 : 0)), static_cast<char>(at & 255), static_cast<char>(at >> 8),
            static_cast<char>(value)};
}
} // namespace

std::vector<std::string> fuzzTexts() {
    std::vector<std::string> texts;
    for (char kind = 0; kind < 4; kind++) {
        texts.emplace_back(1, kind);
        for (const bool toServer : {false, true}) {
            // Headers of records and messages, lists within them, certificates, what is enciphered.
            for (unsigned at : {0u,  1u,   3u,   4u,   5u,   6u,   8u,   9u,   43u,   44u,  76u,
                                80u, 120u, 127u, 132u, 200u, 300u, 500u, 900u, 1500u, 2500u}) {
                texts.push_back(std::string(1, kind) + change(5, toServer, at, 1));
            }
            texts.push_back(std::string(1, kind) + change(6, toServer, 3, 0) + change(6, toServer, 100, 0));
            texts.push_back(std::string(1, kind) + change(1, toServer, 127, 6));
            texts.push_back(std::string(1, kind) + change(3, toServer, 700, 0));
            texts.push_back(std::string(1, kind) + change(4, toServer, 127, 40) + change(7, toServer, 133, 9));
        }
    }
    return texts;
}

/* Changes of the first bytes of either way, and of those that are far on. */
std::vector<std::string> fuzzPieces() {
    std::vector<std::string> pieces;
    for (int what = 0; what < 8; what++) {
        for (const bool toServer : {false, true}) {
            for (unsigned at : {0u, 5u, 11u, 50u, 140u, 260u, 700u, 1200u}) {
                pieces.push_back(change(what, toServer, at + static_cast<unsigned>(what), at % 251 + 1));
            }
        }
    }
    return pieces;
}
