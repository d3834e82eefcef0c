/* SPDX-License-Identifier: MIT */
/*
    test/http/misuse.cpp - What threads in the wrong state call of HTTP is named, and does nothing. NULL is no mistake.
 */
#include "mpr/http.h"
#include "test/support/wrong_state.hpp"

using namespace test;

namespace {

const Call table[] = {
    {"httpCreate", making, [] { httpCreate(0); }},
    {"mprAllocMem", running, [] { httpCreatePacket(10); }},
    {"mprAllocMem", running, [] { httpCreateEndPacket(); }},
    {"httpCreate", making, [] { httpCreateHost(); }},
    {"httpCreate", making, [] { httpCreateRoute(nullptr); }},
    {"httpCreate", making, [] { httpCreateEndpoint(nullptr, 0, nullptr); }},
    {"httpCreate", making, [] { httpCreateHandler("none", nullptr); }},
    {"httpCreate", making, [] { httpDefineAction("/none", nullptr); }},
    {"mprAllocMem", running, [] { httpCreateUri("/a", 0); }},
    {"mprAllocMem", running, [] { httpCreateUriFromParts("http", "a", 0, "/", nullptr, nullptr, 0); }},
    {"mprAlloc", running, [] { httpFormatUri("http", "a", 0, "/", nullptr, nullptr, 0); }},
    {"mprAlloc", running, [] { httpNormalizeUriPath("/a"); }},
    {"mprAlloc", running, [] { httpValidateUriPath("/a"); }},
    {"mprAlloc", running, [] { httpGetPathExt("/a.b"); }},
    {"mprAllocMem", running, [] { httpJoinUri(nullptr, 0, nullptr); }},
};
} // namespace

TEST_CASE("a call of HTTP by a thread in the wrong state is named and does nothing", "[http][misuse]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}

TEST_CASE("without a service, and of no object, there is nothing", "[http][misuse]") {
    Runtime runtime;
    CHECK_FALSE(httpGetHttp());
    CHECK_FALSE(httpLookupStage("none"));
    CHECK_FALSE(httpLookupHost("none"));
    CHECK_FALSE(httpFindStream(1, nullptr, nullptr));
    CHECK(httpStartEndpoints() == 0);
    httpStopEndpoints();
    httpDestroy();
    const bool served = GENERATE(false, true);
    if (served) {
        CHECK(httpCreate(HTTP_SERVER_SIDE));
    }
    httpDestroyEndpoint(nullptr);
    CHECK(httpStartEndpoint(nullptr) == MPR_ERR_BAD_ARGS);
    httpStopEndpoint(nullptr);
    httpSetEndpointNotifier(nullptr, nullptr);
    CHECK(httpSetEndpointWorkers(nullptr, 1) == MPR_ERR_BAD_ARGS);
    CHECK(httpSecureEndpoint(nullptr, nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(httpGetEndpointPort(nullptr) == 0);
    CHECK(httpSetHostName(nullptr, "a") == MPR_ERR_BAD_ARGS);
    httpSetHostDefaultRoute(nullptr, nullptr);
    httpAddHostToEndpoint(nullptr, nullptr);
    httpSetDefaultHost(nullptr);
    httpGetStats(nullptr);

    // Routes
    CHECK_FALSE(httpCreateActionRoute(nullptr, "/", nullptr));
    CHECK(httpAddRoute(nullptr, nullptr) == MPR_ERR_BAD_ARGS);
    httpFinalizeRoute(nullptr);
    httpSetRoutePattern(nullptr, "/", 0);
    httpSetRoutePrefix(nullptr, "/");
    httpSetRouteMethods(nullptr, "GET");
    CHECK(httpSetRouteTarget(nullptr, "run", "") == MPR_ERR_BAD_ARGS);
    httpSetRouteDocuments(nullptr, "/");
    httpSetRouteFollow(nullptr, true);
    httpSetRouteRate(nullptr, 1);
    httpSetRouteHome(nullptr, "/");
    httpAddRouteIndex(nullptr, "index");
    CHECK(httpSetRouteHandler(nullptr, "none") == MPR_ERR_CANT_FIND);
    CHECK(httpAddRouteHandler(nullptr, "none", nullptr) == MPR_ERR_CANT_FIND);
    CHECK(httpAddRouteFilter(nullptr, "none", nullptr, HTTP_STAGE_TX) == MPR_ERR_CANT_FIND);
    httpClearRouteStages(nullptr, HTTP_STAGE_TX);
    httpAddRouteResponseHeader(nullptr, HTTP_ROUTE_SET_HEADER, "A", "b");
    httpAddRouteErrorDocument(nullptr, 404, "/none");
    httpSetRouteData(nullptr, "a", nullptr);
    CHECK_FALSE(httpGetRouteData(nullptr, "a"));
    httpSetRouteVar(nullptr, "a", "b");
    CHECK(std::string(httpExpandRouteVars(nullptr, "${a}")) == "${a}");
    CHECK_FALSE(httpGetRouteLimits(nullptr));
    CHECK_FALSE(httpCreateStage(nullptr, 0, nullptr));
    httpDefineAction(nullptr, nullptr);
    httpMapFile(nullptr);

    // Packets and queues
    CHECK_FALSE(httpClonePacket(nullptr));
    CHECK(httpJoinPacket(nullptr, nullptr) == MPR_ERR_BAD_ARGS);
    httpJoinPackets(nullptr, 1);
    CHECK_FALSE(httpSplitPacket(nullptr, 0));
    httpAdjustPacketStart(nullptr, 1);
    httpAdjustPacketEnd(nullptr, 1);
    CHECK(httpGetPacketLength(nullptr) == 0);
    CHECK_FALSE(httpGetPacketStart(nullptr));
    CHECK(httpGetPacketContents(nullptr) == 0);
    CHECK(std::string(httpGetPacketString(nullptr)).empty());
    CHECK_FALSE(httpIsLastPacket(nullptr));
    httpPutForService(nullptr, nullptr, true);
    httpPutPacket(nullptr, nullptr);
    httpPutPacketToNext(nullptr, nullptr);
    httpPutBackPacket(nullptr, nullptr);
    CHECK_FALSE(httpGetPacket(nullptr));
    httpScheduleQueue(nullptr);
    httpServiceQueue(nullptr);
    httpSuspendQueue(nullptr);
    CHECK_FALSE(httpResumeQueue(nullptr, true));
    CHECK_FALSE(httpIsQueueSuspended(nullptr));
    CHECK_FALSE(httpIsNextQueueSuspended(nullptr));
    CHECK(httpIsQueueEmpty(nullptr));
    CHECK_FALSE(httpFlushQueue(nullptr, 0));
    httpDiscardQueueData(nullptr, true);
    CHECK(httpGetQueueRoom(nullptr) == 0);
    CHECK_FALSE(httpWillQueueAcceptPacket(nullptr, nullptr, nullptr));
    CHECK_FALSE(httpWillNextQueueAcceptPacket(nullptr, nullptr));
    CHECK_FALSE(httpWillNextQueueAcceptSize(nullptr, 1));
    httpRemoveQueue(nullptr);
    CHECK_FALSE(httpGetQueueData(nullptr));
    httpSetQueueLimits(nullptr, nullptr, 1, 1, 1, 1);
    httpDefaultIncoming(nullptr, nullptr);
    httpDefaultOutgoing(nullptr, nullptr);
    httpDefaultService(nullptr);

    // Streams
    httpSetStreamNotifier(nullptr, nullptr);
    httpNotify(nullptr, 0, 0);
    httpSetStreamContext(nullptr, nullptr);
    CHECK_FALSE(httpGetStreamContext(nullptr));
    httpSetTimeout(nullptr, 1, 1);
    httpError(nullptr, 400, "none");
    httpBadRequestError(nullptr, 400, "none");
    httpLimitError(nullptr, 400, "none");
    httpMemoryError(nullptr);
    httpDisconnectStream(nullptr);
    CHECK(std::string(httpGetError(nullptr)).empty());
    CHECK(httpGetKeepAliveCount(nullptr) == 0);
    CHECK(httpIsEof(nullptr));
    CHECK_FALSE(httpIsFinalized(nullptr));
    CHECK_FALSE(httpIsOutputFinalized(nullptr));
    CHECK_FALSE(httpRequestExpired(nullptr, 0));
    CHECK_FALSE(httpGetAsync(nullptr));
    httpSetAsync(nullptr, true);
    CHECK(httpStealSocketHandle(nullptr) == -1);

    // Requests
    CHECK_FALSE(httpGetHeader(nullptr, "a"));
    CHECK_FALSE(httpGetHeaders(nullptr));
    CHECK_FALSE(httpGetHeaderHash(nullptr));
    CHECK(httpGetContentLength(nullptr) == -1);
    CHECK(std::string(httpGetQueryString(nullptr)).empty());
    CHECK_FALSE(httpGetParam(nullptr, "a", nullptr));
    CHECK(httpGetIntParam(nullptr, "a", 7) == 7);
    CHECK_FALSE(httpGetParams(nullptr));
    httpSetParam(nullptr, "a", "b");
    httpSetIntParam(nullptr, "a", 1);
    CHECK_FALSE(httpTestParam(nullptr, "a"));
    httpRemoveParam(nullptr, "a");
    CHECK(std::string(httpGetParamsString(nullptr)).empty());
    CHECK_FALSE(httpGetCookie(nullptr, "a"));
    CHECK_FALSE(httpGetCookies(nullptr));
    CHECK(std::string(httpGetBodyInput(nullptr)).empty());
    CHECK(httpGetReadCount(nullptr) == 0);
    CHECK(httpRead(nullptr, nullptr, 1) == 0);
    CHECK(httpReadBlock(nullptr, nullptr, 1, 0, 0) == MPR_ERR_BAD_ARGS);
    CHECK_FALSE(httpReadString(nullptr));
    CHECK(httpGetStatus(nullptr) == 0);
    CHECK(std::string(httpGetStatusMessage(nullptr)).empty());
    CHECK(httpSetUri(nullptr, "/") == MPR_ERR_BAD_ARGS);
    httpSetMethod(nullptr, "GET");
    httpTrimExtraPath(nullptr);
    CHECK_FALSE(httpContentNotModified(nullptr));
    CHECK_FALSE(httpMatchEtag(nullptr, nullptr));
    CHECK_FALSE(httpMatchModified(nullptr, 0));

    // Responses
    httpSetStatus(nullptr, 200);
    httpSetHeader(nullptr, "a", "b");
    httpSetHeaderString(nullptr, "a", "b");
    httpAddHeader(nullptr, "a", "b");
    httpAddHeaderString(nullptr, "a", "b");
    httpAppendHeader(nullptr, "a", "b");
    httpAppendHeaderString(nullptr, "a", "b");
    CHECK(httpRemoveHeader(nullptr, "a") == MPR_ERR_CANT_FIND);
    CHECK_FALSE(httpGetTxHeader(nullptr, "a"));
    httpSetContentType(nullptr, "a/b");
    httpSetContentLength(nullptr, 1);
    httpSetChunkSize(nullptr, 1);
    CHECK(httpGetChunkSize(nullptr) == 0);
    httpSetCookie(nullptr, "a", "b", nullptr, nullptr, 0, 0);
    httpRemoveCookie(nullptr, "a");
    httpRedirect(nullptr, 0, "/");
    CHECK(httpFormatResponse(nullptr, "a") == MPR_ERR_BAD_ARGS);
    httpFormatError(nullptr, 400, "a");
    CHECK(httpWrite(nullptr, "a") == MPR_ERR_BAD_ARGS);
    CHECK(httpWriteString(nullptr, "a") == MPR_ERR_BAD_ARGS);
    CHECK(httpWriteBlock(nullptr, "a", 1, 0) == MPR_ERR_BAD_ARGS);
    httpFlush(nullptr);
    httpFinalize(nullptr);
    httpFinalizeOutput(nullptr);
    httpFinalizeInput(nullptr);
    httpOmitBody(nullptr);
    httpSetResponded(nullptr);

    // Sessions
    CHECK_FALSE(httpCreateSession(nullptr));
    CHECK_FALSE(httpGetSession(nullptr, 1));
    CHECK_FALSE(httpGetSessionVar(nullptr, "a", nullptr));
    CHECK(httpSetSessionVar(nullptr, "a", "b") == MPR_ERR_BAD_ARGS);
    CHECK(httpRemoveSessionVar(nullptr, "a") == MPR_ERR_CANT_FIND);
    CHECK_FALSE(httpGetSessionID(nullptr));
    httpDestroySession(nullptr);
    CHECK(Log::size() == 0);
}
