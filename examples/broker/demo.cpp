// SPDX-License-Identifier: MIT
/*
    demo.cpp - See demo.h.
 */
#include "demo.h"

#include "packet.h"

#include <mpr.hpp>

#include <atomic>
#include <cstdio>
#include <initializer_list>
#include <string>

namespace broker {
namespace {

std::atomic<bool> shown;

/** A client's side of a connection, which waits for each answer. */
class Client {
public:
    explicit Client(int port) : socket_(mprCreateSocket()) {
        fine_ = socket_ && mprConnectSocket(socket_, "127.0.0.1", port, MPR_SOCKET_BLOCK) == 0;
    }
    ~Client() { mprCloseSocket(socket_, true); }

    void send(Type type, int flags, std::initializer_list<std::string> parts) {
        std::string body;
        for (const std::string& part : parts) {
            body += part;
        }
        const Bytes head(type, static_cast<std::uint8_t>(flags), body.size());
        const std::string whole = std::string(head.view()) + body;
        fine_ = fine_ && mprWriteSocket(socket_, whole.data(), static_cast<std::ptrdiff_t>(whole.size())) ==
                             static_cast<std::ptrdiff_t>(whole.size());
    }
    /** @return The next packet's body. */
    std::string expect(Type type) {
        Packet packet{};
        char bytes[512];
        while (fine_ && frame(come_, 1000, packet) != Frame::whole) {
            const std::ptrdiff_t count = mprReadSocket(socket_, bytes, sizeof(bytes));
            fine_ = count > 0;
            come_.append(bytes, count > 0 ? static_cast<std::size_t>(count) : 0);
        }
        fine_ = fine_ && packet.type == type;
        const std::string body(packet.body);
        come_.erase(0, packet.size);
        return body;
    }
    void fail() { fine_ = false; }
    bool isFine() const { return fine_; }

private:
    mpr::Root<MprSocket> socket_; // It waits, yielded
    std::string come_;
    bool fine_;
};

/** A text as packets have it. */
std::string text(const std::string& characters) {
    return {std::string{static_cast<char>(characters.size() >> 8), static_cast<char>(characters.size())} + characters};
}

void connect(Client& client, const std::string& id) {
    client.send(Type::connect, 0, {text("MQTT"), {'\4', '\2', '\0', '\0'}, text(id)});
    client.expect(Type::connack);
}

/** The next message is to be this one. */
void receive(Client& client, const std::string& topic, const std::string& wanted) {
    const std::string body = client.expect(Type::publish);
    std::printf("reader: %s\n", body.c_str() + 2 * !body.empty());
    if (body != text(topic) + wanted) {
        client.fail();
    }
}

void show(int port) {
    Client reader(port), writer(port);
    connect(reader, "reader");
    connect(writer, "writer");
    writer.send(Type::publish, 1, {text("house/cellar/lamp"), "off"}); // Retained: for those who come later, too
    writer.send(Type::pingreq, 0, {});
    writer.expect(Type::pingresp);
    reader.send(Type::subscribe, 2, {{'\0', '\1'}, text("house/+/lamp"), {'\0'}});
    reader.expect(Type::suback);
    receive(reader, "house/cellar/lamp", "off");
    writer.send(Type::publish, 0, {text("house/cellar/lamp"), "on"});
    receive(reader, "house/cellar/lamp", "on");
    writer.send(Type::publish, 0, {text("house/cellar/door"), "open"}); // Nobody wants to know
    writer.send(Type::publish, 0, {text("house/attic/lamp"), "on"});
    receive(reader, "house/attic/lamp", "on");
    writer.send(Type::disconnect, 0, {});
    reader.send(Type::disconnect, 0, {});
    shown = reader.isFine() && writer.isFine();
}

} // namespace

void demonstrate(int port) {
    const auto run = +[](void* data, MprThread*) {
        show(static_cast<int>(reinterpret_cast<std::intptr_t>(data)));
        mprShutdown(MPR_EXIT_NORMAL, -1, -1);
    };
    mprStartThread(mprCreateThread("demo", MPR_PROC(run), reinterpret_cast<void*>(std::intptr_t{port}), 0));
}

bool wasShown() {
    return shown;
}

} // namespace broker
