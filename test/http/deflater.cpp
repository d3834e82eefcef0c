// SPDX-License-Identifier: MIT
/*
    test/http/deflater.cpp - The compressor: what zlib makes of it again, in any pieces; one state for many bodies;
    memory that is the heap's.
 */
#include "test/support/runtime.hpp"

#include "mpr/http/deflater.hpp"

#include <zlib.h>

#include <random>

using namespace test;
using namespace mpr::http;

namespace {

/* A compressor that stays. */
class Held {
public:
    explicit Held(int level = 6) {
        mprLinkRootRef(&root);
        root.ptr = makeDeflater(level);
        REQUIRE(root.ptr);
    }
    ~Held() { mprUnlinkRootRef(&root); }
    Deflater *operator()() const { return static_cast<Deflater *>(root.ptr); }

private:
    MprRootRef root = {};
};

std::string compress(Deflater *deflater, Coding coding, const std::string &body, size_t piece, size_t room,
                     Flush between = Flush::no) {
    REQUIRE(beginBody(deflater, coding));
    std::string out;
    std::string buffer(room, '\0');
    for (size_t at = 0;;) {
        const size_t size = std::min(piece, body.size() - at);
        const bool last = at + size == body.size();
        size_t taken = 0;
        for (bool done = false; !done;) {
            const Deflated step = deflateSome(deflater, body.data() + at + taken, size - taken, buffer.data(), room,
                                              last ? Flush::finish : between);
            taken += step.taken;
            out.append(buffer, 0, step.given);
            done = step.done;
        }
        REQUIRE(taken == size);
        at += size;
        if (last) {
            return out;
        }
    }
}

std::string inflated(const std::string &data, Coding coding) {
    z_stream zlib = {};
    REQUIRE(inflateInit2(&zlib, coding == Coding::gzip ? 15 + 16 : 15) == Z_OK);
    std::string out(1 << 22, '\0');
    zlib.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
    zlib.avail_in = static_cast<uInt>(data.size());
    zlib.next_out = reinterpret_cast<Bytef *>(out.data());
    zlib.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&zlib, Z_FINISH); /* which checks sum and length, too */
    CHECK(code == Z_STREAM_END);
    CHECK(zlib.avail_in == 0);
    out.resize(zlib.total_out);
    inflateEnd(&zlib);
    return out;
}

std::string sample(size_t size) {
    std::mt19937 random(22);
    std::string text;
    while (text.size() < size) {
        text += "line " + std::to_string(random() % 1000) + "\n";
    }
    text.resize(size);
    return text;
}
} // namespace

TEST_CASE("what is compressed comes back", "[http][deflater]") {
    Runtime runtime;
    Held deflater;
    for (Coding coding : {Coding::gzip, Coding::deflate}) {
        for (size_t size : {0, 1, 100, 65536, 300000}) {
            const std::string body = sample(size);
            for (size_t piece : {1000, 65536, 1 << 20}) {
                for (size_t room : {1, 7, 4096, 1 << 20}) {
                    if (room > 7 || size < 1000) {
                        REQUIRE(inflated(compress(deflater(), coding, body, piece, room), coding) == body);
                    }
                }
            }
        }
        CHECK(compress(deflater(), coding, sample(65536), 65536, 65536).size() < 65536 / 3);
    }
}

TEST_CASE("check=fields does not accuse a compressor of what it has read and written", "[http][deflater][fields]") {
    Runtime runtime("check=fields,everyyield=0");
    const Held deflater;
    REQUIRE(beginBody(deflater(), Coding::gzip));
    for (size_t size : {100, 200}) { // what is read stays with zlib, so nothing is written into the second
        auto *const output = static_cast<char *>(mprAlloc(size));
        CHECK(deflateSome(deflater(), sample(100).data(), 100, output, size, Flush::no).taken == 100);
    }
    collect();
    INFO(Log::text());
    CHECK(Log::count("check:") == 0);
}

TEST_CASE("what is flushed can be read at once", "[http][deflater]") {
    Runtime runtime;
    Held deflater;
    const std::string body = sample(1000);
    CHECK(inflated(compress(deflater(), Coding::gzip, body, 10, 64, Flush::all), Coding::gzip) == body);
    REQUIRE(beginBody(deflater(), Coding::deflate));
    char out[2000];
    const Deflated step = deflateSome(deflater(), body.data(), body.size(), out, sizeof(out), Flush::all);
    CHECK(step.done);
    z_stream zlib = {};
    REQUIRE(inflateInit(&zlib) == Z_OK);
    char back[2000];
    zlib.next_in = reinterpret_cast<Bytef *>(out);
    zlib.avail_in = static_cast<uInt>(step.given);
    zlib.next_out = reinterpret_cast<Bytef *>(back);
    zlib.avail_out = sizeof(back);
    CHECK(inflate(&zlib, Z_SYNC_FLUSH) == Z_OK);
    CHECK(std::string(back, zlib.total_out) == body);
    inflateEnd(&zlib);
}

TEST_CASE("one state serves many bodies, and is the heap's", "[http][deflater]") {
    Runtime runtime;
    const std::string body = sample(10000);
    {
        Held deflater;
        collect();
        const size_t before = stats().bytesLive;
        compress(deflater(), Coding::gzip, body, 10000, 10000);
        collect();
        const size_t made = stats().bytesLive;
        CHECK(made > before + 200000); /* zlib's memory is counted ... */
        const std::string first = compress(deflater(), Coding::gzip, body, 10000, 10000);
        for (int i = 0; i < 50; ++i) {
            REQUIRE(compress(deflater(), Coding::gzip, body, 10000, 10000) == first);
        }
        /* A body that was not finished leaves no trace in the next. */
        REQUIRE(beginBody(deflater(), Coding::gzip));
        char out[100];
        deflateSome(deflater(), body.data(), 5000, out, sizeof(out), Flush::no);
        CHECK(compress(deflater(), Coding::gzip, body, 10000, 10000) == first);
        collect();
        CHECK(stats().bytesLive < made + 10000); /* ... and no more is taken for others */
    }
    collect();
    CHECK(stats().bytesLive < 200000); /* it goes with its compressor */
}

TEST_CASE("a compressor that finds no memory says so", "[http][deflater]") {
    Runtime runtime;
    Held deflater;
    mprSetMemLimits(0, static_cast<ssize>(stats().heap), -1);
    MprRootRef filler = {};
    mprLinkRootRef(&filler);
    for (size_t size = 4 << 20; size > 1000; size /= 2) { /* what is left is in small pieces */
        while (void **block = static_cast<void **>(mprAllocManaged(
                   size,
                   [](void *ptr, int flags) {
                       if (flags & MPR_MANAGE_MARK) {
                           mprMark(*static_cast<void **>(ptr));
                       }
                   },
                   MPR_ALLOC_ZERO))) {
            *block = filler.ptr;
            filler.ptr = block;
        }
    }
    CHECK_FALSE(beginBody(deflater(), Coding::gzip));
    filler.ptr = nullptr;
    mprSetMemLimits(0, 0, -1);
    collect();
    CHECK(beginBody(deflater(), Coding::gzip));
    mprUnlinkRootRef(&filler);
}
