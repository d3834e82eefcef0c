// SPDX-License-Identifier: MIT
/*
    test/base/digest_password.cpp - Hashes of passwords, and that nothing is left of a password.
 */
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <atomic>
#include <cstring>
#include <string>

using namespace test;

TEST_CASE("salt is letters and digits at random", "[base][digest][password]") {
    Runtime runtime;
    const std::string one = mprMakeSalt(40), other = mprMakeSalt(40);
    CHECK(one.size() == 40);
    CHECK(one != other);
    CHECK(one.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos);
    CHECK(std::string(mprMakeSalt(0)) == "");
    CHECK(mprMakeSalt(-1) == nullptr);
}

#if MPR_HAVE_CRYPT

namespace {
/* Of crypt_blowfish (public domain) and of "Unix crypt using SHA-256 and SHA-512". */
constexpr char known[] = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"; /* U*U */
constexpr char sha512[] = "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnI"
                          "FNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"; /* Hello world! */
} // namespace

TEST_CASE("a password is the one of its hash, and no other is", "[base][digest][password]") {
    Runtime runtime;
    Root hash(mprMakePassword("open sesame", 16, 128));
    REQUIRE(hash.as<char>());
    CHECK(strlen(hash.as<char>()) == 60);
    CHECK(std::string(hash.as<char>()).substr(0, 7) == "$2b$10$");
    CHECK(mprCheckPassword("open sesame", hash.as<char>()));
    CHECK_FALSE(mprCheckPassword("open sesamf", hash.as<char>()));
    CHECK_FALSE(mprCheckPassword("", hash.as<char>()));
    Root other(mprMakePassword("open sesame", 0, 0));
    CHECK(std::string(hash.as<char>()) != other.as<char>());
}

TEST_CASE("hashes of others are checked", "[base][digest][password]") {
    Runtime runtime;
    CHECK(mprCheckPassword("U*U", known));
    CHECK_FALSE(mprCheckPassword("U*V", known));
    CHECK(mprCheckPassword("Hello world!", sha512));
    CHECK_FALSE(mprCheckPassword("Hello world?", sha512));
}

TEST_CASE("a hash depends on password, salt and rounds, and on nothing else", "[base][digest][password]") {
    Runtime runtime;
    Root hash(mprCryptPassword("x", "salt", 1));
    CHECK(std::string(hash.as<char>()) == mprCryptPassword("x", "salt", 1024));
    CHECK(std::string(hash.as<char>()) != mprCryptPassword("x", "salu", 1));
    CHECK(std::string(mprCryptPassword("x", "", 1025)).substr(0, 7) == "$2b$11$");
    /* The first 16 bytes of the text's SHA-256 */
    CHECK(std::string(hash.as<char>()).substr(7, 22) == "WycYznmHAwUAb8wNsk8XOO");
}

TEST_CASE("what cannot be hashed or checked is refused, and the log says why", "[base][digest][password]") {
    Runtime runtime;
    mprSetLogLevel(2);
    const std::string longest(72, 'x'), tooLong(73, 'x'), huge(100000, 'x');
    Root hash(mprMakePassword(longest.c_str(), 16, 0));
    CHECK(mprCheckPassword(longest.c_str(), hash.as<char>()));
    CHECK_FALSE(mprCheckPassword(tooLong.c_str(), hash.as<char>()));
    CHECK(Log::has("mprCheckPassword: the password is longer than the 72 bytes that bcrypt looks at"));
    for (const std::string &password : {tooLong, huge}) {
        Log::clear();
        CHECK(mprMakePassword(password.c_str(), 16, 0) == nullptr);
        CHECK(Log::has("mprMakePassword: a password longer than 72 bytes"));
    }
    CHECK(mprMakePassword(nullptr, 16, 0) == nullptr);
    CHECK(Log::has("mprMakePassword: no password"));
    CHECK(mprCryptPassword("x", nullptr, 0) == nullptr);
    CHECK(Log::has("mprCryptPassword: no salt"));
    const struct {
        std::string hash;
        cchar *why;
    } others[] = {
        {"BF1:00128:abc:def", "made by an older MPR"},
        {"", "has not the form of crypt(5)"},
        {"rEK1ecacw.7.c", "has not the form of crypt(5)"},
        {"$", "does not know this form of hash"},
        {"$2b$99$" + std::string(53, 'x'), "does not know this form of hash"},
        {"$2b$" + huge, "too long"},
    };
    for (const auto &other : others) {
        Log::clear();
        CHECK_FALSE(mprCheckPassword("x", other.hash.c_str()));
        INFO(other.hash.substr(0, 20) << "\n" << Log::text());
        CHECK(Log::has(other.why));
    }
    CHECK_FALSE(mprCheckPassword(nullptr, known));
    CHECK_FALSE(mprCheckPassword("x", nullptr));
    CHECK_FALSE(mprCheckPassword(huge.c_str(), sha512));
    mprSetLogLevel(0);
}

TEST_CASE("unrooted blocks stay over calls for passwords with the usual rounds", "[base][digest][password]") {
    Runtime runtime("everyyield=1");
    calls.reset();
    makeNode();
    cchar *hash = mprMakePassword("open sesame", 16, 0);
    CHECK(mprCheckPassword("open sesame", hash));
    CHECK_FALSE(mprCheckPassword("open", hash));
    CHECK(mprCheckPassword("U*U", known));
    CHECK(mprIsValid(mprCryptPassword("x", "y", 1024)));
    CHECK(mprIsValid(hash));
    CHECK(calls.frees == 0);
    mprCryptPassword("x", "y", 1025); /* A yield would be seen */
    CHECK(calls.frees == 1);
    CHECK_FALSE(mprIsValid(hash));
}

TEST_CASE("calls for passwords retain what they are given while they yield, and no more", "[base][digest][password]") {
    Runtime runtime("everyyield=1");
    Root costly(mprMakePassword("U*U", 0, 2048));
    calls.reset();
    makeNode();
    char *password = sclone("U*U"), *hash = sclone(costly.as<char>());
    CHECK(mprCheckPassword(password, hash));
    CHECK(mprIsValid(password));
    CHECK(mprIsValid(hash));
    CHECK(calls.frees == 1);
    CHECK(std::string(hash) == costly.as<char>());
    collect();
    CHECK_FALSE(mprIsValid(hash)); /* no hold is left */
}

TEST_CASE("collections complete while a password is hashed", "[base][digest][password]") {
    Runtime runtime;
    std::atomic<int> turn{0}; /* odd: within the call */
    std::atomic<bool> seen{false};
    Mutator collector("collector", [&](Mutator &self) {
        while (self.go() && !seen) {
            const int before = turn;
            collect();
            seen = before % 2 == 1 && before == turn;
        }
    });
    while (!seen) {
        ++turn;
        mprCryptPassword("x", "y", 2048);
        ++turn;
        mprYield(MPR_YIELD_DEFAULT);
    }
    collector.join();
    CHECK(seen);
}

namespace {
constexpr size_t depth = 16384;

[[gnu::noinline]] void touchStack() {
    volatile char room[2 * depth];
    for (volatile char &c : room) {
        c = 0;
    }
}

/* Whether a text is in what calls have left below this function's frame. */
__attribute__((noinline, no_sanitize("address"), no_sanitize("undefined"))) bool isLeft(const char *text,
                                                                                        size_t length) {
    const volatile char *frame = static_cast<char *>(__builtin_frame_address(0));
    for (const volatile char *at = frame - depth; at < frame - 512; ++at) {
        size_t same = 0;
        while (same < length && at[same] == text[same]) {
            ++same;
        }
        if (same == length) {
            return true;
        }
    }
    return false;
}

[[gnu::noinline]] void leave(const char *text) {
    [[maybe_unused]] volatile char room[4096];
    for (size_t i = 0; text[i]; ++i) {
        room[i] = text[i];
    }
}
} // namespace

TEST_CASE("nothing is left of a password on the stack", "[base][digest][password]") {
    Runtime runtime;
    cchar password[] = "No such word as 7f3a!";
    touchStack();
    leave(password);
    CHECK(isLeft(password, 16)); /* it would be seen */
    touchStack();
    REQUIRE(mprCheckPassword(password, known) == false);
    CHECK_FALSE(isLeft(password, 16));
    touchStack();
    mprCryptPassword(password, "x", 0);
    CHECK_FALSE(isLeft(password, 16));
    touchStack();
    mprGetSHA256(password);
    CHECK_FALSE(isLeft(password, 16));
}

#else

TEST_CASE("without libcrypt calls for passwords say so", "[base][digest][password]") {
    Runtime runtime;
    mprSetLogLevel(2);
    CHECK(mprMakePassword("x", 16, 0) == nullptr);
    CHECK(Log::has("mprMakePassword: this library was built without libcrypt"));
    CHECK_FALSE(mprCheckPassword("x", "$2b$10$x"));
    CHECK(Log::has("mprCheckPassword: this library was built without libcrypt"));
    mprSetLogLevel(0);
}

#endif
