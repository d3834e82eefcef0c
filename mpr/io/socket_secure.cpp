// SPDX-License-Identifier: MIT
/*
    socket_secure.cpp - What TLS adds to a socket: its provider is asked. Which library that is, mpr/tls knows.
 */
#include <atomic>
#include <cstdarg>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/format.h"
#include "mpr/io/socket.hpp"
#include "mpr/os/log.hpp"

namespace base = mpr::base;
namespace os = mpr::os;
using namespace mpr::io;
using mpr::base::Rooted;

static std::atomic<const MprSocketProvider*> newProvider{nullptr}; // of sockets that become secure

namespace mpr::io {

int wants(void* owner, int mask) {
    auto* sp = static_cast<MprSocket*>(owner);
    return isSecure(sp) ? own(sp)->provider->wants(sp, mask) : mask;
}

void endSecure(MprSocket* sp, bool graceful) {
    if (isSecure(sp)) {
        own(sp)->provider->close(sp, graceful);
        base::setRef(sp, sp->sslSocket, nullptr);
    }
}

} // namespace mpr::io

void mprSetSslProvider(MprSocketProvider* provider) {
    newProvider.store(provider, std::memory_order_release);
}

bool mprHasSecureSockets(void) {
    return newProvider.load(std::memory_order_relaxed) != nullptr;
}

void mprSetSocketError(MprSocket* sp, cchar* fmt, ...) {
    if (!sp) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    base::setRef(sp, sp->errorMsg, sfmtv(fmt, args));
    va_end(args);
}

int mprUpgradeSocket(MprSocket* sp, struct MprSsl* ssl, cchar* peerName) {
    const MprSocketProvider* provider = newProvider.load(std::memory_order_acquire);
    os::Message message;
    if (!provider) {
        os::log(os::Level::error,
                message << "mprUpgradeSocket: there is no TLS in this program, and the connection stays as it is: "
                           "link libmpr_tls and use a function of mpr/tls.h");
        return MPR_ERR_BAD_STATE;
    }
    if (!sp) {
        return MPR_ERR_BAD_ARGS;
    }
    if (!isOpen(sp) || isSecure(sp) || (sp->flags & (MPR_SOCKET_LISTENER | MPR_SOCKET_DATAGRAM))) {
        os::log(os::Level::error,
                message << "mprUpgradeSocket: only a connection that is not secure can be made secure");
        return MPR_ERR_BAD_STATE;
    }
    const Rooted rooted(sp);
    own(sp)->provider = provider;
    const int result = provider->upgrade(sp, ssl, peerName);
    if (sp->handler) {
        setWants(*sp->handler, wants);
    }
    return result;
}

bool mprSocketHandshaking(MprSocket* sp) {
    return isSecure(sp) && own(sp)->provider->handshaking(sp);
}

namespace {
bool holdsBack(MprSocket* sp, int mask) {
    return isSecure(sp) && (own(sp)->provider->buffered(sp) & mask) != 0;
}
} // namespace

bool mprSocketHasBuffered(MprSocket* sp) {
    return holdsBack(sp, MPR_READABLE | MPR_WRITABLE);
}

bool mprSocketHasBufferedRead(MprSocket* sp) {
    return holdsBack(sp, MPR_READABLE);
}

bool mprSocketHasBufferedWrite(MprSocket* sp) {
    return holdsBack(sp, MPR_WRITABLE);
}

bool mprIsSocketSecure(MprSocket* sp) {
    return isSecure(sp);
}

bool mprSocketServesHost(MprSocket* sp, cchar* host) {
    return !isSecure(sp) || !host || !own(sp)->provider->serves || own(sp)->provider->serves(sp, host);
}

char* mprGetSocketState(MprSocket* sp) {
    return isSecure(sp) ? own(sp)->provider->state(sp) : nullptr;
}
