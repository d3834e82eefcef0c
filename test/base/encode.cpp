// SPDX-License-Identifier: MIT
/*
    test/base/encode.cpp - Escaping for shells and HTML, URI encoding.
 */
#include "test/support/pattern.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include <string>

using namespace test;

TEST_CASE("HTML", "[base][encode]") {
    Runtime runtime;
    CHECK(std::string(mprEscapeHtml("<a href=\"x\">'&'</a>")) ==
          "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
    CHECK(std::string(mprEscapeHtml("plain \xc3\xbc")) == "plain \xc3\xbc");
    CHECK(std::string(mprEscapeHtml("")) == "");
    CHECK(std::string(mprEscapeHtml(nullptr)) == "");
    CHECK(std::string(mprEscapeHtml(std::string(1000000, '&').c_str())).size() == 5000000);
}

TEST_CASE("shell commands", "[base][encode]") {
    Runtime runtime;
    CHECK(std::string(mprEscapeCmd("ls -l", 0)) == "ls -l");
    CHECK(std::string(mprEscapeCmd("a;b|c&d", 0)) == "a\\;b\\|c\\&d");
    CHECK(std::string(mprEscapeCmd("$(x)`y`", '^')) == "^$^(x^)^`y^`");
    CHECK(std::string(mprEscapeCmd("\"'\\", 0)) == "\\\"\\'\\\\");
    CHECK(std::string(mprEscapeCmd("", 0)) == "");
    CHECK(std::string(mprEscapeCmd(nullptr, 0)) == "");
}

TEST_CASE("a shell takes an escaped command as words only", "[base][encode]") {
    Runtime runtime;
    for (int c = 1; c < 256; c++) {
        if (c == ' ' || c == '\t' || c == '\n') {
            continue;
        }
        /* With printf, the shell's word is what comes back. */
        std::string word = std::string("a") + static_cast<char>(c) + "b$HOME;echo hacked";
        std::string command = std::string("printf %s ") + mprEscapeCmd(word.c_str(), 0);
        FILE *shell = popen((command + " 2>&1").c_str(), "r");
        REQUIRE(shell);
        char out[100] = {};
        size_t length = fread(out, 1, sizeof(out) - 1, shell);
        pclose(shell);
        INFO("character " << c);
        std::string expected = word.substr(0, word.find(' ')) + "hacked"; /* the blank separates two arguments */
        REQUIRE(std::string(out, length) == expected);
    }
}

TEST_CASE("SQL literals", "[base][encode]") {
    Runtime runtime;
    CHECK(std::string(mprEscapeSQL("'; drop table users; --")) == "''; drop table users; --");
    CHECK(std::string(mprEscapeSQL("O'Neill \\ \"x\" '")) == "O''Neill \\ \"x\" ''");
    CHECK(std::string(mprEscapeSQL("")) == "");
    CHECK(std::string(mprEscapeSQL(nullptr)) == "");
}

TEST_CASE("URI decoding", "[base][encode]") {
    Runtime runtime;
    struct {
        cchar *from, *to;
    } cases[] = {
        {"a%20b+c", "a b c"},
        {"%C3%BC%c3%9f", "\xc3\xbc\xc3\x9f"},
        {"100%", "100%"},
        {"%", "%"},
        {"%2", "%2"},
        {"%zz%4", "%zz%4"},
        {"%%41", "%A"},
        {"%2541", "%41"}, /* once, not twice */
        {"a%00b", "a%00b"},
        {"%2B", "+"},
        {"", ""},
        {"%fF", "\xff"},
    };
    for (auto &c : cases) {
        CHECK(std::string(mprUriDecode(c.from)) == c.to);
    }
    CHECK(std::string(mprUriDecode(nullptr)) == "");
    for (auto &c : cases) {
        std::string text = c.from;
        CHECK(mprUriDecodeInSitu(text.data()) == text.data());
        CHECK(std::string(text.c_str()) == c.to);
    }
    CHECK(mprUriDecodeInSitu(nullptr) == nullptr);
}

TEST_CASE("URI encoding", "[base][encode]") {
    Runtime runtime;
    CHECK(std::string(mprUriEncode("http://h/a b?c=\xc3\xbc&d=1%25#x", MPR_ENCODE_URI)) ==
          "http://h/a%20b?c=%C3%BC&d=1%25#x");
    CHECK(std::string(mprUriEncode("a/b?c=d&e f~-._", MPR_ENCODE_URI_COMPONENT)) == "a%2Fb%3Fc%3Dd%26e%20f~-._");
    CHECK(std::string(mprUriEncode(nullptr, MPR_ENCODE_URI)) == "");
    CHECK(std::string(mprUriEncode("<\">\x01\x7f", MPR_ENCODE_URI)) == "%3C%22%3E%01%7F");
}

TEST_CASE("what is encoded as a component decodes to itself", "[base][encode]") {
    Runtime runtime;
    Random random(3);
    for (int i = 0; i < 5000; i++) {
        std::string text;
        for (size_t k = random.below(30); k > 0; k--) {
            text += static_cast<char>(1 + random.below(255));
        }
        REQUIRE(std::string(mprUriDecode(mprUriEncode(text.c_str(), MPR_ENCODE_URI_COMPONENT))) == text);
    }
}
