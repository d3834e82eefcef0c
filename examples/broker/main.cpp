// SPDX-License-Identifier: MIT
/*
    main.cpp - A broker of MQTT 3.1.1: clients subscribe to topics, and get what others publish there.

    A server in C++ on events and sockets. What to read, in this order:
      broker      what is known, and what happens with each packet
      connection  bytes of one client, in and out         session  what is on its way to a client
      topics      who wants what                          packet   how packets look
      demo        a client that shows it

        broker --port 1883 &  mosquitto_sub -t '#' -v &  mosquitto_pub -t house/door -m open
        broker                shows itself

    Rooms: io
 */
#include "broker.h"
#include "demo.h"

#include <mpr.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr char usage[] = "usage: broker                                   shows itself, then ends\n"
                         "       broker --port PORT [--ip IP] [--limit MB] serves until it is told to end\n";

struct Options {
    const char* ip = nullptr;
    int port = -1;
    std::ptrdiff_t limit = 64;
};

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; i += 2) {
        const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
        char* end = nullptr;
        const long number = value ? std::strtol(value, &end, 10) : -1;
        const bool isNumber = value && *value && *end == '\0' && number >= 0;
        if (value && std::strcmp(argv[i], "--ip") == 0) {
            options.ip = value;
        } else if (isNumber && std::strcmp(argv[i], "--port") == 0 && number <= 65535) {
            options.port = static_cast<int>(number);
        } else if (isNumber && std::strcmp(argv[i], "--limit") == 0 && number >= 4 && number <= 1 << 20) {
            options.limit = number;
        } else {
            return false;
        }
    }
    return true;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) {
        std::fputs(usage, stderr);
        return 2;
    }
    mprConfigure("young=512k"); // Collect after so much garbage: little memory rather than little work
    mpr::Runtime runtime(argc, argv, MPR_USER_EVENTS_THREAD); // This thread services events, below
    if (!runtime) {
        return 1;
    }
    const std::ptrdiff_t limit = options.limit << 20;
    mprSetMemLimits(limit / 4 * 3, limit, -1);
    mprAddStandardSignals(); // End at SIGTERM and SIGINT
    const bool shows = options.port < 0;
    const mpr::Root<broker::Broker> broker = mpr::make<broker::Broker>(std::size_t{256} << 10);
    if (!broker || !broker->start(shows ? "127.0.0.1" : options.ip, shows ? 0 : options.port)) {
        std::fprintf(stderr, "broker: cannot listen at port %d\n", options.port);
        return 1;
    }
    if (shows) {
        broker::demonstrate(broker->port());
    } else {
        std::printf("broker: listens at port %d\n", broker->port());
        std::fflush(stdout);
    }
    mprServiceEvents(-1, 0); // Until mprShutdown
    return (!shows || broker::wasShown()) && runtime.destroy() ? 0 : 1;
}
