/* SPDX-License-Identifier: MIT */
/*
    mpr/http.h - An HTTP/1.1 server whose requests live on the managed heap.

    One connection is an HttpNet; a request on it is an HttpStream with a receive side `rx` and a send side `tx`. In
    either direction a stream has a pipeline of queues, each the place of one stage: a handler that answers, filters,
    and the connection at the end. Packets travel through them. Programs write handlers, most of all actions: one
    function for one path.

        static void hello(HttpStream *stream) {
            httpWrite(stream->writeq, "Hello %s\n", httpGetParam(stream, "name", "World"));
            httpFinalize(stream);
        }

    Threads: all of a stream is used by its dispatcher's events, one at a time: that is where handlers are called.
    Another thread, a foreign one too, gets there by httpCreateEvent. What a program sets up (endpoints, hosts,
    routes, stages) it sets up before it starts the endpoints. Functions are for attached threads that run; those that
    yield say so. Procedures of stages, notifiers and callbacks may yield. Then a call that calls them has yielded: one
    that puts a packet into another's queue, writes to a queue that is full, or fails a request. What is put or written
    stays; what else its caller goes on with is to be rooted where the program has such procedures.

    Waiting: a handler that waits in a call (HTTP_BLOCK, mprWaitForEvent) has others run above it on its thread's stack, and goes on
    when those have returned. When half of the stack is used no request begins above it. A service whose handlers often
    wait for slow clients writes as there is room (HTTP_EVENT_WRITABLE), in coroutines (mpr/http.hpp), or has workers.

    Memory: what a request allocates needs no free. The event loop yields when it waits and when a request is
    complete, and between two events; a handler that returns to it keeps what it wants to find again in stream->data
    or queue->queueData. These two fields, and all others of streams, their rx and tx, and queues that a program may
    set, are stored into by plain assignment. Texts that these functions return live as long as the request does; who
    wants them longer clones them.

    These functions are in a library of their own, libmpr_http.a (CMake: mpr::http; pkg-config: mpr-http), and in
    libmpr.so.
 */
#include "mpr/http/types.h"
#include "mpr/http/service.h"
#include "mpr/http/uri.h"
#include "mpr/http/route.h"
#include "mpr/http/stage.h"
#include "mpr/http/packet.h"
#include "mpr/http/queue.h"
#include "mpr/http/stream.h"
#include "mpr/http/request.h"
#include "mpr/http/response.h"
#include "mpr/http/session.h"
#include "mpr/http/upload.h"
