// SPDX-License-Identifier: MIT
/*
    test/fuzz/http_parts.cpp - Any bytes as what a client may send: a URI, a query, a form in parts, cookies, ranges,
    tags, codings, dates. Built with libFuzzer by clang (fuzz_http_parts), and with a driver that mutates a corpus
    (test/fuzz/corpus.cpp) for the tests.

    The first byte says as what. What is taken comes back; paths stay below their root; a form is the same in any
    pieces; ranges lie within the whole and apart; nothing that is written says more than its part.
 */
#include "mpr.h"
#include "mpr/http.h"
#include "mpr/http/condition.hpp"
#include "mpr/http/cookie.hpp"
#include "mpr/http/date.hpp"
#include "mpr/http/multipart.hpp"
#include "mpr/http/negotiate.hpp"
#include "mpr/http/params.hpp"
#include "mpr/http/range.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace mpr::http;

namespace {

void expect(bool good, const char *what) {
    if (!good) {
        fprintf(stderr, "fuzz: %s\n", what);
        abort();
    }
}

void tryPath(cchar *text) {
    cchar *normal = httpNormalizeUriPath(text);
    expect(smatch(httpNormalizeUriPath(normal), normal), "a path that is normal is not");
    if (cchar *safe = httpValidateUriPath(text)) {
        const std::string path = std::string(safe) + "/";
        expect(*safe == '/' && path.find("/../") == std::string::npos && path.find('\\') == std::string::npos,
               "a path leaves its root");
        expect(path.find("/./") == std::string::npos && strlen(safe) <= strlen(text), "a path is not normal");
    }
}

void tryUri(const std::string &text) {
    HttpUri *uri = httpCreateUri(text.c_str(), 0);
    tryPath(text.c_str());
    if (!uri->valid) {
        return;
    }
    cchar *written = httpUriToString(uri, 0);
    HttpUri *again = httpCreateUri(written, 0);
    expect(again->valid && smatch(httpUriToString(again, 0), written), "a URI does not come back");
    HttpUri *base = httpCreateUri("http://host/a/b?c", 0);
    HttpUri *resolved = httpResolveUri(nullptr, base, uri);
    expect(resolved && resolved->valid, "a URI is not resolved");
    expect(!resolved->path || (std::string(resolved->path) + "/").find("/../") == std::string::npos || !resolved->host,
           "a path leaves its root");
    httpCompleteUri(uri, base);
    expect(httpCreateUri(httpUriToString(uri, 0), 0)->valid, "a complete URI is none");
}

void tryParams(const std::string &text) {
    Params *params = createParams();
    if (addParams(params, text) < 0) {
        return;
    }
    MprJson *tree = treeOf(params);
    cchar *written = paramsText(tree);
    Params *again = createParams();
    expect(addParams(again, written) == 0 && smatch(paramsText(treeOf(again)), written), "parameters do not come back");
    for (MprJson *each = tree->children; each; each = each->next) {
        expect(paramOf(tree, each->name) != nullptr, "a parameter is not found");
    }
}

std::string told(const std::string &body, size_t piece) {
    Multipart parser;
    if (!parser.begin("multipart/form-data; boundary=XyZ")) {
        return "";
    }
    std::string text;
    for (size_t at = 0; at < body.size(); at += piece) {
        const std::string part = body.substr(at, piece);
        std::string_view input = part;
        for (Multipart::Event event; (event = parser.next(input)) != Multipart::Event::more;) {
            switch (event) {
            case Multipart::Event::malformed: return text + "!";
            case Multipart::Event::part:
                text += std::string("[") + parser.name() + "|" + parser.filename() + ":";
                break;
            case Multipart::Event::data: text += parser.data(); break;
            case Multipart::Event::end: text += "]"; break;
            default: text += "."; break;
            }
            expect(!strpbrk(parser.filename(), "/\\\r\n"), "a file name is a path");
        }
    }
    return text;
}

void tryMultipart(const std::string &text) {
    const std::string whole = told(text, text.size() + 1);
    expect(told(text, 1) == whole && told(text, 3) == whole, "a form is another in other pieces");
}

void tryCookie(const std::string &text) {
    findCookie(text, "a");
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals), value = equals == std::string::npos ? "" : text.substr(equals + 1);
    cchar *fault = nullptr;
    cchar *written = formatCookie(name.c_str(), value.c_str(), {nullptr, nullptr, 0, 0}, 0, fault);
    expect(!written == (fault != nullptr), "a fault without a name");
    if (written) {
        const std::string line = written;
        expect(line.find_first_of("\r\n") == std::string::npos && line.find(';') == line.rfind(';'),
               "a cookie says more than its part");
    }
}

void tryRange(const std::string &text) {
    constexpr MprOff size = 1000;
    const Ranges ranges = parseRanges(text, size);
    MprOff sum = 0;
    for (int i = 0; ranges.answer == Ranges::Answer::parts && i < ranges.count; ++i) {
        const Range &range = ranges.list[i];
        expect(range.start >= 0 && range.start < range.end && range.end <= size, "a range is beyond the whole");
        sum += range.size();
    }
    expect(sum <= size, "ranges are more than the whole");
    expect((ranges.answer == Ranges::Answer::parts) <= (ranges.count > 0), "parts without any");
}

void tryFields(const std::string &text) {
    listHas(text, "\"x\"", true);
    expect(!listHas(text, "\"x\"", true) || listHas(text, "\"x\"", false), "a tag matches strongly and not weakly");
    chooseCoding(text);
    isCompressible(text);
    MprTime time = 0, again = 1;
    if (parseDate(text, 1795000000000, time)) {
        char out[dateSize];
        formatDate(out, time);
        expect(parseDate(out, 0, again) && again == time, "a date does not come back");
    }
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Mpr *const mpr = mprCreate(0, nullptr, 0);
    if (!mpr || size == 0 || size > 1 << 14) {
        return mpr ? 0 : -1;
    }
    const std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
    switch (data[0] % 8) {
    case 0: tryUri(text); break;
    case 1: tryParams(text); break;
    case 2: tryMultipart(text); break;
    case 3: tryCookie(text); break;
    case 4: tryRange(text); break;
    default: tryFields(text); break;
    }
    mprYield(MPR_YIELD_DEFAULT);
    return 0;
}
