/* SPDX-License-Identifier: MIT */
/*
    own_names.c - A C program that does without the API's short names: all of them are its own. To compile is the test.
    That the list is complete is test/tree/names' to see.
 */
#define MPR_NO_SHORT_NAMES
#include "mpr.h"

typedef struct Own {
    int value;
} cchar, cvoid, uchar, uint16, uint32, int64, uint64, ssize, Socket;

enum { fmt = 1, print, sfmt, sfmtv, palloc, pfree, prealloc, psize, lock, unlock };
enum { sclone = 11, scopy, sjoin, slen, smatch, stok, strim, stoi, itos };

#if defined(lock) || defined(unlock) || defined(ITERATE_ITEMS) || defined(ITERATE_KEYS) || \
    defined(ITERATE_KEY_DATA) || defined(ITERATE_JSON)
#error "A macro with a short name is defined"
#endif
#if defined(INVALID_SOCKET) || defined(SOCKET_ERROR)
#error "A macro of another system is defined"
#endif

ssize whatIsLeftWorks(MprList *list, MprMutex *mutex);
ssize whatIsLeftWorks(MprList *list, MprMutex *mutex) {
    ssize sum = {print + lock + sclone};
    char *item;
    int next;

    mprLock(mutex);
    for (MPR_ITERATE_ITEMS(list, item, next)) {
        sum.value += (int) mprPrintf("%s", item);
    }
    mprUnlock(mutex);
    return sum;
}
