// SPDX-License-Identifier: MIT
/*
    test/support/printed.hpp - What is written to standard error meanwhile, by whatever means.
 */
#pragma once

#include "test/catch.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace test {

template <typename F>
std::string printedBy(F &&f) {
    char path[] = "/tmp/mpr-printed-XXXXXX";
    const int file = mkstemp(path);
    REQUIRE(file >= 0);
    unlink(path);
    fflush(stderr);
    const int saved = dup(2);
    dup2(file, 2);
    f();
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    std::string text;
    char part[4096];
    lseek(file, 0, SEEK_SET);
    for (ssize_t got; (got = read(file, part, sizeof(part))) > 0;) {
        text.append(part, static_cast<size_t>(got));
    }
    close(file);
    return text;
}

/* What mprPrintMem says now. */
inline std::string memPrinted() {
    return printedBy([] { mprPrintMem("Memory", 0); });
}

/* The line that ends with a name, behind a heading; "" when there is none. Several blanks are one. */
inline std::string lineOf(const std::string &text, const std::string &name, const std::string &heading = "") {
    size_t from = text.find(heading);
    size_t at = from == std::string::npos ? from : text.find("  " + name + "\n", from);
    if (at == std::string::npos) {
        return "";
    }
    std::string line;
    for (size_t i = text.rfind('\n', at) + 1; i < at; i++) {
        if (text[i] != ' ' || (!line.empty() && line.back() != ' ')) {
            line += text[i];
        }
    }
    return line;
}

} // namespace test
