// SPDX-License-Identifier: MIT
/*
    mqtt_load.cpp - Clients of a broker of MQTT, and what they cost it: processor time and memory of its process, and how long a
    message takes.

        mqtt_load PORT PID SUBSCRIBERS PUBLISHERS SECONDS RATE     RATE messages a second in all; 0: each publisher sends the next
                                                                   when the broker has acknowledged the last (quality 1)
        mqtt_load PORT PID retain COUNT                            so many topics retained, then all read by one client

    Prints lines of a figure's name and its value.
 */
#include "examples/broker/packet.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

using namespace broker;

namespace {

std::uint64_t now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

/* Processor time in microseconds of another process, all its threads; and what it has resident in kilobytes. */
double cpuOf(const char* pid) {
    clockid_t clock{};
    timespec t{};
    if (clock_getcpuclockid(std::atoi(pid), &clock) != 0 || clock_gettime(clock, &t) != 0) {
        std::fprintf(stderr, "mqtt_load: no process %s\n", pid);
        std::exit(1);
    }
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1000;
}
long residentOf(const char* pid) {
    long size = 0, pages = 0;
    if (FILE* file = std::fopen((std::string("/proc/") + pid + "/statm").c_str(), "r")) {
        if (std::fscanf(file, "%ld %ld", &size, &pages) != 2) {
            pages = 0;
        }
        std::fclose(file);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

std::string text(std::string_view characters) {
    return std::string{static_cast<char>(characters.size() >> 8), static_cast<char>(characters.size())} +
           std::string(characters);
}
std::string packet(Type type, int flags, const std::string& body) {
    return std::string(Bytes(type, static_cast<std::uint8_t>(flags), body.size()).view()) + body;
}

struct Client {
    int fd = -1;
    bool publishes = false;
    std::string topic, in;

    void send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t done = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (done < 0) {
                std::perror("mqtt_load: send");
                std::exit(1);
            }
            bytes.remove_prefix(static_cast<std::size_t>(done));
        }
    }
    void expect(std::size_t count) const {
        char bytes[64];
        while (count > 0) {
            const ssize_t got = recv(fd, bytes, std::min(count, sizeof(bytes)), 0);
            if (got <= 0) {
                std::fprintf(stderr, "mqtt_load: the broker has closed a connection\n");
                std::exit(1);
            }
            count -= static_cast<std::size_t>(got);
        }
    }
    Client(int port, const std::string& id) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fd = socket(AF_INET, SOCK_STREAM, 0);
        const int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
            std::perror("mqtt_load: connect");
            std::exit(1);
        }
        send(packet(Type::connect, 0, text("MQTT") + std::string{'\4', '\2', '\0', '\0'} + text(id)));
        expect(4);
    }
    void subscribe(const std::string& filter) const {
        send(packet(Type::subscribe, 2, std::string{'\0', '\1'} + text(filter) + '\0'));
        expect(5);
    }
};

constexpr std::size_t payloadSize = 64;

/* @param time When it was due, not when it is sent: whatever delays the sender counts for all that it delays. */
std::string message(const Client& client, bool acknowledged, std::uint64_t time = now()) {
    char payload[payloadSize] = {};
    std::memcpy(payload, &time, sizeof(time));
    return packet(Type::publish, acknowledged ? 2 : 0,
                  text(client.topic) + (acknowledged ? std::string{'\0', '\1'} : "") +
                      std::string(payload, payloadSize));
}

int load(int port, const char* pid, int subscribers, int publishers, int seconds, double rate) {
    std::vector<std::unique_ptr<Client>> clients;
    const int poll = epoll_create1(0);
    for (int i = 0; i < subscribers + publishers; ++i) {
        clients.push_back(std::make_unique<Client>(port, "client-" + std::to_string(i)));
        Client& client = *clients.back();
        client.publishes = i >= subscribers;
        client.topic = "load/" + std::to_string(i) + "/value";
        if (!client.publishes) {
            client.subscribe("load/+/value");
        }
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = &client;
        epoll_ctl(poll, EPOLL_CTL_ADD, client.fd, &event);
    }
    std::vector<std::uint64_t> latencies;
    std::uint64_t sent = 0, delivered = 0;
    const double cpu = cpuOf(pid);
    const std::uint64_t begin = now(), end = begin + static_cast<std::uint64_t>(seconds) * 1'000'000'000;
    if (rate == 0) {
        for (auto& client : clients) {
            if (client->publishes) {
                client->send(message(*client, true));
                ++sent;
            }
        }
    }
    const auto wanted = [&] { return sent * static_cast<std::uint64_t>(subscribers); };
    static char bytes[1 << 18];
    while (now() < end || (delivered < wanted() && now() < end + 2'000'000'000)) {
        if (rate > 0 && now() < end) {
            const auto due = static_cast<std::uint64_t>(static_cast<double>(now() - begin) * rate / 1e9);
            for (; sent < due; ++sent) {
                const Client& client =
                    *clients[static_cast<std::size_t>(subscribers) + sent % static_cast<std::size_t>(publishers)];
                client.send(
                    message(client, false, begin + static_cast<std::uint64_t>(static_cast<double>(sent) / rate * 1e9)));
            }
        }
        epoll_event events[64];
        const int count = epoll_wait(poll, events, 64, 1);
        for (int i = 0; i < count; ++i) {
            auto& client = *static_cast<Client*>(events[i].data.ptr);
            const ssize_t got = recv(client.fd, bytes, sizeof(bytes), 0);
            if (got <= 0) {
                std::fprintf(stderr, "mqtt_load: the broker has closed a connection\n");
                return 1;
            }
            client.in.append(bytes, static_cast<std::size_t>(got));
            std::size_t done = 0;
            Packet found{};
            while (frame(std::string_view(client.in).substr(done), 1 << 20, found) == Frame::whole) {
                done += found.size;
                if (found.type == Type::publish) {
                    Fields fields(found.body);
                    fields.text();
                    std::uint64_t time = 0;
                    std::memcpy(&time, fields.rest().data(), sizeof(time));
                    latencies.push_back(now() - time);
                    ++delivered;
                } else if (found.type == Type::puback && now() < end) {
                    client.send(message(client, true));
                    ++sent;
                }
            }
            client.in.erase(0, done);
        }
    }
    const double spent = cpuOf(pid) - cpu;
    std::sort(latencies.begin(), latencies.end());
    const auto at = [&](double part) {
        return latencies.empty()
                   ? 0.0
                   : static_cast<double>(
                         latencies[static_cast<std::size_t>(part * static_cast<double>(latencies.size() - 1))]) /
                         1000;
    };
    std::printf("us_delivery %.3f\np50_us %.0f\np99_us %.0f\nresident_kB %ld\ndeliveries_s %.0f\n",
                spent / static_cast<double>(std::max<std::uint64_t>(delivered, 1)), at(0.5), at(0.99), residentOf(pid),
                static_cast<double>(delivered) / seconds);
    if (delivered != wanted()) {
        std::fprintf(stderr, "mqtt_load: %llu of %llu deliveries came\n", static_cast<unsigned long long>(delivered),
                     static_cast<unsigned long long>(wanted()));
    }
    return delivered == wanted() ? 0 : 1;
}

int retain(int port, const char* pid, int count) {
    const Client writer(port, "writer");
    const double begin = cpuOf(pid);
    for (int i = 0; i < count; ++i) {
        writer.send(packet(Type::publish, 1,
                           text("site/" + std::to_string(i % 100) + "/device/" + std::to_string(i)) + "value " +
                               std::to_string(i)));
    }
    writer.send(packet(Type::pingreq, 0, ""));
    writer.expect(2);
    const double stored = cpuOf(pid);
    const long resident = residentOf(pid);
    Client reader(port, "reader");
    reader.subscribe("site/#");
    std::string in;
    std::vector<char> bytes(1 << 18);
    int got = 0;
    while (got < count) {
        const ssize_t size = recv(reader.fd, bytes.data(), bytes.size(), 0);
        if (size <= 0) {
            break;
        }
        in.append(bytes.data(), static_cast<std::size_t>(size));
        std::size_t done = 0;
        Packet found{};
        while (frame(std::string_view(in).substr(done), 1 << 20, found) == Frame::whole) {
            done += found.size;
            got += found.type == Type::publish;
        }
        in.erase(0, done);
    }
    std::printf("us_stored %.3f\nus_read %.3f\nresident_kB %ld\n", (stored - begin) / count,
                (cpuOf(pid) - stored) / count, resident);
    return got == count ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    const auto number = [&](int i) { return i < argc ? std::atoi(argv[i]) : 0; };
    if (argc == 5 && std::strcmp(argv[3], "retain") == 0) {
        return retain(number(1), argv[2], number(4));
    }
    if (argc == 7) {
        return load(number(1), argv[2], number(3), number(4), number(5), number(6));
    }
    std::fprintf(stderr, "usage: mqtt_load PORT PID SUBSCRIBERS PUBLISHERS SECONDS RATE | PORT PID retain COUNT\n");
    return 2;
}
