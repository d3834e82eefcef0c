// SPDX-License-Identifier: MIT
/*
    multipart.hpp - A parser of multipart/form-data that is given the body in any pieces. RFC 7578 (2015), RFC 2046
    (1996), 5.1.

    It keeps no byte of a part: data are views of the input, or of the delimiter when what looked like one was none.
    It keeps only a part's header, of limited size. Lines end in CR LF, and nothing else is taken for an end, so
    that nobody reads other parts than this parser. Text before the first delimiter and behind the last is dropped.
 */
#pragma once

#include <string_view>

#include "mpr/types.h"

namespace mpr::http {

class Multipart {
public:
    static constexpr std::size_t maxBoundary = 70; // RFC 2046
    static constexpr std::size_t maxHeader = 2048; // bytes of a part's header
    static constexpr std::size_t maxName = 256;    // bytes of names, a zero included

    enum class Event {
        more,      // the input is used up
        part,      // a part begins: name(), filename(), type()
        data,      // data() is a piece of it
        end,       // the part has ended
        done,      // the last part has ended; what follows is dropped
        malformed, // why() says why. From now on it stays so
    };

    /** @param contentType The field of the request. @return Whether it has a boundary that is one. */
    bool begin(std::string_view contentType);
    /** Look at input. @param input The bytes received; those that were used are removed from its start. */
    Event next(std::string_view& input);

    /** Of the part that has begun; until the next. A file has a filename, perhaps an empty one. */
    const char* name() const { return name_; }
    bool isFile() const { return isFile_; }
    const char* filename() const { return filename_; }
    const char* type() const { return type_; }
    std::string_view data() const { return data_; }
    /** The input that data() was in is used no more. */
    void forget() { data_ = {}; }
    const char* why() const { return why_; }
    bool isDone() const { return state_ == State::behind; }

private:
    enum class State { before, delimiter, dash, lastDash, padding, lineEnd, header, begun, data, behind, malformed };

    bool look(std::string_view& input, Event& event);
    void search(std::string_view& input);
    std::size_t match(std::string_view input, std::size_t at);
    void behindDelimiter(char c);
    void headerByte(char c);
    void headerLine(std::string_view line);
    void disposition(std::string_view value);
    void beginHeader();
    void beginData();
    void fail(const char* why);

    State state_ = State::malformed;
    bool first_ = true;   // no part has begun
    bool isFile_ = false; // of the part, as what follows
    bool named_ = false, typed_ = false;
    bool assumed_ = false;    // the line's end that was matched did not come
    std::size_t matched_ = 0; // bytes of the delimiter that the end of the input had
    std::size_t delimiterSize_ = 0;
    std::size_t lineSize_ = 0;   // of a header
    std::size_t headerSize_ = 0; // of all its lines
    std::string_view data_;
    const char* why_ = "not begun";
    char delimiter_[4 + maxBoundary]; // CR LF - - boundary
    char name_[maxName] = "", filename_[maxName] = "", type_[maxName] = "";
    char line_[maxHeader];
};

/**
    What may stand as the name of a file: what follows the last slash or backslash, without control characters, points
    and blanks at its begin and end. At most 255 bytes, cut between two characters.
    @param out Gets it, with a zero behind it; "file" when nothing is left.
 */
void baseNameOf(std::string_view filename, char (&out)[Multipart::maxName]);

} // namespace mpr::http
