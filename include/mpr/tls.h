/* SPDX-License-Identifier: MIT */
/*
    mpr/tls.h - TLS: who one is, whom one trusts, and how connections are made secure by mprUpgradeSocket
    (mpr/socket.h).

    These functions are in a library of their own, libmpr_tls (CMake: mpr::tls; pkg-config: mpr-tls), over OpenSSL 3. A
    program that uses one of them has TLS.

    An MprSsl is a managed block that says what connections have in common; sockets retain it. One thread sets it up,
    then many may use it. What is set later holds for connections that begin later. Files are in PEM form; they are
    read when the first connection needs them, or by mprPreloadSsl.

    Defaults are strict. TLS 1.2, with forward secrecy and authenticated encryption only (RFC 9325), and 1.3. A client wants
    a certificate that is valid now, of the host it asked for, and issued, directly or not, by somebody whom the system
    trusts. A server wants none of its clients until told to.

    Attached threads only, unless said otherwise. Nothing here yields: reading files does not count as a wait.

    OpenSSL's own memory comes from malloc, not from the managed heap: it keeps some of it until the process ends, after
    mprDestroy and on threads that no runtime knows. It is counted, if mprLoadSsl is called before anything else uses
    OpenSSL: mprGetSslMemory.
 */
#ifndef MPR_TLS_H
#define MPR_TLS_H

#include "mpr/socket.h"
#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* Versions. There are no older ones. */
#define MPR_PROTO_TLSV1_2 0x10
#define MPR_PROTO_TLSV1_3 0x20
#define MPR_PROTO_ALL 0x30

/** What connections have in common. Opaque. */
typedef struct MprSsl MprSsl;

/** Make one. @param server 1: for connections that were accepted; 0: for a client's. @return NULL when memory is
    short. */
MPR_EXPORT struct MprSsl *mprCreateSsl(int server);
/** Make another with the same settings, to be changed. @param src NULL: as mprCreateSsl(0). @return NULL when memory is
    short. */
MPR_EXPORT struct MprSsl *mprCloneSsl(MprSsl *src);

/** Make this library the provider of secure sockets, as mprCreateSsl does, too. @return 0; MPR_ERR_CANT_INITIALIZE:
    the log says why. Any thread. */
MPR_EXPORT int mprLoadSsl(void);

/**
    Read the files now, so that mistakes are found when a service starts; and read them again when one of them has
    changed since, so that a new certificate needs no restart. Connections that there are keep what they have. When the
    new files cannot be used, the old ones stay in use.
    @param flags 0. @return 0; MPR_ERR_CANT_LOAD, and the log names file and reason; MPR_ERR_BAD_ARGS; MPR_ERR_MEMORY.
    Any number of threads, while others make connections.
 */
MPR_EXPORT int mprPreloadSsl(struct MprSsl *ssl, int flags);

/* Who one is. A server has to say; a client may, for servers that ask. In all setters: ssl NULL does nothing; NULL for
   a text takes the setting back. */

/** Set the file of the certificate, followed by the certificates of its issuers, except the last. */
MPR_EXPORT void mprSetSslCertFile(struct MprSsl *ssl, const char *certFile);
/** Set the file of the private key, without a password. Until set, the key is in the file of the certificate. */
MPR_EXPORT void mprSetSslKeyFile(struct MprSsl *ssl, const char *keyFile);

/* Trusted issuers. A client that sets neither file nor folder trusts those of the system. */

/** Certificates of the issuers that are trusted. A server names them to its clients. */
MPR_EXPORT void mprSetSslCaFile(struct MprSsl *ssl, const char *caFile);
/** A folder of certificates of trusted issuers, with the names that `openssl rehash` makes. */
MPR_EXPORT void mprSetSslCaPath(struct MprSsl *ssl, const char *caPath);
/** Revoked certificates: a file of lists, one from each issuer between the peer and a trusted one, the trusted one
    included. */
MPR_EXPORT void mprSetSslRevoke(struct MprSsl *ssl, const char *revoke);

/**
    Whether the peer's certificate is looked at.
    @param mode "require": there has to be one, and it must be right; a client's default. "optional": what a client has
    must be right; from a server it is the same as "require". "none": anybody is believed; a server's default. Another
    word, or NULL, is named in the log, and changes nothing.
 */
MPR_EXPORT void mprVerifySslPeer(struct MprSsl *ssl, const char *mode);
/** Whether it matters who issued the certificate, which it does until set; if not, its dates and its host still do. */
MPR_EXPORT void mprVerifySslIssuer(struct MprSsl *ssl, bool on);
/** Whether the host has to be among the certificate's alternative names (subjectAltName), which it has to until set (RFC
    9525); if not, a certificate that has none may name its host as its common name, as old ones do. */
MPR_EXPORT void mprVerifySslAltNames(struct MprSsl *ssl, bool on);
/** How many issuers may stand between the peer and whom one trusts. Until set: 8. */
MPR_EXPORT void mprVerifySslDepth(struct MprSsl *ssl, int depth);
/** The host that a client expects, and asks for, if mprUpgradeSocket is given none: a name or a numeric address. */
MPR_EXPORT void mprSetSslHostname(MprSsl *ssl, const char *hostname);

/** Chooses by the host that a client asks for. It must not yield. A second hello of a handshake may not ask for another host.
    @param host In lower case. The first host of an endpoint answers for names that no host has: the procedure is asked for
    its name, too, which may be "*.name". @return The MprSsl, a server's, of that host, all of whose settings hold (a client
    is refused whom they cannot serve); NULL: the one for which this was set. */
typedef struct MprSsl *(*MprMatchSsl)(struct MprSocket *sp, const char *host);
/** Set how a server that has several names chooses. @param match NULL: it has one. */
MPR_EXPORT void mprSetSslMatch(struct MprSsl *ssl, MprMatchSsl match);

/* How one talks. */

/** Set which versions may be used. @param protocols MPR_PROTO_*. A value without any of them is named in the log, and
    changes nothing. */
MPR_EXPORT void mprSetSslProtocols(struct MprSsl *ssl, int protocols);
/** Which ciphers, the best first: names of OpenSSL, separated by ':' or ','. Those of TLS 1.3 begin with TLS_; of a
    version for which none is named the defaults hold. */
MPR_EXPORT void mprSetSslCiphers(MprSsl *ssl, const char *ciphers);
/** Add ciphers behind those that were set. */
MPR_EXPORT void mprAddSslCiphers(struct MprSsl *ssl, const char *ciphers);
/** Set the protocols inside (ALPN), the best first: "h2, http/1.1". The server's order counts. If both sides name some
    and share none, the handshake fails. The socket's member protocol says which was chosen. */
MPR_EXPORT void mprSetSslAlpn(struct MprSsl *ssl, const char *protocols);
/** Whether a client of TLS 1.2 may ask for another handshake later: not until set. */
MPR_EXPORT void mprSetSslRenegotiate(MprSsl *ssl, bool enable);
/** Whether clients keep a session, so that the next handshake is short, in a ticket that only the server can read:
    they do until set. If not, the server remembers the last 256. Clients resume sessions by themselves, of the same
    MprSsl and host. */
MPR_EXPORT void mprSetSslTicket(MprSsl *ssl, bool enable);
/** How long a handshake may take in blocking mode. Until set: 30 seconds. @param timeout Milliseconds; negative: for
    ever. */
MPR_EXPORT void mprSetSslHandshakeTimeout(struct MprSsl *ssl, MprTicks timeout);
/** At which level connections that fail are logged. Until set: 0, an error, for clients; 1 for servers, whose peers are
    anybody. Files that cannot be used are errors always. */
MPR_EXPORT void mprSetSslLogLevel(struct MprSsl *ssl, int level);

/** How many bytes OpenSSL has allocated in this process. 0 when it had begun before this library could count. Any
    thread. */
MPR_EXPORT size_t mprGetSslMemory(void);

MPR_EXTERN_C_END
#endif /* MPR_TLS_H */
