// SPDX-License-Identifier: MIT
/*
    test/base/digest.cpp - Base64, MD5, SHA-1 and SHA-256, by the vectors of their standards and beside the system's
    programs.
 */
#include "test/support/folder.hpp"
#include "test/support/runtime.hpp"

#include <cstdio>
#include <string>

using namespace test;

namespace {

std::string bytes(char *managed, ssize length) {
    return managed ? std::string(managed, static_cast<size_t>(length)) : "refused";
}

std::string decoded(cchar *text, int flags = 0) {
    ssize length = -7;
    char *out = mprDecode64Block(text, &length, flags);
    CHECK((out != nullptr) == (length >= 0));
    CHECK((!out || out[length] == '\0'));
    return bytes(out, length);
}

/* What a system's program says first of a file. */
std::string first(const std::string &command) {
    char word[100] = {};
    FILE *pipe = popen(command.c_str(), "r");
    REQUIRE(pipe);
    const int count = fscanf(pipe, "%99s", word);
    pclose(pipe);
    return count == 1 ? word : "";
}
} // namespace

TEST_CASE("Base64 is as RFC 4648 has it", "[base][digest]") {
    Runtime runtime;
    const struct {
        cchar *text, *code;
    } vectors[] = {{"", ""},
                   {"f", "Zg=="},
                   {"fo", "Zm8="},
                   {"foo", "Zm9v"},
                   {"foob", "Zm9vYg=="},
                   {"fooba", "Zm9vYmE="},
                   {"foobar", "Zm9vYmFy"},
                   {"\xff\xfe\xfd", "//79"},
                   {"\xfb\xef\xbe", "++++"}};
    for (const auto &v : vectors) {
        CHECK(std::string(mprEncode64(v.text)) == v.code);
        CHECK(std::string(mprDecode64(v.code)) == v.text);
        CHECK(decoded(v.code) == v.text);
        CHECK(decoded(v.code, MPR_DECODE_TOKEQ) == v.text);
    }
    CHECK(std::string(mprEncode64(nullptr)) == "");
    CHECK(std::string(mprDecode64(nullptr)) == "");
    CHECK(std::string(mprEncode64Block("foobar", 4)) == "Zm9vYg==");
    CHECK(std::string(mprEncode64Block("foobar", -1)) == "Zm9vYmFy");
    CHECK(std::string(mprEncode64Block("a\0b", 3)) == "YQBi");
    CHECK(std::string(mprEncode64Block(nullptr, 0)) == "");
    CHECK(mprEncode64Block(nullptr, 1) == nullptr);
    CHECK(decoded("YQBi") == std::string("a\0b", 3));
    CHECK(mprDecode64Block("Zm9v", nullptr, 0) != nullptr);
}

TEST_CASE("all bytes come back from Base64, whatever their number", "[base][digest]") {
    Runtime runtime;
    std::string text;
    for (int i = 0; i < 600; i++) {
        char *code = mprEncode64Block(text.data(), static_cast<ssize>(text.size()));
        REQUIRE(code);
        REQUIRE(slen(code) == static_cast<ssize>((text.size() + 2) / 3 * 4));
        REQUIRE(decoded(code) == text);
        while (code[0] && code[slen(code) - 1] == '=') {
            code[slen(code) - 1] = '\0';
        }
        REQUIRE(decoded(code, MPR_DECODE_TOKEQ) == text);
        text += static_cast<char>(i * 7);
    }
}

TEST_CASE("what is no Base64 to the letter is refused, and the log says why and where", "[base][digest]") {
    Runtime runtime;
    mprSetLogLevel(2);
    const struct {
        cchar *code, *why;
    } vectors[] = {{"Z", "wrong padding at character 2"},
                   {"Zg", "wrong padding at character 3"},
                   {"Zg=", "wrong padding at character 3"},
                   {"Zg===", "wrong padding at character 3"},
                   {"Zm9v=", "wrong padding at character 5"},
                   {"Zm9v====", "wrong padding at character 5"},
                   {"Z===", "a single letter at character 2"},
                   {"=", "wrong padding at character 1"},
                   {"Zm9v\n", "none of its letters at character 5"},
                   {" Zm9v", "none of its letters at character 1"},
                   {"Zm-v", "none of its letters at character 3"},
                   {"Z\xc3\xbc==", "none of its letters at character 2"},
                   {"Zg==Zg==", "wrong padding at character 3"},
                   {"Zh==", "bits that stand for nothing at character 3"},
                   {"Zm9=", "bits that stand for nothing at character 4"}};
    for (const auto &v : vectors) {
        INFO(v.code);
        Log::clear();
        CHECK(mprDecode64(v.code) == nullptr);
        CHECK(decoded(v.code) == "refused");
        INFO(Log::text());
        CHECK(Log::has(v.why));
    }
    CHECK(decoded("Zg==, and more", MPR_DECODE_TOKEQ) == "f");
    CHECK(decoded("Zg", MPR_DECODE_TOKEQ) == "f");
    CHECK(decoded("Z", MPR_DECODE_TOKEQ) == "refused");
    CHECK(decoded("Zh", MPR_DECODE_TOKEQ) == "refused");
    CHECK(decoded("Zm9v ", MPR_DECODE_TOKEQ) == "refused");
    mprSetLogLevel(0);
}

TEST_CASE("digests are as RFC 1321 and FIPS 180-4 have them", "[base][digest]") {
    Runtime runtime;
    const std::string million(1000000, 'a');
    const struct {
        cchar *text, *md5, *sha1, *sha256;
    } vectors[] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72", "a9993e364706816aba3e25717850c26c9cd0d89d",
         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "8215ef0796a20bcaaae116d3876c664a",
         "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {million.c_str(), "7707d6ae4e027c70eea2a935c2296f21", "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (const auto &v : vectors) {
        CHECK(std::string(mprGetMD5(v.text)) == v.md5);
        CHECK(std::string(mprGetSHA(v.text)) == v.sha1);
        CHECK(std::string(mprGetSHA256(v.text)) == v.sha256);
        CHECK(std::string(mprGetMD5WithPrefix(v.text, -1, "MD5:")) == std::string("MD5:") + v.md5);
        CHECK(std::string(mprGetSHAWithPrefix(v.text, -1, "")) == v.sha1);
        CHECK(std::string(mprGetSHA256WithPrefix(v.text, -1, nullptr)) == v.sha256);
    }
    CHECK(std::string(mprGetMD5("12345678901234567890123456789012345678901234567890123456789012345678901234567890")) ==
          "57edf4a22be3c955ac49da2e2107b67a");
    CHECK(std::string(mprGetMD5(nullptr)) == vectors[0].md5);
    CHECK(std::string(mprGetSHAWithPrefix(nullptr, 0, "x")) == std::string("x") + vectors[0].sha1);
    CHECK(std::string(mprGetMD5WithPrefix("abcdef", 3, nullptr)) == vectors[1].md5);
    CHECK(mprGetMD5WithPrefix(nullptr, 1, nullptr) == nullptr);
    /* The handshake of RFC 6455, section 1.3 */
    CHECK(std::string(mprGetSHABase64("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) ==
          "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    CHECK(std::string(mprGetSHA256Base64("")) == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    CHECK(std::string(mprGetSHABase64(nullptr)) == "2jmj7l5rSw0yVb/vlWAYkK/YBwk=");
}

TEST_CASE("digests of any length are those of the system's programs", "[base][digest]") {
    Runtime runtime;
    Folder folder;
    std::string data;
    for (size_t length : {1, 54, 55, 56, 57, 63, 64, 65, 118, 119, 120, 121, 127, 128, 129, 100003}) {
        while (data.size() < length) {
            data += static_cast<char>(data.size() * 31 >> 3);
        }
        const std::string path = folder.write("data", data);
        const auto size = static_cast<ssize>(length);
        INFO(length);
        CHECK(mprGetMD5WithPrefix(data.data(), size, nullptr) == first("md5sum " + path));
        CHECK(mprGetSHAWithPrefix(data.data(), size, nullptr) == first("sha1sum " + path));
        CHECK(mprGetSHA256WithPrefix(data.data(), size, nullptr) == first("sha256sum " + path));
    }
}
