// SPDX-License-Identifier: MIT
/*
    routes.cpp - The endpoints: help, session, content, statistics.

    Each returns an answer whose body may lie in a block that only the answer names. That is safe: this thread yields
    between requests, never in here.
 */
#include "routes.h"

#include <array>

namespace service {
namespace {

constexpr std::string_view help = "An HTTP service in managed memory.\n"
                                  "\n"
                                  "GET    /                     this text\n"
                                  "POST   /session              a new session; its cookie is sid\n"
                                  "GET    /session              what is known of it: visits, recent paths\n"
                                  "DELETE /session              end it\n"
                                  "GET    /content/NAME?size=N  a page of N bytes, made when not in the cache\n"
                                  "PUT    /content/NAME         store a page; POST does the same\n"
                                  "DELETE /content/NAME         drop a page\n"
                                  "GET    /stats                counters and memory, JSON\n";

constexpr std::uint64_t ordinarySize = 4096; // Of a generated page
constexpr std::string_view contentPrefix = "/content/";

struct Target {
    std::string_view path, query;
};

struct Context {
    Store& store;
    Request& request;
    std::uint64_t now;
    Target target;
    Session* session; // Named by the cookie, or NULL
};

bool parseTarget(std::string_view text, Target& target) {
    http_parser_url url;
    http_parser_url_init(&url);
    if (text == "*" || http_parser_parse_url(text.data(), text.size(), 0, &url) != 0) {
        return false;
    }
    auto part = [&](http_parser_url_fields which) {
        return (url.field_set & (1u << which)) != 0 ? text.substr(url.field_data[which].off, url.field_data[which].len)
                                                    : std::string_view();
    };
    target = {part(UF_PATH), part(UF_QUERY)};
    if (target.path.empty()) {
        target.path = "/"; // http://host without anything
    }
    return true;
}

/** The value of one name in a list such as `a=1; b=2` (a cookie) or `a=1&b=2` (a query). */
std::string_view valueOf(std::string_view list, std::string_view name, char separator) {
    while (!list.empty()) {
        std::size_t end = list.find(separator);
        std::string_view item = list.substr(0, end);
        list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
        while (!item.empty() && item.front() == ' ') {
            item.remove_prefix(1);
        }
        if (item.size() > name.size() && item.substr(0, name.size()) == name && item[name.size()] == '=') {
            return item.substr(name.size() + 1);
        }
    }
    return {};
}

Answer notAllowed(std::string_view allowed) {
    Answer answer = Answer::of(405, "405 This resource does not know that method; see Allow\n");
    answer.fields.add("Allow: ").add(allowed).add("\r\n");
    return answer;
}

/** An answer whose body is a managed copy of text put together on the stack. */
Answer copied(std::string_view text, const char* type) {
    Answer answer;
    answer.type = type;
    answer.owner = mpr::clone(text);
    if (!answer.owner) {
        return Answer::noMemory();
    }
    answer.body = {answer.owner, text.size()};
    return answer;
}

bool reads(http_method method) {
    return method == HTTP_GET || method == HTTP_HEAD;
}

Answer describeSession(const Context& context) {
    Session& session = *context.session;
    ++session.visits;
    FixedText<8192> text;
    text.add("{\"id\":").json(session.key());
    text.format(",\"visits\":%llu,\"age\":%.3f,\"recent\":[", static_cast<unsigned long long>(session.visits),
                static_cast<double>(context.now - session.born) / 1000);
    for (std::size_t ago = 0; const char* path = session.recent(ago); ++ago) {
        text.add(ago ? "," : "").json(path);
    }
    text.add("]}\n");
    return copied(text.view(), "application/json");
}

Answer newSession(const Context& context) {
    Session* session = context.store.sessions.add(context.now);
    if (!session) {
        return Answer::noMemory();
    }
    FixedText<128> text;
    text.add("{\"id\":").json(session->key()).add("}\n");
    Answer answer = copied(text.view(), "application/json");
    answer.status = answer.owner ? 201 : 503;
    answer.fields.add("Set-Cookie: sid=").add(session->key()).add("; Path=/; HttpOnly; SameSite=Strict\r\n");
    return answer;
}

Answer routeSession(const Context& context) {
    http_method method = context.request.method;
    if (method == HTTP_POST) {
        return newSession(context);
    }
    if (!reads(method) && method != HTTP_DELETE) {
        return notAllowed("GET, HEAD, POST, DELETE");
    }
    if (!context.session) {
        return Answer::of(401, "401 No session: POST /session gives one, the cookie sid shows it\n");
    }
    if (method == HTTP_DELETE) {
        context.store.sessions.remove(context.session);
        return Answer::of(204, {});
    }
    return describeSession(context);
}

Answer readContent(const Context& context, std::string_view name) {
    std::string_view sizeText = valueOf(context.target.query, "size", '&');
    std::uint64_t size = ordinarySize;
    bool sized = context.target.query.find("size=") != std::string_view::npos;
    if (sized && (!parseNumber(sizeText, Content::largestPage, size) || size == 0)) {
        return Answer::of(400, "400 size is a number of bytes, 1 to 1048576\n");
    }

    Board& board = context.store.board;
    Answer answer;
    Page* page = context.store.content.use(name);
    if (page && (page->stored() || !sized || page->size() == size)) {
        bump(board.hits);
        answer.owner = page->body();
        answer.body = {page->body(), page->size()};
        answer.fields.add("X-Cache: hit\r\n");
        return answer;
    }
    bump(board.misses);
    answer.owner = generatePage(name, static_cast<std::size_t>(size));
    if (!answer.owner || context.store.content.store(name, answer.owner, static_cast<std::size_t>(size), false) ==
                             Content::Stored::noMemory) {
        return Answer::noMemory();
    }
    answer.body = {answer.owner, static_cast<std::size_t>(size)};
    answer.fields.add("X-Cache: miss\r\n");
    return answer;
}

Answer writeContent(const Context& context, std::string_view name) {
    std::size_t size = context.request.body().size();
    switch (context.store.content.store(name, size ? context.request.takeBody() : nullptr, size, true)) {
    case Content::Stored::created: {
        Answer answer = Answer::of(201, "stored\n");
        answer.fields.add("Location: ").add(contentPrefix).add(name).add("\r\n");
        return answer;
    }
    case Content::Stored::replaced: return Answer::of(204, {});
    case Content::Stored::noMemory: break;
    }
    return Answer::noMemory();
}

Answer routeContent(const Context& context, std::string_view name) {
    if (!Content::validName(name)) {
        return Answer::of(400, "400 A name has 1 to 100 letters, digits, dots, minus signs, underscores\n");
    }
    switch (context.request.method) {
    case HTTP_GET:
    case HTTP_HEAD: return readContent(context, name);
    case HTTP_PUT:
    case HTTP_POST: return writeContent(context, name);
    case HTTP_DELETE:
        return context.store.content.remove(name) ? Answer::of(204, {}) : Answer::of(404, "404 Not in the cache\n");
    default: return notAllowed("GET, HEAD, PUT, POST, DELETE");
    }
}

/** The JSON of /stats, a member at a time. */
class Figures {
public:
    void begin(const char* group) { open(group); }
    void end() {
        text_.add("}");
        first_ = false;
    }
    void add(const char* name, std::uint64_t value) {
        comma();
        text_.format("\"%s\":%llu", name, static_cast<unsigned long long>(value));
    }
    void add(const char* name, const MprTimes& times) {
        open(name);
        add("count", times.count);
        add("p50", times.p50);
        add("p99", times.p99);
        add("p999", times.p999);
        add("max", times.max);
        end();
    }
    std::string_view finish() { return text_.add("}\n").view(); }

private:
    void open(const char* name) {
        comma();
        text_.format("\"%s\":{", name);
        first_ = true;
    }
    void comma() {
        text_.add(first_ ? "" : ",");
        first_ = false;
    }

    FixedText<4096> text_ = FixedText<4096>().add("{");
    bool first_ = true;
};

Answer describeMemory(const Context& context) {
    const Board& board = context.store.board;
    MprMemStats memory;
    mprReadMemStats(&memory);
    Figures figures;
    figures.begin("service");
    figures.add("requests", board.requests);
    figures.add("connections", board.connections);
    figures.add("accepted", board.accepted);
    figures.add("refused", board.refused);
    figures.add("timeouts", board.timeouts);
    figures.add("outOfMemory", board.outOfMemory);
    figures.add("sessions", board.sessions);
    figures.add("sessionsExpired", board.sessionsExpired);
    figures.end();
    figures.begin("content");
    figures.add("pages", board.pages);
    figures.add("bytes", board.pageBytes);
    figures.add("limit", board.cacheLimit);
    figures.add("hits", board.hits);
    figures.add("misses", board.misses);
    figures.add("evicted", board.evicted);
    figures.add("shed", board.shedPages);
    figures.end();
    figures.begin("memory");
    figures.add("heap", memory.heap);
    figures.add("heapPeak", memory.heapPeak);
    figures.add("redline", memory.warnHeap);
    figures.add("max", memory.maxHeap);
    figures.add("live", memory.bytesLive);
    figures.add("free", memory.bytesFree);
    figures.add("largestFree", memory.largestFree);
    figures.add("resident", mprGetMem());
    figures.add("blocksAllocated", memory.blocksAllocated);
    figures.add("blocksFreed", memory.blocksFreed);
    figures.add("bytesAllocated", memory.bytesAllocated);
    figures.add("redlines", memory.redlines);
    figures.add("errors", memory.errors);
    figures.add("misuses", memory.misuses);
    figures.end();
    figures.begin("collector"); // Times in nanoseconds
    figures.add("collections", memory.collections);
    figures.add("minor", memory.collectionsMinor);
    figures.add("major", memory.collectionsMajor);
    figures.add("pause", memory.pause);
    figures.add("stall", memory.stall);
    figures.add("rendezvous", memory.rendezvous);
    figures.add("mark", memory.mark);
    figures.add("sweep", memory.sweep);
    figures.end();
    return copied(figures.finish(), "application/json");
}

} // namespace

Answer route(Store& store, Request& request, std::uint64_t now) {
    Context context{store, request, now, {}, nullptr};
    if (!parseTarget(request.target(), context.target)) {
        return Answer::of(400, "400 The target of the request is not a path\n");
    }
    std::string_view path = context.target.path;
    if (request.hasField("cookie")) {
        context.session = store.sessions.use(valueOf(request.field("cookie"), "sid", ';'), now);
        if (context.session && !context.session->remember(path)) {
            return Answer::noMemory();
        }
    }
    if (path == "/") {
        return reads(request.method) ? Answer::of(200, help) : notAllowed("GET, HEAD");
    }
    if (path == "/stats") {
        return reads(request.method) ? describeMemory(context) : notAllowed("GET, HEAD");
    }
    if (path == "/session") {
        return routeSession(context);
    }
    if (path.substr(0, contentPrefix.size()) == contentPrefix) {
        return routeContent(context, path.substr(contentPrefix.size()));
    }
    return Answer::of(404, "404 Nothing here: GET / tells what there is\n");
}

} // namespace service
