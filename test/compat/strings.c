/* SPDX-License-Identifier: MIT */
/*
    test/compat/strings.c - Strings, formatting, buffers and encoding as programs for the MPR use them: a small log reader and
    a reply builder. The same text is valid C11 and C++20, without a cast where a program would have none.

    Exits with 0 when all went well; else the failed condition is printed.
 */
#include "mpr.h"
#include "expect.h"

#include <stdio.h>
#include <string.h>

static void testCopies(void) {
    char buf[8], *str;
    cchar *text = "Hello World";

    EXPECT(slen(text) == 11 && slen(0) == 0);
    str = sclone(text);
    EXPECT(smatch(str, text) && str != text);
    EXPECT(smatch(sclone(0), ""));
    EXPECT(smatch(snclone(text, 5), "Hello"));
    EXPECT(scopy(buf, sizeof(buf), "1234567") == 7);
    EXPECT(scopy(buf, sizeof(buf), text) < 0);
    EXPECT(sncopy(buf, sizeof(buf), text, 5) == 5 && smatch(buf, "Hello"));
    EXPECT(smatch(slower(text), "hello world"));
    EXPECT(smatch(supper(text), "HELLO WORLD"));
    EXPECT(smatch(stitle("world"), "World"));
}

static void testCompare(void) {
    EXPECT(scmp("a", "b") < 0 && scmp("b", "a") > 0 && scmp("a", "a") == 0);
    EXPECT(scmp(0, 0) == 0 && scmp("a", 0) > 0 && scmp(0, "a") < 0);
    EXPECT(sncmp("abc", "abd", 2) == 0);
    EXPECT(scaselesscmp("HELLO", "hello") == 0);
    EXPECT(sncaselesscmp("HELLO world", "hello there", 6) == 0);
    EXPECT(scaselessmatch("Keep-Alive", "keep-alive"));
    EXPECT(!smatch("Keep-Alive", "keep-alive"));
    EXPECT(!smatch("text", 0) && !smatch(0, "text"));
}

static void testSearch(void) {
    cchar *path = "/usr/local/lib/app.tar.gz";

    EXPECT(smatch(schr(path, 'l'), "local/lib/app.tar.gz"));
    EXPECT(smatch(srchr(path, '/'), "/app.tar.gz"));
    EXPECT(smatch(scontains(path, "lib"), "lib/app.tar.gz"));
    EXPECT(smatch(scaselesscontains(path, "LIB"), "lib/app.tar.gz"));
    EXPECT(sncontains(path, "lib", 10) == 0);
    EXPECT(scontains(path, "none") == 0 && scontains(0, "x") == 0 && scontains(path, 0) == 0);
    EXPECT(sstarts(path, "/usr") && !sstarts(path, "usr"));
    EXPECT(sends(path, ".gz") && !sends(path, ".zip"));
    EXPECT(snumber("-42") && !snumber("42 apples"));
}

static void testTokens(void) {
    char *str, *tok, *next, *key, *value;
    cchar *argv[2];
    int count;

    str = sclone("  one, two,,three ");
    for (count = 0, tok = stok(str, ", ", &next); tok; tok = stok(NULL, ", ", &next)) {
        count++;
    }
    EXPECT(count == 3);

    key = stok(sclone("color=blue"), "=", &value);
    EXPECT(smatch(key, "color") && smatch(value, "blue"));
    key = stok(sclone("flag"), "=", &value);
    EXPECT(smatch(key, "flag") && value == 0);

    key = ssplit(sclone("color"), "=", &value);
    EXPECT(smatch(key, "color") && smatch(value, ""));
    key = ssplit(sclone("=blue"), "=", &value);
    EXPECT(smatch(key, "") && smatch(value, "blue"));
    EXPECT(smatch(ssplit(0, "=", &value), "") && smatch(value, ""));

    str = sptok(sclone("head\r\n\r\nbody"), "\r\n\r\n", &value);
    EXPECT(smatch(str, "head") && smatch(value, "body"));

    EXPECT(smatch(strim("\t text \n", " \t\n", MPR_TRIM_BOTH), "text"));
    EXPECT(smatch(strim("00120", "0", MPR_TRIM_START), "120"));
    EXPECT(smatch(strim("00120", "0", MPR_TRIM_END), "0012"));
    EXPECT(smatch(sjoin("a", "b", "c", NULL), "abc"));
    argv[0] = "x";
    argv[1] = "y";
    EXPECT(smatch(sjoinArgs(2, argv, " - "), "x - y"));
    EXPECT(smatch(sreplace("a-b-c", "-", "::"), "a::b::c"));
}

static void testNumbers(void) {
    char buf[32];
    int err;

    EXPECT(stoi("42") == 42 && stoi("-42") == -42 && stoi(0) == 0 && stoi("0x20") == 32);
    EXPECT(stoiradix("ff", 16, NULL) == 255);
    EXPECT(stoiradix("ff", 10, &err) == 0 && err < 0);
    EXPECT(stoiradix("9223372036854775807", 10, &err) == 9223372036854775807LL && err == 0);
    EXPECT(smatch(itos(-123), "-123"));
    EXPECT(smatch(itosradix(255, 16), "ff"));
    EXPECT(smatch(itosbuf(buf, sizeof(buf), 8, 2), "1000"));
}

static char *formatList(cchar *fmt, ...) {
    char *str;
    va_list args;

    va_start(args, fmt);
    str = sfmtv(fmt, args);
    va_end(args);
    return str;
}

static void testFormat(void) {
    char buf[8], *none = NULL;
    int64 big = 1234567890123LL;
    ssize size = 77;

    EXPECT(smatch(sfmt("%s is %d years, %5.2f m, 0x%04x", "Ann", 44, 1.689, 255), "Ann is 44 years,  1.69 m, 0x00ff"));
    EXPECT(smatch(sfmt("%s|%10s|%-10s|", none, "right", "left"), "null|     right|left      |"));
    EXPECT(smatch(sfmt("%Ld %lld %'Ld", big, (long long) big, big), "1234567890123 1234567890123 1,234,567,890,123"));
    EXPECT(smatch(sfmt("%zd %*d %-*d| %.*s", size, 4, 1, 4, 1, 3, "abcdef"), "77    1 1   | abc"));
    EXPECT(smatch(sfmt("%%%c%i", 'x', -1), "%x-1"));
    EXPECT(smatch(formatList("%s-%d", "a", 1), "a-1"));
    EXPECT(fmt(buf, sizeof(buf), "%s", "0123456789") == buf && smatch(buf, "0123456"));
    EXPECT(mprPrintf("%s %d\n", "printed", 1) == 10);
    EXPECT(print("%s", "printed") == 8);
    EXPECT(mprEprintf("%s", "") == 0);
}

static void testBuffers(void) {
    MprBuf *buf, *copy;
    char block[16];
    int i;

    buf = mprCreateBuf(0, 0);
    mprAddRoot(buf);
    EXPECT(mprPutToBuf(buf, "HTTP/1.1 %d %s\r\n", 200, "OK") == 17);
    EXPECT(mprPutStringToBuf(buf, "Server: ") == 8);
    EXPECT(mprPutSubStringToBuf(buf, "mpr and more", 3) == 3);
    EXPECT(mprPutCharToBuf(buf, '\n') == 0);
    EXPECT(mprPutIntToBuf(buf, 1234567890123LL) == 13);
    EXPECT(mprPutBlockToBuf(buf, "\0\1", 2) == 2);
    EXPECT(mprGetBufLength(buf) == 44);
    EXPECT(mprGetBufEnd(buf) - mprGetBufStart(buf) == 44);
    EXPECT(mprGetBufSize(buf) >= 44 && mprGetBufSpace(buf) >= 0);
    mprYield(0);
    mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    EXPECT(mprGetBlockFromBuf(buf, block, 9) == 9 && sncmp(block, "HTTP/1.1 ", 9) == 0);
    EXPECT(mprLookAtNextCharInBuf(buf) == '2' && mprGetCharFromBuf(buf) == '2');
    mprAddNullToBuf(buf);
    EXPECT(sstarts(mprGetBufStart(buf), "00 OK"));
    copy = mprCloneBuf(buf);
    mprFlushBuf(buf);
    EXPECT(mprGetBufLength(buf) == 0 && mprGetCharFromBuf(buf) == -1);
    EXPECT(sstarts(mprBufToString(copy), "00 OK\r\nServer: mpr\n1234567890123"));

    while (mprGetBufSpace(buf) < 4096) {
        EXPECT(mprGrowBuf(buf, 1024) == 0);
    }
    memcpy(mprGetBufEnd(buf), "direct", 6);
    mprAdjustBufEnd(buf, 6);
    mprAdjustBufStart(buf, 2);
    EXPECT(smatch(mprBufToString(buf), "rect"));
    mprRemoveRoot(buf);

    buf = mprCreateBuf(4, 16);
    for (i = 0; mprPutCharToBuf(buf, i) == 0; i++) {}
    EXPECT(i == 16);
    mprFlushBuf(buf);
    mprPutUint16ToBuf(buf, 0x4142);
    mprPutUint32ToBuf(buf, 0x43444546);
    EXPECT(smatch(mprBufToString(buf), "ABCDEF"));
    mprAdjustBufStart(buf, 2);
    EXPECT(mprGetUint32FromBuf(buf) == 0x43444546);
}

static void testEncoding(void) {
    EXPECT(smatch(mprEscapeHtml("<b>\"A\" & 'B'</b>"), "&lt;b&gt;&quot;A&quot; &amp; &#39;B&#39;&lt;/b&gt;"));
    EXPECT(smatch(mprEscapeCmd("rm *; ls", 0), "rm \\*\\; ls"));
    EXPECT(smatch(mprUriDecode("a%20b+c%2Fd"), "a b c/d"));
    EXPECT(smatch(mprUriEncode("a b/c", MPR_ENCODE_URI_COMPONENT), "a%20b%2Fc"));
}

static void testProgram(void) {
    cchar **argv;
    char command[] = "one 'two three'", *words[4], bytes[16];

    EXPECT(slen(mprGetAppName()) > 0 && slen(mprGetAppPath()) > slen(mprGetAppDir()));
    EXPECT(mprSetAppName("strings", "The strings test", "1.0") == 0);
    EXPECT(smatch(mprGetAppName(), "strings") && smatch(mprGetAppTitle(), "The strings test"));
    EXPECT(smatch(mprEmptyString(), ""));
    EXPECT(mprMakeArgv("ls -l \"my file\"", &argv, 0) == 3);
    EXPECT(smatch(argv[0], "ls") && smatch(argv[2], "my file") && argv[3] == 0);
    EXPECT(mprParseArgs(command, words, 4) == 2);
    EXPECT(smatch(words[0], "one") && smatch(words[1], "two three"));
    EXPECT(mprGetRandomBytes(bytes, sizeof(bytes), false) == 0);
    EXPECT(slen(mprGetRandomString(16)) == 16);
    EXPECT(!smatch(mprGetRandomString(16), mprGetRandomString(16)));
}

int main(int argc, char **argv) {
    if (mprCreate(argc, argv, 0) == 0) {
        printf("Cannot create the runtime\n");
        return 2;
    }
    testCopies();
    testCompare();
    testSearch();
    testTokens();
    testNumbers();
    testFormat();
    testBuffers();
    testEncoding();
    testProgram();
    EXPECT(mprVerifyHeap() == 0);
    EXPECT(mprGetMemStats()->misuses == 0);
    EXPECT(mprDestroy());
    return verdict();
}
