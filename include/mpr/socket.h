/* SPDX-License-Identifier: MIT */
/*
    mpr/socket.h - Sockets: TCP and UDP over IPv4 and IPv6, read and written when events say so, or blocking.

    A socket does not block unless MPR_SOCKET_BLOCK or mprSetSocketBlockingMode says so: then reading and writing wait,
    yielded, and what they are given must be rooted or unmanaged. The socket itself is a root meanwhile.

    One thread at a time uses a socket; another may call mprDisconnectSocket. Attached threads only. A socket that
    nobody references is closed and collected; while its handler waits it is retained.
 */
#ifndef MPR_SOCKET_H
#define MPR_SOCKET_H

#include "mpr/file.h"
#include "mpr/format.h"
#include "mpr/types.h"
#include "mpr/wait.h"

MPR_EXTERN_C_BEGIN

/* Flags of sockets. */
#define MPR_SOCKET_BLOCK 0x1        /* Reading and writing wait */
#define MPR_SOCKET_BROADCAST 0x2    /* Datagrams may go to everyone */
#define MPR_SOCKET_CLOSED 0x4       /* State: it was closed */
#define MPR_SOCKET_CONNECTING 0x8   /* State: the peer has not answered yet */
#define MPR_SOCKET_DATAGRAM 0x10    /* UDP */
#define MPR_SOCKET_EOF 0x20         /* State: nothing more will come. Never of datagrams */
#define MPR_SOCKET_LISTENER 0x40    /* State: it listens */
#define MPR_SOCKET_NOREUSE 0x80     /* Do not take an address over that was in use a moment ago. Datagrams never do */
#define MPR_SOCKET_NODELAY 0x100    /* Send small packets at once */
#define MPR_SOCKET_EXHAUSTED 0x200  /* State of a listener: the system had nothing left for a connection */
#define MPR_SOCKET_REUSE_PORT 0x400 /* Several sockets listen at one address; the system shares connections out */
#define MPR_SOCKET_THREAD 0x800     /* Its handlers have dispatchers of their own: a worker calls their procedures */

struct MprSsl;
struct sockaddr;

/** A socket: a managed block. Programs read these members and change only data. */
typedef struct MprSocket {
    int fd;    /* -1 when there is none */
    int flags; /* MPR_SOCKET_* */
    char *ip;  /* Of a listener: where it listens (NULL: everywhere). Else: the peer */
    int port;
    char *acceptIp; /* Of an accepted socket: the listener's address */
    int acceptPort;
    MprWaitHandler *handler;      /* Made by mprAddSocketHandler, or NULL */
    struct MprSocket *listenSock; /* Of an accepted socket */
    char *errorMsg;               /* Why the last call failed that the system or the provider refused, or NULL */
    void *data;                   /* The program's own; not marked: a block must be reachable otherwise */
    struct MprSsl *ssl;           /* As given to mprUpgradeSocket; NULL before */
    /* What TLS has agreed on, known after the handshake; NULL before, and what there is not. */
    char *protocol;       /* By ALPN, "h2" say */
    char *cipher;         /* "TLS_AES_256_GCM_SHA384", say */
    char *session;        /* The number of the session, in hexadecimal digits; TLS 1.3 gives it later, if at all */
    char *peerName;       /* The common name in the peer's certificate */
    char *peerCert;       /* Whose the peer's certificate is, and */
    char *peerCertIssuer; /* who issued it: "CN = board.local, O = Example" */
    void *sslSocket;      /* The provider's state of the connection: a block, which is marked */
} MprSocket;

/** Called for a socket that has a descriptor, before it is bound: see mprSetSocketPrebindCallback. */
typedef int (*MprSocketPrebind)(struct MprSocket *sp);

/** One piece of what mprWriteSocketVector writes. */
typedef struct MprIOVec {
    char *start;
    size_t len;
} MprIOVec;

/** Make a socket, not open yet. @return NULL when memory is short. */
MPR_EXPORT MprSocket *mprCreateSocket(MPR_NOTHING);

/**
    Listen. With MPR_SOCKET_DATAGRAM: bind, to receive.
    @param ip A numeric address; NULL, "" or "*": all, of both families where the system can; "unix:/run/a.sock": a file
    that is a socket, for processes of this machine. Only the same user may connect until the program changes the file's
    mode. A socket at which nobody listens any more is replaced. The file is removed when the socket is closed.
    @param port 0: the system chooses; the member port says which. Of no meaning with a file. @param flags MPR_SOCKET_*.
    @return The descriptor, or -1: mprGetOsError says why, and the log, unless it is open already or there is none.
 */
MPR_EXPORT int mprListenOnSocket(MprSocket *sp, const char *ip, int port, int flags);

/** Set a procedure that is called before a socket is bound to listen. It may set options of the descriptor. If it
    returns less than 0, the socket is not bound. NULL: none. For the whole process. Any thread. */
MPR_EXPORT void mprSetSocketPrebindCallback(MprSocketPrebind callback);

/**
    Connect, and wait for it at most ten seconds, yielded. With MPR_SOCKET_DATAGRAM: set the peer.
    @param ip An address or a name, which is looked up, yielded; or "unix:" and the path of a socket. @param flags MPR_SOCKET_*.
    @return 0; MPR_ERR_CANT_CONNECT; MPR_ERR_CANT_FIND when the name is unknown; MPR_ERR_TIMEOUT; MPR_ERR_BAD_STATE when
    the socket is open already; MPR_ERR_BAD_ARGS; MPR_ERR_CANT_OPEN when there are no descriptors left.
 */
MPR_EXPORT int mprConnectSocket(MprSocket *sp, const char *ip, int port, int flags);

/**
    Accept a connection. With MPR_SOCKET_BLOCK it waits, yielded. When the system has no descriptors or no memory left,
    the log says so once, and connections wait. So that no loop spins meanwhile, the handler of mprAddSocketHandler is
    called again only some 50 ms later; in blocking mode the call itself takes that long. @return NULL when no
    connection waits, or on error.
 */
MPR_EXPORT MprSocket *mprAcceptSocket(MprSocket *listen);

/** Set how many accepted sockets may be open at once. Further connections wait, as when descriptors are short: see
    mprAcceptSocket. For the whole process. @param max 0 or less: any number, the default. @return The previous setting.
    Any thread. */
MPR_EXPORT int mprSetMaxSocketAccept(int max);
/** Make another socket for the same connection, with a descriptor and handlers of its own. @return NULL when the socket
    is not open, or is secure, or descriptors or memory are short. */
MPR_EXPORT MprSocket *mprCloneSocket(MprSocket *sp);

/**
    Read what has arrived.
    @return Bytes, at least 1; 0 when there is nothing yet (never in blocking mode); negative at the end or on error:
    see mprIsSocketEof, mprGetOsError. MPR_ERR_BAD_HANDLE when it is not open.
 */
MPR_EXPORT ptrdiff_t mprReadSocket(MprSocket *sp, void *buf, ptrdiff_t size);

/**
    Write. In blocking mode all of it; else what the system takes.
    @return Bytes written, perhaps 0; negative on error, of which the peer's end is one.
 */
MPR_EXPORT ptrdiff_t mprWriteSocket(MprSocket *sp, const void *buf, ptrdiff_t len);
/** Write several pieces, as mprWriteSocket does, in one system call. */
MPR_EXPORT ptrdiff_t mprWriteSocketVector(MprSocket *sp, MprIOVec *iovec, int count);
/** Write a string, as mprWriteSocket does. */
MPR_EXPORT ptrdiff_t mprWriteSocketString(MprSocket *sp, const char *str);

/**
    Write some pieces, part of a file, and some more pieces. In blocking mode it writes all of it.
    @param file A file with positions; its own moves. NULL is fine if bytes is 0. @param offset,bytes Where the part
    begins, and its length. If the file ends before, what is missing is not written, nor are the pieces that follow.
    @return Bytes written altogether, perhaps 0; negative when nothing was: as mprWriteSocket, mprSeekFile and
    mprReadFile.
 */
MPR_EXPORT MprOff mprSendFileToSocket(MprSocket *sock, MprFile *file, MprOff offset, MprOff bytes, MprIOVec *beforeVec,
                                      int beforeCount, MprIOVec *afterVec, int afterCount);
/** Send what a secure connection holds back. @return 0; MPR_ERR_BAD_HANDLE when the socket is not open; negative on
    error. */
MPR_EXPORT ptrdiff_t mprFlushSocket(MprSocket *sp);

/** Close. @param graceful Send what was written before the end; false: reset the connection. NULL is fine, and so is
    a second call. */
MPR_EXPORT void mprCloseSocket(MprSocket *sp, bool graceful);
/** End both directions without closing: a thread that waits or reads finds the end. Any attached thread, also while the
    socket's own closes it. */
MPR_EXPORT void mprDisconnectSocket(MprSocket *sp);

/**
    Call a procedure when the socket is ready, as mprCreateWaitHandler does. A socket has one handler: a new one ends
    the previous one.
    @return NULL when memory is short or the socket is not open.
 */
MPR_EXPORT MprWaitHandler *mprAddSocketHandler(MprSocket *sp, int mask, MprDispatcher *dispatcher, void *proc,
                                               void *data, int flags);
/** Set what the socket's handler waits for from now on, as mprWaitOn does. */
MPR_EXPORT void mprEnableSocketEvents(MprSocket *sp, int mask);
MPR_EXPORT void mprRemoveSocketHandler(MprSocket *sp);

/** Set the dispatcher for later handlers of this socket for which mprAddSocketHandler is given none. NULL: the main
    one. */
MPR_EXPORT void mprSetSocketDispatcher(MprSocket *sp, MprDispatcher *dispatcher);

/** Set whether reading and writing wait. @return Whether they did before. */
MPR_EXPORT int mprSetSocketBlockingMode(MprSocket *sp, bool on);
MPR_EXPORT bool mprGetSocketBlockingMode(MprSocket *sp);
/** Send small packets at once, or collect them (Nagle's algorithm). @return The previous setting. */
MPR_EXPORT bool mprSetSocketNoDelay(MprSocket *sp, bool on);

/** Whether the peer has ended, an error has, or the socket is not open. */
MPR_EXPORT bool mprIsSocketEof(MprSocket *sp);
/** Set whether the socket counts as ended, so that nothing more will come. */
MPR_EXPORT void mprSetSocketEof(MprSocket *sp, bool eof);
/** The system's error number that is pending at the socket or, without one, that of its last failed call; 0 for
    none. */
MPR_EXPORT int mprGetSocketError(MprSocket *sp);
/** The descriptor; -1 when there is none. */
MPR_EXPORT int mprGetSocketHandle(MprSocket *sp);
MPR_EXPORT int mprGetSocketPort(MprSocket *sp);
/** Take the descriptor out of the socket: the caller closes it. This ends the handler, and TLS. @return -1 when there
    is none. */
MPR_EXPORT int mprStealSocketHandle(MprSocket *sp);

/**
    Take an address apart: "host", "host:port", ":port", "port", "[v6]:port", "v6", each with a scheme before it and a
    path behind if you like.
    @param ip Receives a block, or NULL when there is no host or it is "*". @param port Receives the port, or
    defaultPort.
    @param secure Receives whether the scheme is https or wss; may be NULL, as the others.
    @return 0; MPR_ERR_BAD_ARGS when address is NULL or malformed; MPR_ERR_MEMORY.
 */
MPR_EXPORT int mprParseSocketAddress(const char *address, const char **ip, int *port, int *secure, int defaultPort);

/** Whether a text is a numeric address of IPv6, in brackets or not. */
MPR_EXPORT bool mprIsIPv6(const char *ip);
/** Whether a socket is open and has an address of IPv6 that is not merely one of IPv4 in IPv6 form. */
MPR_EXPORT bool mprIsSocketV6(MprSocket *sp);
/**
    The system's form of an address. @param ip As mprConnectSocket; NULL or "": all. @param family,protocol May be NULL.
    @param addr,addrlen Receive the address, a block, and its length.
    @return 0; MPR_ERR_CANT_FIND; MPR_ERR_BAD_ARGS; MPR_ERR_MEMORY. A name is looked up, yielded.
 */
MPR_EXPORT int mprGetSocketInfo(const char *ip, int port, int *family, int *protocol, struct sockaddr **addr,
                                unsigned *addrlen);

/** Whether the system has IPv6, and whether one socket serves both families. */
MPR_EXPORT bool mprHasIPv6(void);
MPR_EXPORT bool mprHasDualNetworkStack(MPR_NOTHING);

/*
    TLS. The library of mpr/tls.h makes connections secure, or another that registers itself with mprSetSslProvider.
    Secure sockets are read, written, waited for and closed by the calls above, with the same meaning. A handshake
    continues in them.
 */

/** Whether there is a provider: libmpr_tls is linked, and the program uses a function of mpr/tls.h. */
MPR_EXPORT bool mprHasSecureSockets(MPR_NOTHING);

/**
    Make a connection secure, as a client or a server, whichever the ssl is for. Nothing may have been read that
    belongs to the handshake.

    In blocking mode this is the whole handshake, yielded. Otherwise the call only begins it. It continues in
    mprReadSocket and mprWriteSocket, which return 0 until it is over (mprSocketHandshaking); wait as for data, for
    whatever is to be done next. If the handshake fails, they return less than 0, and errorMsg says why. Small packets
    are sent at once from now on: mprSetSocketNoDelay.

    Reading returns MPR_ERR at an end that the peer has announced, and MPR_ERR_NETWORK when the connection was cut off:
    data may be missing then. A client that only writes should read what the peer has sent before it closes: systems
    drop data on its way to a peer if the peer's answers arrive at a closed socket.

    @param ssl NULL: a client's with the defaults of mprCreateSsl. @param peerName Whose certificate a client expects,
    and the name that it asks the server for. NULL: as mprSetSslHostname, else the host given to mprConnectSocket.
    @return 0; MPR_ERR_CANT_CONNECT when the handshake failed, MPR_ERR_TIMEOUT when it took too long; MPR_ERR_CANT_LOAD
    when a file that ssl names cannot be used; MPR_ERR_BAD_STATE without a provider, or when the socket is not
    connected or secure already; MPR_ERR_BAD_ARGS; MPR_ERR_MEMORY. The log and errorMsg say more. Attached threads.
 */
MPR_EXPORT int mprUpgradeSocket(MprSocket *sp, struct MprSsl *ssl, const char *peerName);
/** Whether a handshake has begun that is not over. */
MPR_EXPORT bool mprSocketHandshaking(MprSocket *sp);
/** Whether a secure connection holds data back: data that arrived and the program has not read, or data to be written
    that has not all been sent. The next mprWriteSocket or mprFlushSocket sends the latter. */
MPR_EXPORT bool mprSocketHasBuffered(MprSocket *sp);
MPR_EXPORT bool mprSocketHasBufferedRead(MprSocket *sp);
MPR_EXPORT bool mprSocketHasBufferedWrite(MprSocket *sp);
/** Whether a socket is open and mprUpgradeSocket has made it secure, or has begun to. */
MPR_EXPORT bool mprIsSocketSecure(MprSocket *sp);
/** What TLS has agreed on, as JSON: protocol, cipher, resumed, alpn, host, peer, issuer. @return A block; NULL when
    the socket is not secure, or memory is short. */
MPR_EXPORT char *mprGetSocketState(MprSocket *sp);
/**
    Whether a server that has several names (mprSetSslMatch) may serve a host on this connection. It may not if the host's
    MprSsl wants certificates of clients, and it is not the one that was chosen when the client said hello: what the host
    wants of clients, this one was not asked for.
    @param host As mprSetSslMatch's procedure gets it, without a port. @return Also true when the connection is not secure.
 */
MPR_EXPORT bool mprSocketServesHost(MprSocket *sp, const char *host);

/**
    What makes connections secure: for libraries. Each procedure is called for a socket that is open; read, write and
    upgrade wait in blocking mode, and yield meanwhile; nothing else does. The socket is retained meanwhile.
 */
typedef struct MprSocketProvider {
    const char *name;
    /** As mprUpgradeSocket. Sets sslSocket if it succeeds, or if what failed is to be told by read and write. */
    int (*upgrade)(MprSocket *sp, struct MprSsl *ssl, const char *peerName);
    /** As mprReadSocket and mprWriteSocket. Writing nothing sends what is held back. */
    ptrdiff_t (*read)(MprSocket *sp, void *buf, ptrdiff_t size);
    ptrdiff_t (*write)(MprSocket *sp, const void *buf, ptrdiff_t len);
    /** What to wait for at the descriptor if a program wants to read or write; 0: for nothing, there is something to
        read. */
    int (*wants)(MprSocket *sp, int mask);
    /** What is held back: MPR_READABLE, MPR_WRITABLE. */
    int (*buffered)(MprSocket *sp);
    bool (*handshaking)(MprSocket *sp);
    char *(*state)(MprSocket *sp);
    /** Called before the descriptor is closed or given away, also by the socket's manager when it dies: what sslSocket
        has ends here, not in a manager of its own, since other managers may use a dead socket until its own was called.
        @param graceful Tell the peer. */
    void (*close)(MprSocket *sp, bool graceful);
    /** As mprSocketServesHost. NULL: all hosts. */
    bool (*serves)(MprSocket *sp, const char *host);
} MprSocketProvider;

/** Set what makes connections secure from now on. @param provider Stays in use; NULL: nothing. Any thread. */
MPR_EXPORT void mprSetSslProvider(MprSocketProvider *provider);
/** For providers: read and write the descriptor directly, as mprReadSocket and mprWriteSocket do for a socket that is
    not secure and does not block. */
MPR_EXPORT ptrdiff_t mprReadSocketDirect(MprSocket *sp, void *buf, ptrdiff_t size);
MPR_EXPORT ptrdiff_t mprWriteSocketDirect(MprSocket *sp, const void *buf, ptrdiff_t len);
/** For providers: set errorMsg. */
MPR_EXPORT void mprSetSocketError(MprSocket *sp, const char *fmt, ...) MPR_PRINTF(2, 3);

MPR_EXTERN_C_END
/* Procedures of any parameters may be given without a cast: see mpr/event.h. */
#ifdef __cplusplus
template <typename... A>
inline MprWaitHandler *mprAddSocketHandler(MprSocket *sp, int mask, MprDispatcher *dispatcher, void (*proc)(A...),
                                           void *data, int flags) {
    return mprAddSocketHandler(sp, mask, dispatcher, MPR_PROC(proc), data, flags);
}
#else
#define mprAddSocketHandler(sp, mask, dispatcher, proc, data, flags) \
    mprAddSocketHandler(sp, mask, dispatcher, MPR_PROC(proc), data, flags)
#endif

#endif /* MPR_SOCKET_H */

/* Short names: see mpr/types.h. */
#if !defined(MPR_NO_SHORT_NAMES) && !defined(MPR_SOCKET_SHORT_NAMES)
#define MPR_SOCKET_SHORT_NAMES

/** The system's socket: a descriptor. */
typedef int Socket;
/** The length of an address. */
typedef unsigned Socklen;
#ifndef INVALID_SOCKET
#define INVALID_SOCKET (-1)
#endif
#ifndef SOCKET_ERROR
#define SOCKET_ERROR (-1)
#endif

#endif /* MPR_SOCKET_SHORT_NAMES */
