/* SPDX-License-Identifier: MIT */
/* The least program of a user: it proves that headers and libraries of an installation fit together. */
#include <mpr.h>

int main(int argc, char **argv) {
    if (!mprCreate(argc, argv, 0)) {
        return 1;
    }
    char *text = mprAlloc(100);
    if (!text || mprGetBlockSize(text) < 100) {
        return 2;
    }
#ifdef WITH_TLS
    if (!mprCreateSsl(0) || !mprHasSecureSockets()) {
        return 4;
    }
#endif
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    return mprDestroy() ? 0 : 3;
}
