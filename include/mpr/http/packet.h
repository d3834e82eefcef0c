/* SPDX-License-Identifier: MIT */
/*
    mpr/http/packet.h - Packets: pieces of bodies on their way through queues.

    The bytes of a packet are in its content. One without content may stand for bytes that are elsewhere, in a file say:
    esize of them from epos on, which `fill` gets. One whose flags do not say what it is has a piece of the body. The members are stored into by plain assignment until the packet is
    put into a queue; one that is kept elsewhere over a yield is stored into by mprSetRef.
 */
#ifndef MPR_HTTP_PACKET_H
#define MPR_HTTP_PACKET_H

#include "mpr/http/types.h"

MPR_EXTERN_C_BEGIN

/* Flags of packets. */
#define HTTP_PACKET_HEADER 0x1 /* The headers of a message */
#define HTTP_PACKET_RANGE 0x2  /* What stands between ranges */
#define HTTP_PACKET_DATA 0x4   /* A piece of the body */
#define HTTP_PACKET_END 0x8    /* Nothing follows */
#define HTTP_PACKET_SOLO 0x10  /* Not to be joined with others */

/** A packet. A managed block. */
typedef struct HttpPacket {
    int flags;               /* HTTP_PACKET_* */
    bool last;               /* Of a message */
    int type;                /* The program's */
    bool fin;                /* The program's */
    struct HttpPacket *next; /* In a queue */
    MprBuf *content;         /* The bytes, or NULL */
    MprBuf *prefix;          /* Bytes before them, which are sent as a packet of their own; or NULL */
    MprOff esize;            /* Bytes that it stands for */
    MprOff epos;             /* Where they begin */
    HttpFillProc fill;       /* How to get them */
    struct HttpStream *stream;
    void *data; /* The program's, managed */
} HttpPacket;

/** Make a packet. @param size Bytes of room in its content; 0: without. @return NULL when memory is short. */
MPR_EXPORT HttpPacket *httpCreatePacket(ptrdiff_t size);
MPR_EXPORT HttpPacket *httpCreateDataPacket(ptrdiff_t size);
MPR_EXPORT HttpPacket *httpCreateEndPacket(void);
MPR_EXPORT HttpPacket *httpCreateHeaderPacket(void);
/** Another with copies of the bytes. */
MPR_EXPORT HttpPacket *httpClonePacket(HttpPacket *orig);
/** Append the bytes of another packet to this one. @return 0; MPR_ERR_MEMORY; MPR_ERR_BAD_STATE when one of
    them stands for bytes that are elsewhere and does not continue the other. */
MPR_EXPORT int httpJoinPacket(HttpPacket *packet, HttpPacket *other);
/** Join packets at the head of a queue. @param size Of at most so many bytes. */
MPR_EXPORT void httpJoinPackets(struct HttpQueue *q, ptrdiff_t size);
/** Split a packet. The smaller part is copied; bytes that are elsewhere are not. @param offset Where; the bytes from
    there on are in the packet returned. @return NULL when there are none, or memory is short. */
MPR_EXPORT HttpPacket *httpSplitPacket(HttpPacket *packet, ptrdiff_t offset);
/** Move the start or the end of a packet by a number of bytes. */
MPR_EXPORT void httpAdjustPacketStart(HttpPacket *packet, MprOff size);
MPR_EXPORT void httpAdjustPacketEnd(HttpPacket *packet, MprOff size);
/** Bytes of a packet, including those it stands for; without the prefix. */
MPR_EXPORT ptrdiff_t httpGetPacketLength(HttpPacket *packet);
/** The first byte of the content; NULL: there is none. */
MPR_EXPORT char *httpGetPacketStart(HttpPacket *packet);
/** Bytes of the content. */
MPR_EXPORT ptrdiff_t httpGetPacketContents(HttpPacket *packet);
/** The content as a string: a zero stands behind it. It may be copied for that. @return "" when there is none. */
MPR_EXPORT char *httpGetPacketString(HttpPacket *packet);
MPR_EXPORT bool httpIsLastPacket(HttpPacket *packet);

MPR_EXTERN_C_END
#endif /* MPR_HTTP_PACKET_H */
