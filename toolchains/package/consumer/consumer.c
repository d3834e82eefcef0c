/* SPDX-License-Identifier: MIT */
/* The least program of a user: it proves that headers and libraries of an installation fit together. */
#include <mpr.h>
#ifdef WITH_HTTP
#include <mpr/http.h>
#endif

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
#ifdef WITH_HTTP
    if (!httpCreate(HTTP_SERVER_SIDE) || httpStartEndpoint(httpCreateEndpoint("127.0.0.1", 0, NULL)) < 0) {
        return 5;
    }
#endif
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    return mprDestroy() ? 0 : 3;
}
