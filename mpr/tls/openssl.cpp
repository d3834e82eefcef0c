// SPDX-License-Identifier: MIT
/*
    openssl.cpp - The TLS library: OpenSSL 3, and the only file that knows it.

    OpenSSL does no I/O of its own: a BIO of ours hands its bytes to the socket's non-blocking calls. There is no buffer
    of memory in between, so that a slow peer costs one record and not as much as a program writes.

    Its memory is malloc's, or a private heap's where the program is a host (mprSetHost), and counted. It cannot be the managed heap's: what OpenSSL allocates in a call of ours may
    be a cache of the process or a thread's list of errors, which outlives the runtime.
 */
#include <arpa/inet.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "mpr/base/ascii.hpp"
#include "mpr/host.h"
#include "mpr/memory.h"
#include "mpr/tls.h"
#include "mpr/tls/library.hpp"

namespace mpr::tls {

// ---- Memory -----------------------------------------------------------------------------------------------------

namespace {
std::atomic<std::size_t> bytes{0};    // a number, which orders nothing
MprPrivateHeap* hostedHeap = nullptr; // in the host's pages, where there is a host; set before OpenSSL allocates

std::size_t sizeOf(void* memory) {
    return !memory ? 0 : hostedHeap ? mprGetHeapBlockSize(hostedHeap, memory) : malloc_usable_size(memory);
}
void* counted(void* memory) {
    bytes.fetch_add(sizeOf(memory), std::memory_order_relaxed);
    return memory;
}
void* allocate(std::size_t size, const char*, int) {
    return counted(hostedHeap ? mprHeapAlloc(hostedHeap, size, MPR_CRITICAL_DOMAIN) : std::malloc(size));
}
void deallocate(void* memory, const char*, int) {
    bytes.fetch_sub(sizeOf(memory), std::memory_order_relaxed);
    hostedHeap ? static_cast<void>(mprHeapFree(hostedHeap, memory)) : std::free(memory);
}
void* reallocate(void* memory, std::size_t size, const char* file, int line) {
    if (hostedHeap && size == 0) {
        deallocate(memory, file, line);
        return nullptr;
    }
    const std::size_t before = sizeOf(memory);
    void* other =
        hostedHeap ? mprHeapRealloc(hostedHeap, memory, size, MPR_CRITICAL_DOMAIN) : std::realloc(memory, size);
    if (other || size == 0) {
        bytes.fetch_sub(before, std::memory_order_relaxed);
    }
    return counted(other);
}
} // namespace

std::size_t allocated() {
    return bytes.load(std::memory_order_relaxed);
}

// ---- Contexts ---------------------------------------------------------------------------------------------------

namespace {

/** A session that a client may go on with. */
struct Kept {
    static_assert(TLSEXT_MAXLEN_host_name < 300);
    char peer[300]; // "" for none
    SSL_SESSION* session;
};
} // namespace

class Context {
public:
    SSL_CTX* ctx = nullptr;
    std::atomic<int> uses{1};
    bool server = false;
    bool issuer = true; // it matters
    Peer peer = Peer::none;
    unsigned char alpn[256]; // as it is sent: each with its length before it
    unsigned alpnLength = 0;
    // Of clients, under the lock:
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    Kept kept[8] = {};
    unsigned next = 0;
};

class Stream {
public:
    SSL* ssl = nullptr;
    MprSocket* sp = nullptr;
    Context* context = nullptr;
    Context* chosen = nullptr; // by the host that the client asks for
    Choose choose = nullptr;
    bool owesTicket = false; // a server, to a client of TLS 1.3
    bool atEnd = false;      // of what the descriptor gives
    int error = 0;           // the system's
    bool greeted = false;    // a server of several names: a client has said hello
    char
        peer[300]; // of a client: by which a session is found again; of such a server: whom the client asked for, or ""
    Reason verdict; // on the peer's certificate
};

void Reason::say(const char* format, ...) {
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof(text), format, args);
    va_end(args);
}

namespace {

BIO_METHOD* descriptor = nullptr; // made once

/** What OpenSSL says of its first failure, of which the others come. */
const char* firstError(Reason& reason) {
    const unsigned long code = ERR_peek_error();
    reason.isMemory = ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE;
    if (ERR_SYSTEM_ERROR(code)) {
        return strerror(ERR_GET_REASON(code));
    }
    const char* text = code ? ERR_reason_error_string(code) : nullptr;
    return text ? text : "OpenSSL gives no reason, as when it is short of memory";
}

/** @return false, with the reason, when a file cannot be used. */
bool refuse(Reason& reason, const char* what, const char* file) {
    if (ERR_GET_REASON(ERR_peek_error()) == PEM_R_NO_START_LINE) {
        reason.say("%s %s: there is none in it in PEM form", what, file);
    } else {
        reason.say("%s %s: %s", what, file, firstError(reason));
    }
    return false;
}

bool canRead(Reason& reason, const char* what, const char* file) {
    if (access(file, R_OK) == 0) {
        return true;
    }
    reason.say("%s %s: %s", what, file, strerror(errno));
    return false;
}

/** A private key with a password: nobody is asked. */
int noPassword(char*, int, int, void*) {
    return -1;
}

// ---- What a certificate is worth ----

void nameOf(const X509_NAME* name, char* text, std::size_t size) {
    text[0] = '\0';
    BIO* memory = name ? BIO_new(BIO_s_mem()) : nullptr;
    if (memory) {
        X509_NAME_print_ex(memory, name, 0, XN_FLAG_ONELINE & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB));
        const int length = BIO_read(memory, text, static_cast<int>(size) - 1);
        text[std::max(length, 0)] = '\0';
        BIO_free(memory);
    }
}

bool isOfIssuer(int error) {
    switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_UNTRUSTED: return true;
    default: return false;
    }
}

int onVerify(int good, X509_STORE_CTX* store) {
    if (good) {
        return good;
    }
    auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* stream = static_cast<Stream*>(SSL_get_app_data(ssl));
    const auto* context = static_cast<Context*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    const int error = X509_STORE_CTX_get_error(store);
    if (!context->issuer && isOfIssuer(error)) {
        X509_STORE_CTX_set_error(store, X509_V_OK);
        return 1;
    }
    char subject[160] = "", issuer[160] = "";
    if (const X509* certificate = X509_STORE_CTX_get_current_cert(store)) {
        nameOf(X509_get_subject_name(certificate), subject, sizeof(subject));
        nameOf(X509_get_issuer_name(certificate), issuer, sizeof(issuer));
    }
    stream->verdict.say("%s: certificate of %s, issued by %s", X509_verify_cert_error_string(error), subject, issuer);
    return 0;
}

// ---- Names of hosts and protocols ----

/** The host that a ClientHello names (RFC 6066, section 3), in lower case. "": none, or not as it should be; OpenSSL looks later. */
void readHost(SSL* ssl, char (&host)[TLSEXT_MAXLEN_host_name + 1]) {
    host[0] = '\0';
    constexpr std::size_t before = 5; // a length, a kind, a length
    const unsigned char* at = nullptr;
    std::size_t size = 0;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &at, &size) != 1 || size <= before ||
        at[2] != TLSEXT_NAMETYPE_host_name) {
        return;
    }
    const std::size_t length = std::size_t{at[3]} << 8 | at[4];
    if (length != size - before || length > TLSEXT_MAXLEN_host_name || std::memchr(at + before, 0, length)) {
        return;
    }
    for (std::size_t i = 0; i < length; ++i) {
        host[i] = base::lower(static_cast<char>(at[before + i]));
    }
    host[length] = '\0';
}

/** The suites of TLS 1.3, which a connection has of its own. */
bool setSuites(SSL* ssl, const Context& context) {
    char names[512] = "";
    STACK_OF(SSL_CIPHER)* all = SSL_CTX_get_ciphers(context.ctx);
    for (int i = 0; i < sk_SSL_CIPHER_num(all); ++i) {
        const char* name = SSL_CIPHER_get_name(sk_SSL_CIPHER_value(all, i));
        const std::size_t used = std::strlen(names);
        if (std::strncmp(name, "TLS_", 4) == 0) {
            std::snprintf(names + used, sizeof(names) - used, "%s%s", used > 0 ? ":" : "", name);
        }
    }
    return SSL_set_ciphersuites(ssl, names) == 1;
}

/** Go on with the settings of the host that was asked for. @return false when memory is short. */
bool setContext(SSL* ssl, const Context& context) {
    SSL_CTX* ctx = context.ctx;
    if (!SSL_set_SSL_CTX(ssl, ctx)) {
        return false;
    }
    // What that leaves as it was:
    SSL_set_verify(ssl, SSL_CTX_get_verify_mode(ctx), onVerify);
    SSL_set_verify_depth(ssl, SSL_CTX_get_verify_depth(ctx));
    SSL_clear_options(ssl, SSL_get_options(ssl));
    SSL_set_options(ssl, SSL_CTX_get_options(ctx));
    return X509_VERIFY_PARAM_set1(SSL_get0_param(ssl), SSL_CTX_get0_param(ctx)) == 1 &&
           SSL_set_min_proto_version(ssl, static_cast<int>(SSL_CTX_get_min_proto_version(ctx))) == 1 &&
           SSL_set_max_proto_version(ssl, static_cast<int>(SSL_CTX_get_max_proto_version(ctx))) == 1 &&
           setSuites(ssl, context);
}

/**
    A client has said hello: choose by the host that it asks for, before OpenSSL looks at versions, ciphers and sessions. In
    its callback for the name, which comes after those, one host's ticket would do for another that wants a certificate.
    Who cannot be served by the rules of the host is not served by others. Who says hello again, asked to or to negotiate
    anew, may not ask for another (RFC 8446, section 4.1.2).
 */
int onHello(SSL* ssl, int* alert, void*) {
    auto* stream = static_cast<Stream*>(SSL_get_app_data(ssl));
    if (!stream->choose) {
        return SSL_CLIENT_HELLO_SUCCESS;
    }
    char host[TLSEXT_MAXLEN_host_name + 1];
    readHost(ssl, host);
    if (stream->greeted && std::strcmp(host, stream->peer) != 0) {
        *alert = SSL_AD_ILLEGAL_PARAMETER;
        return SSL_CLIENT_HELLO_ERROR;
    }
    if (std::exchange(stream->greeted, true) || !*host) {
        return SSL_CLIENT_HELLO_SUCCESS;
    }
    std::strcpy(stream->peer, host);
    const bool known = stream->choose(stream->sp, host, stream->chosen);
    if (!known || (stream->chosen && !setContext(ssl, *stream->chosen))) {
        *alert = SSL_AD_INTERNAL_ERROR;
        return SSL_CLIENT_HELLO_ERROR;
    }
    return SSL_CLIENT_HELLO_SUCCESS;
}

/** The name was seen, so the answer says so. */
int onHost(SSL*, int*, void*) {
    return SSL_TLSEXT_ERR_OK;
}

int onAlpn(SSL*, const unsigned char** selected, unsigned char* length, const unsigned char* offered, unsigned size,
           void* data) {
    const auto* context = static_cast<Context*>(data);
    unsigned char* found = nullptr;
    if (SSL_select_next_proto(&found, length, context->alpn, context->alpnLength, offered, size) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *selected = found;
    return SSL_TLSEXT_ERR_OK;
}

/** Call each(word, length) for the words between separators. @return false when one call did. */
template <typename Each>
bool split(const char* text, const char* separators, Each each) {
    for (const char* at = text; at && *at;) {
        at += std::strspn(at, separators);
        const std::size_t length = std::strcspn(at, separators);
        if (length > 0 && !each(at, length)) {
            return false;
        }
        at += length;
    }
    return true;
}

bool setAlpn(Context& context, const char* alpn, Reason& reason) {
    if (!alpn) {
        return true;
    }
    const bool fits = split(alpn, ", ", [&context](const char* word, std::size_t length) {
        if (context.alpnLength + length + 1 > sizeof(context.alpn)) {
            return false;
        }
        context.alpn[context.alpnLength] = static_cast<unsigned char>(length);
        std::memcpy(context.alpn + context.alpnLength + 1, word, length);
        context.alpnLength += static_cast<unsigned>(length) + 1;
        return true;
    });
    if (!fits || context.alpnLength == 0) {
        reason.say("mprSetSslAlpn: no protocols, or more than 255 bytes of them: %.100s", alpn);
        return false;
    }
    if (context.server) {
        SSL_CTX_set_alpn_select_cb(context.ctx, onAlpn, &context);
        return true;
    }
    return SSL_CTX_set_alpn_protos(context.ctx, context.alpn, context.alpnLength) == 0;
}

// ---- Settings ----

/** What RFC 9325 (2022), section 4.2, recommends of TLS 1.2: with forward secrecy and authenticated encryption. */
constexpr const char* recommended = "ECDHE+AESGCM:ECDHE+CHACHA20";

bool setCiphers(Context& context, const char* ciphers, Reason& reason) {
    char older[1024] = "", newer[1024] = ""; // than TLS 1.3, and its own
    const bool fits = split(ciphers, ":, ", [&older, &newer](const char* word, std::size_t length) {
        char* list = length > 4 && std::strncmp(word, "TLS_", 4) == 0 ? newer : older;
        const std::size_t used = std::strlen(list);
        if (used + length + 2 > sizeof(older)) {
            return false;
        }
        std::snprintf(list + used, sizeof(older) - used, "%s%.*s", used > 0 ? ":" : "", static_cast<int>(length), word);
        return true;
    });
    if (!fits || SSL_CTX_set_cipher_list(context.ctx, older[0] ? older : recommended) != 1 ||
        (newer[0] && SSL_CTX_set_ciphersuites(context.ctx, newer) != 1)) {
        reason.say("mprSetSslCiphers: no such ciphers: %.200s", ciphers);
        return false;
    }
    return true;
}

bool setCertificate(Context& context, const Settings& settings, Reason& reason) {
    if (!settings.certFile) {
        if (settings.server) {
            reason.say("a server needs a certificate: mprSetSslCertFile");
        }
        return !settings.server;
    }
    const char* keyFile = settings.keyFile ? settings.keyFile : settings.certFile;
    if (!canRead(reason, "certificate file", settings.certFile) || !canRead(reason, "key file", keyFile)) {
        return false;
    }
    if (SSL_CTX_use_certificate_chain_file(context.ctx, settings.certFile) != 1) {
        return refuse(reason, "certificate file", settings.certFile);
    }
    if (SSL_CTX_use_PrivateKey_file(context.ctx, keyFile, SSL_FILETYPE_PEM) == 1) {
        return true;
    }
    const int why = ERR_GET_REASON(ERR_peek_error());
    if (why == X509_R_KEY_VALUES_MISMATCH || why == X509_R_KEY_TYPE_MISMATCH) {
        reason.say("key file %s: not the key of the certificate in %s", keyFile, settings.certFile);
        return false;
    }
    return refuse(reason, "key file", keyFile);
}

bool setTrust(Context& context, const Settings& settings, Reason& reason) {
    if (settings.caFile) {
        if (!canRead(reason, "file of trusted certificates", settings.caFile)) {
            return false;
        }
        if (SSL_CTX_load_verify_file(context.ctx, settings.caFile) != 1) {
            return refuse(reason, "file of trusted certificates", settings.caFile);
        }
        if (settings.server) {
            STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(settings.caFile);
            if (!names) {
                return refuse(reason, "file of trusted certificates", settings.caFile);
            }
            SSL_CTX_set_client_CA_list(context.ctx, names);
        }
    }
    if (settings.caPath) {
        if (!canRead(reason, "folder of trusted certificates", settings.caPath)) {
            return false;
        }
        struct stat info;
        if (stat(settings.caPath, &info) != 0 || !S_ISDIR(info.st_mode)) {
            reason.say("folder of trusted certificates %s: not a folder", settings.caPath);
            return false;
        }
        if (SSL_CTX_load_verify_dir(context.ctx, settings.caPath) != 1) {
            return refuse(reason, "folder of trusted certificates", settings.caPath);
        }
    }
    if (settings.caFile || settings.caPath || settings.peer == Peer::none || !settings.issuer) {
        return true;
    }
    if (settings.server) {
        reason.say("a server that looks at its clients' certificates needs to know whom it trusts: mprSetSslCaFile");
        return false;
    }
    return SSL_CTX_set_default_verify_paths(context.ctx) == 1 ||
           refuse(reason, "trusted certificates of", "the system");
}

bool setRevoked(Context& context, const char* file, Reason& reason) {
    if (!file) {
        return true;
    }
    X509_STORE* store = SSL_CTX_get_cert_store(context.ctx);
    X509_LOOKUP* lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    if (!canRead(reason, "file of revoked certificates", file)) {
        return false;
    }
    if (!lookup || X509_load_crl_file(lookup, file, X509_FILETYPE_PEM) < 1) {
        return refuse(reason, "file of revoked certificates", file);
    }
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return true;
}

// ---- Sessions ----

/** A client has a session that it can go on with. @return 1: it is kept. */
int onSession(SSL* ssl, SSL_SESSION* session) {
    const auto* stream = static_cast<Stream*>(SSL_get_app_data(ssl));
    if (!stream || !stream->peer[0] || !SSL_SESSION_is_resumable(session)) {
        return 0;
    }
    Context& context = *stream->context;
    const Locked locked(context.lock);
    Kept* place = nullptr;
    for (Kept& each : context.kept) {
        if (std::strcmp(each.peer, stream->peer) == 0) {
            place = &each;
        }
    }
    if (!place) {
        place = &context.kept[context.next++ % std::size(context.kept)];
    }
    SSL_SESSION_free(place->session);
    std::memcpy(place->peer, stream->peer, sizeof(place->peer));
    place->session = session;
    return 1;
}

/** Go on with a session, if there is one. A ticket of TLS 1.3 is good for one time: whoever listens could tell who
    comes again. */
void resume(Stream& stream) {
    Context& context = *stream.context;
    const Locked locked(context.lock);
    for (Kept& each : context.kept) {
        if (each.session && std::strcmp(each.peer, stream.peer) == 0) {
            SSL_set_session(stream.ssl, each.session);
            if (SSL_SESSION_get_protocol_version(each.session) == TLS1_3_VERSION) {
                SSL_SESSION_free(each.session);
                each = {};
            }
            return;
        }
    }
}

bool setSessions(Context& context, const Settings& settings, Reason& reason) {
    if (!settings.tickets) {
        SSL_CTX_set_options(context.ctx, SSL_OP_NO_TICKET);
    }
    if (!settings.server) {
        SSL_CTX_set_session_cache_mode(context.ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(context.ctx, onSession);
        return true;
    }
    SSL_CTX_set_num_tickets(context.ctx, 0); // they go with the first bytes: see write
    SSL_CTX_set_session_cache_mode(context.ctx, SSL_SESS_CACHE_SERVER);
    SSL_CTX_sess_set_cache_size(context.ctx, 256);
    // A session is good for the settings it was made with, and no others.
    unsigned char mark[16];
    if (RAND_bytes(mark, sizeof(mark)) != 1 || SSL_CTX_set_session_id_context(context.ctx, mark, sizeof(mark)) != 1) {
        reason.say("no random numbers: %s", firstError(reason));
        return false;
    }
    return true;
}

// -----------------

void setVerification(Context& context, const Settings& settings) {
    const int mode = settings.peer == Peer::none      ? SSL_VERIFY_NONE
                     : settings.peer == Peer::require ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                                                      : SSL_VERIFY_PEER;
    SSL_CTX_set_verify(context.ctx, mode, onVerify);
    SSL_CTX_set_verify_depth(context.ctx, settings.depth);
    X509_VERIFY_PARAM* param = SSL_CTX_get0_param(context.ctx);
    // Whom the program trusts need not be the last of the chain.
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
    // RFC 9525 (2023), section 2: a common name is nobody's host.
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                               (settings.altNames ? X509_CHECK_FLAG_NEVER_CHECK_SUBJECT : 0));
}

void setOptions(Context& context, const Settings& settings) {
    const bool newest = (settings.protocols & MPR_PROTO_TLSV1_3) != 0;
    const bool before = (settings.protocols & MPR_PROTO_TLSV1_2) != 0;
    SSL_CTX_set_min_proto_version(context.ctx, before ? TLS1_2_VERSION : TLS1_3_VERSION);
    SSL_CTX_set_max_proto_version(context.ctx, newest ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_options(context.ctx, SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_options(context.ctx,
                        settings.renegotiate ? SSL_OP_ALLOW_CLIENT_RENEGOTIATION : SSL_OP_NO_RENEGOTIATION);
    // A connection that rests has no buffers; a write that was cut short may go on from another address.
    SSL_CTX_set_mode(context.ctx,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context.ctx, 1); // a record in one call of the system
    SSL_CTX_set_dh_auto(context.ctx, 1);
    SSL_CTX_set_default_passwd_cb(context.ctx, noPassword);
    if (settings.server) {
        SSL_CTX_set_client_hello_cb(context.ctx, onHello, nullptr);
        SSL_CTX_set_tlsext_servername_callback(context.ctx, onHost);
    }
}

bool configure(Context& context, const Settings& settings, Reason& reason) {
    context.server = settings.server;
    context.issuer = settings.issuer;
    context.peer = settings.peer;
    SSL_CTX_set_app_data(context.ctx, &context);
    setOptions(context, settings);
    setVerification(context, settings);
    return setCiphers(context, settings.ciphers, reason) && setCertificate(context, settings, reason) &&
           setTrust(context, settings, reason) && setRevoked(context, settings.revoke, reason) &&
           setAlpn(context, settings.alpn, reason) && setSessions(context, settings, reason);
}
} // namespace

Context* makeContext(const Settings& settings, Reason& reason) {
    ERR_clear_error();
    void* memory = palloc(sizeof(Context));
    auto* context = memory ? new (memory) Context : nullptr;
    if (context) {
        context->ctx = SSL_CTX_new(settings.server ? TLS_server_method() : TLS_client_method());
    }
    if (!context || !context->ctx) {
        reason.say("no memory for TLS");
        reason.isMemory = true;
        pfree(context);
        return nullptr;
    }
    if (!configure(*context, settings, reason)) {
        release(*context);
        ERR_clear_error();
        return nullptr;
    }
    return context;
}

void retain(Context& context) {
    context.uses.fetch_add(1, std::memory_order_relaxed);
}

void release(Context& context) {
    if (context.uses.fetch_sub(1, std::memory_order_acq_rel) > 1) {
        return;
    }
    for (Kept& each : context.kept) {
        SSL_SESSION_free(each.session);
    }
    SSL_CTX_free(context.ctx);
    pthread_mutex_destroy(&context.lock);
    pfree(&context);
}

// ---- Streams ----------------------------------------------------------------------------------------------------

namespace {

/** What a call for the descriptor came to. */
int passed(BIO* bio, Stream& stream, ssize count, int retry, std::size_t* done) {
    BIO_clear_retry_flags(bio);
    if (count > 0) {
        *done = static_cast<std::size_t>(count);
        return 1;
    }
    *done = 0;
    if (count == 0) {
        BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    } else {
        stream.error = errno;
        stream.atEnd = errno == 0;
    }
    return 0;
}

int readDescriptor(BIO* bio, char* buf, std::size_t size, std::size_t* done) {
    auto& stream = *static_cast<Stream*>(BIO_get_data(bio));
    errno = 0; // stays so at the end
    const ssize count = mprReadSocketDirect(stream.sp, buf, static_cast<ssize>(size));
    return passed(bio, stream, count, BIO_FLAGS_READ, done);
}

int writeDescriptor(BIO* bio, const char* buf, std::size_t length, std::size_t* done) {
    auto& stream = *static_cast<Stream*>(BIO_get_data(bio));
    const ssize count = mprWriteSocketDirect(stream.sp, buf, static_cast<ssize>(length));
    return passed(bio, stream, count, BIO_FLAGS_WRITE, done);
}

long controlDescriptor(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) {
        return static_cast<Stream*>(BIO_get_data(bio))->atEnd ? 1 : 0;
    }
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

bool isNumeric(const char* host) {
    unsigned char address[16];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/** Ask for a host, and accept no other's certificate. */
bool expect(Stream& stream, const char* host) {
    char name[256];
    std::size_t length = std::strlen(host);
    if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
        host += 1;
        length -= 2;
    } else if (length > 1 && host[length - 1] == '.') {
        length -= 1;
    }
    // OpenSSL takes one that begins with a dot for any name below.
    if (length == 0 || length >= sizeof(name) || host[0] == '.' || std::memchr(host, '*', length)) {
        return false;
    }
    std::memcpy(name, host, length);
    name[length] = '\0';
    X509_VERIFY_PARAM* param = SSL_get0_param(stream.ssl);
    if (isNumeric(name)) {
        return X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1;
    }
    return X509_VERIFY_PARAM_set1_host(param, name, length) == 1 && SSL_set_tlsext_host_name(stream.ssl, name) == 1;
}

Step cannot(Stream& stream, Reason& reason) {
    if (stream.verdict.text[0] && SSL_get_verify_result(stream.ssl) != X509_V_OK) {
        reason = stream.verdict;
    } else {
        reason.say("%s", firstError(reason));
    }
    return Step::failed;
}

/** What a call of OpenSSL came to. */
Step outcome(Stream& stream, int result, Reason& reason) {
    if (result > 0) {
        return Step::done;
    }
    switch (SSL_get_error(stream.ssl, result)) {
    case SSL_ERROR_WANT_READ: return Step::wantsRead;
    case SSL_ERROR_WANT_WRITE: return Step::wantsWrite;
    case SSL_ERROR_ZERO_RETURN: return Step::ended;
    case SSL_ERROR_SYSCALL:
        if (stream.error != 0) {
            reason.say("%s", strerror(stream.error));
            return Step::failed;
        }
        return Step::cut;
    default:
        return ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING ? Step::cut
                                                                                           : cannot(stream, reason);
    }
}
} // namespace

namespace {
/** Make OpenSSL ready. @return false when there is no memory. */
bool begin() {
    if (mprGetHost() && !hostedHeap && !(hostedHeap = mprCreateHeap("OpenSSL", 0))) {
        return false; // OpenSSL has not asked for memory yet
    }
    CRYPTO_set_mem_functions(allocate, reallocate, deallocate); // in vain if OpenSSL works already
    // Nothing is taken apart at the end of the process: threads may still use it.
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "mpr");
    if (made) {
        BIO_meth_set_read_ex(made, readDescriptor);
        BIO_meth_set_write_ex(made, writeDescriptor);
        BIO_meth_set_ctrl(made, controlDescriptor);
        descriptor = made;
    }
    return made;
}
} // namespace

bool start() {
    static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
    const Locked locked(starting);
    return descriptor || begin();
}

Stream* makeStream(Context& context, MprSocket* sp, const char* host, Choose choose, Reason& reason) {
    ERR_clear_error();
    void* memory = palloc(sizeof(Stream));
    auto* stream = memory ? new (memory) Stream : nullptr;
    BIO* bio = stream ? BIO_new(descriptor) : nullptr;
    if (bio) {
        stream->ssl = SSL_new(context.ctx);
    }
    if (!stream || !stream->ssl) {
        BIO_free(bio);
        pfree(stream);
        reason.say("no memory for TLS");
        reason.isMemory = true;
        return nullptr;
    }
    retain(context);
    stream->sp = sp;
    stream->context = &context;
    stream->choose = choose;
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    SSL_set_bio(stream->ssl, bio, bio);
    SSL_set_app_data(stream->ssl, stream);
    stream->peer[0] = '\0';
    stream->owesTicket = context.server;
    if (context.server) {
        SSL_set_accept_state(stream->ssl);
        return stream;
    }
    SSL_set_connect_state(stream->ssl);
    if (host && !expect(*stream, host)) {
        reason.say("not the name of a host: %.200s", host);
        destroy(*stream);
        return nullptr;
    }
    const int length = std::snprintf(stream->peer, sizeof(stream->peer), "%s %d",
                                     host     ? host
                                     : sp->ip ? sp->ip
                                              : "",
                                     sp->port);
    if (length >= static_cast<int>(sizeof(stream->peer))) {
        stream->peer[0] = '\0'; // no session is kept: another host's name may begin like this
    } else {
        resume(*stream);
    }
    return stream;
}

void destroy(Stream& stream) {
    SSL_free(stream.ssl);
    release(*stream.context);
    if (stream.chosen) {
        release(*stream.chosen);
    }
    pfree(&stream);
}

Step handshake(Stream& stream, Reason& reason) {
    ERR_clear_error();
    return outcome(stream, SSL_do_handshake(stream.ssl), reason);
}

Step read(Stream& stream, void* buf, std::size_t size, std::size_t& count, Reason& reason) {
    ERR_clear_error();
    return outcome(stream, SSL_read_ex(stream.ssl, buf, size, &count), reason);
}

/**
    A ticket goes with a server's first bytes and not by itself: a client that only writes would leave it unread when it
    closes its socket, and systems take that for a reason to throw away what it has written.
 */
Step write(Stream& stream, const void* buf, std::size_t length, std::size_t& count, Reason& reason) {
    ERR_clear_error();
    if (stream.owesTicket) {
        stream.owesTicket = false;
        SSL_new_session_ticket(stream.ssl);
        ERR_clear_error(); // before TLS 1.3 it was part of the handshake
    }
    return outcome(stream, SSL_write_ex(stream.ssl, buf, length, &count), reason);
}

void sayEnd(Stream& stream) {
    ERR_clear_error();
    // Tickets of other servers, for the same reason.
    char unread[1024];
    std::size_t count = 0;
    for (int i = 0; i < 64 && SSL_read_ex(stream.ssl, unread, sizeof(unread), &count) == 1; ++i) {}
    ERR_clear_error();
    SSL_shutdown(stream.ssl);
    ERR_clear_error();
}

bool holdsInput(const Stream& stream) {
    return SSL_has_pending(stream.ssl) != 0;
}

// ---- Facts ------------------------------------------------------------------------------------------------------

namespace {

template <std::size_t Size>
void copy(char (&to)[Size], const void* from, std::size_t length) {
    length = std::min(length, Size - 1);
    std::memcpy(to, from, length);
    to[length] = '\0';
}

template <std::size_t Size>
void commonName(const X509_NAME* name, char (&to)[Size]) {
    const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    unsigned char* text = nullptr;
    const int length =
        at < 0 ? -1 : ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (length > 0 && !std::memchr(text, 0, static_cast<std::size_t>(length))) {
        copy(to, text, static_cast<std::size_t>(length));
    }
    if (length >= 0) {
        OPENSSL_free(text);
    }
}
} // namespace

const char* askedFor(const Stream& stream) {
    return stream.peer;
}

void describe(const Stream& stream, Facts& facts) {
    facts = {};
    facts.version = SSL_get_version(stream.ssl);
    const char* cipher = SSL_get_cipher_name(stream.ssl);
    facts.cipher = cipher ? cipher : "";
    facts.resumed = SSL_session_reused(stream.ssl) == 1;
    const unsigned char* alpn = nullptr;
    unsigned length = 0;
    SSL_get0_alpn_selected(stream.ssl, &alpn, &length);
    if (length > 0) {
        copy(facts.alpn, alpn, length);
    }
    if (const char* host = SSL_get_servername(stream.ssl, TLSEXT_NAMETYPE_host_name)) {
        copy(facts.host, host, std::strlen(host));
    }
    if (const SSL_SESSION* session = SSL_get0_session(stream.ssl)) {
        const unsigned char* id = SSL_SESSION_get_id(session, &length);
        for (unsigned i = 0; i < length && 2 * i + 2 < sizeof(facts.session); ++i) {
            std::snprintf(facts.session + std::size_t{2} * i, 3, "%02x", id[i]);
        }
    }
    if (const X509* certificate = SSL_get0_peer_certificate(stream.ssl)) {
        nameOf(X509_get_subject_name(certificate), facts.peer, sizeof(facts.peer));
        nameOf(X509_get_issuer_name(certificate), facts.issuer, sizeof(facts.issuer));
        commonName(X509_get_subject_name(certificate), facts.name);
    }
}

} // namespace mpr::tls
