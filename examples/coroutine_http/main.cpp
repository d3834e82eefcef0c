// SPDX-License-Identifier: MIT
/*
    coroutine_http - A web server whose handlers wait without a thread: `coroutine_http 8080`, then `curl
    localhost:8080/hello/you` and `curl -N localhost:8080/count`.

    A handler is a lambda, or a coroutine, whose frame is a managed block. Without an argument the program shows
    itself: it asks itself once, over a socket, and ends.

    Rooms: io
 */
#include "mpr/http.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using mpr::http::Stream;
using mpr::http::Task;
using namespace std::chrono_literals;

/** Three lines, one after another; meanwhile the thread serves others. */
static Task count(Stream stream) {
    for (char line[] = "1\n"; line[0] <= '3'; ++line[0]) {
        co_await stream.write(line);
        httpFlush(stream);
        co_await mpr::sleep(100ms);
    }
}

/** A client of this server. */
static void askOnce(void* port, MprEvent*) {
    static char answer[1024];
    const mpr::Root<MprSocket> sp = mprCreateSocket();
    if (mprConnectSocket(sp, "127.0.0.1", *static_cast<int*>(port), MPR_SOCKET_BLOCK) == 0) {
        mprWriteSocketString(sp, "GET /hello/you HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        mprReadSocket(sp, answer, sizeof(answer) - 1);
        const char* body = std::strstr(answer, "\r\n\r\n");
        std::printf("%s", body ? body + 4 : "no answer\n");
    }
    mprCloseSocket(sp, true);
    mprShutdown(MPR_EXIT_NORMAL, 0, -1);
}

int main(int argc, char** argv) {
    if (!mprCreate(argc, argv, MPR_USER_EVENTS_THREAD)) {
        return 1;
    }
    HttpEndpoint* endpoint = httpCreateEndpoint("127.0.0.1", argc > 1 ? std::atoi(argv[1]) : 0, nullptr);
    mpr::http::route("GET", "/hello/{name}", [](Stream stream) {
        stream.send("Hello ");
        stream.send(stream.param("name"));
        stream.send("!\n");
    });
    mpr::http::route("GET", "/count", count);
    if (httpStartEndpoints() < 0) {
        return 1;
    }
    int port = httpGetEndpointPort(endpoint);
    std::printf("http://127.0.0.1:%d/hello/you\n", port);
    if (argc == 1) {
        mprCreateEvent(mprCreateDispatcher("client", 0), "ask", 0, askOnce, &port, 0);
    }
    mprServiceEvents(-1, 0); // until mprShutdown
    return mprDestroy() ? 0 : 1;
}
