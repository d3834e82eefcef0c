/* SPDX-License-Identifier: MIT */
/*
    buffers - A stream of messages, each a length and a text, cut into pieces as a network does it.

    The sender puts messages into one buffer; the receiver gets pieces of any size, puts them into its own, and takes out
    whole messages. Both buffers are roots, because the receiver yields between pieces, as a service does.

        cc main.c -lmpr -lpthread
 */
#include <mpr.h>

#define HEADER 4 /* Bytes of a length */

static void putMessage(MprBuf *stream, cchar *text) {
    mprPutUint32ToBuf(stream, (uint32) slen(text)); /* In network byte order */
    mprPutStringToBuf(stream, text);
}

/* @return The next whole message as a new string, NULL when not all of it has come. */
static char *getMessage(MprBuf *stream) {
    char *text;
    ssize length;

    if (mprGetBufLength(stream) < HEADER) {
        return NULL;
    }
    length = (ssize) mprGetUint32FromBuf(stream);
    if (mprGetBufLength(stream) < length) {
        mprAdjustBufStart(stream, -HEADER); /* Look again when there is more */
        return NULL;
    }
    text = snclone(mprGetBufStart(stream), length);
    mprAdjustBufStart(stream, length);
    return text;
}

int main(int argc, char **argv) {
    MprBuf *sent, *received;
    char piece[7], *text;
    ssize count;
    int i, messages = 0, right = 0;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    sent = mprCreateBuf(0, 0);        /* Of any size */
    received = mprCreateBuf(16, 256); /* Grows to 256 bytes, never more */
    if (!sent || !received) {
        return 1;
    }
    mprAddRoot(sent);
    mprAddRoot(received);

    for (i = 0; i < 1000; i++) {
        putMessage(sent, sfmt("message %d of a thousand", i));
    }
    mprPrintf("%Ld bytes are on their way\n", (long long) mprGetBufLength(sent));

    while ((count = mprGetBlockFromBuf(sent, piece, sizeof(piece))) > 0) {
        if (mprPutBlockToBuf(received, piece, count) < count) {
            mprEprintf("The receiver is full\n");
            return 1;
        }
        while ((text = getMessage(received)) != NULL) {
            right += smatch(text, sfmt("message %d of a thousand", messages++));
        }
        mprYield(0); /* text may go now; what is in the buffers stays */
    }
    mprPrintf("%d messages, %d as sent; the receiver's buffer has grown to %Ld bytes\n", messages, right,
              (long long) mprGetBufSize(received));

    mprRemoveRoot(received);
    mprRemoveRoot(sent);
    mprDestroy();
    return messages == 1000 && right == 1000 ? 0 : 1;
}
