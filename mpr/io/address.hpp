// SPDX-License-Identifier: MIT
/*
    address.hpp - Addresses of sockets: from text, from the system, to text.
 */
#pragma once

#include <netdb.h>
#include <sys/socket.h>

namespace mpr::io {

/** An address of either family. */
struct Address {
    sockaddr_storage storage;
    socklen_t length = sizeof(storage);

    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    int family() const { return storage.ss_family; }
    int port() const;
    /** A block with the numeric address; IPv4 in its own form also when it came through IPv6. @return nullptr: no memory. */
    char* text() const;
};

/**
    The addresses of a host, the best first, to be given back by freeaddrinfo. Numeric ones are not looked up; a name is,
    yielded. @param passive For a listener: no host means all. @return 0, or MPR_ERR_*, and errno says why.
 */
int resolve(const char* host, int port, bool datagram, bool passive, addrinfo*& found, const void* site);

} // namespace mpr::io
