/* SPDX-License-Identifier: MIT */
/*
    test/http/route.cpp - Routes and hosts: which one a request takes, and what it makes of it.
 */
#include "test/support/http.hpp"

using namespace test;

namespace {

/* Answers with what the route has made of the path. */
void tell(HttpStream *stream) {
    cchar *name = static_cast<cchar *>(httpGetRouteData(stream->rx->route, "name"));
    httpWrite(stream->writeq, "%s|%s|%s|%s|%s", name ? name : "", stream->rx->scriptName, stream->rx->pathInfo,
              httpGetParam(stream, "id", "-"), httpGetParam(stream, "rest", "-"));
    httpFinalize(stream);
}

HttpRoute *route(cchar *name, cchar *pattern, cchar *methods = nullptr) {
    HttpRoute *made = httpCreateActionRoute(nullptr, pattern, tell);
    REQUIRE(made);
    httpSetRouteData(made, "name", sclone(name));
    httpSetRouteMethods(made, methods);
    return made;
}
std::string ask(const Server &server, const std::string &method, const std::string &path) {
    Answer answer = server.ask(method + " " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
    return answer.status == 200 ? answer.body : std::to_string(answer.status);
}
std::string get(const Server &server, const std::string &path) {
    return ask(server, "GET", path);
}
} // namespace

TEST_CASE("patterns: prefixes, named parts, anchors", "[http][route]") {
    Server server;
    route("exact", "^/exact$");
    route("item", "/items/{id}");
    route("files", "/files/{rest}*");
    route("star", "/star*");
    route("deep", "/a/{id}/b/{rest}");
    route("prefix", "/prefix");
    server.start();
    CHECK(get(server, "/exact") == "exact||/exact|-|-");
    CHECK(get(server, "/exact/more") == "404");
    CHECK(get(server, "/exactly") == "404");
    CHECK(get(server, "/items/7") == "item||/items/7|7|-");
    CHECK(get(server, "/items/7/x") == "item||/items/7/x|7|-");
    CHECK(get(server, "/items/") == "404");
    CHECK(get(server, "/items/%41") == "item||/items/A|A|-");
    CHECK(get(server, "/files/a/b.c") == "files||/files/a/b.c|-|a/b.c");
    CHECK(get(server, "/files/") == "files||/files/|-|");
    CHECK(get(server, "/starry/night") == "star||/starry/night|-|-");
    CHECK(get(server, "/a/1/b/2") == "deep||/a/1/b/2|1|2");
    CHECK(get(server, "/a/1/c/2") == "404");
    CHECK(get(server, "/prefix") == "prefix||/prefix|-|-");
    CHECK(get(server, "/prefix/more") == "prefix||/prefix/more|-|-");
    CHECK(get(server, "/prefixes") == "404");
    CHECK(get(server, "/items/7?id=8") == "item||/items/7|7|-"); /* The path counts */
}

TEST_CASE("methods: the first route that takes one, 405, OPTIONS and HEAD", "[http][route]") {
    Server server;
    route("get", "/m", "GET");
    route("post", "/m", "POST, PUT");
    server.start();
    CHECK(get(server, "/m") == "get||/m|-|-");
    CHECK(ask(server, "PUT", "/m") == "post||/m|-|-");
    Client client(server.port);
    CHECK(client.ask("HEAD /m HTTP/1.1\r\nHost: a\r\n\r\n").status == 200);
    Answer answer = client.ask("DELETE /m HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(answer.status == 405);
    for (cchar *method : {"GET", "HEAD", "POST", "PUT", "OPTIONS"}) {
        CHECK(answer["Allow"].find(method) != std::string::npos);
    }
    answer = client.ask("OPTIONS /m HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(answer.status == 204);
    CHECK(answer["Allow"].find("PUT") != std::string::npos);
    CHECK_FALSE(answer.has("Content-Length"));
}

TEST_CASE("prefixes are cut, and patterns may have them", "[http][route]") {
    Server server;
    HttpRoute *made = route("app", nullptr);
    httpSetRoutePrefix(made, "/app/");
    httpSetRoutePattern(made, "~/in/{id}", 0);
    server.start();
    CHECK(get(server, "/app/in/5") == "app|/app|/in/5|5|-");
    CHECK(get(server, "/in/5") == "404");
    CHECK(get(server, "/application/in/5") == "404");
}

TEST_CASE("an action is of a whole path, also below a prefix", "[http][route]") {
    Server server;
    HttpRoute *below = httpCreateInheritedRoute(nullptr);
    httpSetRoutePrefix(below, "/app");
    httpFinalizeRoute(below);
    httpDefineAction("/app/hello", answerHello);
    httpDefineAction("/reset", answerHello);
    httpDefineRoute(nullptr, "POST", "/reset", "/reset", nullptr);
    server.start();
    CHECK(server.get("/app/hello").status == 200);
    CHECK(server.get("/hello").status == 404);
    CHECK(server.get("/reset").status == 405);
    CHECK(server.get("/app/reset").status == 404); // it was served by GET
}

TEST_CASE("targets: redirections, texts, actions by name", "[http][route]") {
    Server server;
    httpCreateAliasRoute(nullptr, "/old", "/new", 301);
    HttpRoute *text = httpCreateInheritedRoute(nullptr);
    httpSetRoutePattern(text, "/text", 0);
    httpSetRouteVar(text, "WHO", "you");
    CHECK(httpSetRouteTarget(text, "write", "202 Hello ${WHO}") == 0);
    CHECK(httpSetRouteTarget(text, "juggle", "") == MPR_ERR_BAD_SYNTAX);
    httpFinalizeRoute(text);
    httpDefineAction("named", answerHello);
    httpDefineRoute(nullptr, "GET", "/call", "named", nullptr);
    server.start();
    Answer answer = server.get("/old");
    CHECK(answer.status == 301);
    CHECK((answer["Location"] == "/new" || answer["Location"] == "http://localhost/new"));
    answer = server.get("/text");
    CHECK(answer.status == 202);
    CHECK(answer.body == "Hello you");
    CHECK(server.get("/call").body == "hello");
}

TEST_CASE("a handler redirects", "[http][route]") {
    Server server;
    httpDefineAction(
        "/go", +[](HttpStream *stream) {
            httpWriteString(stream->writeq, "dropped");
            httpRedirect(stream, 303, "there?a=b");
        });
    server.start();
    Client client(server.port);
    for (int i = 0; i < 2; i++) {
        Answer answer = client.ask("GET /go HTTP/1.1\r\nHost: a\r\n\r\n");
        CHECK(answer.status == 303);
        CHECK(answer["Location"].find("/there?a=b") != std::string::npos);
        CHECK(answer.body.find("dropped") == std::string::npos);
    }
}

TEST_CASE("where a redirection leads may have what no URI has", "[http][route]") {
    Server server;
    httpDefineAction(
        "/go", +[](HttpStream *stream) { httpRedirect(stream, 302, "/a{b}|c^d\\?x=100%&y=%20\r\nX: y"); });
    httpDefineAction(
        "/here", +[](HttpStream *stream) { httpRedirect(stream, 302, "there"); });
    server.start();
    const Answer answer = server.get("/go");
    CHECK(answer["Location"] == "/a%7Bb%7D%7Cc%5Ed%5C?x=100%25&y=%20%0D%0AX:%20y");
    CHECK_FALSE(answer.has("X"));
    CHECK(server.get("/here?{a|b}=100%")["Location"] == "/there");
}

TEST_CASE("headers of a route, its data, and what it inherits", "[http][route]") {
    Server server;
    HttpRoute *parent = route("parent", "/parent");
    httpAddRouteResponseHeader(parent, HTTP_ROUTE_SET_HEADER, "X-One", "1");
    httpAddRouteResponseHeader(parent, HTTP_ROUTE_ADD_HEADER, "X-One", "2");
    httpAddRouteResponseHeader(parent, HTTP_ROUTE_APPEND_HEADER, "X-One", "3");
    HttpRoute *child = httpCreateActionRoute(parent, "/child", tell);
    httpAddRouteResponseHeader(child, HTTP_ROUTE_REMOVE_HEADER, "X-One", nullptr);
    httpSetRouteVar(parent, "A", "b");
    CHECK(std::string(httpExpandRouteVars(parent, "x${A}x")) == "xbx");
    CHECK(httpLookupRoute(nullptr, "/child") == child);
    CHECK_FALSE(httpLookupRoute(nullptr, "/nobody"));
    HttpLimits *limits = httpGetRouteLimits(child);
    limits->rxBodySize = 3;
    CHECK(httpGetLimits()->rxBodySize > 3);
    server.start();
    Answer answer = server.get("/parent");
    CHECK(answer["X-One"] == "1, 3");
    answer = server.get("/child");
    CHECK(answer.body == "parent||/child|-|-");
    CHECK_FALSE(answer.has("X-One"));
    CHECK(server.ask(post("/child", "1234")).status == 413);
    CHECK(server.ask(post("/parent", "1234")).status == 200);
}

TEST_CASE("hosts by the name that a client asks for", "[http][route]") {
    Server server;
    const auto host = [&server](cchar *name) {
        HttpHost *made = httpCreateHost();
        if (name) {
            CHECK(httpSetHostName(made, name) == 0);
        }
        HttpRoute *parent = httpCreateDefaultRoute(made);
        HttpRoute *only = httpCreateActionRoute(parent, "/", tell);
        httpSetRouteData(only, "name", sclone(name ? name : "first"));
        httpAddHostToEndpoint(server.endpoint, made);
        return made;
    };
    host(nullptr);
    HttpHost *one = host("One.example");
    host("*.example");
    server.start();
    CHECK(httpLookupHost("ONE.example") == one);
    CHECK_FALSE(httpLookupHost("other"));
    const auto name = [&server](const std::string &asked) {
        const std::string body = server.ask("GET / HTTP/1.1\r\nHost: " + asked + "\r\n\r\n").body;
        return body.substr(0, body.find('|'));
    };
    CHECK(name("one.example") == "One.example");
    CHECK(name("ONE.EXAMPLE:8080") == "One.example");
    CHECK(name("two.example") == "*.example");
    CHECK(name("example") == "first");
    CHECK(name("[::1]:80") == "first");
    CHECK(server.ask("GET http://one.example/ HTTP/1.1\r\nHost: ignored\r\n\r\n").body.substr(0, 3) == "One");
}

TEST_CASE("a request may be given another URI before it is handled", "[http][route]") {
    Server server;
    HttpStage *stage = httpCreateHandler("rewriter", nullptr);
    stage->rewrite = +[](HttpStream *stream) {
        CHECK(httpSetUri(stream, "not a uri") == MPR_ERR_BAD_ARGS);
        return httpSetUri(stream, "/new/place?id=9") == 0 ? HTTP_ROUTE_REROUTE : HTTP_ROUTE_REJECT;
    };
    HttpRoute *from = httpCreateInheritedRoute(nullptr);
    httpSetRoutePattern(from, "/old", 0);
    CHECK(httpSetRouteHandler(from, "rewriter") == 0);
    CHECK(httpSetRouteHandler(from, "nobody") == MPR_ERR_CANT_FIND);
    httpFinalizeRoute(from);
    route("new", "/new");
    server.start();
    CHECK(get(server, "/old") == "new||/new/place|9|-");
}

TEST_CASE("a request that is given another method or URI is matched as a whole again", "[http][route]") {
    Server server;
    HttpStage *stage = httpCreateHandler("overrider", nullptr);
    stage->rewrite = +[](HttpStream *stream) {
        if (smatch(stream->rx->pathInfo, "/moved")) {
            return httpSetUri(stream, "/elsewhere") == 0 ? HTTP_ROUTE_REROUTE : HTTP_ROUTE_REJECT;
        }
        httpSetMethod(stream, "PUT");
        return HTTP_ROUTE_REROUTE;
    };
    HttpRoute *from = httpCreateInheritedRoute(nullptr);
    httpSetRoutePrefix(from, "/api");
    httpSetRouteMethods(from, "POST");
    CHECK(httpSetRouteHandler(from, "overrider") == 0);
    httpFinalizeRoute(from);
    HttpRoute *to = route("put", "~/{id}", "PUT");
    httpSetRoutePrefix(to, "/api");
    route("elsewhere", "/elsewhere");
    server.start();
    CHECK(ask(server, "POST", "/api/7") == "put|/api|/7|7|-");
    CHECK(ask(server, "POST", "/api/moved") == "elsewhere||/elsewhere|-|-");
}

TEST_CASE("the text of a target may begin with digits", "[http][route]") {
    Server server;
    const struct {
        cchar *details;
        int status;
        cchar *body;
    } cases[] = {{"200 1.2.3", 200, "1.2.3"},
                 {"42 is the answer", 200, "42 is the answer"},
                 {"404 gone", 404, "gone"},
                 {"2024", 200, "2024"},
                 {"201", 201, ""}};
    for (size_t i = 0; i < std::size(cases); i++) {
        HttpRoute *made = httpCreateInheritedRoute(nullptr);
        httpSetRoutePattern(made, sfmt("/write%zu", i), 0);
        CHECK(httpSetRouteTarget(made, "write", cases[i].details) == 0);
        httpFinalizeRoute(made);
    }
    httpCreateAliasRoute(nullptr, "/old", "2024/index.html", 301);
    server.start();
    for (size_t i = 0; i < std::size(cases); i++) {
        const Answer answer = server.get("/write" + std::to_string(i));
        INFO(cases[i].details);
        CHECK(answer.status == cases[i].status);
        CHECK(answer.body == cases[i].body);
    }
    CHECK(server.get("/old")["Location"].find("/2024/index.html") != std::string::npos);
}
