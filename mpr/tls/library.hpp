// SPDX-License-Identifier: MIT
/*
    library.hpp - What this room needs of a TLS library. One file knows which it is: openssl.cpp.

    A Context is what connections have in common, made of Settings and never changed: whoever wants others makes
    another. A Stream is one end of a connection. It reads and writes its socket's descriptor by mprReadSocketDirect and
    mprWriteSocketDirect, which never wait: a step that cannot go on says what to wait for. Steps allocate nothing from
    the managed heap and do not yield.

    Both are in memory outside of the managed heap. Contexts are counted: a stream keeps its own.
 */
#pragma once

#include <pthread.h>

#include <cstddef>

#include "mpr/socket.h"

namespace mpr::tls {

/** Has a lock while it exists. Nobody yields meanwhile. */
class Locked {
public:
    explicit Locked(pthread_mutex_t& lock) : lock_(lock) { pthread_mutex_lock(&lock_); }
    ~Locked() { pthread_mutex_unlock(&lock_); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

private:
    pthread_mutex_t& lock_;
};

/** Why something failed, for people: one line, cut when it is too long. */
struct Reason {
    char text[512] = "";
    bool isMemory = false;

    [[gnu::format(printf, 2, 3)]] void say(const char* format, ...);
};

enum class Peer { none, optional, require };

struct Settings {
    bool server;
    bool issuer;
    bool altNames;
    bool tickets;
    bool renegotiate;
    Peer peer;
    int depth;
    int protocols;
    char* certFile; // texts: nullptr where nothing is set
    char* keyFile;
    char* caFile;
    char* caPath;
    char* revoke;
    char* ciphers;
    char* alpn;
};

class Context;
class Stream;

/** Make the library ready. Any thread, any number of times. */
bool start();
/** Bytes that the library has allocated. */
std::size_t allocated();

/** @return nullptr when a file or a setting cannot be used. */
Context* makeContext(const Settings& settings, Reason& reason);
void retain(Context& context);
void release(Context& context);

/** Of a server. @param chosen Becomes the context, retained, of the host a client asks for, unless that is the one that there
    is. @return false: that host cannot be served. */
using Choose = bool (*)(MprSocket* sp, const char* host, Context*& chosen);

/** @param host Of a client: whom it asks for, and whose certificate it has to be. nullptr: nobody's. */
Stream* makeStream(Context& context, MprSocket* sp, const char* host, Choose choose, Reason& reason);
void destroy(Stream& stream);

/** What a step came to. */
enum class Step {
    done,
    wantsRead,  // wait until the descriptor is readable, then again
    wantsWrite, // until it is writable
    ended,      // the peer has said that nothing more comes
    cut,        // the connection has ended without that
    failed,     // no further step makes sense
};

Step handshake(Stream& stream, Reason& reason);
Step read(Stream& stream, void* buf, std::size_t size, std::size_t& count, Reason& reason);
/** @param count Receives all of length, or a record's worth. After wantsRead or wantsWrite the same bytes have to come
    again. */
Step write(Stream& stream, const void* buf, std::size_t length, std::size_t& count, Reason& reason);
/** Tell the peer that nothing more comes, as far as that goes without waiting. */
void sayEnd(Stream& stream);
/** Whether something was read from the descriptor that the program has not got. It may be less than a record. */
bool holdsInput(const Stream& stream);

/** Of a server that chooses: the host that its client has asked for, in lower case; "": none. */
const char* askedFor(const Stream& stream);

/** What was agreed on; valid until the stream goes. "" for what there is not. */
struct Facts {
    const char* version;
    const char* cipher;
    bool resumed;
    char alpn[256];
    char host[256]; // that the client asked for
    char session[65];
    char name[256]; // common name
    char peer[512];
    char issuer[512];
};
void describe(const Stream& stream, Facts& facts);

} // namespace mpr::tls
