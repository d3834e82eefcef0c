// SPDX-License-Identifier: MIT
/*
    test/base/app.cpp - The program's name, arguments and randomness.
 */
#include "test/support/mutator.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include <cstring>
#include <set>
#include <string>
#include <vector>

using namespace test;

namespace {

std::string str(cchar *text) {
    return text ? text : "(null)";
}

using Words = std::vector<std::string>;

Words words(cchar *command, int flags = 0) {
    cchar **argv = nullptr;
    int argc = mprMakeArgv(command, &argv, flags);
    if (argc < 0) {
        return {"error", std::to_string(argc)};
    }
    CHECK(mprIsValid(argv));
    CHECK(argv[argc] == nullptr);
    return Words(argv, argv + argc);
}

Words parsed(std::string command, int most) {
    char *argv[20];
    int argc = mprParseArgs(command.data(), argv, most);
    return argc < 0 ? Words{"error", std::to_string(argc)} : Words(argv, argv + argc);
}

} // namespace

TEST_CASE("the program is known by its file", "[base][app]") {
    Runtime runtime;
    std::string path = selfPath();
    CHECK(mprGetAppPath() == path);
    CHECK(mprGetAppDir() == path.substr(0, path.rfind('/')));
    CHECK(mprGetAppName() == path.substr(path.rfind('/') + 1));
    CHECK(std::string(mprGetAppTitle()) == mprGetAppName());
    CHECK(std::string(mprGetAppVersion()) == "");
}

TEST_CASE("names are set, copied and kept through collections", "[base][app]") {
    Runtime runtime;
    char name[] = "router";
    CHECK(mprSetAppName(name, nullptr, nullptr) == 0);
    name[0] = '#';
    CHECK(std::string(mprGetAppName()) == "router");
    CHECK(std::string(mprGetAppTitle()) == "router");
    CHECK(mprSetAppName("router", "The Router", "1.2.3") == 0);
    collect();
    CHECK(std::string(mprGetAppName()) == "router");
    CHECK(std::string(mprGetAppTitle()) == "The Router");
    CHECK(std::string(mprGetAppVersion()) == "1.2.3");
    CHECK(mprSetAppName("r2", nullptr, nullptr) == 0);
    CHECK(std::string(mprGetAppTitle()) == "The Router");
    CHECK(mprSetAppName(nullptr, nullptr, "2") == 0);
    CHECK(std::string(mprGetAppName()) == "r2");
    CHECK(std::string(mprGetAppVersion()) == "2");
}

TEST_CASE("another runtime starts afresh", "[base][app]") {
    {
        Runtime runtime;
        mprSetAppName("old", "Old", "1");
    }
    CHECK(std::string(mprGetAppName()) == "");
    CHECK(std::string(mprEmptyString()) == "");
    CHECK(mprSetAppName("none", nullptr, nullptr) == MPR_ERR_MEMORY);
    Runtime runtime;
    CHECK(std::string(mprGetAppName()) != "old");
    CHECK(std::string(mprGetAppVersion()) == "");
}

TEST_CASE("the empty string is a block that stays", "[base][app]") {
    Runtime runtime;
    char *empty = mprEmptyString();
    CHECK(mprIsValid(empty));
    collect();
    CHECK(mprIsValid(empty));
    CHECK(mprEmptyString() == empty);
    CHECK(*empty == '\0');
    mprHold(empty);
    mprRelease(empty);
    CHECK(stats().misuses == 0);
}

TEST_CASE("many threads ask first", "[base][app]") {
    for (int round = 0; round < 20; round++) {
        Runtime runtime;
        std::atomic<int> wrong{0};
        std::atomic<char *> seen{nullptr};
        auto work = [&](Mutator &) {
            char *empty = mprEmptyString();
            char *expected = nullptr;
            wrong += !seen.compare_exchange_strong(expected, empty) && expected != empty;
        };
        doInThreeThreads(work);
        collect();
        CHECK(wrong == 0);
        CHECK(mprIsValid(mprEmptyString()));
    }
}

TEST_CASE("names change while others read", "[base][app]") {
    Runtime runtime;
    std::atomic<int> wrong{0};
    auto read = [&](Mutator &self) {
        while (self.go()) {
            std::string name = mprGetAppName();
            wrong += name != "first" && name != "second one";
            mprYield(0);
        }
    };
    mprSetAppName("first", nullptr, nullptr);
    Mutator a("a", read), b("b", read);
    for (int i = 0; i < 3000; i++) {
        mprSetAppName(i % 2 ? "first" : "second one", nullptr, nullptr);
        mprYield(0);
    }
    a.end();
    b.end();
    CHECK(wrong == 0);
}

TEST_CASE("mprMakeArgv splits at white space outside quotes", "[base][app]") {
    Runtime runtime;
    CHECK(words("ls -l file") == Words{"ls", "-l", "file"});
    CHECK(words("  ls\t-l \n") == Words{"ls", "-l"});
    CHECK(words("say 'two words' \"and more\"") == Words{"say", "two words", "and more"});
    CHECK(words("a'b c'd\"e f\"g") == Words{"ab cde fg"});
    CHECK(words("x '' \"\"") == Words{"x", "", ""});
    CHECK(words("x \"it's\" 'a \"b\"'") == Words{"x", "it's", "a \"b\""});
    CHECK(words("x \\\"q\\\" \"in \\\" it\" 'in \\' it' \\'") == Words{"x", "\"q\"", "in \" it", "in ' it", "'"});
    CHECK(words("trailing\\") == Words{"trailing\\"});
    CHECK(words("") == Words{});
    CHECK(words("   ") == Words{});
    CHECK(words("-l -a", MPR_ARGV_ARGS_ONLY) == Words{"", "-l", "-a"});
    CHECK(words("", MPR_ARGV_ARGS_ONLY) == Words{""});
    CHECK(words("x 'open up") == Words{"x", "open up"});
    CHECK(words("x \"open' \\\"") == Words{"x", "open' \""});
    CHECK(words("x '") == Words{"x", ""});
    CHECK(words(nullptr) == Words{"error", std::to_string(MPR_ERR_BAD_ARGS)});
    CHECK(mprMakeArgv("x", nullptr, 0) == MPR_ERR_BAD_ARGS);
    std::string many;
    for (int i = 0; i < 100000; i++) {
        many += "w ";
    }
    CHECK(words(many.c_str()).size() == 100000);
}

TEST_CASE("backslashes are kept but before quotes", "[base][app]") {
    Runtime runtime;
    CHECK(words(R"(C:\dir\file "C:\my dir\file" 'c:\x' \d+ a\ b)") ==
          Words{R"(C:\dir\file)", R"(C:\my dir\file)", R"(c:\x)", R"(\d+)", R"(a\)", "b"});
    CHECK(words(R"(\\server\\share "\\server")") == Words{R"(\\server\\share)", R"(\\server)"});
    CHECK(words(R"("dir\\" next)") == Words{R"(dir\)", "next"});
    CHECK(words(R"(a\\\"b "c\\\"d" \\\\"e f")") == Words{R"(a\"b)", R"(c\"d)", R"(\\e f)"});
    CHECK(words(R"(sed 's/\(a\)\n/\1/')") == Words{"sed", R"(s/\(a\)\n/\1/)"});
    CHECK(parsed(R"(x \"a\b\" "\\")", 5) == Words{"x", R"("a\b")", R"(\)"});
}

TEST_CASE("mprParseArgs splits in place", "[base][app]") {
    CHECK(parsed("one 'two words' three", 20) == Words{"one", "two words", "three"});
    CHECK(parsed("a b c d", 2) == Words{"a", "b"});
    CHECK(parsed("a b", 0) == Words{});
    CHECK(parsed("", 5) == Words{});
    CHECK(parsed("x 'open up", 5) == Words{"x", "open up"});
    char text[] = "one 'two words' three";
    CHECK(mprParseArgs(text, nullptr, 0) == 3);
    CHECK(std::string(text) == "one 'two words' three");
    CHECK(mprParseArgs(nullptr, nullptr, 0) == MPR_ERR_BAD_ARGS);
}

TEST_CASE("random bytes", "[base][app]") {
    Runtime runtime;
    for (bool block : {false, true}) {
        unsigned char bytes[4096 + 16];
        memset(bytes, 0, sizeof(bytes));
        REQUIRE(mprGetRandomBytes(reinterpret_cast<char *>(bytes), 4096, block) == 0);
        int counts[256] = {};
        for (int i = 0; i < 4096; i++) {
            counts[bytes[i]]++;
        }
        for (int count : counts) {
            CHECK(count < 100); /* 16 on average */
        }
        for (int i = 4096; i < 4096 + 16; i++) {
            CHECK(bytes[i] == 0);
        }
    }
    char byte;
    CHECK(mprGetRandomBytes(&byte, 0, false) == 0);
    CHECK(mprGetRandomBytes(nullptr, 1, false) == MPR_ERR_BAD_ARGS);
    CHECK(mprGetRandomBytes(&byte, -1, false) == MPR_ERR_BAD_ARGS);
}

TEST_CASE("random strings", "[base][app]") {
    Runtime runtime;
    std::set<std::string> seen;
    std::set<char> letters;
    for (int i = 0; i < 1000; i++) {
        std::string text = mprGetRandomString(32);
        REQUIRE(text.size() == 32);
        REQUIRE(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") ==
                std::string::npos);
        seen.insert(text);
        letters.insert(text.begin(), text.end());
    }
    CHECK(seen.size() == 1000);
    CHECK(letters.size() == 62);
    CHECK(std::string(mprGetRandomString(0)) == "");
    CHECK(std::string(mprGetRandomString(100000)).size() == 100000);
    CHECK(mprGetRandomString(-1) == nullptr);
}

TEST_CASE("debug mode is a flag", "[base][app]") {
    CHECK_FALSE(mprGetDebugMode());
    mprSetDebugMode(true);
    CHECK(mprGetDebugMode());
    mprSetDebugMode(false);
    CHECK_FALSE(mprGetDebugMode());
}

TEST_CASE("the global object keeps what is set in it, and its strings", "[base][app]") {
    CHECK(MPR == nullptr);
    for (int life = 0; life < 2; life++) {
        Runtime runtime("check=1");
        CHECK(MPR == runtime.mpr);
        CHECK((MPR->argc == 0 && MPR->argv == nullptr && MPR->heap != nullptr && MPR->cmdService == nullptr));
        CHECK((str(MPR->emptyString) == "" && str(MPR->oneString) == "1"));
        CHECK(mprEmptyString() == MPR->emptyString);
        static int unmanaged;
        CHECK((MPR->httpService == nullptr && MPR->logPath == nullptr));
        MPR->httpService = mprCreateList(0, 0);
        mprAddItem(static_cast<MprList *>(MPR->httpService), sclone("kept"));
        MPR->ediService = MPR->espService = &unmanaged;
        MPR->ejsService = sclone("kept");
        MPR->mimeTypes = mprCreateHash(0, 0);
        for (int i = 0; i < 3; i++) {
            collect();
        }
        CHECK(str(static_cast<char *>(mprGetFirstItem(static_cast<MprList *>(MPR->httpService)))) == "kept");
        CHECK(str(static_cast<char *>(MPR->ejsService)) == "kept");
        CHECK((mprIsValid(MPR->mimeTypes) && mprIsValid(MPR->emptyString) && mprIsValid(MPR->oneString)));
        MPR->ejsService = sclone("new"); // a plain store into what is old
        mprGC(MPR_GC_MINOR | MPR_GC_COMPLETE);
        CHECK(str(static_cast<char *>(MPR->ejsService)) == "new");
        CHECK(MPR->ediService == &unmanaged);
    }
    CHECK(mprGetMpr() == nullptr);
}

TEST_CASE("statistics tell what the process takes of the machine", "[base][app]") {
    Runtime runtime;
    void *much = mprAlloc(20 << 20);
    memset(much, 1, 20 << 20);
    const MprMemStats before = stats();
    CHECK(before.rss >= 20 << 20);
    CHECK(before.rss < 64ull << 30);
    CHECK(before.bytesAllocatedPeak >= 20 << 20);
    CHECK(mprFree(much) == 0);
    while (mprGetCPU() < before.cpuUsage + 1000) {}
    CHECK(stats().cpuUsage >= before.cpuUsage + 1000);
    CHECK(stats().bytesAllocatedPeak >= before.bytesAllocatedPeak);
}
