// SPDX-License-Identifier: MIT
/*
    test/http/negotiate.cpp - Content codings by quality value, media that are compressed, and status codes by name.
 */
#include "test/support/runtime.hpp"

#include "mpr/http.h"
#include "mpr/http/negotiate.hpp"

using namespace test;
using namespace mpr::http;

namespace {

std::string chosen(std::string_view accepted) {
    cchar *name = nameOf(chooseCoding(accepted));
    return name ? name : "identity";
}
} // namespace

TEST_CASE("a coding is chosen by quality", "[http][negotiate]") {
    struct {
        cchar *accepted, *coding;
    } cases[] = {
        {"", "identity"},
        {"gzip", "gzip"},
        {"x-gzip", "gzip"},
        {"GZIP", "gzip"},
        {"deflate", "deflate"},
        {"gzip, deflate, br", "gzip"},
        {"deflate, gzip", "gzip"},
        {"deflate;q=1.0, gzip;q=0.5", "deflate"},
        {"gzip;q=0", "identity"},
        {"gzip;q=0.000", "identity"},
        {"gzip;q=0.001", "gzip"},
        {"gzip ; q=0.5 , deflate;Q=0.6", "deflate"},
        {"*", "gzip"},
        {"*;q=0", "identity"},
        {"gzip;q=0, *", "deflate"},
        {"identity;q=0.5, *;q=0.2", "identity"},
        {"identity, gzip;q=0.5", "identity"},
        {"identity;q=0, gzip", "gzip"},
        {"identity;q=0", "identity"},
        {"identity, gzip", "gzip"},
        {"br", "identity"},
        {"gzip;q=2", "identity"},
        {"gzip;q=0.0001", "identity"},
        {"gzip;q=1.001", "identity"},
        {"gzip;q=x", "identity"},
        {"gzip;q=", "identity"},
        {"gzip;q=-1", "identity"},
        {"gzip;q=1.", "gzip"},
        {"xgzip", "identity"},
        {"gzip x", "identity"},
        {",,gzip,,", "gzip"},
        {"\"gzip\"", "identity"},
        {"gzip;q=0, gzip", "gzip"},
    };
    for (const auto &c : cases) {
        INFO(c.accepted);
        CHECK(chosen(c.accepted) == c.coding);
    }
    CHECK(chosen({}) == "identity");
    CHECK(chosen(std::string(1000000, ',') + "gzip") == "gzip");
    CHECK(chosen(std::string(1000000, '"')) == "identity");
}

TEST_CASE("media that are compressed", "[http][negotiate]") {
    for (cchar *type : {"text/html", "text/plain; charset=utf-8", "TEXT/CSS", "application/json", "image/svg+xml",
                        "application/javascript", "application/ld+json", "application/problem+xml ;x=y"}) {
        INFO(type);
        CHECK(isCompressible(type));
    }
    for (cchar *type : {"", "image/png", "video/mp4", "application/gzip", "application/zip", "application/octet-stream",
                        "text/event-stream", "text", "font/woff2", "application/jsonx", "xtext/html", "+", "json"}) {
        INFO(type);
        CHECK_FALSE(isCompressible(type));
    }
}

TEST_CASE("status codes by name", "[http][status]") {
    CHECK(std::string(httpLookupStatus(200)) == "OK");
    CHECK(std::string(httpLookupStatus(404)) == "Not Found");
    CHECK(std::string(httpLookupStatus(503)) == "Service Unavailable");
    for (int status : {-1, 0, 99, 299, 499, 600, INT32_MAX}) {
        CHECK(std::string(httpLookupStatus(status)) == "Custom error");
    }
}
