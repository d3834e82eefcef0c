// SPDX-License-Identifier: MIT
/*
    broker_twin.cpp - What examples/broker does, by libuv and the standard library: messages are counted references, all else
    has an owner that frees it. The same answers, limits of buffers and order of writes.

        broker_twin PORT
 */
#include "examples/broker/packet.h"

#include <uv.h>

#include <algorithm>
#include <bitset>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

using namespace broker;

namespace {

constexpr std::size_t mostBytes = std::size_t{256} << 10, mostUnwritten = std::size_t{1} << 20;
constexpr int window = 20, mostQueued = 1000;

struct Message {
    int references = 0;
    std::size_t topicLength, payloadLength;
    int qos;
    char* data() { return reinterpret_cast<char*>(this + 1); }
    std::string_view topic() { return {data(), topicLength}; }
    std::string_view payload() { return {data() + topicLength, payloadLength}; }
};

class Ref {
public:
    Ref() = default;
    Ref(Message* m) : m_(m) {
        if (m_) {
            ++m_->references;
        }
    }
    Ref(const Ref& other) : Ref(other.m_) {}
    Ref(Ref&& other) noexcept : m_(std::exchange(other.m_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(m_, other.m_);
        return *this;
    }
    ~Ref() {
        if (m_ && --m_->references == 0) {
            std::free(m_);
        }
    }
    Message* operator->() const { return m_; }
    Message& operator*() const { return *m_; }
    explicit operator bool() const { return m_; }

private:
    Message* m_ = nullptr;
};

Ref makeMessage(std::string_view topic, std::string_view payload, int qos) {
    void* memory = std::malloc(sizeof(Message) + topic.size() + payload.size());
    auto* m = new (memory) Message{0, topic.size(), payload.size(), qos};
    std::memcpy(m->data(), topic.data(), topic.size());
    std::memcpy(m->data() + topic.size(), payload.data(), payload.size());
    return m;
}

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class T>
using Map = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

struct Session;
struct Connection;

struct Node {
    Map<std::unique_ptr<Node>> below;
    std::vector<std::pair<Session*, int>> subscriptions;
    Ref message;
    bool isNeeded() const { return !subscriptions.empty() || message || !below.empty(); }
    Node* find(std::string_view level) const {
        const auto found = below.find(level);
        return found == below.end() ? nullptr : found->second.get();
    }
};

struct Delivery {
    Ref message;
    std::uint16_t id;
    bool retained;
};

struct Session {
    std::string id;
    Connection* connection = nullptr;
    bool isClean = true;
    int bestQos = -1;
    Map<bool> filters;
    std::deque<Delivery> sent, queued;
    std::unique_ptr<std::bitset<65536>> received;
    std::deque<std::pair<Ref, int>> backlog;
    std::uint16_t lastId = 0;

    void send(const Ref& message, int qos);
    void sendQueued();
    void sendBacklog();
};

struct Connection {
    uv_tcp_t stream;
    uv_write_t request;
    Session* session = nullptr;
    Ref will;
    bool willRetained = false, isUnwritten = false, broken = false, closed = false, writing = false;
    std::uint64_t heard = 0, longestSilence = 10'000;
    std::string in, out, leaving;

    void write(std::string_view bytes);
    void publish(Message& m, int qos, std::uint16_t id, bool retained, bool again);
    void flush();
    void close(bool regular);
    bool hasRoom() const { return out.size() < std::size_t{64} << 10; }
};

uv_loop_t* loop;
Node root;
Map<std::unique_ptr<Session>> sessions;
std::vector<Connection*> connections, unwritten;
unsigned long long lastNumber;

std::string_view takeLevel(std::string_view& rest) {
    const std::size_t slash = rest.find('/');
    const std::string_view level = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view{}
                                           : std::string_view(rest.data() + slash + 1, rest.size() - slash - 1);
    return level;
}
bool isOver(std::string_view rest) {
    return rest.data() == nullptr;
}

Node& need(std::string_view path) {
    Node* node = &root;
    for (std::string_view rest = path; !isOver(rest);) {
        const std::string_view level = takeLevel(rest);
        Node* next = node->find(level);
        node = next ? next : (node->below[std::string(level)] = std::make_unique<Node>()).get();
    }
    return *node;
}

template <class F>
void change(Node& node, std::string_view rest, const F& what) {
    if (isOver(rest)) {
        return what(node);
    }
    const std::string_view level = takeLevel(rest);
    const auto found = node.below.find(level);
    if (found != node.below.end()) {
        change(*found->second, rest, what);
        if (!found->second->isNeeded()) {
            node.below.erase(found);
        }
    }
}

using Matches = std::vector<std::pair<Session*, int>>;
Matches matches;

void addAll(const Node* node) {
    if (node) {
        matches.insert(matches.end(), node->subscriptions.begin(), node->subscriptions.end());
    }
}

void findSubscribers(const Node& node, std::string_view rest, bool wild) {
    if (wild) {
        addAll(node.find("#"));
    }
    if (isOver(rest)) {
        return addAll(&node);
    }
    const std::string_view level = takeLevel(rest);
    if (const Node* next = node.find(level)) {
        findSubscribers(*next, rest, true);
    }
    if (const Node* next = wild ? node.find("+") : nullptr) {
        findSubscribers(*next, rest, true);
    }
}

template <class F>
void findRetained(const Node& node, std::string_view rest, bool wild, const F& add) {
    const std::string_view level = isOver(rest) ? std::string_view{} : takeLevel(rest);
    const bool all = level == "#";
    if ((isOver(level) || all) && node.message) {
        add(node.message);
    }
    if (isOver(level)) {
        return;
    }
    if (level != "+" && !all) {
        const Node* next = node.find(level);
        return next ? findRetained(*next, rest, true, add) : void();
    }
    for (const auto& [name, next] : node.below) {
        if (wild || name.empty() || name[0] != '$') {
            findRetained(*next, all ? level : rest, true, add);
        }
    }
}

void deliver(const Ref& message, bool retain) {
    if (retain && message->payload().empty()) {
        change(root, message->topic(), [](Node& node) { node.message = {}; });
    } else if (retain) {
        need(message->topic()).message = message;
    }
    matches.clear();
    findSubscribers(root, message->topic(), message->topic()[0] != '$');
    for (const auto& [session, qos] : matches) {
        session->bestQos = std::max(session->bestQos, std::min(qos, message->qos));
    }
    for (const auto& [session, qos] : matches) {
        if (const int best = std::exchange(session->bestQos, -1); best >= 0) {
            session->send(message, best);
        }
    }
}

void Session::send(const Ref& message, int qos) {
    if (qos == 0) {
        if (connection) {
            connection->publish(*message, 0, 0, false, false);
        }
    } else if (queued.size() < mostQueued) {
        queued.push_back({message, 0, false});
        sendQueued();
    }
}

void Session::sendQueued() {
    while (connection && !queued.empty() && sent.size() < window) {
        lastId = lastId == 0xFFFF ? std::uint16_t{1} : static_cast<std::uint16_t>(lastId + 1);
        sent.push_back(std::move(queued.front()));
        queued.pop_front();
        sent.back().id = lastId;
        connection->publish(*sent.back().message, 1, lastId, sent.back().retained, false);
    }
}

void Session::sendBacklog() {
    while (connection && !backlog.empty() && connection->hasRoom()) {
        auto& [message, qos] = backlog.front();
        if (qos == 0) {
            connection->publish(*message, 0, 0, true, false);
        } else if (queued.empty() && sent.size() < window) {
            queued.push_back({message, 0, true});
            sendQueued();
        } else {
            return;
        }
        backlog.pop_front();
    }
}

void end(Session& session) {
    for (const auto& [filter, yes] : session.filters) {
        change(root, filter,
               [&](Node& node) { std::erase_if(node.subscriptions, [&](auto& s) { return s.first == &session; }); });
    }
    sessions.erase(sessions.find(session.id));
}

void Connection::write(std::string_view bytes) {
    if (!broken && !closed) {
        out += bytes;
        if (!isUnwritten) {
            isUnwritten = true;
            unwritten.push_back(this);
        }
    }
}

void fail(Connection& connection) {
    connection.broken = true;
    if (!connection.isUnwritten) {
        connection.isUnwritten = true;
        unwritten.push_back(&connection);
    }
}

void Connection::publish(Message& m, int qos, std::uint16_t id, bool retained, bool again) {
    if (out.size() > mostUnwritten) {
        return qos == 0 ? void() : fail(*this);
    }
    const auto flags = static_cast<std::uint8_t>((again ? 8 : 0) | qos << 1 | (retained ? 1 : 0));
    Bytes head(Type::publish, flags, 2 + m.topicLength + (qos > 0 ? 2u : 0u) + m.payloadLength);
    write(head.number(static_cast<std::uint16_t>(m.topicLength)).view());
    write(m.topic());
    if (qos > 0) {
        const char number[] = {static_cast<char>(id >> 8), static_cast<char>(id & 0xFF)};
        write({number, 2});
    }
    write(m.payload());
}

void flushAll();

void Connection::flush() {
    while (!writing && !broken && !closed && !out.empty()) {
        uv_buf_t buffer = uv_buf_init(out.data(), static_cast<unsigned>(out.size()));
        const int written = uv_try_write(reinterpret_cast<uv_stream_t*>(&stream), &buffer, 1);
        if (written < 0 && written != UV_EAGAIN) {
            return fail(*this);
        }
        if (written > 0) {
            out.erase(0, static_cast<std::size_t>(written));
        }
        if (!out.empty()) {
            leaving.swap(out);
            buffer = uv_buf_init(leaving.data(), static_cast<unsigned>(leaving.size()));
            request.data = this;
            writing = true;
            uv_write(&request, reinterpret_cast<uv_stream_t*>(&stream), &buffer, 1, [](uv_write_t* done, int status) {
                auto* self = static_cast<Connection*>(done->data);
                self->writing = false;
                self->leaving.clear();
                if (!self->closed) {
                    status < 0 ? fail(*self) : self->flush();
                    flushAll();
                }
            });
        } else if (session) {
            out.shrink_to_fit();
            session->sendBacklog();
        }
    }
}

void flushAll() {
    while (!unwritten.empty()) {
        Connection* c = unwritten.back();
        unwritten.pop_back();
        c->isUnwritten = false;
        c->flush();
        if (c->broken && !c->closed) {
            c->close(false);
        }
    }
}

void Connection::close(bool regular) {
    if (closed) {
        return;
    }
    if (regular) {
        flush();
    }
    closed = true;
    std::erase(connections, this);
    if (isUnwritten) {
        std::erase(unwritten, this);
    }
    if (session) {
        session->connection = nullptr;
        session->backlog.clear();
        if (session->isClean) {
            end(*session);
        }
        session = nullptr;
    }
    if (will && !regular) {
        deliver(will, willRetained);
    }
    uv_close(reinterpret_cast<uv_handle_t*>(&stream),
             [](uv_handle_t* handle) { delete static_cast<Connection*>(handle->data); });
}

void answer(Connection& to, Connack code, bool present = false) {
    to.write(Bytes(Type::connack, 0, 2).byte(present).byte(static_cast<std::uint8_t>(code)).view());
    if (code != Connack::accepted) {
        to.close(true);
    }
}

bool handleConnect(Connection& from, std::string_view body) {
    Connect asked;
    if (!asked.parse(body)) {
        return false;
    }
    if (!asked.isKnownVersion() || (asked.id.empty() && !asked.clean)) {
        answer(from, asked.isKnownVersion() ? Connack::wrongId : Connack::wrongVersion);
        return true;
    }
    const std::string id = asked.id.empty() ? "auto-" + std::to_string(++lastNumber) : std::string(asked.id);
    auto found = sessions.find(id);
    if (found != sessions.end() && found->second->connection) {
        found->second->connection->close(false);
        found = sessions.find(id);
    }
    if (found != sessions.end() && asked.clean) {
        end(*found->second);
        found = sessions.end();
    }
    const bool present = found != sessions.end();
    if (!present) {
        found = sessions.emplace(id, std::make_unique<Session>()).first;
        found->second->id = id;
        found->second->isClean = asked.clean;
    }
    from.session = found->second.get();
    from.session->connection = &from;
    from.longestSilence = static_cast<std::uint64_t>(asked.keepAlive) * 1500;
    if (asked.hasWill) {
        from.will = makeMessage(asked.willTopic, asked.willText, std::min(asked.willQos, 1));
        from.willRetained = asked.willRetained;
    }
    answer(from, Connack::accepted, present);
    for (Delivery& each : from.session->sent) {
        from.publish(*each.message, 1, each.id, each.retained, true);
    }
    from.session->sendQueued();
    return true;
}

bool handlePublish(Connection& from, const Packet& packet) {
    Fields fields(packet.body);
    const int qos = packet.flags >> 1 & 3;
    const std::string_view topic = fields.text();
    const std::uint16_t id = qos > 0 ? fields.number() : std::uint16_t{0};
    const std::string_view payload = fields.rest();
    if (!fields.ok() || qos == 3 || (qos > 0 && id == 0) || !isTopic(topic)) {
        return false;
    }
    bool isNew = true;
    if (qos == 2) {
        auto& received = from.session->received;
        received = received ? std::move(received) : std::make_unique<std::bitset<65536>>();
        isNew = !received->test(id);
        received->set(id);
    }
    if (isNew) {
        deliver(makeMessage(topic, payload, std::min(qos, 1)), packet.flags & 1);
    }
    if (qos > 0) {
        from.write(Bytes(qos == 1 ? Type::puback : Type::pubrec, 0, 2).number(id).view());
    }
    return true;
}

bool handleSubscribe(Connection& from, Fields fields) {
    const std::uint16_t id = fields.number();
    const Fields begin = fields;
    std::size_t count = 0;
    for (; fields.ok() && !fields.atEnd(); ++count) {
        const std::string_view filter = fields.text();
        if (fields.byte() > 2 || !fields.ok() || !isFilter(filter)) {
            return false;
        }
    }
    if (count == 0 || !fields.ok()) {
        return false;
    }
    from.write(Bytes(Type::suback, 0, 2 + count).number(id).view());
    for (fields = begin; !fields.atEnd();) {
        const std::string filter(fields.text());
        const int qos = std::min<int>(fields.byte(), 1);
        from.session->filters[filter] = true;
        auto& all = need(filter).subscriptions;
        const auto known = std::find_if(all.begin(), all.end(), [&](auto& s) { return s.first == from.session; });
        known != all.end() ? void(known->second = qos) : void(all.emplace_back(from.session, qos));
        const char code = static_cast<char>(qos);
        from.write({&code, 1});
    }
    for (fields = begin; !fields.atEnd();) {
        const std::string_view filter = fields.text();
        const int qos = std::min<int>(fields.byte(), 1);
        findRetained(root, filter, false,
                     [&](const Ref& message) { from.session->backlog.emplace_back(message, qos); });
    }
    from.session->sendBacklog();
    return true;
}

bool handle(Connection& from, const Packet& packet) {
    Fields fields(packet.body);
    if ((packet.type == Type::connect) != !from.session) {
        return false;
    }
    switch (packet.type) {
    case Type::connect: return handleConnect(from, packet.body);
    case Type::publish: return handlePublish(from, packet);
    case Type::puback: {
        auto& sent = from.session->sent;
        const std::uint16_t id = fields.number();
        const auto found = std::find_if(sent.begin(), sent.end(), [id](const Delivery& d) { return d.id == id; });
        if (found != sent.end()) {
            sent.erase(found);
            from.session->sendQueued();
            from.session->sendBacklog();
        }
        return fields.ok();
    }
    case Type::pubrel: {
        const std::uint16_t id = fields.number();
        if (from.session->received) {
            from.session->received->reset(id);
        }
        from.write(Bytes(Type::pubcomp, 0, 2).number(id).view());
        return fields.ok() && packet.flags == 2;
    }
    case Type::subscribe: return packet.flags == 2 && handleSubscribe(from, fields);
    case Type::unsubscribe: {
        const std::uint16_t id = fields.number();
        while (fields.ok() && !fields.atEnd()) {
            const std::string filter(fields.text());
            from.session->filters.erase(filter);
            change(root, filter,
                   [&](Node& n) { std::erase_if(n.subscriptions, [&](auto& s) { return s.first == from.session; }); });
        }
        from.write(Bytes(Type::unsuback, 0, 2).number(id).view());
        return packet.flags == 2 && fields.ok();
    }
    case Type::pingreq: from.write(Bytes(Type::pingresp, 0, 0).view()); return true;
    case Type::disconnect: from.close(true); return true;
    default: return false;
    }
}

std::size_t handleAll(Connection& from, std::string_view bytes) {
    std::size_t done = 0;
    for (Packet packet{}; !from.closed; done += packet.size) {
        const Frame found = frame(bytes.substr(done), mostBytes, packet);
        if (found == Frame::part) {
            return done;
        }
        if (found != Frame::whole || !handle(from, packet)) {
            from.close(false);
            break;
        }
    }
    return done;
}

void onRead(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
    auto& self = *static_cast<Connection*>(stream->data);
    if (count <= 0) {
        if (count < 0) {
            self.close(false);
            flushAll();
        }
        return;
    }
    self.heard = uv_now(loop);
    std::string_view come(buffer->base, static_cast<std::size_t>(count));
    if (self.in.empty()) {
        come.remove_prefix(handleAll(self, come));
        if (!self.closed) {
            self.in = come;
        }
    } else {
        self.in += come;
        const std::string all = std::move(self.in);
        const std::size_t done = handleAll(self, all);
        if (!self.closed) {
            self.in = all.substr(done);
        }
    }
    flushAll();
}

void onClient(uv_stream_t* listener, int) {
    auto* c = new Connection;
    uv_tcp_init(loop, &c->stream);
    c->stream.data = c;
    c->heard = uv_now(loop);
    if (uv_accept(listener, reinterpret_cast<uv_stream_t*>(&c->stream)) != 0) {
        return uv_close(reinterpret_cast<uv_handle_t*>(&c->stream),
                        [](uv_handle_t* h) { delete static_cast<Connection*>(h->data); });
    }
    uv_tcp_nodelay(&c->stream, 1);
    connections.push_back(c);
    static char bytes[65536];
    uv_read_start(
        reinterpret_cast<uv_stream_t*>(&c->stream),
        [](uv_handle_t*, std::size_t, uv_buf_t* buffer) { *buffer = uv_buf_init(bytes, sizeof(bytes)); }, onRead);
}

} // namespace

int main(int argc, char** argv) {
    loop = uv_default_loop();
    uv_tcp_t listener;
    uv_timer_t timer;
    sockaddr_in address;
    uv_ip4_addr("127.0.0.1", argc > 1 ? std::atoi(argv[1]) : 0, &address);
    uv_tcp_init(loop, &listener);
    if (uv_tcp_bind(&listener, reinterpret_cast<sockaddr*>(&address), 0) != 0 ||
        uv_listen(reinterpret_cast<uv_stream_t*>(&listener), 128, onClient) != 0) {
        return 1;
    }
    int length = sizeof(address);
    uv_tcp_getsockname(&listener, reinterpret_cast<sockaddr*>(&address), &length);
    std::printf("broker: listens at port %d\n", ntohs(address.sin_port));
    std::fflush(stdout);
    uv_timer_init(loop, &timer);
    uv_timer_start(
        &timer,
        [](uv_timer_t*) {
            const std::vector<Connection*> all = connections;
            for (Connection* each : all) {
                if (each->longestSilence > 0 && uv_now(loop) - each->heard > each->longestSilence) {
                    each->close(false);
                }
            }
            flushAll();
        },
        1000, 1000);
    return uv_run(loop, UV_RUN_DEFAULT);
}
