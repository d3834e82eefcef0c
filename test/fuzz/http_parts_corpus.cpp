// SPDX-License-Identifier: MIT
/*
    test/fuzz/http_parts_corpus.cpp - For parts of requests: the first byte says what the rest is.
 */
#include "test/fuzz/corpus.hpp"

std::vector<std::string> fuzzTexts() {
    const std::string part = "--XyZ\r\nContent-Disposition: form-data; name=\"a\"";
    return {"0http://example.com:80/a/./../b%2e.c?q=1#r",
            "0//[::1]:8080/..//%2e%2e/x",
            "0../../a",
            "0host:80/p",
            "0:0//",
            "1a=1&b=%20x+y&a=2&=&c",
            "1%61=%zz&&a.b[0]=1",
            "2" + part + "\r\n\r\n1\r\n--XyZ--\r\n",
            "2x\r\n" + part + "; filename=\"C:\\x\\..\\y.txt\"\r\nContent-Type: text/plain\r\n\r\n\r\n--Xy\r\n\r\n" +
                part + "\r\n\r\n\r\n--XyZ--",
            "3a=1; b=\"2\"; a=3",
            "4bytes=0-1,5-,-3",
            "4bytes=0-0,2-2,4-4,998-2000",
            "5W/\"a\", \"x\", *",
            "5gzip;q=0.5, deflate, *;q=0",
            "5Sun, 06 Nov 1994 08:49:37 GMT",
            "5Sunday, 06-Nov-94 08:49:37 GMT",
            "5Sun Nov  6 08:49:37 1994"};
}

std::vector<std::string> fuzzPieces() {
    return {"/..",
            "/.",
            "//",
            "%2e",
            "%2f",
            "%00",
            "\\",
            "?",
            "#",
            "://",
            "[",
            "]",
            ":",
            "@",
            "&",
            "=",
            "+",
            "\r\n",
            "\r\n--XyZ",
            "--",
            "\r",
            "\n",
            "\"",
            ";",
            "name=",
            ", ",
            "-",
            "bytes=",
            "0-",
            "-1",
            ";q=0.1",
            "*",
            "W/",
            "GMT",
            "99999999999999999999",
            "\x80",
            "\0x",
            "; filename=\"../x\"",
            "Content-Type: a/b\r\n"};
}
