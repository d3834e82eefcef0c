// SPDX-License-Identifier: MIT
/*
    secure.cpp - Sockets over TLS: the provider that io/socket_secure.cpp asks.

    A secure socket behaves as others do, with two differences. Either direction may have to wait for the other
    (handshakes), so the descriptor may have to become readable before the program can write. And a record is sent as a
    whole or not at all. If the system has taken only part of one, it is not reported as written: the program writes those
    bytes again, as for any socket. They are kept until then and compared; a program that writes other bytes instead has
    also written the kept ones.
 */
#include <cstring>
#include <initializer_list>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/buffer.h"
#include "mpr/collect.h"
#include "mpr/log.h"
#include "mpr/memory.h"
#include "mpr/string.h"
#include "mpr/time.h"
#include "mpr/tls/ssl.hpp"
#include "mpr/wait.h"

namespace mpr::tls {

namespace {

constexpr ssize recordSize = 16384;

/**
    A socket's TLS: a managed block. Its stream ends with the socket (close), not with this block: when both are dead the
    managers of others may still use the socket until its own has been called, in whatever order.
 */
struct Secure {
    char* record;   // reference: what is on its way and not reported as written; or null
    MprSsl* chosen; // reference: of a server that has several names, what holds if it is not the socket's; or null
    Stream* stream;
    ssize length;  // of the record
    ssize told;    // of it, reported
    bool sent;     // all of it
    int readNeeds; // mask: what reading waited for the last time
    int writeNeeds;
    int handshakeNeeds;
    bool shaken; // the handshake is over
    bool failed;
    bool ended;   // the peer said so
    bool drained; // the last read found less than a record
    MprTicks begun;
};

void manageSecure(void* ptr, int flags) {
    auto* secure = static_cast<Secure*>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&secure->record);
        mprMarkRef(&secure->chosen);
    }
}

Secure* of(const MprSocket* sp) {
    return static_cast<Secure*>(sp->sslSocket);
}

// ---- Failures ---------------------------------------------------------------------------------------------------

/** A connection is good for nothing any more, and why. */
int fail(MprSocket* sp, const char* what, const Reason& reason) {
    if (Secure* secure = of(sp)) {
        secure->failed = true;
        mprSetSocketEof(sp, true);
    }
    mprSetSocketError(sp, "%s", reason.text);
    const int level = sp->ssl ? sp->ssl->logLevel : 0;
    mprLog("error mpr tls", level, "%s %s port %d: %s", what, sp->ip ? sp->ip : "?", sp->port, reason.text);
    return MPR_ERR_NETWORK;
}

/** What a step came to that is none of done, wantsRead, wantsWrite. */
int stop(MprSocket* sp, Step step, const char* what, Reason& reason) {
    Secure& secure = *of(sp);
    if (step == Step::ended && secure.shaken) {
        secure.ended = true;
        mprSetSocketEof(sp, true);
        return MPR_ERR;
    }
    if (step != Step::failed) {
        reason.say(secure.shaken ? "the connection was cut off: the peer has not said that it was at an end"
                                 : "the peer has ended the connection during the handshake");
    }
    return fail(sp, what, reason);
}

int maskOf(Step step) {
    return step == Step::wantsRead ? MPR_READABLE : MPR_WRITABLE;
}

bool waits(Step step) {
    return step == Step::wantsRead || step == Step::wantsWrite;
}

// ---- Waiting ----------------------------------------------------------------------------------------------------

bool isUsable(const MprSocket* sp) {
    return sp->fd >= 0 && of(sp) && !of(sp)->failed;
}

/** Wait in blocking mode, yielded: whoever calls a provider retains the socket. @return false when the time is up, or there
    is nothing to wait for. */
bool waitFor(MprSocket* sp, int mask, MprTicks timeout) {
    return mprWaitForSingleIO(sp->fd, mask, timeout) > 0 && isUsable(sp);
}

/** @return Milliseconds that a handshake may take from now on; negative: as long as it likes. */
MprTicks handshakeTime(const MprSocket* sp) {
    const MprTicks most = sp->ssl->timeout;
    if (most < 0) {
        return -1;
    }
    const MprTicks left = most - (mprGetTicks() - of(sp)->begun);
    return left > 0 ? left : 0;
}

// ---- Handshake --------------------------------------------------------------------------------------------------

void setFact(MprSocket* sp, char** field, const char* text) {
    base::setRef(sp, *field, text && *text ? sclone(text) : nullptr);
}

void forgetFacts(MprSocket* sp) {
    for (char** field : {&sp->protocol, &sp->cipher, &sp->session, &sp->peerName, &sp->peerCert, &sp->peerCertIssuer}) {
        base::setRef(sp, *field, nullptr);
    }
}

void setFacts(MprSocket* sp) {
    Facts facts;
    describe(*of(sp)->stream, facts);
    setFact(sp, &sp->protocol, facts.alpn);
    setFact(sp, &sp->cipher, facts.cipher);
    setFact(sp, &sp->session, facts.session);
    setFact(sp, &sp->peerName, facts.name);
    setFact(sp, &sp->peerCert, facts.peer);
    setFact(sp, &sp->peerCertIssuer, facts.issuer);
}

/** Go on with the handshake, in blocking mode to its end. @return 1 when it is over; 0: not yet; MPR_ERR_*. */
int shake(MprSocket* sp) {
    while (isUsable(sp)) {
        Secure& secure = *of(sp);
        if (secure.shaken) {
            return 1;
        }
        Reason reason;
        const Step step = handshake(*secure.stream, reason);
        if (step == Step::done) {
            secure.shaken = true;
            setFacts(sp);
            return 1;
        }
        if (!waits(step)) {
            return stop(sp, step, "no secure connection with", reason);
        }
        secure.handshakeNeeds = maskOf(step);
        if (!(sp->flags & MPR_SOCKET_BLOCK)) {
            return 0;
        }
        if (!waitFor(sp, secure.handshakeNeeds, handshakeTime(sp)) && isUsable(sp) && handshakeTime(sp) == 0) {
            reason.say("the peer takes too long for the handshake");
            fail(sp, "no secure connection with", reason);
            return MPR_ERR_TIMEOUT;
        }
    }
    return MPR_ERR_NETWORK;
}

/** For a server with several names: onHello in openssl.cpp. */
bool choose(MprSocket* sp, const char* host, Context*& chosen) {
    MprSsl* other = sp->ssl->match(sp, host);
    if (!other || other == sp->ssl) {
        return true;
    }
    Reason reason;
    if (!other->server) {
        reason.say("what the procedure of mprSetSslMatch has chosen is no server's");
    } else {
        chosen = use(*other, false, reason);
    }
    if (!chosen) {
        mprLog("error mpr tls", 0, "for host %s: %s", host, reason.text);
    }
    base::setRef(of(sp), of(sp)->chosen, other);
    return chosen;
}

bool serves(MprSocket* sp, const char* host) {
    const Secure& secure = *of(sp);
    MprSsl* ssl = sp->ssl;
    if (!ssl->match) {
        return true;
    }
    const char* name = slower(host);
    if (!name || std::strcmp(name, askedFor(*secure.stream)) == 0) {
        return name;
    }
    MprSsl* other = ssl->match(sp, name);
    other = other ? other : ssl;
    return other->peer == Peer::none || other == (secure.chosen ? secure.chosen : ssl);
}

/** Whom a client asks for, and whose certificate it expects. */
const char* hostOf(const MprSocket* sp, const MprSsl& ssl, const char* peerName) {
    const char* host = peerName && *peerName ? peerName : ssl.hostname ? ssl.hostname : sp->ip;
    return ssl.server ? nullptr : host;
}

/** Everything that is needed before the first byte. @return 0, or MPR_ERR_*, with the reason. */
int prepare(MprSocket* sp, MprSsl& ssl, const char* peerName, Reason& reason) {
    Context* context = use(ssl, false, reason);
    if (!context) {
        return MPR_ERR_CANT_LOAD;
    }
    int result = MPR_ERR_BAD_ARGS;
    auto* secure = static_cast<Secure*>(
        mprAllocManaged(sizeof(Secure), manageSecure, MPR_ALLOC_NO_FREE | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER));
    const char* host = hostOf(sp, ssl, peerName);
    if (!secure) {
        reason.say("no memory for TLS");
        reason.isMemory = true;
    } else if (!ssl.server && ssl.peer != Peer::none && !host) {
        reason.say("no host is named whose certificate to expect");
    } else if ((secure->stream = makeStream(*context, sp, host, ssl.match ? choose : nullptr, reason)) != nullptr) {
        secure->begun = mprGetTicks();
        secure->readNeeds = MPR_READABLE;
        secure->writeNeeds = MPR_WRITABLE;
        base::setRef(sp, sp->sslSocket, secure);
        result = 0;
    }
    release(*context);
    return result;
}

int upgrade(MprSocket* sp, MprSsl* ssl, const char* peerName) {
    Reason reason;
    if (!ssl && !(ssl = commonClient())) {
        return MPR_ERR_MEMORY;
    }
    base::setRef(sp, sp->ssl, ssl);
    base::setRef(sp, sp->errorMsg, nullptr);
    forgetFacts(sp);
    if (const int result = prepare(sp, *ssl, peerName, reason)) {
        mprSetSocketError(sp, "%s", reason.text);
        mprLog("error mpr tls", 0, "mprUpgradeSocket: %s", reason.text);
        return reason.isMemory ? MPR_ERR_MEMORY : result;
    }
    // A record after another would wait for the peer to have acknowledged the first, which the peer puts off.
    mprSetSocketNoDelay(sp, true);
    const int result = shake(sp);
    return result >= 0 ? 0 : result == MPR_ERR_TIMEOUT ? result : MPR_ERR_CANT_CONNECT;
}

// ---- Reading and writing ----------------------------------------------------------------------------------------

ssize readSecure(MprSocket* sp, void* buf, ssize size) {
    while (isUsable(sp)) {
        if (const int over = shake(sp); over != 1) {
            return over;
        }
        Secure& secure = *of(sp);
        if (secure.ended) {
            return MPR_ERR;
        }
        Reason reason;
        std::size_t count = 0;
        const Step step = read(*secure.stream, buf, static_cast<std::size_t>(size), count, reason);
        secure.drained = step != Step::done;
        secure.readNeeds = waits(step) ? maskOf(step) : MPR_READABLE;
        if (step == Step::done) {
            return static_cast<ssize>(count);
        }
        if (!waits(step)) {
            return stop(sp, step, "reading from", reason);
        }
        if (!(sp->flags & MPR_SOCKET_BLOCK)) {
            return 0;
        }
        waitFor(sp, secure.readNeeds, -1);
    }
    return MPR_ERR_NETWORK;
}

/** Send a record. @return Bytes when the system took it all, fewer than length if the peer wants smaller records; 0;
    MPR_ERR_*. */
ssize sendRecord(MprSocket* sp, const char* bytes, ssize length) {
    Secure& secure = *of(sp);
    Reason reason;
    std::size_t count = 0;
    const Step step = write(*secure.stream, bytes, static_cast<std::size_t>(length), count, reason);
    secure.writeNeeds = waits(step) ? maskOf(step) : MPR_WRITABLE;
    return step == Step::done ? static_cast<ssize>(count) : waits(step) ? 0 : stop(sp, step, "writing to", reason);
}

/** In blocking mode: write until the system has taken the record. */
int finishRecord(MprSocket* sp) {
    while (isUsable(sp)) {
        Secure& secure = *of(sp);
        if (!secure.record || secure.sent) {
            return 1;
        }
        const ssize count = sendRecord(sp, secure.record, secure.length);
        if (count != 0) {
            secure.sent = count > 0;
            secure.length = count;
            return count > 0 ? 1 : MPR_ERR_NETWORK;
        }
        if (!(sp->flags & MPR_SOCKET_BLOCK)) {
            return 0;
        }
        waitFor(sp, secure.writeNeeds, -1);
    }
    return MPR_ERR_NETWORK;
}

/** @return How many of these bytes went out with the record before, without having been reported. */
ssize tellSent(Secure& secure, const char* bytes, ssize length) {
    if (!secure.record) {
        return 0;
    }
    const ssize left = secure.length - secure.told;
    const ssize count = length < left ? length : left;
    const bool same = std::memcmp(secure.record + secure.told, bytes, static_cast<std::size_t>(count)) == 0;
    secure.told += count;
    if (!same || secure.told == secure.length) {
        base::setRef(&secure, secure.record, nullptr);
    }
    return same ? count : 0;
}

/** Begin another record. @return How many bytes went out; 0 when the system did not take all of it; MPR_ERR_*. */
ssize beginRecord(MprSocket* sp, const char* bytes, ssize length) {
    Secure& secure = *of(sp);
    length = length < recordSize ? length : recordSize;
    if (const ssize count = sendRecord(sp, bytes, length)) {
        return count;
    }
    char* record = static_cast<char*>(mprMemdup(bytes, static_cast<std::size_t>(length)));
    if (!record) {
        Reason reason;
        reason.say("no memory for what the system did not take");
        return fail(sp, "writing to", reason);
    }
    base::setRef(&secure, secure.record, record);
    secure.length = length;
    secure.told = 0;
    secure.sent = false;
    return 0;
}

/** One step of writing. @return Bytes; 0 when one has to wait; MPR_ERR_*. */
ssize writeSome(MprSocket* sp, const char* bytes, ssize length) {
    if (const int over = finishRecord(sp); over != 1) {
        return over;
    }
    const ssize told = tellSent(*of(sp), bytes, length);
    return told > 0 ? told : beginRecord(sp, bytes, length);
}

ssize writeSecure(MprSocket* sp, const void* buf, ssize length) {
    const auto* bytes = static_cast<const char*>(buf);
    if (const int over = isUsable(sp) ? shake(sp) : MPR_ERR_NETWORK; over != 1) {
        return over;
    }
    if (length == 0) {
        const int result = finishRecord(sp);
        return result < 0 ? result : 0;
    }
    ssize total = 0;
    while (total < length) {
        const ssize written = writeSome(sp, bytes + total, length - total);
        if (written < 0) {
            return total > 0 ? total : written;
        }
        total += written;
        if (written == 0 && !(sp->flags & MPR_SOCKET_BLOCK)) {
            break;
        }
    }
    return total;
}

// ---- The rest ---------------------------------------------------------------------------------------------------

bool hasInput(const Secure& secure) {
    return secure.shaken && !secure.drained && holdsInput(*secure.stream);
}

int wants(MprSocket* sp, int mask) {
    const Secure& secure = *of(sp);
    if (secure.failed) {
        return 0;
    }
    if (!secure.shaken) {
        return secure.handshakeNeeds;
    }
    if ((mask & MPR_READABLE) && hasInput(secure)) {
        return 0;
    }
    return ((mask & MPR_READABLE) ? secure.readNeeds : 0) | ((mask & MPR_WRITABLE) ? secure.writeNeeds : 0);
}

int buffered(MprSocket* sp) {
    const Secure& secure = *of(sp);
    return (hasInput(secure) ? MPR_READABLE : 0) | (secure.record && !secure.sent ? MPR_WRITABLE : 0);
}

bool handshaking(MprSocket* sp) {
    return !of(sp)->shaken && !of(sp)->failed;
}

/** A text of JSON. Names in certificates may hold anything. */
void putText(MprBuf* buf, const char* name, const char* text) {
    mprPutToBuf(buf, ",\"%s\":\"", name);
    for (; *text; ++text) {
        const auto byte = static_cast<unsigned char>(*text);
        if (byte < ' ') {
            mprPutToBuf(buf, "\\u%04x", byte);
        } else if (byte == '"' || byte == '\\') {
            mprPutToBuf(buf, "\\%c", byte);
        } else {
            mprPutCharToBuf(buf, byte);
        }
    }
    mprPutCharToBuf(buf, '"');
}

char* state(MprSocket* sp) {
    const Secure& secure = *of(sp);
    MprBuf* buf = secure.shaken ? mprCreateBuf(0, 0) : nullptr;
    if (!buf) {
        return secure.shaken ? nullptr : sclone("{\"handshaking\":true}");
    }
    Facts facts;
    describe(*secure.stream, facts);
    mprPutToBuf(buf, "{\"protocol\":\"%s\"", facts.version);
    putText(buf, "cipher", facts.cipher);
    mprPutToBuf(buf, ",\"resumed\":%s", facts.resumed ? "true" : "false");
    putText(buf, "alpn", facts.alpn);
    putText(buf, "host", facts.host);
    putText(buf, "peer", facts.peer);
    putText(buf, "issuer", facts.issuer);
    mprPutCharToBuf(buf, '}');
    return mprCloneBufAsString(buf);
}

void close(MprSocket* sp, bool graceful) {
    Secure& secure = *of(sp);
    if (graceful && secure.shaken && !secure.failed) {
        sayEnd(*secure.stream);
    }
    destroy(*secure.stream);
    secure.stream = nullptr;
}
} // namespace

void nameSecure() {
    mprSetManagerName(manageSecure, "MprSocket's TLS");
}

MprSocketProvider provider = {"openssl", upgrade,     readSecure, writeSecure, wants,
                              buffered,  handshaking, state,      close,       serves};

} // namespace mpr::tls
