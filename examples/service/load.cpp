// SPDX-License-Identifier: MIT
/*
    load.cpp - See load.h.
 */
#include "load.h"

#include "content.h"

#include <algorithm>
#include <chrono>

namespace service {
namespace {

constexpr std::size_t mostSessions = 64; // That one client uses in turn
constexpr std::size_t burst = 8;         // Requests pipelined

std::uint64_t nanoseconds() {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/** Sizes of pages: 1 to 16 KiB, small ones more often, always the same for one name. */
std::size_t sizeOf(std::size_t key) {
    std::size_t mixed = (key * 2654435761u) & 0xffff;
    return std::size_t{1024} << (mixed & 3) << (mixed >> 15);
}

std::string nameOf(std::size_t key) {
    return "page-" + std::to_string(key);
}

} // namespace

Zipf::Zipf(std::size_t count) : sums_(count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        sum += 1 / static_cast<double>(i + 1);
        sums_[i] = sum;
    }
}

std::size_t Zipf::draw(std::mt19937_64& random) const {
    double at = std::uniform_real_distribution<double>(0, sums_.back())(random);
    auto found = std::upper_bound(sums_.begin(), sums_.end(), at);
    return std::min(static_cast<std::size_t>(found - sums_.begin()), sums_.size() - 1);
}

std::string Load::get(std::string_view path, std::string_view fields) const {
    std::string request = "GET ";
    request.append(path).append(" HTTP/1.1\r\nHost: localhost\r\nUser-Agent: demo\r\nAccept: */*\r\n");
    return request.append(fields).append("\r\n");
}

std::string Load::put(std::string_view name, std::size_t size) {
    std::string request = "PUT /content/";
    request.append(name).append(" HTTP/1.1\r\nHost: localhost\r\nContent-Length: ");
    request.append(std::to_string(size)).append("\r\n\r\n");
    std::size_t head = request.size();
    request.resize(head + size);
    writePage(name, static_cast<unsigned>(below(26)), request.data() + head, size);
    return request;
}

bool Load::judge(Tally& tally, const Reply& reply, bool good, std::string_view request) {
    ++tally.requests;
    if (good) {
        return true;
    }
    if (reply.status == 503 && reply.tryAgain) {
        ++tally.refused;
        return false;
    }
    ++tally.errors;
    if (tally.firstError.empty()) {
        tally.firstError = request.substr(0, request.find('\r'));
        tally.firstError += reply.status != 0 ? " -> " + std::to_string(reply.status) + " " + reply.body.substr(0, 80)
                                              : " -> " + client_.problem();
    }
    return false;
}

bool Load::exchange(Tally& tally, std::string_view request, Reply& reply) {
    std::uint64_t since = nanoseconds();
    bool received = client_.ask(request, reply);
    tally.latency.add(nanoseconds() - since);
    if (!received) {
        reply = Reply();
    }
    return received;
}

bool Load::getPage(Tally& tally) {
    std::size_t key = zipf_.draw(random_);
    std::string name = nameOf(key);
    std::string request = get("/content/" + name + "?size=" + std::to_string(sizeOf(key)));
    Reply reply;
    exchange(tally, request, reply);
    bool good = reply.status == 200 && !reply.body.empty() && looksLikePage(name, reply.body);
    return judge(tally, reply, good, request);
}

bool Load::getPages(Tally& tally) {
    std::array<std::string, burst> names;
    std::string requests;
    for (std::string& name : names) {
        name = nameOf(zipf_.draw(random_));
        requests += get("/content/" + name);
    }
    std::uint64_t since = nanoseconds();
    Reply reply;
    bool all = client_.ask(requests, reply);
    for (const std::string& name : names) {
        tally.latency.add(nanoseconds() - since);
        bool good = reply.status == 200 && looksLikePage(name, reply.body);
        all = judge(tally, reply, good, "a pipelined GET of a page") && all;
        reply = Reply();
        if (!client_.connected()) {
            break; // The reply has ended the connection: the requests behind it have no answer, and may be sent again
        }
        if (&name != &names.back()) {
            all = client_.receive(reply) && all;
        }
    }
    return all;
}

bool Load::putPage(Tally& tally) {
    std::size_t key = zipf_.draw(random_);
    std::string request = put(nameOf(key), sizeOf(key));
    Reply reply;
    exchange(tally, request, reply);
    return judge(tally, reply, reply.status == 201 || reply.status == 204, request);
}

bool Load::newSession(Tally& tally) {
    std::string_view request = "POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    Reply reply;
    exchange(tally, request, reply);
    bool good =
        reply.status == 201 && reply.session.size() == 32 && reply.body.find(reply.session) != std::string::npos;
    if (good) {
        if (sessions_.size() < mostSessions) {
            sessions_.push_back({reply.session, 0});
        } else {
            sessions_[below(mostSessions)] = {reply.session, 0};
        }
    }
    return judge(tally, reply, good, request);
}

bool Load::visit(Tally& tally) {
    if (sessions_.empty()) {
        return newSession(tally);
    }
    Known& session = sessions_[below(sessions_.size())];
    std::string request = get("/session", "Cookie: theme=dark; sid=" + session.id + "\r\n");
    Reply reply;
    exchange(tally, request, reply);
    std::string wanted = "{\"id\":\"" + session.id + "\",\"visits\":" + std::to_string(session.visits + 1) + ",";
    bool good = reply.status == 200 && reply.body.substr(0, wanted.size()) == wanted &&
                reply.body.find("\"/session\"") != std::string::npos;
    if (good) {
        ++session.visits;
    } else {
        session = sessions_.back(); // It is unknown what has been counted
        sessions_.pop_back();
    }
    return judge(tally, reply, good, request);
}

bool Load::simple(Tally& tally, std::string_view path, std::string_view part) {
    std::string request = get(path);
    Reply reply;
    exchange(tally, request, reply);
    return judge(tally, reply, reply.status == 200 && reply.body.find(part) != std::string::npos, request);
}

/** A request that is wrong: the answer must be the right error. */
bool Load::mistake(Tally& tally) {
    struct Mistake {
        int status;
        std::string request;
    };
    Mistake mistakes[] = {
        {404, get("/nowhere")},
        {400, get("/content/page-1?size=much")},
        {400, get("/content/..%2f..%2fetc")},
        {401, get("/session", "Cookie: sid=0123456789abcdef0123456789abcdef\r\n")},
        {405, "DELETE /stats HTTP/1.1\r\nHost: localhost\r\n\r\n"},
        {413, "PUT /content/huge HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"},
        {431, get("/", "X-Long: " + std::string(9000, 'x') + "\r\n")},
        {400, "GET / http, please\r\n\r\n"},
    };
    // The last three end the connection, so they come seldom.
    const Mistake& chosen = mistakes[below(20) == 0 ? 5 + below(3) : below(5)];
    Reply reply;
    exchange(tally, chosen.request, reply);
    return judge(tally, reply, reply.status == chosen.status, chosen.request);
}

bool Load::step(Tally& tally) {
    std::uint64_t dice = below(1000);
    if (dice < 660) {
        return getPage(tally);
    }
    if (dice < 690) {
        return getPages(tally);
    }
    if (dice < 760) {
        return putPage(tally);
    }
    if (dice < 790) {
        return newSession(tally);
    }
    if (dice < 960) {
        return visit(tally);
    }
    if (dice < 975) {
        return simple(tally, "/", "/content/NAME");
    }
    if (dice < 985) {
        return simple(tally, "/stats", "\"rendezvous\"");
    }
    return mistake(tally);
}

bool Load::flood(Tally& tally, std::size_t size) {
    std::string name = "flood-" + std::to_string(seed_) + "-" + std::to_string(flooded_++);
    std::string request = put(name, size);
    Reply reply;
    exchange(tally, request, reply);
    bool stored = judge(tally, reply, reply.status == 201, request);
    return step(tally) && stored;
}

} // namespace service
