/* SPDX-License-Identifier: MIT */
/*
    digest - Base64 there and back, a digest, a user's password hashed and checked.

        cc main.c -lmpr
 */
#include <mpr.h>
#include <stdio.h>

static bool encode(void) {
    static const char key[] = {0, 'k', 'e', 'y', 0};
    char *code, *back;
    ptrdiff_t length;

    code = mprEncode64Block(key, sizeof(key));
    if ((back = mprDecode64Block(code, &length, 0)) == 0) {
        return false;
    }
    printf("%s stands for %d bytes\n", code, (int) length);
    /* Invalid codes are refused; the log says why, at level 2. */
    return mprDecode64("AGtleQ=") == 0;
}

static bool logIn(void) {
    MprRootRef hash = {0};
    bool good;

    /* Hashing takes its time, and yields meanwhile: what is needed afterwards has to be reachable. */
    mprLinkRootRef(&hash);
    hash.ptr = mprMakePassword("open sesame", 16, 1024);
    if (hash.ptr == 0) {
        printf("no hashes of passwords in this build\n");
        good = true;
    } else {
        printf("%.7s...\n", (char *) hash.ptr);
        good = mprCheckPassword("open sesame", (char *) hash.ptr) && !mprCheckPassword("open rye", (char *) hash.ptr);
    }
    mprUnlinkRootRef(&hash);
    return good;
}

int main(int argc, char **argv) {
    bool good;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    good = encode();
    printf("SHA-256 of nothing: %s\n", mprGetSHA256(""));
    good = logIn() && good;
    return mprDestroy() && good ? 0 : 1;
}
