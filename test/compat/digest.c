/* SPDX-License-Identifier: MIT */
/*
    test/compat/digest.c - Codes, digests and passwords as programs for the MPR use them: a server's authentication,
    entity tags, the handshake of a WebSocket, a table of users. The same text is valid C11 and C++20.

    Exits with 0 when all went well; else the failed condition is printed.
 */
#include "mpr.h"
#include "expect.h"

#include <string.h>

/* ---- Basic and digest authentication: RFC 7617, RFC 2617 ---- */

static void testBasic(void) {
    char *decoded, *password;

    EXPECT(smatch(mprEncode64("Aladdin:open sesame"), "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
    EXPECT((decoded = mprDecode64("QWxhZGRpbjpvcGVuIHNlc2FtZQ==")) != 0);
    EXPECT((password = strchr(decoded, ':')) != 0);
    *password++ = '\0';
    EXPECT(smatch(decoded, "Aladdin"));
    EXPECT(smatch(password, "open sesame"));
    EXPECT(mprDecode64("QWxhZGRpbjpvcGVuIHNlc2FtZQ") == 0);
    EXPECT(mprDecode64("not a code!") == 0);
}

static void testDigest(void) {
    char *ha1, *ha2;

    ha1 = mprGetMD5("Mufasa:testrealm@host.com:Circle Of Life");
    ha2 = mprGetMD5("GET:/dir/index.html");
    EXPECT(smatch(mprGetMD5(sfmt("%s:%s:%s:%s:%s:%s", ha1, "dcd98b7102dd2f0e8b11d0f600bfb0c093", "00000001", "0a4f113b",
                                 "auth", ha2)),
                  "6629fae49393a05397450978507c4ef1"));
    EXPECT(smatch(mprGetMD5WithPrefix("abc", 3, "\"etag-"), "\"etag-900150983cd24fb0d6963f7d28e17f72"));
}

/* ---- A WebSocket's answer: RFC 6455 ---- */

static void testWebSocket(void) {
    EXPECT(smatch(mprGetSHABase64(sjoin("dGhlIHNhbXBsZSBub25jZQ==", "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", NULL)),
                  "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    EXPECT(smatch(mprGetSHA("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d"));
    EXPECT(smatch(mprGetSHAWithPrefix("abc", -1, "SHA1:"), "SHA1:a9993e364706816aba3e25717850c26c9cd0d89d"));
}

static void testBlocks(void) {
    static const char bytes[] = {0, 1, 2, 3, (char) 0xFF};
    ssize length;
    char *code, *back;

    EXPECT((code = mprEncode64Block(bytes, sizeof(bytes))) != 0);
    EXPECT((back = mprDecode64Block(code, &length, MPR_DECODE_TOKEQ)) != 0);
    EXPECT(length == sizeof(bytes) && memcmp(back, bytes, sizeof(bytes)) == 0);
}

/* ---- Users ---- */

typedef struct User {
    cchar *name;
    cchar *password;
} User;

static void manageUser(User *user, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(user->name);
        mprMark(user->password);
    }
}

#if MPR_HAVE_CRYPT
static void testUsers(void) {
    User *user;
    char *salt;

    EXPECT((user = mprAllocObj(User, manageUser)) != 0);
    mprAddRoot(user);
    user->name = sclone("joshua");
    user->password = mprMakePassword("pass1", 16, 128);
    EXPECT(user->password != 0);
    EXPECT(mprCheckPassword("pass1", user->password));
    EXPECT(!mprCheckPassword("pass2", user->password));
    salt = mprMakeSalt(16);
    EXPECT(slen(salt) == 16);
    user->name = salt;
    user->password = mprCryptPassword("pass1", salt, 128);
    EXPECT(smatch(user->password, mprCryptPassword("pass1", user->name, 128)));
    mprRemoveRoot(user);
}
#else
static void testUsers(void) {
    User *user;

    EXPECT((user = mprAllocObj(User, manageUser)) != 0);
    user->password = mprMakePassword("pass1", 16, 128);
    EXPECT(user->password == 0);
    EXPECT(!mprCheckPassword("pass1", user->password));
}
#endif

int main(int argc, char **argv) {
    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    testBasic();
    testDigest();
    testWebSocket();
    testBlocks();
    testUsers();
    EXPECT(mprDestroy());
    return verdict();
}
