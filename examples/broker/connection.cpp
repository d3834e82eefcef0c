// SPDX-License-Identifier: MIT
/*
    connection.cpp - See connection.h.
 */
#include "connection.h"

#include "broker.h"

#include <algorithm>
#include <cstring>

namespace broker {

bool Connection::Buffer::append(std::string_view bytes) {
    if (begin == end) {
        begin = end = 0;
    }
    if (bytes.size() > size - end) {
        const std::size_t used = end - begin;
        const std::size_t wanted = std::max({used + bytes.size(), std::size_t{512}, 2 * used});
        char* const fresh = wanted > size ? static_cast<char*>(mprAlloc(wanted)) : block.get();
        if (!fresh) {
            return false;
        }
        if (used > 0) {
            std::memmove(fresh, block + begin, used);
        }
        size = std::max(size, wanted);
        block = fresh;
        begin = 0;
        end = used;
    }
    std::memcpy(block + end, bytes.data(), bytes.size());
    end += bytes.size();
    return true;
}

void Connection::Buffer::rest() {
    if (begin == end) {
        mprFree(block);
        *this = {};
    }
}

void Connection::serve(int mask) {
    if ((mask & MPR_WRITABLE) && !closed_) {
        flush();
    }
    if ((mask & MPR_READABLE) && !closed_ && !read()) {
        close(false);
    }
    broker.flush();
    if (!closed_) {
        const bool wantsMore = !out_.view().empty() || (session && session->wantsMore());
        mprEnableSocketEvents(socket, MPR_READABLE | (wantsMore ? MPR_WRITABLE : 0));
    }
}

/** @return false: the connection has come to its end. */
bool Connection::read() {
    static char bytes[65536]; // One thread serves events
    const std::ptrdiff_t count = mprReadSocket(socket, bytes, sizeof(bytes));
    if (count <= 0) {
        return count == 0;
    }
    std::string_view come(bytes, static_cast<std::size_t>(count));
    if (in_.view().empty()) {
        come.remove_prefix(handleAll(come));
        return closed_ || come.empty() || keep(come);
    }
    if (!keep(come)) {
        return false;
    }
    const std::size_t done = handleAll(in_.view());
    if (!closed_) {
        in_.drop(done);
        in_.rest();
    }
    return true;
}

/** Handle all packets that are whole. @return Their bytes. */
std::size_t Connection::handleAll(std::string_view bytes) {
    std::size_t done = 0;
    for (Packet packet{}; !closed_; done += packet.size) {
        const Frame found = frame(bytes.substr(done), mostBytes(), packet);
        if (found == Frame::part) {
            break;
        }
        if (found != Frame::whole || !broker.handle(*this, packet)) {
            close(false);
            break;
        }
        heard = mprGetTicks();
    }
    return done;
}

/** Bytes that a packet may have. */
std::size_t Connection::mostBytes() const {
    return session ? broker.mostBytes : mostOfStranger;
}

/** Keep what has come of a packet until the rest comes, but not while that is what fills the memory. @return Whether it is. */
bool Connection::keep(std::string_view bytes) {
    const bool isLittle = in_.view().size() + bytes.size() <= mostOfStranger;
    return (isLittle || isWell()) && in_.append(bytes);
}

void Connection::fail() {
    broken_ = true;
    broker.wantFlush(*this); // Which closes it
}

void Connection::write(std::string_view bytes) {
    if (out_.view().size() > mostUnwritten) {
        return fail(); // It asks, and does not read the answers
    }
    put(bytes);
}

void Connection::put(std::string_view bytes) {
    if (broken_ || closed_) {
        return;
    }
    if (!out_.append(bytes)) {
        return fail();
    }
    broker.wantFlush(*this);
}

void Connection::publish(const Message& message, int qos, std::uint16_t id, bool retained, bool again) {
    const std::string_view topic = message.topic(), payload = message.payload();
    if (out_.view().size() > mostUnwritten) {
        return qos == 0 ? void() : fail(); // It does not read; its session keeps messages of quality 1
    }
    const auto flags = static_cast<std::uint8_t>((again ? 8 : 0) | qos << 1 | (retained ? 1 : 0));
    Bytes head(Type::publish, flags, 2 + topic.size() + (qos > 0 ? 2 : 0) + payload.size());
    put(head.number(static_cast<std::uint16_t>(topic.size())).view());
    put(topic);
    if (qos > 0) {
        const char number[] = {static_cast<char>(id >> 8), static_cast<char>(id & 0xFF)};
        put({number, 2});
    }
    put(payload);
}

void Connection::flush() {
    for (;;) {
        if (session) {
            session->sendMore();
        }
        if (broken_ || closed_ || out_.view().empty()) {
            return out_.rest();
        }
        const std::string_view left = out_.view();
        const std::ptrdiff_t written = mprWriteSocket(socket, left.data(), static_cast<std::ptrdiff_t>(left.size()));
        if (written < 0) {
            return fail();
        }
        if (written == 0) {
            return mprEnableSocketEvents(socket, MPR_READABLE | MPR_WRITABLE);
        }
        out_.drop(static_cast<std::size_t>(written));
    }
}

void Connection::close(bool regular) {
    if (closed_) {
        return;
    }
    if (regular) {
        flush();
    }
    closed_ = true;
    mprCloseSocket(socket, true); // Ends its handler, too
    broker.leave(*this, regular);
}

} // namespace broker
