// SPDX-License-Identifier: MIT
/*
    main.cpp - An HTTP service for sessions and content whose whole state is managed memory.

    What to read, in this order:
      server     the event loop and how it gets along with the collector
      connection one client: parse, answer, write, wait, close     refusal: one for whom there is no memory
      routes     which request gets which answer                    message: request and response
      sessions, content   what the service remembers                lru: the table that both stand in
      redline    what happens when memory runs short
      board      what other threads may see
      demo, load, client, latency   clients that drive it and watch it    options, text: helpers

        service --listen 8080                 and then: curl -i http://127.0.0.1:8080/
        service --demo                        shows itself under load, and what happens at the redline

    Every function that allocates copes with NULL: the request is answered 503 from static memory.
 */
#include "demo.h"
#include "options.h"
#include "server.h"

#include <csignal>
#include <cstddef>
#include <cstdio>

namespace {

using namespace service;

/** Serve on this thread until a signal comes. @return The process's exit code. */
int serve(const Options& options) {
    static Board board; // Static: the runtime may tell it things to its own end
    board.cacheLimit = options.cache;
    mpr::Root<Server> server = mpr::make<Server>(board);
    int error = server ? server->listen(options.port) : UV_ENOMEM;
    if (error != 0) {
        std::fprintf(stderr, "service: cannot listen on 127.0.0.1:%d: %s\n", options.port, uv_strerror(error));
        return 1;
    }
    std::printf("listening on http://127.0.0.1:%d/\n", board.port.load());
    std::fflush(stdout);
    server->run();
    std::printf("stopped after %llu requests\n", static_cast<unsigned long long>(board.requests));
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    FixedText<512> error;
    if (!parseOptions(argc, argv, options, error)) {
        std::fprintf(stderr, "service: %.*s\n\n%s", static_cast<int>(error.view().size()), error.view().data(), usage);
        return 2;
    }
    if (options.help) {
        std::fputs(usage, stdout);
        return 0;
    }
    std::signal(SIGPIPE, SIG_IGN); // A client that went away is an error of one write, no more

    mpr::Runtime runtime(argc, argv);
    if (!runtime) {
        std::fputs("service: the runtime could not be made\n", stderr);
        return 1;
    }
    mprSetMemLimits(static_cast<std::ptrdiff_t>(options.redline), static_cast<std::ptrdiff_t>(options.max), -1);
    int status = options.demo ? demonstrate(options) : serve(options);
    if (!runtime.destroy()) {
        std::fputs("service: the runtime could not be ended\n", stderr);
        return 1;
    }
    return status;
}
