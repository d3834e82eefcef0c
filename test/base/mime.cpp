// SPDX-License-Identifier: MIT
/*
    test/base/mime.cpp - MIME types: looked up, added, and their programs.
 */
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/wrong_state.hpp"

#include "mpr/base/mime.hpp"

#include <string>

using namespace test;

namespace {

std::string lookUp(MprHash *table, cchar *ext) {
    cchar *type = mprLookupMime(table, ext);
    return type ? type : "none";
}

/* The table that the library knows, kept. */
struct Types {
    MprHash *table = mpr::base::makeMimeTypes();
    Root root{table};
};
} // namespace

TEST_CASE("the library knows types, with a table and without", "[base][mime]") {
    Runtime runtime;
    Types types;
    for (MprHash *table : {types.table, static_cast<MprHash *>(nullptr)}) {
        const struct {
            cchar *ext, *type;
        } rows[] = {{"html", "text/html"},
                    {".html", "text/html"},
                    {"HTML", "text/html"},
                    {"index.htm", "text/html"},
                    {"/srv/www/a.b/style.Css", "text/css"},
                    {"archive.tar.gz", "application/gzip"},
                    {"7z", "application/x-7z-compressed"},
                    {"3gp", "video/3gpp"},
                    {"epub", "application/epub+zip"},
                    {"avi", "video/x-msvideo"},
                    {"so", "application/octet-stream"},
                    {"/srv/www/html", "none"},
                    {"/srv/www.html/file", "none"},
                    {"file.", "none"},
                    {"", "none"},
                    {"htm html", "none"},
                    {"htmlx", "none"},
                    {"ht", "none"},
                    {"no-such", "none"}};
        for (const auto &row : rows) {
            INFO(row.ext);
            CHECK(lookUp(table, row.ext) == row.type);
        }
        CHECK(mprLookupMime(table, nullptr) == nullptr);
    }
    CHECK(mprGetHashLength(types.table) > 100);
}

TEST_CASE("each extension that the library knows has one type, the same with a table and without", "[base][mime]") {
    Runtime runtime;
    Types types;
    MprKey *entry;
    for (ITERATE_KEYS(types.table, entry)) {
        INFO(entry->key);
        CHECK(std::string(static_cast<const MprMime *>(entry->data)->type) == lookUp(nullptr, entry->key));
    }
}

TEST_CASE("the program's table is the one of all", "[base][mime]") {
    Runtime runtime;
    MPR->mimeTypes = mprCreateHash(0, MPR_HASH_CASELESS);
    collect();
    mprAddMime(MPR->mimeTypes, "html", "text/x-own");
    collect();
    CHECK(lookUp(nullptr, "html") == "text/x-own");
    CHECK(lookUp(nullptr, "css") == "none");
}

TEST_CASE("types are added and replaced", "[base][mime]") {
    Runtime runtime;
    Types types;
    MprMime *mime = mprAddMime(types.table, "esp", "text/x-esp");
    REQUIRE(mime);
    CHECK(std::string(mime->type) == "text/x-esp");
    CHECK(mime->program == nullptr);
    CHECK(mprAddMime(types.table, ".Js", "text/x-js") != nullptr);
    const int length = mprGetHashLength(types.table);
    collect();
    CHECK(lookUp(types.table, "a.esp") == "text/x-esp");
    CHECK(lookUp(types.table, "js") == "text/x-js");
    CHECK(lookUp(types.table, "mjs") == "text/javascript");
    CHECK(mprAddMime(nullptr, "a", "b/c") == nullptr);
    CHECK(mprAddMime(types.table, nullptr, "b/c") == nullptr);
    CHECK(mprAddMime(types.table, "", "b/c") == nullptr);
    CHECK(mprAddMime(types.table, ".", "b/c") == nullptr);
    CHECK(mprAddMime(types.table, "a", nullptr) == nullptr);
    CHECK(mprAddMime(types.table, "a", "") == nullptr);
    CHECK(mprGetHashLength(types.table) == length);
}

TEST_CASE("a type has a program", "[base][mime]") {
    Runtime runtime;
    Types types;
    CHECK(mprGetMimeProgram(types.table, "application/x-httpd-php") == nullptr);
    CHECK(mprSetMimeProgram(types.table, "Application/X-httpd-php", "/usr/bin/php") == 0);
    CHECK(mprSetMimeProgram(types.table, "image/jpeg", "view") == 0);
    collect();
    CHECK(std::string(mprGetMimeProgram(types.table, "application/x-httpd-php")) == "/usr/bin/php");
    for (cchar *ext : {"jpg", "jpeg", "jpe"}) {
        CHECK(std::string(static_cast<MprMime *>(mprLookupKey(types.table, ext))->program) == "view");
    }
    CHECK(mprSetMimeProgram(types.table, "image/jpeg", nullptr) == 0);
    CHECK(mprGetMimeProgram(types.table, "image/jpeg") == nullptr);
    CHECK(mprSetMimeProgram(types.table, "no/such", "x") == MPR_ERR_CANT_FIND);
    CHECK(mprSetMimeProgram(types.table, nullptr, "x") == MPR_ERR_BAD_ARGS);
    CHECK(mprSetMimeProgram(nullptr, "image/jpeg", "x") == MPR_ERR_BAD_ARGS);
    CHECK(mprGetMimeProgram(nullptr, "image/jpeg") == nullptr);
    CHECK(mprGetMimeProgram(types.table, nullptr) == nullptr);
}

TEST_CASE("lines of a file are types and their extensions", "[base][mime]") {
    Runtime runtime;
    Root root(mprCreateHash(0, MPR_HASH_CASELESS));
    auto *table = root.as<MprHash>();
    REQUIRE(mpr::base::addMimeTypes(table,
                                    "# types\n"
                                    "text/x-a\ta .b  C\r\n"
                                    "\n"
                                    "text/x-none\n"
                                    "  text/x-d d # e\n"
                                    "nonsense f\n"
                                    "text/x-a g\n"
                                    "text/x-last h",
                                    "my.types"));
    collect();
    for (cchar *ext : {"a", "b", "c", "g"}) {
        CHECK(lookUp(table, ext) == "text/x-a");
    }
    CHECK(lookUp(table, "d") == "text/x-d");
    CHECK(lookUp(table, "h") == "text/x-last");
    CHECK(mprGetHashLength(table) == 6);
    CHECK(Log::count("is no MIME type") == 1);
    CHECK(Log::has("my.types:6: \"nonsense\" is no MIME type"));
}

namespace {
const Call table[] = {
    {"mprAddMime", running, [] { mprAddMime(things.hash, "x", "y/z"); }, true},
    {"mprLookupMime", running, [] { mprLookupMime(nullptr, "html"); }},
    {"mprLookupMime", running, [] { mprLookupMime(things.hash, "html"); }},
    {"mprSetMimeProgram", running, [] { mprSetMimeProgram(things.hash, "y/z", "x"); }, true},
    {"mprGetMimeProgram", running, [] { mprGetMimeProgram(things.hash, "y/z"); }, true},
};
} // namespace

TEST_CASE("a call for MIME types by a thread in the wrong state is named and does nothing", "[base][mime]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}
