// SPDX-License-Identifier: MIT
/*
    test/base/buffer.cpp - Byte buffers.
 */
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"

#include <cstring>
#include <string>
#include <utility>

using namespace test;

namespace {

std::string contents(MprBuf *buf) {
    return std::string(mprGetBufStart(buf), static_cast<size_t>(mprGetBufLength(buf)));
}

/* What must hold of every buffer. */
bool sound(MprBuf *buf) {
    return mprGetBufEnd(buf) - mprGetBufStart(buf) == mprGetBufLength(buf) && mprGetBufLength(buf) >= 0 &&
           mprGetBufSpace(buf) >= 0 && mprGetBufLength(buf) + mprGetBufSpace(buf) <= mprGetBufSize(buf);
}

} // namespace

TEST_CASE("a new buffer is empty and has the size asked for", "[base][buffer]") {
    Runtime runtime;
    struct {
        ssize initial, maximum, size;
    } cases[] = {{10, 100, 10}, {1, 1, 1},       {0, 0, 1024},    {-1, -1, 1024},
                 {0, 10, 10},   {200, 100, 100}, {5000, -1, 5000}};
    for (auto &c : cases) {
        MprBuf *buf = mprCreateBuf(c.initial, c.maximum);
        REQUIRE(buf);
        CHECK(mprIsValid(buf));
        CHECK(mprGetBufSize(buf) == c.size);
        CHECK(mprGetBufSpace(buf) == c.size);
        CHECK(mprGetBufLength(buf) == 0);
        CHECK(sound(buf));
        CHECK(mprGetCharFromBuf(buf) == -1);
        CHECK(mprLookAtNextCharInBuf(buf) == -1);
        CHECK(std::string(mprBufToString(buf)) == "");
    }
    Log log;
    CHECK(mprCreateBuf(PTRDIFF_MAX, 0) == nullptr);
}

TEST_CASE("puts at the end, gets from the start", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(4, 0);
    CHECK(mprPutStringToBuf(buf, "hello") == 5);
    CHECK(mprPutStringToBuf(buf, nullptr) == 0);
    CHECK(mprPutCharToBuf(buf, ' ') == 0);
    CHECK(mprPutSubStringToBuf(buf, "world and more", 5) == 5);
    CHECK(mprPutSubStringToBuf(buf, "!", 100) == 1);
    CHECK(mprPutSubStringToBuf(buf, "!", 0) == 0);
    CHECK(mprPutSubStringToBuf(buf, "!", -1) == 0);
    CHECK(mprPutSubStringToBuf(buf, nullptr, 5) == 0);
    CHECK(mprPutIntToBuf(buf, INT64_MIN) == 20);
    CHECK(mprPutIntToBuf(buf, 0) == 1);
    CHECK(mprPutBlockToBuf(buf, "\0\xff", 2) == 2);
    CHECK(mprPutBlockToBuf(buf, "abc", -1) == 0);
    CHECK(mprPutBlockToBuf(buf, nullptr, 3) == 0);
    std::string expected = std::string("hello world!-92233720368547758080") + std::string("\0\xff", 2);
    CHECK(contents(buf) == expected);
    CHECK(sound(buf));

    CHECK(mprLookAtNextCharInBuf(buf) == 'h');
    CHECK(mprGetCharFromBuf(buf) == 'h');
    char block[6] = {};
    CHECK(mprGetBlockFromBuf(buf, block, 5) == 5);
    CHECK(std::string(block) == "ello ");
    CHECK(mprGetBlockFromBuf(buf, block, 0) == 0);
    CHECK(mprGetBlockFromBuf(buf, block, -1) == 0);
    CHECK(mprGetBlockFromBuf(buf, nullptr, 1) == 0);
    CHECK(contents(buf) == expected.substr(6));
    char rest[100];
    CHECK(mprGetBlockFromBuf(buf, rest, 100) == static_cast<ssize>(expected.size() - 6));
    CHECK(std::string(rest, expected.size() - 6) == expected.substr(6));
    CHECK(mprGetBufLength(buf) == 0);
    CHECK(mprPutCharToBuf(buf, 0x1ff) == 0);
    CHECK(mprGetCharFromBuf(buf) == 0xff);
}

TEST_CASE("a string from a buffer keeps zeros", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(0, 0);
    mprPutBlockToBuf(buf, "a\0b", 3);
    char *text = mprBufToString(buf);
    CHECK(memcmp(text, "a\0b", 4) == 0);
    CHECK(mprGetBufLength(buf) == 3);
    CHECK(text != mprGetBufStart(buf));
}

TEST_CASE("a zero behind the contents always fits and does not count", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(3, 3);
    CHECK(mprPutStringToBuf(buf, "abc") == 3);
    mprAddNullToBuf(buf);
    CHECK(std::string(mprGetBufStart(buf)) == "abc");
    CHECK(mprGetBufLength(buf) == 3);
    mprFlushBuf(buf);
    CHECK(mprGetBufLength(buf) == 0);
    CHECK(mprGetBufSpace(buf) == 3);
    mprPutStringToBuf(buf, "x");
    mprAddNullToBuf(buf);
    mprPutStringToBuf(buf, "y");
    mprAddNullToBuf(buf);
    CHECK(std::string(mprGetBufStart(buf)) == "xy");
}

TEST_CASE("a buffer never grows past its maximum", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(2, 10);
    CHECK(mprPutStringToBuf(buf, "0123456") == 7);
    CHECK(mprPutStringToBuf(buf, "789abc") == 3);
    CHECK(contents(buf) == "0123456789");
    CHECK(mprPutCharToBuf(buf, 'x') == MPR_ERR_TOO_MANY);
    CHECK(mprPutStringToBuf(buf, "x") == 0);
    CHECK(mprPutToBuf(buf, "%d", 5) == 0);
    CHECK(mprPutIntToBuf(buf, 5) == 0);
    mprPutUint16ToBuf(buf, 1);
    CHECK(contents(buf) == "0123456789");
    CHECK(mprGetBufSize(buf) == 10);
    /* What has been taken makes room. */
    CHECK(mprGetCharFromBuf(buf) == '0');
    CHECK(mprPutCharToBuf(buf, 'a') == 0);
    CHECK(contents(buf) == "123456789a");
    mprAdjustBufStart(buf, 4);
    CHECK(mprPutToBuf(buf, "%s", "bcdefgh") == 4);
    CHECK(contents(buf) == "56789abcde");
    mprAdjustBufStart(buf, 3);
    mprPutUint32ToBuf(buf, 0x41424344);
    CHECK(contents(buf) == "89abcde"); /* all or nothing */
    mprPutUint16ToBuf(buf, 0x4142);
    CHECK(contents(buf) == "89abcdeAB");
    CHECK(sound(buf));
}

TEST_CASE("mprGrowBuf", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(8, 64);
    mprPutStringToBuf(buf, "abc");
    CHECK(mprGrowBuf(buf, 8) == 0);
    CHECK(mprGetBufSize(buf) == 16);
    CHECK(mprGetBufSpace(buf) == 13);
    CHECK(mprGrowBuf(buf, 0) == 0);
    CHECK(mprGetBufSize(buf) == 32);
    CHECK(mprGrowBuf(buf, -5) == 0);
    CHECK(mprGetBufSize(buf) == 64);
    CHECK(mprGrowBuf(buf, 1) == MPR_ERR_TOO_MANY);
    CHECK(contents(buf) == "abc");
    CHECK(mprGrowBuf(nullptr, 1) == MPR_ERR_BAD_ARGS);
    MprBuf *open = mprCreateBuf(8, 0);
    Log log;
    CHECK(mprGrowBuf(open, PTRDIFF_MAX - 8) == MPR_ERR_MEMORY);
    CHECK(mprGrowBuf(open, PTRDIFF_MAX) == MPR_ERR_TOO_MANY);
    CHECK(mprGetBufSize(open) == 8);
}

TEST_CASE("direct writes: space, then adjust", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(16, 16);
    memcpy(mprGetBufEnd(buf), "hello", 5);
    mprAdjustBufEnd(buf, 5);
    CHECK(contents(buf) == "hello");
    mprAdjustBufEnd(buf, -2);
    CHECK(contents(buf) == "hel");
    mprAdjustBufStart(buf, 2);
    CHECK(contents(buf) == "l");
    mprAdjustBufStart(buf, -2);
    CHECK(contents(buf) == "hel");
    mprAdjustBufEnd(buf, 13);
    CHECK(mprGetBufLength(buf) == 16);
    mprAdjustBufEnd(buf, -13);

    /* Wrong moves are named and not made. */
    CHECK(runtime.log.size() == 0);
    mprAdjustBufEnd(buf, 14);
    mprAdjustBufEnd(buf, -4);
    mprAdjustBufEnd(buf, PTRDIFF_MAX);
    mprAdjustBufEnd(buf, PTRDIFF_MIN);
    CHECK(runtime.log.count("mprAdjustBufEnd") == 4);
    mprAdjustBufStart(buf, 4);
    mprAdjustBufStart(buf, -1);
    mprAdjustBufStart(buf, PTRDIFF_MIN);
    CHECK(runtime.log.count("mprAdjustBufStart") == 3);
    CHECK(contents(buf) == "hel");
}

TEST_CASE("numbers go in network byte order", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(1, 0);
    mprPutUint16ToBuf(buf, 0x0102);
    mprPutUint32ToBuf(buf, 0xfffefdfc);
    CHECK(contents(buf) == "\x01\x02\xff\xfe\xfd\xfc");
    mprAdjustBufStart(buf, 2);
    CHECK(mprGetUint32FromBuf(buf) == 0xfffefdfc);
    CHECK(mprGetBufLength(buf) == 0);
    mprPutBlockToBuf(buf, "\1\2\3", 3);
    CHECK(mprGetUint32FromBuf(buf) == 0);
    CHECK(mprGetBufLength(buf) == 3);
}

TEST_CASE("mprPutToBuf formats into the buffer", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(4, 0);
    CHECK(mprPutToBuf(buf, "%d-%s", 12, "ab") == 5);
    CHECK(mprPutToBuf(buf, "%s", "") == 0);
    CHECK(mprPutToBuf(buf, nullptr) == 0);
    std::string large(100000, 'x');
    CHECK(mprPutToBuf(buf, "%s|", large.c_str()) == 100001);
    CHECK(contents(buf) == "12-ab" + large + "|");
    MprBuf *small = mprCreateBuf(4, 8);
    CHECK(mprPutToBuf(small, "%s%s", "12345", "67890") == 8);
    CHECK(contents(small) == "12345678");
    CHECK(mprPutToBuf(nullptr, "x") == 0);
}

TEST_CASE("mprPutToBuf makes no more text than the buffer may hold", "[base][buffer]") {
    Runtime runtime;
    mprSetMemLimits(0, 8 << 20, 0);
    MprBuf *buf = mprCreateBuf(16, 1000);
    CHECK(mprPutToBuf(buf, "%d", 7) == 1);
    CHECK(mprPutToBuf(buf, "%2147483647d", 7) == 999);
    CHECK(mprPutToBuf(buf, "%.2147483647f", 7.0) == 0);
    CHECK(mprGetBufLength(buf) == 1000);
    CHECK(Log::text() == "");
    for (int size : {1, 479, 480, 481, 2000}) {
        MprBuf *exact = mprCreateBuf(1, size);
        CHECK(mprPutToBuf(exact, "%d%*d", 1, size + 1, 2) == size);
        CHECK(std::string(mprBufToString(exact)) == "1" + std::string(static_cast<size_t>(size) - 1, ' '));
    }
}

TEST_CASE("a buffer may put what it holds", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(8, 0);
    mprPutStringToBuf(buf, "0123456");
    for (int i = 0; i < 8; i++) {
        std::string before = contents(buf);
        mprPutBlockToBuf(buf, mprGetBufStart(buf), mprGetBufLength(buf));
        REQUIRE(contents(buf) == before + before);
        mprAddNullToBuf(buf);
        mprPutToBuf(buf, "<%s>", mprGetBufStart(buf));
        REQUIRE(contents(buf) == before + before + "<" + before + before + ">");
        mprAdjustBufEnd(buf, -mprGetBufLength(buf) / 2);
    }
    /* Also when there is room in front only. */
    MprBuf *full = mprCreateBuf(12, 12);
    mprPutStringToBuf(full, "........abcd");
    mprAdjustBufStart(full, 8);
    CHECK(mprPutBlockToBuf(full, mprGetBufStart(full), 4) == 4);
    CHECK(contents(full) == "abcdabcd");
    MprBuf *again = mprCreateBuf(12, 12);
    mprPutStringToBuf(again, "........abc");
    mprAddNullToBuf(again);
    mprAdjustBufStart(again, 8);
    CHECK(mprPutToBuf(again, "%s%s%s", mprGetBufStart(again), mprGetBufStart(again), mprGetBufStart(again)) == 9);
    CHECK(contents(again) == "abcabcabcabc");
}

TEST_CASE("random puts and gets agree with a model", "[base][buffer]") {
    Runtime runtime;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        Random random(seed);
        size_t maximum = random.below(2) ? 0 : 1 + random.below(300);
        MprBuf *buf = mprCreateBuf(static_cast<ssize>(random.below(50)), static_cast<ssize>(maximum));
        mprAddRoot(buf);
        std::string model;
        for (size_t i = 0; i < heavy(5000); i++) {
            std::string piece(random.below(40), static_cast<char>('a' + random.below(26)));
            size_t room = maximum ? maximum - model.size() : SIZE_MAX;
            switch (random.below(6)) {
            case 0:
                REQUIRE(mprPutBlockToBuf(buf, piece.data(), static_cast<ssize>(piece.size())) ==
                        static_cast<ssize>(std::min(room, piece.size())));
                model += piece.substr(0, std::min(room, piece.size()));
                break;
            case 1:
                REQUIRE(mprPutToBuf(buf, "%s", piece.c_str()) == static_cast<ssize>(std::min(room, piece.size())));
                model += piece.substr(0, std::min(room, piece.size()));
                break;
            case 2:
                REQUIRE(mprPutCharToBuf(buf, 'c') == (room ? 0 : MPR_ERR_TOO_MANY));
                model += room ? "c" : "";
                break;
            case 3: {
                char out[64];
                auto got = mprGetBlockFromBuf(buf, out, static_cast<ssize>(piece.size()));
                REQUIRE(std::string(out, static_cast<size_t>(got)) == model.substr(0, piece.size()));
                model.erase(0, static_cast<size_t>(got));
                break;
            }
            case 4:
                REQUIRE(mprInsertCharToBuf(buf, 'i') == (room ? 0 : MPR_ERR_TOO_MANY));
                model.insert(0, room ? "i" : "");
                break;
            default: mprYield(0);
            }
            REQUIRE(sound(buf));
            REQUIRE(contents(buf) == model);
        }
        mprRemoveRoot(buf);
    }
}

TEST_CASE("a queue of a million bytes through a small buffer stays small", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(64, 0);
    mprPutStringToBuf(buf, "0123456789");
    size_t wrong = 0;
    for (size_t i = 0; i < 1000000; i++) {
        wrong += mprPutCharToBuf(buf, static_cast<int>('0' + i % 10)) != 0;
        wrong += mprGetCharFromBuf(buf) != static_cast<int>('0' + i % 10);
    }
    CHECK(wrong == 0);
    CHECK(mprGetBufSize(buf) == 64);
}

TEST_CASE("a million puts", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(0, 0);
    mprAddRoot(buf);
    for (int i = 0; i < 1000000; i++) {
        mprPutCharToBuf(buf, i);
        if (i % 1000 == 0) {
            mprYield(0);
        }
    }
    CHECK(mprGetBufLength(buf) == 1000000);
    size_t wrong = 0;
    for (int i = 0; i < 1000000; i++) {
        wrong += mprGetCharFromBuf(buf) != (i & 0xff);
    }
    CHECK(wrong == 0);
    mprRemoveRoot(buf);
}

TEST_CASE("a rooted buffer keeps its bytes through collections, a dropped one goes", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(10, 0);
    mprAddRoot(buf);
    mprPutStringToBuf(buf, "kept");
    for (int i = 0; i < 10; i++) {
        collect();
        mprPutStringToBuf(buf, ", and more of it");
    }
    CHECK(contents(buf).size() == 4 + 160);
    CHECK(contents(buf).substr(0, 20) == "kept, and more of it");
    char *data = mprGetBufStart(buf);
    mprRemoveRoot(buf);
    collect();
    CHECK_FALSE(mprIsValid(buf));
    CHECK_FALSE(mprIsValid(data));
}

TEST_CASE("a clone is a copy of its own", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(10, 20);
    mprPutStringToBuf(buf, "abcdef");
    mprAdjustBufStart(buf, 2);
    MprBuf *copy = mprCloneBuf(buf);
    CHECK(contents(copy) == "cdef");
    CHECK(mprGetBufSize(copy) == 10);
    mprPutStringToBuf(copy, "0123456789abcdefghij");
    CHECK(contents(copy).size() == 20);
    CHECK(contents(buf) == "cdef");
    CHECK(mprCloneBuf(nullptr) == nullptr);
}

TEST_CASE("without memory a put stores what fits, and the contents stay", "[base][buffer]") {
    static unsigned char memory[64 << 10];
    Runtime runtime(memory, sizeof(memory));
    mprEnableGC(false);
    MprBuf *buf = mprCreateBuf(100, 0);
    mprPutStringToBuf(buf, "first");
    while (mprAlloc(1024)) {}
    while (mprAlloc(1)) {} // nor crumbs: a put grows in steps
    std::string large(20000, 'l');
    CHECK(mprPutStringToBuf(buf, large.c_str()) == 95);
    CHECK(mprPutToBuf(buf, "%s", large.c_str()) == 0);
    CHECK(mprGrowBuf(buf, 20000) == MPR_ERR_MEMORY);
    CHECK(contents(buf) == "first" + large.substr(0, 95));
}

TEST_CASE("a NULL buffer is empty and takes nothing", "[base][buffer]") {
    CHECK(mprGetBufLength(nullptr) == 0);
    CHECK(mprGetBufSize(nullptr) == 0);
    CHECK(mprGetBufSpace(nullptr) == 0);
    CHECK(mprGetBufStart(nullptr) == nullptr);
    CHECK(mprGetBufEnd(nullptr) == nullptr);
    CHECK(mprBufToString(nullptr) == nullptr);
    mprFlushBuf(nullptr);
    mprAdjustBufEnd(nullptr, 1);
    mprAdjustBufStart(nullptr, 1);
    mprAddNullToBuf(nullptr);
    CHECK(mprPutCharToBuf(nullptr, 'x') == MPR_ERR_BAD_ARGS);
    CHECK(mprPutStringToBuf(nullptr, "x") == 0);
    CHECK(mprPutBlockToBuf(nullptr, "x", 1) == 0);
    CHECK(mprPutIntToBuf(nullptr, 1) == 0);
    mprPutUint16ToBuf(nullptr, 1);
    mprPutUint32ToBuf(nullptr, 1);
    CHECK(mprGetCharFromBuf(nullptr) == -1);
    CHECK(mprLookAtNextCharInBuf(nullptr) == -1);
    CHECK(mprGetUint32FromBuf(nullptr) == 0);
    char out[4];
    CHECK(mprGetBlockFromBuf(nullptr, out, 4) == 0);
}

namespace {
MprBuf *noted;
void *cached;
} // namespace

TEST_CASE("a notifier may use the buffer for whose growth memory is short", "[base][buffer]") {
    Runtime runtime;
    constexpr ssize size = 1 << 20;
    noted = mprCreateBuf(size, 0);
    mprHold(noted);
    mprPutPadToBuf(noted, 'a', size);
    cached = mprAlloc(32 * size);
    mprHold(cached);
    mprSetMemNotifier([](int, int, size_t, size_t) {
        if (void *block = std::exchange(cached, nullptr)) {
            mprRelease(block);
            mprFree(block);
            for (int i = 0; i < 6; i++) {
                mprPutPadToBuf(noted, 'n', size);
            }
        }
    });
    mprSetMemLimits(0, static_cast<ssize>(stats().heap) + size, -1);
    CHECK(mprPutStringToBuf(noted, "one more") == 8);
    CHECK(!cached);
    CHECK(sound(noted));
    const std::string text = contents(noted);
    CHECK(text == std::string(size, 'a') + std::string(6 * size, 'n') + "one more");
}
