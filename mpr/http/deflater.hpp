// SPDX-License-Identifier: MIT
/*
    deflater.hpp - A compressor: zlib's state on the managed heap, used again for one body after another.

    What zlib asks for are leaf blocks that the compressor references, as long as it lives: nothing need be ended, and
    the heap's figures and limits count it. A state takes some 260 KiB, whatever the body is (RFC 1951's window of 32
    KiB and tables for it), and making one writes most of that; so those that are done wait to be used again
    (Deflaters).
 */
#pragma once

#include <cstddef>

#include "mpr/http/negotiate.hpp"

struct z_stream_s;

namespace mpr::http {

/** A managed block. One thread uses it at a time. */
struct Deflater;

/** Make a compressor. @param level 1 to 9. @return nullptr when memory is short. */
Deflater* makeDeflater(int level);

/** Begin a body. @param coding gzip or deflate. @return Whether there is memory. */
bool beginBody(Deflater* deflater, Coding coding);

/** How much of what is given has to come out. */
enum class Flush {
    no,    // what zlib sees fit
    all,   // everything: the other side waits for it
    finish // everything, and nothing follows
};

struct Deflated {
    std::size_t taken; // of the input
    std::size_t given; // into the output
    bool done;         // all that was asked for has come out
};

/** Compress. To be called until it is done, with room in the output each time. */
Deflated deflateSome(Deflater* deflater, const char* input, std::size_t size, char* output, std::size_t room,
                     Flush flush);

} // namespace mpr::http
