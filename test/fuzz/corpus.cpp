// SPDX-License-Identifier: MIT
/*
    test/fuzz/corpus.cpp - Feeds a fuzz target without libFuzzer: texts of its corpus and random changes of them; or the
    files named. With --write the texts become files of a folder, for libFuzzer to begin with; with --print files become
    texts, as they stand in a corpus.

    Usage: fuzz_NAME_corpus [FILE... | --write FOLDER | --print FILE...]
    MPR_SEED=N: other changes; MPR_FUZZ=N: so many (300,000)
 */
#include "test/fuzz/corpus.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace {

int feed(const std::string &text) {
    return LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(text.data()), text.size());
}

unsigned long number(const char *variable, unsigned long otherwise) {
    const char *value = getenv(variable);
    return value ? strtoul(value, nullptr, 10) : otherwise;
}

struct Random {
    uint64_t state;
    size_t below(size_t count) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<size_t>(state >> 33) % count;
    }
};

/* Some bytes changed, taken out, repeated, or a piece put in. */
std::string changed(std::string text, const std::string &other, const std::vector<std::string> &pieces,
                    Random &random) {
    for (size_t times = 1 + random.below(4); times > 0; times--) {
        const size_t at = random.below(text.size() + 1);
        const size_t count = random.below(text.size() - at + 1) % 20;
        switch (random.below(5)) {
        case 0: text.insert(at, pieces[random.below(pieces.size())]); break;
        case 1: text.erase(at, count); break;
        case 2: text.insert(at, text.substr(at, count)); break;
        case 3: text.insert(at, other); break;
        default: text.insert(at, 1, static_cast<char>(random.below(256))); break;
        }
    }
    return text;
}

std::string contents(const char *path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

int feedFiles(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (feed(contents(argv[i])) != 0) {
            return 1;
        }
    }
    return 0;
}

int writeFiles(const std::string &folder) {
    int number = 0;
    for (const std::string &text : fuzzTexts()) {
        std::ofstream file(folder + "/" + std::to_string(number++), std::ios::binary);
        if (!(file << text)) {
            fprintf(stderr, "%s cannot be written\n", folder.c_str());
            return 1;
        }
    }
    return 0;
}

/* As a literal of C++. A question mark may begin a trigraph. */
void print(const std::string &text) {
    printf("\"");
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\r' || c == '\n') {
            printf(c == '\r' ? "\\r" : "\\n");
        } else if (byte < ' ' || byte >= 0x7F || strchr("\"\\?", c)) {
            printf("\\%03o", byte);
        } else {
            printf("%c", c);
        }
    }
    printf("\"s,\n");
}

int printFiles(int argc, char **argv) {
    for (int i = 2; i < argc; i++) {
        print(contents(argv[i]));
    }
    return 0;
}
} // namespace

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "--write") == 0) {
        return writeFiles(argv[2]);
    }
    if (argc > 2 && strcmp(argv[1], "--print") == 0) {
        return printFiles(argc, argv);
    }
    if (argc > 1) {
        return feedFiles(argc, argv);
    }
    const std::vector<std::string> corpus = fuzzTexts(), pieces = fuzzPieces();
    for (const std::string &text : corpus) {
        if (feed(text) != 0) {
            return 1;
        }
    }
    const unsigned long seed = number("MPR_SEED", 1), count = number("MPR_FUZZ", 300000);
    Random random = {seed};
    for (unsigned long i = 0; i < count; i++) {
        const std::string &text = corpus[random.below(corpus.size())];
        if (feed(changed(text, corpus[random.below(corpus.size())], pieces, random)) != 0) {
            return 1;
        }
    }
    printf("%zu texts, and %lu changes of them from seed %lu\n", corpus.size(), count, seed);
    return 0;
}
