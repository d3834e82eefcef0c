/* SPDX-License-Identifier: MIT */
/*
    options.h - The command line, understood in one place.
 */
#pragma once

#include <cstddef>
#include <string>

namespace service {

struct Options {
    const char* program = "service"; // As it was called
    bool demo = false;
    bool listen = false;
    bool help = false;
    std::size_t port = 0; // 0: a free one
    std::size_t seconds = 10;
    std::size_t redline = std::size_t{48} << 20;
    std::size_t max = std::size_t{64} << 20;
    std::size_t cache = std::size_t{12} << 20;
};

extern const char usage[];

/** @return "", or what is wrong: it names the option. */
std::string parseOptions(int argc, char** argv, Options& options);

} // namespace service
