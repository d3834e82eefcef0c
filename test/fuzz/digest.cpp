// SPDX-License-Identifier: MIT
/*
    test/fuzz/digest.cpp - Any bytes, to be encoded in Base64, and as a code. Built with libFuzzer by clang
    (fuzz_digest), and with a driver that mutates a corpus (test/fuzz/corpus.cpp) for the tests.

    Bytes come back from their code. What is taken for a code is the code of what comes of it.
 */
#include "mpr.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

void expect(bool good, const char *what) {
    if (!good) {
        fprintf(stderr, "fuzz: %s\n", what);
        abort();
    }
}

/* With exactly the room that it takes, so that a sanitizer sees a step too far. */
char *decode(const std::string &code, ssize *length, int flags) {
    char *exact = strdup(code.c_str());
    char *out = mprDecode64Block(exact, length, flags);
    free(exact);
    return out;
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Mpr *const mpr = mprCreate(0, nullptr, 0);
    if (!mpr || size > 1 << 16) {
        return mpr ? 0 : -1;
    }
    char *bytes = static_cast<char *>(malloc(size ? size : 1));
    memcpy(bytes, data, size);
    const char *code = mprEncode64Block(bytes, static_cast<ssize>(size));
    expect(code && strlen(code) == (size + 2) / 3 * 4, "a code of another length");
    ssize length = -1;
    const char *back = mprDecode64Block(code, &length, 0);
    expect(back && static_cast<size_t>(length) == size && memcmp(back, bytes, size) == 0, "other bytes come back");
    expect(slen(mprGetMD5WithPrefix(bytes, length, nullptr)) == 32, "another digest");
    free(bytes);

    const std::string text(reinterpret_cast<const char *>(data), size);
    length = -1;
    const char *strict = decode(text, &length, 0);
    expect(!strict || strcmp(mprEncode64Block(strict, length), text.c_str()) == 0,
           "taken, and not the code of anything");
    const std::string found(strict ? strict : "", strict ? static_cast<size_t>(length) : 0);
    const char *open = decode(text, &length, MPR_DECODE_TOKEQ);
    expect(!strict || (open && std::string(open, static_cast<size_t>(length)) == found), "decoded in two ways");
    mprYield(MPR_YIELD_DEFAULT);
    return 0;
}
