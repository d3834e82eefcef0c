// SPDX-License-Identifier: MIT
/*
    test/io/mime_file.cpp - MIME types in files.
 */
#include "test/support/folder.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/wrong_state.hpp"

#include <string>

using namespace test;

TEST_CASE("a file's types stand over those of the library", "[io][mime]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder.write("mime.types", "text/x-own html own\nbad line\n");
    Root root(mprCreateMimeTypes(path.c_str()));
    REQUIRE(root.as<MprHash>());
    CHECK(std::string(mprLookupMime(root.as<MprHash>(), "html")) == "text/x-own");
    CHECK(std::string(mprLookupMime(root.as<MprHash>(), "own")) == "text/x-own");
    CHECK(std::string(mprLookupMime(root.as<MprHash>(), "htm")) == "text/html");
    CHECK(Log::has(path + ":2: \"bad\" is no MIME type"));
}

TEST_CASE("without a file, types are those of the library; a file that is not there is named", "[io][mime]") {
    Runtime runtime;
    Folder folder;
    Root root(mprCreateMimeTypes(nullptr));
    REQUIRE(root.as<MprHash>());
    CHECK(std::string(mprLookupMime(root.as<MprHash>(), "html")) == "text/html");
    CHECK(mprCreateMimeTypes((folder / "none").c_str()) == nullptr);
    CHECK(Log::has("mprCreateMimeTypes: \"" + (folder / "none") + "\": No such file or directory"));
}

TEST_CASE("a table of MIME types is not made by a thread in the wrong state", "[io][mime]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    tryCall({"mprCreateMimeTypes", running, [] { mprCreateMimeTypes(nullptr); }}, state);
}
