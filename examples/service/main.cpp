// SPDX-License-Identifier: MIT
/*
    main.cpp - An HTTP service for sessions and content whose whole state is managed memory.

    What to read, in this order:
      service    what the service knows, how it begins and ends, and what happens when memory runs short
      routes     which request gets which answer
      sessions, content   what the service remembers                lru: the table that both stand in
      board      what other threads may see
      demo, load, client, latency   clients that drive it and watch it    options: the command line

        service --listen 8080                 and then: curl -i http://127.0.0.1:8080/
        service --demo                        shows itself under load, and what happens at the redline
 */
#include "demo.h"
#include "options.h"
#include "service.h"

#include <csignal>
#include <cstdio>

namespace {

using namespace service;

/** Serve on this thread. @return The process's exit code. */
int run(const Options& options) {
    static Board board; // Static: the runtime may tell it things to its own end
    board.cacheLimit = options.cache;
    mpr::Root<Store> store = mpr::make<Store>(board);
    if (!store || !listen(*store, static_cast<int>(options.port))) {
        std::fprintf(stderr, "service: cannot listen on 127.0.0.1:%zu\n", options.port);
        return 1;
    }
    if (options.demo) {
        return demonstrate(options, board);
    }
    std::printf("listening on http://127.0.0.1:%d/\n", board.port.load());
    std::fflush(stdout);
    serve();
    HttpStats stats;
    httpGetStats(&stats);
    std::printf("stopped after %llu requests\n", stats.totalRequests);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    const std::string error = parseOptions(argc, argv, options);
    if (!error.empty()) {
        std::fprintf(stderr, "service: %s\n\n%s", error.c_str(), usage);
        return 2;
    }
    if (options.help) {
        std::fputs(usage, stdout);
        return 0;
    }
    std::signal(SIGPIPE, SIG_IGN); // A client that went away is an error of one write, no more
    mpr::Runtime runtime(argc, argv, MPR_USER_EVENTS_THREAD);
    if (!runtime) {
        std::fputs("service: the runtime could not be made\n", stderr);
        return 1;
    }
    mprSetMemLimits(static_cast<std::ptrdiff_t>(options.redline), static_cast<std::ptrdiff_t>(options.max), -1);
    const int status = run(options);
    if (!runtime.destroy()) {
        std::fputs("service: the runtime could not be ended\n", stderr);
        return 1;
    }
    return status;
}
