// SPDX-License-Identifier: MIT
/*
    test/http/multipart.cpp - multipart/form-data in any pieces; limits; what is malformed; names of files.
 */
#include "test/support/runtime.hpp"

#include "mpr/http/multipart.hpp"

#include <random>
#include <vector>

using namespace test;
using namespace mpr::http;

namespace {

constexpr cchar *type = "multipart/form-data; boundary=XyZ";

/* What a parser tells of a body that comes in pieces of such sizes. */
template <typename Size>
std::string told(const std::string &body, Size size, cchar *contentType = type) {
    Multipart parser;
    if (!parser.begin(contentType)) {
        return "no form";
    }
    std::string text;
    bool inData = false;
    for (size_t at = 0; at < body.size() && text.find('!') == std::string::npos;) {
        const std::string piece = body.substr(at, size()); /* a block of its own: views end with it */
        std::string_view input = piece;
        at += piece.size();
        for (Multipart::Event event; (event = parser.next(input)) != Multipart::Event::more;) {
            if (event == Multipart::Event::malformed) {
                CHECK(parser.why());
                text += "!";
                break;
            }
            if (event == Multipart::Event::part) {
                text += std::string("[") + parser.name() +
                        (parser.isFile() ? std::string("|") + parser.filename() + "|" + parser.type() : "") + ":";
                inData = true;
            } else if (event == Multipart::Event::data) {
                CHECK(inData);
                CHECK_FALSE(parser.data().empty());
                text += parser.data();
            } else if (event == Multipart::Event::end) {
                text += "]";
                inData = false;
            } else {
                text += ".";
            }
        }
    }
    CHECK(parser.isDone() == (!text.empty() && text.back() == '.'));
    return text;
}

std::string whole(const std::string &body, cchar *contentType = type) {
    const std::string text = told(
        body, [&] { return body.size(); }, contentType);
    /* Pieces make no difference. */
    for (size_t size : {1, 2, 3, 5, 7, 16}) {
        CHECK(told(
                  body, [=] { return size; }, contentType) == text);
    }
    return text;
}

std::string part(const std::string &disposition, const std::string &data) {
    return "--XyZ\r\nContent-Disposition: " + disposition + "\r\n\r\n" + data + "\r\n";
}

std::string field(const std::string &name, const std::string &data) {
    return part("form-data; name=\"" + name + "\"", data);
}

std::string harmless(std::string_view name) {
    char out[Multipart::maxName];
    baseNameOf(name, out);
    return out;
}
} // namespace

TEST_CASE("parts of a form", "[http][multipart]") {
    CHECK(whole(field("a", "1") + "--XyZ--") == "[a:1].");
    CHECK(whole(field("a", "1") + field("b", "") + "--XyZ--\r\n") == "[a:1][b:].");
    CHECK(whole("preamble\r\nmore\r\n" + field("a", "1") + "--XyZ--\r\nepilogue --XyZ\r\n--XyZ\r\n") == "[a:1].");
    CHECK(whole("--XyZ--") == ".");
    CHECK(whole("\r\n--XyZ--") == ".");
    CHECK(whole(part("form-data; name=f; filename=\"a.txt\"\r\nContent-Type: text/plain", "x\r\ny") + "--XyZ--") ==
          "[f|a.txt|text/plain:x\r\ny].");
    CHECK(whole(part("form-data; name=\"f\"; filename=\"\"", "") + "--XyZ--") == "[f||:].");
    CHECK(whole("--XyZ\t \r\ncontent-disposition:form-data;name=a\r\nX-Y: z\r\n\r\n1\r\n--XyZ-- \r\n") == "[a:1].");
    /* The end of the header's last line may be that of the delimiter. */
    CHECK(whole("--XyZ\r\nContent-Disposition: form-data; name=a\r\n\r\n--XyZ--") == "[a:].");
    CHECK(whole(field("a", "--XyZ--")) == "[a:].");
}

TEST_CASE("what looks like a delimiter is data", "[http][multipart]") {
    for (cchar *data : {"\r", "\n", "\r\n", "\r\n-", "\r\n--", "\r\n--X", "\r\n--Xy", "\r\r\n", "\r\n\r\n", "x--XyZ",
                        "\r\n--Xy\r\n--Xy", "\r\r\r\r", "\n--XyZ", "\r\n-\r\n--XyA", "\r\n--\r\n--\r\n--", "x--XyZ--",
                        "x\r\n--XyY", "\r--XyZ"}) {
        INFO(data);
        CHECK(whole(field("a", data) + "--XyZ--") == std::string("[a:") + data + "].");
    }
}

TEST_CASE("names and file names", "[http][multipart]") {
    CHECK(whole(field("a b;c=d", "1") + "--XyZ--") == "[a b;c=d:1].");
    CHECK(whole(field("a\\\"b\\\\c", "1") + "--XyZ--") == "[a\"b\\c:1].");
    CHECK(whole(field("\xc3\xbc", "1") + "--XyZ--") == "[\xc3\xbc:1].");
    CHECK(whole(field("", "1") + "--XyZ--") == "[:1].");
    CHECK(whole(part("form-data; name=f; filename=\"../../etc/passwd\"", "x") + "--XyZ--") == "[f|passwd|:x].");
    CHECK(whole(part("form-data; name=f; filename=\"C:\\Users\\x\\a.txt\"", "x") + "--XyZ--") == "[f|a.txt|:x].");
    CHECK(whole(part("form-data; name=f; filename*=UTF-8''x", "x") + "--XyZ--") == "[f:x].");
    CHECK(harmless("a.txt") == "a.txt");
    CHECK(harmless("/etc/passwd") == "passwd");
    CHECK(harmless("..") == "file");
    CHECK(harmless("") == "file");
    CHECK(harmless("a/") == "file");
    CHECK(harmless(".htaccess") == "htaccess");
    CHECK(harmless("a\r\nb\x01") == "ab");
    CHECK(harmless(" a. ") == "a");
    CHECK(harmless(std::string_view("a\0b", 3)) == "ab");
    CHECK(harmless(std::string(1000, 'x')) == std::string(255, 'x'));
    CHECK(harmless(std::string(254, 'x') + "\xc3\xbc") == std::string(254, 'x'));
    CHECK(harmless(std::string(1000, '\x80')) == "file");
}

TEST_CASE("what is malformed", "[http][multipart]") {
    const std::string end = "--XyZ--";
    for (const std::string &body : {
             std::string("--XyZ\n"),
             std::string("--XyZx\r\n"),
             std::string("--XyZ-\r\n"),
             std::string("--XyZ \t-\r\n"),
             "--XyZ\r\n\r\n1\r\n" + end,                                   /* no name */
             "--XyZ\r\nContent-Type: text/plain\r\n\r\n1\r\n" + end,       /* no name */
             part("form-data", "1") + end,                                 /* no name */
             part("attachment; name=a", "1") + end,                        /* no form */
             part("form-data; name=a; name=b", "1") + end,                 /* two */
             part("form-data; name=a; filename=b; filename=c", "1") + end, /* two */
             part("form-data; name=a\r\nContent-Disposition: form-data; name=b", "1") + end,
             part("form-data; name=a\r\nContent-Type: a/b\r\nContent-Type: a/b", "1") + end,
             part("form-data;\r\n name=a", "1") + end,                              /* folded */
             "--XyZ\r\nContent-Disposition : form-data; name=a\r\n\r\n1\r\n" + end, /* blank before the colon */
             "--XyZ\r\nContent-Disposition: form-data; name=a\n\r\n1\r\n" + end,
             "--XyZ\r\nContent-Disposition: form-data; name=a\r\r\n\r\n1\r\n" + end,
             "--XyZ\r\nno colon\r\n" + part("form-data; name=a", "1") + end,
             part(std::string("form-data; name=\"a\0b\"", 22), "1") + end,
             field(std::string(Multipart::maxName, 'x'), "1") + end,
         }) {
        INFO(body);
        CHECK(whole(body) == "!");
    }
    CHECK(whole(field("a", "1") + "--XyZq") == "[a:1]!");
}

TEST_CASE("a body that ends early is not done", "[http][multipart]") {
    const std::string body = field("a", "1") + field("b", "2") + "--XyZ--";
    for (size_t size = 0; size < body.size(); ++size) {
        const std::string text = whole(body.substr(0, size));
        CHECK((text.empty() || text.back() != '.'));
        CHECK(text.find('!') == std::string::npos);
    }
}

TEST_CASE("headers of parts are limited", "[http][multipart]") {
    const std::string name = "form-data; name=a\r\nX: ";
    const size_t used = std::string("Content-Disposition: form-data; name=a\rX: \r").size();
    CHECK(whole(part(name + std::string(Multipart::maxHeader - used - 1, 'x'), "1") + "--XyZ--") == "[a:1].");
    CHECK(whole(part(name + std::string(Multipart::maxHeader - used, 'x'), "1") + "--XyZ--") == "!");
    CHECK(whole(field(std::string(Multipart::maxName - 3, 'n'), "1") + "--XyZ--") ==
          "[" + std::string(Multipart::maxName - 3, 'n') + ":1].");
}

TEST_CASE("boundaries", "[http][multipart]") {
    const auto begins = [](const std::string &contentType) { return Multipart().begin(contentType); };
    CHECK(begins("multipart/form-data; boundary=a"));
    CHECK(begins("Multipart/Form-Data; charset=x; BOUNDARY=\"a b\""));
    CHECK(begins("multipart/form-data; boundary=" + std::string(70, 'a')));
    CHECK_FALSE(begins("multipart/form-data; boundary=" + std::string(71, 'a')));
    for (cchar *contentType :
         {"", "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
          "multipart/form-data; boundary=\"a \"", "multipart/mixed; boundary=a", "text/plain; boundary=a",
          "multipart/form-data; boundary=a\r", "multipart/form-data; boundary=\"\xc3\xbc\"", "boundary=a",
          "multipart/form-data; boundary=a;b=\r\n\"", "multipart/form-databoundary=a"}) {
        INFO(contentType);
        const bool good = std::string(contentType).find(";b=") != std::string::npos;
        CHECK(begins(contentType) == good);
    }
    CHECK(whole("--a b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--a b--",
                "multipart/form-data; boundary=\"a b\"") == "[a:1].");
    Multipart never;
    std::string_view input = "x";
    CHECK(never.next(input) == Multipart::Event::malformed);
}

TEST_CASE("a body in random pieces says the same", "[http][multipart]") {
    std::mt19937 random(22);
    cchar *pieces[] = {"\r\n", "--XyZ", "\r", "\n", "-", "XyZ", "a", "--", "\r\n--XyZ", "bcd", "\r\n--Xy"};
    for (int round = 0; round < 300; ++round) {
        std::string data;
        for (unsigned n = random() % 30; n > 0; --n) {
            data += pieces[random() % std::size(pieces)];
        }
        const std::string body = field("a", data) + field("b", data) + "--XyZ--";
        const std::string once = told(body, [&] { return body.size(); });
        REQUIRE(told(body, [&] { return 1 + random() % 9; }) == once);
        if (data.find("\r\n--XyZ") == std::string::npos && data.compare(0, 5, "--XyZ") != 0) {
            REQUIRE(once == "[a:" + data + "][b:" + data + "].");
        }
    }
}

TEST_CASE("large parts pass in large pieces", "[http][multipart]") {
    const std::string data(4 << 20, 'x');
    const std::string lines = [] {
        std::string text;
        for (int i = 0; i < 1 << 20; ++i) {
            text += "\r\n--";
        }
        return text;
    }();
    for (const std::string &each : {data, lines}) {
        const std::string body = field("a", each) + "--XyZ--";
        CHECK(told(body, [] { return 65536; }) == "[a:" + each + "].");
    }
}
