// SPDX-License-Identifier: MIT
/*
    test/base/names.cpp - Functions of older programs that do little of their own.
*/
#include "test/support/runtime.hpp"

#include <cerrno>
#include <climits>
#include <cmath>
#include <limits>
#include <set>

using namespace test;

namespace {
std::string str(cchar *text) {
    return text ? text : "(null)";
}
cchar *const none = nullptr;
} // namespace

TEST_CASE("parts of strings", "[base][string]") {
    Runtime runtime;
    CHECK(str(spbrk("key = value", " =")) == " = value");
    CHECK(spbrk("key", " =") == nullptr);
    CHECK(spbrk(none, "x") == nullptr);
    CHECK(spbrk("x", none) == nullptr);
    CHECK(sspn("  key", " ") == 2);
    CHECK(sspn("key", "") == 0);
    CHECK(sspn(none, "x") == 0);
    CHECK(str(ssub("abcdef", 2, 3)) == "cde");
    CHECK(str(ssub("abcdef", 4, 99)) == "ef");
    CHECK(str(ssub("abc", 3, 1)) == "");
    CHECK(ssub("abc", 4, 1) == nullptr);
    CHECK(ssub("abc", -1, 1) == nullptr);
    CHECK(ssub("abc", 0, -1) == nullptr);
    CHECK(ssub(none, 0, 1) == nullptr);
    CHECK(str(scamel("TitleCase")) == "titleCase");
    CHECK(str(scamel("")) == "");
    CHECK(scamel(none) == nullptr);
    CHECK(str(sncaselesscontains("Content-TYPE: x", "type", 12)) == "TYPE: x");
    CHECK(sncaselesscontains("Content-TYPE: x", "type", 11) == nullptr);
    CHECK(str(sncaselesscontains("Content-TYPE", "type", -1)) == "TYPE");
    CHECK(str(sncaselesscontains("x", "", 0)) == "x");
    CHECK(sncaselesscontains("ab", "abc", 99) == nullptr);
    CHECK(str(srejoin(sclone("a"), "b", "c", nullptr)) == "abc");
    CHECK(str(srejoin(nullptr, "b", nullptr)) == "b");
    char *twice = sclone("ab");
    CHECK(str(srejoin(twice, twice, nullptr)) == "abab");
    CHECK(smatchsec("secret", "secret"));
    CHECK_FALSE(smatchsec("secret", "secreT"));
    CHECK_FALSE(smatchsec("secret", "secrets"));
    CHECK_FALSE(smatchsec("", none));
    CHECK(smatchsec(none, none));
    char secret[] = "secret";
    serase(secret);
    CHECK(std::string(secret, sizeof(secret)) == std::string(sizeof(secret), '\0'));
    serase(nullptr);
}

TEST_CASE("numbers with fractions", "[base][string]") {
    CHECK(stof("1.5") == 1.5);
    CHECK(stof(" -2e3x") == -2000);
    CHECK(stof(none) == 0);
    for (auto text : {"0", "1.5", "-1.5", "+.5", "5.", "1e10", "1.5E-3"}) {
        INFO(text);
        CHECK(sfnumber(text));
    }
    for (auto text : {"", ".", "-", "1.5x", " 1", "1e", "1e+", "0x1", "1.2.3", "e5", "nan", "inf"}) {
        INFO(text);
        CHECK_FALSE(sfnumber(text));
    }
    CHECK_FALSE(sfnumber(none));
    CHECK((mprIsNan(NAN) == 1 && mprIsNan(INFINITY) == 0 && mprIsNan(1) == 0));
    CHECK((mprIsInfinite(-INFINITY) == 1 && mprIsInfinite(NAN) == 0 && mprIsInfinite(0) == 0));
    CHECK((mprIsZero(-0.0) == 1 && mprIsZero(5e-324) == 0 && mprIsZero(NAN) == 0));
}

TEST_CASE("buffers of older programs", "[base][buffer]") {
    Runtime runtime;
    MprBuf *buf = mprCreateBuf(8, 64);
    CHECK((buf->start == buf->end && buf->endbuf - buf->data == 8 && buf->maxsize == 64));
    CHECK(mprLookAtLastCharInBuf(buf) == -1);
    CHECK(mprPutPadToBuf(buf, '.', 3) == 3);
    CHECK(mprPutFmtToBuf(buf, "%d", 42) == 2);
    CHECK(mprLookAtLastCharInBuf(buf) == '2');
    CHECK(mprInsertCharToBuf(buf, '<') == 0);
    CHECK(std::string(buf->start, buf->end) == "<...42");
    CHECK(mprGetCharFromBuf(buf) == '<');
    CHECK(mprInsertCharToBuf(buf, '>') == 0);
    CHECK(str(mprCloneBufAsString(buf)) == ">...42");
    CHECK(std::string(mprCloneBufMem(buf)) == ">...42");
    mprGetCharFromBuf(buf);
    CHECK(buf->start > mprGetBuf(buf));
    mprCompactBuf(buf);
    CHECK(buf->start == mprGetBuf(buf));
    CHECK(str(mprBufToString(buf)) == "...42");
    CHECK(mprPutPadToBuf(buf, 'x', 1000) == 59);
    CHECK(mprInsertCharToBuf(buf, 'x') == MPR_ERR_TOO_MANY);
    mprGetBlockFromBuf(buf, nullptr, 0);
    mprAdjustBufStart(buf, mprGetBufLength(buf));
    mprResetBufIfEmpty(buf);
    CHECK(mprGetBufSpace(buf) == 64);
    CHECK(mprSetBufSize(buf, 100, 200) == 0);
    CHECK((mprGetBufSize(buf) == 100 && buf->maxsize == 200));
    mprSetBufMax(buf, 10);
    CHECK(buf->maxsize == 100);
    mprSetBufMax(buf, 300);
    buf->growBy = 7;
    mprPutPadToBuf(buf, 'x', 101);
    CHECK(mprGetBufSize(buf) == 107);

    MprBuf *numbers = mprCreateBuf(0, 0);
    mprPutUint16ToBuf(numbers, 0x1234);
    mprPutUint32ToBuf(numbers, 0x89abcdef);
    CHECK(mprGetUint16FromBuf(numbers) == 0x1234);
    CHECK(mprPeekUint32FromBuf(numbers) == 0x89abcdef);
    CHECK(mprGetUint32FromBuf(numbers) == 0x89abcdef);
    mprPutCharToBuf(numbers, 1);
    CHECK((mprGetUint16FromBuf(numbers) == 0 && mprPeekUint32FromBuf(numbers) == 0 && mprGetBufLength(numbers) == 1));

    CHECK(mprRefillBuf(numbers) == 0);
    int calls = 0;
    MprBufProc refill = [](MprBuf *to, void *arg) {
        ++*static_cast<int *>(arg);
        return static_cast<int>(mprPutStringToBuf(to, "more"));
    };
    mprSetBufRefillProc(numbers, refill, &calls);
    CHECK(mprGetBufRefillProc(numbers) == refill);
    CHECK((mprRefillBuf(numbers) == 4 && calls == 1 && mprGetBufLength(numbers) == 5));
    CHECK((mprRefillBuf(nullptr) == 0 && mprSetBufSize(nullptr, 1, 1) == MPR_ERR_BAD_ARGS));
    CHECK((mprInsertCharToBuf(nullptr, 'x') == MPR_ERR_BAD_ARGS && mprPutPadToBuf(nullptr, 'x', 1) == 0));
    mprCompactBuf(nullptr);
    mprResetBufIfEmpty(nullptr);
}

TEST_CASE("lists and tables of words", "[base][list]") {
    Runtime runtime;
    MprList *list = stolist("one, two  three");
    mprAddRoot(list);
    CHECK(str(mprListToString(list, "|")) == "one|two|three");
    int next = 0;
    CHECK(str(static_cast<cchar *>(mprGetNextStableItem(list, &next))) == "one");
    CHECK(next == 1);
    MprList *copy = mprCreateListFromWords("old items");
    CHECK(mprCopyListContents(copy, list) == 0);
    CHECK(str(mprListToString(copy, ",")) == "one,two,three");
    CHECK(mprCopyListContents(list, list) == 0);
    CHECK(mprGetListLength(list) == 3);
    CHECK(mprCopyListContents(nullptr, list) == MPR_ERR_BAD_ARGS);
    MprHash *table = mprCreateHashFromWords("x y,x");
    CHECK(mprGetHashLength(table) == 2);
    CHECK(str(static_cast<cchar *>(mprLookupKey(table, "y"))) == "y");
    MprHash *one = mprCreateHash(0, 0);
    mprAddKey(one, "key", sclone("value"));
    CHECK(str(mprHashToString(one, ",")) == "value");
    mprAddKey(one, "other", nullptr);
    std::string both = str(mprHashToString(one, ","));
    CHECK((both == "value," || both == ",value"));
    mprRemoveRoot(list);
}

TEST_CASE("what the program keeps under a name stays", "[base][app]") {
    Runtime runtime;
    mprSetKey("mine", sclone("kept"));
    CHECK(mprGetKey("other") == nullptr);
    collect();
    CHECK(str(static_cast<cchar *>(mprGetKey("mine"))) == "kept");
    mprSetKey("mine", nullptr);
    CHECK(mprGetKey("mine") == nullptr);
}

TEST_CASE("names of host, server, domain and address", "[base][app]") {
    Runtime runtime;
    char name[256] = {};
    REQUIRE(gethostname(name, sizeof(name) - 1) == 0);
    CHECK(str(mprGetHostName()) == name);
    CHECK(str(mprGetServerName()) == name);
    CHECK(str(mprGetIpAddr()) == "127.0.0.1");
    mprSetHostName("host.example.org");
    mprSetDomainName(nullptr);
    mprSetServerName("server");
    mprSetIpAddr("::1");
    mprSetAppPath("/opt/app/bin/app");
    collect();
    CHECK(str(mprGetHostName()) == "host.example.org");
    CHECK(str(mprGetDomainName()) == "example.org");
    CHECK(str(mprGetServerName()) == "server");
    CHECK(str(mprGetIpAddr()) == "::1");
    CHECK(str(mprGetAppPath()) == "/opt/app/bin/app");
    CHECK(str(mprGetAppDir()) == "/opt/app/bin");
    mprSetHostName(nullptr);
    CHECK(str(mprGetHostName()) == name);
    mprSetEnv("MPR_TEST_VARIABLE", "x");
    CHECK(str(getenv("MPR_TEST_VARIABLE")) == "x");
    mprSetEnv("MPR_TEST_VARIABLE", nullptr);
    CHECK(getenv("MPR_TEST_VARIABLE") == nullptr);
    mprSetOsError(EBADF);
    CHECK(errno == EBADF);
    mprSetError(0);
    CHECK(errno == 0);
    const unsigned short one = 1;
    CHECK(mprGetEndian() == (*reinterpret_cast<const char *>(&one) ? MPR_LITTLE_ENDIAN : MPR_BIG_ENDIAN));
    std::set<int> numbers;
    for (int i = 0; i < 1000; i++) {
        int number = mprRandom();
        REQUIRE(number >= 0);
        numbers.insert(number);
    }
    CHECK(numbers.size() > 990);
}

TEST_CASE("times put together", "[base][time]") {
    struct tm tm = {};
    const MprTime times[] = {0, -1000, 1795241737000, 951782400000 /* 29 February 2000 */};
    for (MprTime time : times) {
        mprDecodeUniversalTime(&tm, time);
        CHECK(mprMakeUniversalTime(&tm) == time);
        mprDecodeLocalTime(&tm, time);
        CHECK(mprMakeTime(&tm) == time);
        CHECK(mprGetTimeZoneOffset(time) == tm.tm_gmtoff * 1000);
    }
    tm = {};
    tm.tm_year = 126;
    tm.tm_mon = 13;
    tm.tm_mday = 0;
    CHECK(mprMakeUniversalTime(&tm) == 1801353600000); /* 31 January 2027 */
    for (int extreme : {INT_MIN, INT_MAX}) {
        tm.tm_year = tm.tm_mon = tm.tm_mday = tm.tm_hour = tm.tm_min = tm.tm_sec = extreme;
        CHECK((mprMakeUniversalTime(&tm) < 0) == (extreme < 0));
        CHECK((mprMakeTime(&tm) < 0) == (extreme < 0));
    }
    CHECK((mprMakeTime(nullptr) == 0 && mprMakeUniversalTime(nullptr) == 0));
}

TEST_CASE("paths of older programs", "[base][path]") {
    Runtime runtime;
    CHECK(mprGetMpr() == runtime.mpr);
    cchar *path = "/a/b.c";
    CHECK(mprGetPathBaseRef(path) == path + 3);
    CHECK(str(mprGetPathBaseRef("/")) == "/");
    CHECK(str(mprGetPathBaseRef("a/")) == "");
    CHECK(mprGetPathBaseRef(nullptr) == nullptr);
    CHECK(str(mprGetPathFirstDir("a/b/c")) == "a");
    CHECK(str(mprGetPathFirstDir("a")) == "a");
    CHECK(str(mprGetPathFirstDir("/a/b")) == "/");
    CHECK(mprGetPathFirstDir(nullptr) == nullptr);
    CHECK(str(mprTrimPathComponents("a/b/c", 1)) == "b/c");
    CHECK(str(mprTrimPathComponents("a/b/c", -2)) == "a");
    CHECK(str(mprTrimPathComponents("a/b/c", 0)) == "a/b/c");
    CHECK(str(mprTrimPathComponents("a/b", INT_MAX)) == "");
    CHECK(str(mprTrimPathComponents("a/b", INT_MIN)) == "");
    CHECK(mprTrimPathComponents(nullptr, 1) == nullptr);
    CHECK(str(mprTrimPathDrive("/a")) == "/a");
    CHECK(mprIsAbsPathContained("/a/b", "/a"));
    CHECK(mprIsAbsPathContained("/a/b/../c", "/a/"));
    CHECK(mprIsAbsPathContained("/a", "/a"));
    CHECK(mprIsAbsPathContained("/a", "/"));
    CHECK_FALSE(mprIsAbsPathContained("/ab", "/a"));
    CHECK_FALSE(mprIsAbsPathContained("/a/../b", "/a"));
    CHECK_FALSE(mprIsAbsPathContained("a/b", "a"));
    CHECK_FALSE(mprIsAbsPathContained(nullptr, "/a"));
    CHECK((mprSamePathCount("/a/b", "/a/c", 3) == 1 && mprSamePathCount("/a/b", "/a/c", 4) == 0));
    CHECK((mprSamePathCount("/a", "/a", 99) == 1 && mprSamePathCount(nullptr, "/a", 1) == 0));
    CHECK(str(mprGetPathSeparators("/a")) == "/");
    CHECK((mprIsPathSeparator("/a", '/') && !mprIsPathSeparator("/a", '\\')));
}

namespace {
void passOn(cchar *tags, int level, cchar *msg) {
    mprDefaultLogHandler(tags, level, msg);
}
} // namespace

TEST_CASE("log handlers of older programs", "[base][log]") {
    Log log;
    MprLogHandler mine = mprGetLogHandler();
    CHECK(mine != mprDefaultLogHandler);
    CHECK(mprUsingDefaultLogHandler() == 0);
    mprRawLog(0, "raw %d", 1);
    mprRawLog(1, "not this");
    mprUserError("for %s", "users");
    mprAssert("file.c:7", "x > 0");
    CHECK(log.text() == ": raw 1\nerror: for users\nerror: file.c:7: assertion failed: x > 0\n");
    mprSetLogHandler(nullptr);
    CHECK(mprGetLogHandler() == mprDefaultLogHandler);
    CHECK(mprUsingDefaultLogHandler() == 1);

    char path[] = "/tmp/mpr-log-XXXXXX";
    const int file = mkstemp(path);
    REQUIRE(file >= 0);
    REQUIRE(mprStartLogging(path, 0) == 0);
    CHECK(mprUsingDefaultLogHandler() == 1);
    mprSetLogHandler(passOn);
    CHECK(mprUsingDefaultLogHandler() == 0);
    mprError("by way of a handler");
    char text[100];
    const ssize_t length = read(file, text, sizeof(text));
    CHECK(std::string(text, length > 0 ? static_cast<size_t>(length) : 0) == "error: by way of a handler\n");
    mprStartLogging("stderr", 0);
    mprSetLogHandler(mine);
    close(file);
    unlink(path);
}

/* R12: a program that keeps what it allocated over calls that do not say that they yield. */
TEST_CASE("formatting and logging keep the caller's new blocks", "[base][log]") {
    Runtime runtime("everyyield=1");
    mprSetLogHandler(nullptr);
    char path[] = "/tmp/mpr-log-XXXXXX";
    close(mkstemp(path));
    mprSetLogBackup(200, 1, 0);
    char *mine = sclone("still here");
    REQUIRE(mprStartLogging(path, MPR_LOG_DETAILED) == 0);
    char buffer[32];
    MprBuf *buf = mprCreateBuf(0, 0);
    for (int i = 0; i < 50; i++) {
        mprLog("app", 0, "%s %d", mine, i);
        mprError("%s", mine);
        mprDebug("app", 0, "%@", mine);
        fmt(buffer, sizeof(buffer), "%s", mine);
        mprPutToBuf(buf, "%s %2000d", mine, i);
        CHECK(str(sfmt("%s %700d", mine, i)).find("still here") == 0);
        mprLogConfig();
    }
    mprBackupLog(path, 1);
    mprGetDate(nullptr);
    CHECK(mprIsValid(mine));
    CHECK(str(mine) == "still here");
    CHECK(runtime.mpr != nullptr);
    MprTime time;
    CHECK(mprParseTime(&time, sclone("2026-11-21"), 0, nullptr) == 0);
    CHECK(str(mine) == "still here");
    mprStartLogging("stderr", 0);
    mprSetLogBackup(0, 0, 0);
    unlink(path);
    unlink((std::string(path) + ".1").c_str());
}
