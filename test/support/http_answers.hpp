// SPDX-License-Identifier: MIT
/*
    test/support/http_answers.hpp - What a server has sent on one connection, held against what its streams say: each
    answer parses, they come in the order of the requests, one each, their lengths agree, and bodies are what they
    should be.
 */
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

namespace test {

[[noreturn]] inline void fail(const std::string &what, const std::string &where = "") {
    fprintf(stderr, "%s\n%s\n", what.c_str(), where.substr(0, 400).c_str());
    abort();
}
inline void expect(bool good, const char *what, const std::string &where = "") {
    if (!good) {
        fail(what, where);
    }
}

/* A stream that has ended. */
struct Ended {
    bool head;          /* Its method was HEAD */
    bool broken;        /* The connection was cut, and the server knows it */
    std::string entity; /* Of a document, as a whole */
    bool isDocument;
};

inline std::string crcOf(std::string_view text) {
    return std::to_string(crc32(0, reinterpret_cast<const Bytef *>(text.data()), static_cast<uInt>(text.size())));
}

/* gzip or deflate undone. */
inline std::string inflated(const std::string &text) {
    z_stream zlib{};
    expect(inflateInit2(&zlib, 15 + 32) == Z_OK, "no zlib");
    zlib.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
    zlib.avail_in = static_cast<uInt>(text.size());
    std::string out;
    int code = Z_OK;
    while (code == Z_OK) {
        char bytes[16384];
        zlib.next_out = reinterpret_cast<Bytef *>(bytes);
        zlib.avail_out = sizeof(bytes);
        code = inflate(&zlib, Z_NO_FLUSH);
        out.append(bytes, sizeof(bytes) - zlib.avail_out);
    }
    const bool whole = code == Z_STREAM_END && zlib.avail_in == 0;
    inflateEnd(&zlib);
    expect(whole, "a compressed body does not end", text);
    return out;
}

class Answers {
public:
    /* @param closed By the server; else the client has gone, and may have missed something. */
    Answers(const std::string &bytes, const std::vector<Ended> &ended, bool closed)
        : bytes_(bytes), ended_(ended), closed_(closed) {}

    void check() {
        while (at_ < bytes_.size() && one()) {}
        expect(!closed_ || count_ >= ended_.size() || ended_[count_].broken, "an answer is missing", bytes_);
    }

private:
    /* The rest is missing. */
    bool cutOff() {
        expect(!closed_ || count_ >= ended_.size() || ended_[count_].broken, "an answer is cut off",
               bytes_.substr(at_));
        return false;
    }

    std::string header(const char *name) const {
        const std::string line = std::string("\r\n") + name + ": ";
        const size_t begin = head_.find(line);
        if (begin == std::string::npos) {
            return "";
        }
        expect(head_.find(line, begin + 1) == std::string::npos, "a header twice", head_);
        const size_t value = begin + line.size();
        return head_.substr(value, head_.find("\r\n", value) - value);
    }

    void checkHead() const {
        expect(head_.size() > 13 && head_.compare(0, 9, "HTTP/1.1 ") == 0 && isdigit(head_[9]) && isdigit(head_[10]) &&
                   isdigit(head_[11]) && head_[12] == ' ',
               "no status line", head_);
        for (const char c : head_) {
            expect(c == '\r' || c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7F),
                   "a control character in a head", head_);
        }
        size_t begin = head_.find("\r\n") + 2;
        while (begin < head_.size()) {
            const size_t end = head_.find("\r\n", begin);
            const std::string line = head_.substr(begin, end - begin);
            const size_t colon = line.find(": ");
            expect(colon != std::string::npos && colon > 0 && line.find_first_of(" \t\r\n\"(),/;<=>?@[\\]{}") > colon,
                   "a line of a head is none", head_);
            expect(line.find_first_of("\r\n") == std::string::npos, "a bare end of a line", head_);
            begin = end + 2;
        }
        expect(header("X-Evil").empty(), "a client has written a header", head_);
    }

    bool takeChunks(std::string &body) {
        for (;;) {
            const size_t end = bytes_.find("\r\n", at_);
            if (end == std::string::npos) {
                return false;
            }
            const std::string line = bytes_.substr(at_, end - at_);
            expect(!line.empty() && line.size() < 9 && line.find_first_not_of("0123456789abcdef") == std::string::npos,
                   "the size of a chunk is none", bytes_.substr(at_));
            const size_t size = strtoul(line.c_str(), nullptr, 16);
            if (bytes_.size() < end + 2 + size + 2) {
                return false;
            }
            expect(bytes_.compare(end + 2 + size, 2, "\r\n") == 0, "a chunk does not end", bytes_.substr(at_));
            body += bytes_.substr(end + 2, size);
            at_ = end + 2 + size + 2;
            if (size == 0) {
                return true;
            }
        }
    }

    /* The body, by what the head says of its end. @return Whether it is whole. */
    bool takeBody(bool none, std::string &body) {
        const std::string length = header("Content-Length"), coding = header("Transfer-Encoding");
        expect(coding.empty() || (coding == "chunked" && length.empty()), "a body with two ends", head_);
        expect(length.find_first_not_of("0123456789") == std::string::npos, "a length that is none", head_);
        if (none) {
            return true;
        }
        if (!coding.empty()) {
            return takeChunks(body);
        }
        if (length.empty()) {
            expect(header("Connection") == "close", "a body without an end", head_);
            body = bytes_.substr(at_);
            at_ = bytes_.size();
            return closed_ && !(count_ < ended_.size() && ended_[count_].broken);
        }
        const size_t size = strtoul(length.c_str(), nullptr, 10);
        const size_t there = std::min(size, bytes_.size() - at_);
        body = bytes_.substr(at_, there);
        at_ += there;
        return there == size;
    }

    static void checkSlice(const std::string &range, const std::string &part, const std::string &entity) {
        size_t first = 0, last = 0, size = 0;
        expect(sscanf(range.c_str(), "bytes %zu-%zu/%zu", &first, &last, &size) == 3 && size == entity.size() &&
                   first <= last && last < size && part == entity.substr(first, last - first + 1),
               "a part is another", range);
    }

    static void checkParts(const std::string &type, const std::string &body, const std::string &entity) {
        const size_t begin = type.find("boundary=");
        expect(begin != std::string::npos, "parts without a boundary", type);
        const std::string limit = "--" + type.substr(begin + 9);
        size_t at = body.find(limit);
        expect(at == 0 || at == 2, "parts do not begin", body);
        while (body.compare(at + limit.size(), 2, "--") != 0) {
            const size_t headEnd = body.find("\r\n\r\n", at), next = body.find("\r\n" + limit, headEnd);
            expect(headEnd != std::string::npos && next != std::string::npos, "parts do not end", body);
            const size_t range = body.find("Content-Range: ", at);
            expect(range < headEnd, "a part without its range", body);
            checkSlice(body.substr(range + 15), body.substr(headEnd + 4, next - headEnd - 4), entity);
            at = next + 2;
        }
        expect(at + limit.size() + 4 == body.size(), "something behind the parts", body);
    }

    void checkDocument(int status, const std::string &body, const std::string &entity) const {
        if (status == 200) {
            expect(body == entity, "a document is another", body);
        } else if (status == 206 && header("Content-Type").find("multipart/byteranges") == 0) {
            checkParts(header("Content-Type"), body, entity);
        } else if (status == 206) {
            checkSlice(header("Content-Range"), body, entity);
        }
    }

    bool one() {
        const size_t end = bytes_.find("\r\n\r\n", at_);
        if (end == std::string::npos) {
            return cutOff();
        }
        head_ = bytes_.substr(at_, end + 2 - at_);
        checkHead();
        at_ = end + 4;
        const int status = atoi(head_.c_str() + 9);
        if (status == 100) {
            return true;
        }
        expect(status >= 200, "an answer that is not the last one", head_);
        expect(count_ < ended_.size() || !closed_, "more answers than requests", head_);
        expect(!over_, "an answer behind the last one", head_);
        const bool known = count_ < ended_.size();
        std::string body;
        if (!takeBody((known && ended_[count_].head) || status == 204 || status == 304, body)) {
            return cutOff();
        }
        over_ = header("Connection") == "close";
        if (known && !ended_[count_].head && status != 304) {
            if (!header("Content-Encoding").empty()) {
                body = inflated(body);
            }
            const std::string sum = header("X-Sum");
            expect(sum.empty() || sum == crcOf(body), "a body is another", head_ + body);
            if (ended_[count_].isDocument) {
                checkDocument(status, body, ended_[count_].entity);
            }
        }
        count_++;
        return true;
    }

    const std::string &bytes_;
    const std::vector<Ended> &ended_;
    bool closed_;
    bool over_ = false;
    size_t at_ = 0, count_ = 0;
    std::string head_;
};

} // namespace test
