// SPDX-License-Identifier: MIT
/*
    ssl.cpp - Settings of connections: the C API of mpr/tls.h.

    A context is made outside of the lock, for that reads files; threads that come meanwhile go on with the one before.
    A thread that holds the lock does not yield.
 */
#include "mpr/base/references.hpp"
#include "mpr/tls/ssl.hpp"

#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <iterator>
#include <utility>

#include "mpr/barrier.h"
#include "mpr/collect.h"
#include "mpr/format.h"
#include "mpr/log.h"
#include "mpr/memory.h"
#include "mpr/shutdown.h"
#include "mpr/string.h"

using namespace mpr::tls;
namespace base = mpr::base;

namespace {

/** Of clients that bring none: a root while the runtime is. */
std::atomic<MprSsl*> common{nullptr};

using Text = char* MprSsl::*;
constexpr Text texts[] = {&MprSsl::certFile, &MprSsl::keyFile, &MprSsl::caFile, &MprSsl::caPath,
                          &MprSsl::revoke,   &MprSsl::ciphers, &MprSsl::alpn,   &MprSsl::hostname};
constexpr Text files[] = {&MprSsl::certFile, &MprSsl::keyFile, &MprSsl::caFile, &MprSsl::caPath, &MprSsl::revoke};

void manageSsl(void* ptr, int flags) {
    auto* ssl = static_cast<MprSsl*>(ptr);
    if (flags & MPR_MANAGE_MARK) {
        for (const Text text : texts) {
            mprMarkRef(&(ssl->*text));
        }
    } else if (flags & MPR_MANAGE_FREE) {
        // Managers of others may still use the block, so the lock stays: it owns nothing.
        MprSsl* expected = ssl;
        common.compare_exchange_strong(expected, nullptr);
        ssl->finalized = true;
        if (Context* context = std::exchange(ssl->context, nullptr)) {
            release(*context);
        }
    }
}

MprSsl* allocate() {
    if (mprLoadSsl() < 0) {
        return nullptr;
    }
    auto* ssl = static_cast<MprSsl*>(
        mprAllocManaged(sizeof(MprSsl), manageSsl, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER));
    if (ssl) {
        pthread_mutex_init(&ssl->lock, nullptr);
    }
    return ssl;
}

/** Change a setting. */
template <typename Change>
void set(MprSsl* ssl, Change change) {
    if (ssl) {
        const Locked locked(ssl->lock);
        change(*ssl);
        ssl->changes += 1;
    }
}

void setText(MprSsl* ssl, Text field, char* copy, const char* text) {
    set(ssl, [=](MprSsl& changed) {
        changed.incomplete = changed.incomplete || (text && !copy);
        base::setRef(&changed, changed.*field, copy);
    });
}

void setText(MprSsl* ssl, Text field, const char* text) {
    if (ssl) {
        setText(ssl, field, text && *text ? sclone(text) : nullptr, text && *text ? text : nullptr);
    }
}

Stamp stampOf(const char* path) {
    struct stat info;
    if (!path || stat(path, &info) != 0) {
        return {};
    }
    return {static_cast<long long>(info.st_dev), static_cast<long long>(info.st_ino),
            static_cast<long long>(info.st_size), static_cast<long long>(info.st_mtim.tv_sec),
            static_cast<long long>(info.st_mtim.tv_nsec)};
}
} // namespace

// ---- Contexts ---------------------------------------------------------------------------------------------------

Context* mpr::tls::use(MprSsl& ssl, bool look, Reason& reason) {
    if (ssl.finalized) {
        reason.say("the settings have been collected");
        return nullptr;
    }
    if (ssl.incomplete) {
        reason.say("there was no memory for the settings");
        reason.isMemory = true;
        return nullptr;
    }
    Stamp stamps[std::size(files)] = {};
    const auto stamp = [&ssl, &stamps] {
        for (std::size_t i = 0; i < std::size(files); ++i) {
            stamps[i] = stampOf(ssl.*files[i]);
        }
    };
    Settings settings;
    unsigned changes = 0;
    if (look) {
        stamp();
    }
    {
        const Locked locked(ssl.lock);
        if (ssl.context && ssl.made == ssl.changes && (!look || std::memcmp(stamps, ssl.stamps, sizeof(stamps)) == 0)) {
            retain(*ssl.context);
            return ssl.context;
        }
        settings = ssl;
        changes = ssl.changes;
    }
    stamp(); // before the files are read: what changes meanwhile is seen the next time
    Context* made = makeContext(settings, reason);
    if (!made) {
        return nullptr;
    }
    const Locked locked(ssl.lock);
    Context* before = ssl.context;
    ssl.context = made;
    ssl.made = changes;
    std::memcpy(ssl.stamps, stamps, sizeof(stamps));
    if (before) {
        release(*before);
    }
    retain(*made);
    return made;
}

MprSsl* mpr::tls::commonClient() {
    MprSsl* ssl = common.load(std::memory_order_acquire);
    if (!ssl && !mprIsStopped()) { // a manager's, while the runtime ends, would be there for the next one
        MprSsl* none = nullptr;
        ssl = mprCreateSsl(0);
        if (ssl && !common.compare_exchange_strong(none, ssl)) {
            return none;
        }
        mprAddRoot(ssl);
    }
    return ssl;
}

int mprLoadSsl(void) {
    if (!start()) {
        mprLog("error mpr tls", 0, "mprLoadSsl: OpenSSL cannot be made ready");
        return MPR_ERR_CANT_INITIALIZE;
    }
    mprSetManagerName(manageSsl, "MprSsl");
    nameSecure();
    mprSetSslProvider(&provider);
    return 0;
}

int mprPreloadSsl(struct MprSsl* ssl, int) {
    if (!ssl) {
        return MPR_ERR_BAD_ARGS;
    }
    Reason reason;
    Context* context = use(*ssl, true, reason);
    if (!context) {
        mprLog("error mpr tls", 0, "mprPreloadSsl: %s", reason.text);
        return reason.isMemory ? MPR_ERR_MEMORY : MPR_ERR_CANT_LOAD;
    }
    release(*context);
    return 0;
}

size_t mprGetSslMemory(void) {
    return allocated();
}

// ---- Settings ---------------------------------------------------------------------------------------------------

struct MprSsl* mprCreateSsl(int server) {
    constexpr MprTicks handshake = 30'000; // milliseconds
    MprSsl* ssl = allocate();
    if (ssl) {
        ssl->server = server != 0;
        ssl->peer = server ? Peer::none : Peer::require;
        ssl->issuer = ssl->altNames = ssl->tickets = true;
        ssl->depth = 8;
        ssl->protocols = MPR_PROTO_ALL;
        ssl->logLevel = server ? 1 : 0;
        ssl->timeout = handshake;
    }
    return ssl;
}

struct MprSsl* mprCloneSsl(MprSsl* src) {
    if (!src) {
        return mprCreateSsl(0);
    }
    MprSsl* clone = allocate();
    if (!clone) {
        return nullptr;
    }
    // New: plain stores.
    const Locked locked(src->lock);
    static_cast<Wishes&>(*clone) = *src;
    return clone;
}

void mprSetSslCertFile(struct MprSsl* ssl, cchar* certFile) {
    setText(ssl, &MprSsl::certFile, certFile);
}

void mprSetSslKeyFile(struct MprSsl* ssl, cchar* keyFile) {
    setText(ssl, &MprSsl::keyFile, keyFile);
}

void mprSetSslCaFile(struct MprSsl* ssl, cchar* caFile) {
    setText(ssl, &MprSsl::caFile, caFile);
}

void mprSetSslCaPath(struct MprSsl* ssl, cchar* caPath) {
    setText(ssl, &MprSsl::caPath, caPath);
}

void mprSetSslRevoke(struct MprSsl* ssl, cchar* revoke) {
    setText(ssl, &MprSsl::revoke, revoke);
}

void mprSetSslHostname(MprSsl* ssl, cchar* hostname) {
    setText(ssl, &MprSsl::hostname, hostname);
}

void mprSetSslAlpn(struct MprSsl* ssl, cchar* protocols) {
    setText(ssl, &MprSsl::alpn, protocols);
}

void mprSetSslCiphers(MprSsl* ssl, cchar* ciphers) {
    setText(ssl, &MprSsl::ciphers, ciphers);
}

void mprAddSslCiphers(struct MprSsl* ssl, cchar* ciphers) {
    if (!ssl || !ciphers || !*ciphers) {
        return;
    }
    setText(ssl, &MprSsl::ciphers, ssl->ciphers ? sjoin(ssl->ciphers, ":", ciphers, nullptr) : sclone(ciphers),
            ciphers);
}

void mprVerifySslPeer(struct MprSsl* ssl, cchar* mode) {
    static constexpr struct {
        const char* word;
        Peer peer;
    } modes[] = {{"none", Peer::none}, {"optional", Peer::optional}, {"require", Peer::require}};
    for (const auto& each : modes) {
        if (mode && std::strcmp(mode, each.word) == 0) {
            set(ssl, [&each](MprSsl& changed) { changed.peer = each.peer; });
            return;
        }
    }
    mprLog("error mpr tls", 0, "mprVerifySslPeer: \"%s\" is not none, optional or require; nothing is changed",
           mode ? mode : "NULL");
}

void mprVerifySslAltNames(MprSsl* ssl, bool on) {
    set(ssl, [on](MprSsl& changed) { changed.altNames = on; });
}

void mprVerifySslIssuer(struct MprSsl* ssl, bool on) {
    set(ssl, [on](MprSsl& changed) { changed.issuer = on; });
}

void mprVerifySslDepth(struct MprSsl* ssl, int depth) {
    set(ssl, [depth](MprSsl& changed) { changed.depth = depth > 0 ? depth : 0; });
}

void mprSetSslMatch(struct MprSsl* ssl, MprMatchSsl match) {
    set(ssl, [match](MprSsl& changed) { changed.match = match; });
}

void mprSetSslProtocols(struct MprSsl* ssl, int protocols) {
    if ((protocols & MPR_PROTO_ALL) == 0) {
        mprLog("error mpr tls", 0, "mprSetSslProtocols: 0x%x has neither TLS 1.2 nor 1.3; nothing is changed",
               protocols);
        return;
    }
    set(ssl, [protocols](MprSsl& changed) { changed.protocols = protocols & MPR_PROTO_ALL; });
}

void mprSetSslRenegotiate(MprSsl* ssl, bool enable) {
    set(ssl, [enable](MprSsl& changed) { changed.renegotiate = enable; });
}

void mprSetSslTicket(MprSsl* ssl, bool enable) {
    set(ssl, [enable](MprSsl& changed) { changed.tickets = enable; });
}

void mprSetSslHandshakeTimeout(struct MprSsl* ssl, MprTicks timeout) {
    set(ssl, [timeout](MprSsl& changed) { changed.timeout = timeout; });
}

void mprSetSslLogLevel(struct MprSsl* ssl, int level) {
    set(ssl, [level](MprSsl& changed) { changed.logLevel = level; });
}
