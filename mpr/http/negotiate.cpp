// SPDX-License-Identifier: MIT
/*
    negotiate.cpp - Content codings and media types. See negotiate.hpp.
 */
#include "mpr/http/negotiate.hpp"

#include "mpr/http/grammar.hpp"

namespace mpr::http {

namespace {

/** Qualities of codings, in thousandths; -1: not named. */
struct Qualities {
    int gzip = -1, deflate = -1, identity = -1, others = -1;

    void add(std::string_view element) {
        const int quality = qualityOf(element);
        const std::string_view name = trimmed(take(element, ';'));
        int* of = same(name, "gzip") || same(name, "x-gzip") ? &gzip
                  : same(name, "deflate")                    ? &deflate
                  : same(name, "identity")                   ? &identity
                  : name == "*"                              ? &others
                                                             : nullptr;
        if (of && *of < quality) {
            *of = quality;
        }
    }

    /** Of a coding that is not named. */
    int or_(int quality) const { return quality >= 0 ? quality : others >= 0 ? others : 0; }
};

bool endsWith(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && same(cut(text, text.size() - end.size()), end);
}
} // namespace

Coding chooseCoding(std::string_view accepted) {
    Qualities qualities;
    Pieces pieces(accepted, ',');
    std::string_view element;
    while (pieces.next(element)) {
        qualities.add(element);
    }
    const int gzip = qualities.or_(qualities.gzip), deflate = qualities.or_(qualities.deflate);
    // Identity that is not named is accepted, and preferred to nothing.
    const int identity = qualities.identity > 0 ? qualities.identity : 0;
    if (gzip > 0 && gzip >= deflate && gzip >= identity) {
        return Coding::gzip;
    }
    return deflate > 0 && deflate >= identity ? Coding::deflate : Coding::identity;
}

const char* nameOf(Coding coding) {
    return coding == Coding::gzip ? "gzip" : coding == Coding::deflate ? "deflate" : nullptr;
}

bool isCompressible(std::string_view type) {
    constexpr std::string_view known[] = {"application/javascript",
                                          "application/json",
                                          "application/xml",
                                          "application/manifest+json",
                                          "application/wasm",
                                          "application/rtf",
                                          "application/x-javascript",
                                          "application/x-sh",
                                          "application/vnd.ms-fontobject",
                                          "image/bmp",
                                          "image/x-icon",
                                          "image/vnd.microsoft.icon",
                                          "font/ttf",
                                          "font/otf"};
    type = trimmed(take(type, ';'));
    if (same(cut(type, 0, 5), "text/")) {
        return !same(type, "text/event-stream");
    }
    for (const std::string_view each : known) {
        if (same(type, each)) {
            return true;
        }
    }
    return endsWith(type, "+json") || endsWith(type, "+xml");
}

} // namespace mpr::http
