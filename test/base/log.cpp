// SPDX-License-Identifier: MIT
/*
    test/base/log.cpp - Logging: levels, receivers, files and backups.
 */
#include "mpr/os/log.hpp"
#include "test/support/mutator.hpp"
#include "test/support/nobody.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

using namespace test;

namespace {

/* A folder of its own, gone at the end, and no handler meanwhile. */
class Folder {
public:
    Folder() {
        char name[] = "/tmp/mpr-log-XXXXXX";
        REQUIRE(mkdtemp(name));
        path = name;
        previous = mprSetLogHandler(nullptr);
        level = mprGetLogLevel();
    }
    ~Folder() {
        mprStartLogging("stderr", 0);
        mprSetLogBackup(0, 0, 0);
        mprSetLogLevel(level);
        mprSetCmdlineLogging(false);
        mprSetLogHandler(previous);
        REQUIRE(system(("rm -r " + path).c_str()) == 0);
    }

    std::string file(const char *name = "app.log") const { return path + "/" + name; }
    std::string text(const char *name = "app.log") const {
        std::ifstream in(file(name));
        std::stringstream all;
        all << in.rdbuf();
        return all.str();
    }
    bool has(const char *name) const { return access(file(name).c_str(), F_OK) == 0; }

private:
    std::string path;
    MprLogHandler previous;
    int level;
};

} // namespace

TEST_CASE("messages go to the handler, up to the level", "[base][log]") {
    Log log;
    CHECK(mprGetLogLevel() == 0);
    mprLog("app info", 1, "not this");
    mprLog("app error", 0, "%s %d", "this", 7);
    mprError("and %s", "that");
    mprSetLogLevel(2);
    CHECK(mprGetLogLevel() == 2);
    mprLog("app info", 2, "two");
    mprLog("app info", 3, "three");
    mprDebug("app debug", 2, "detail");
    mprDebug("app debug", 3, "too much detail");
    mprLog(nullptr, 0, "untagged");
    mprLog("null", 0, nullptr);
    mprSetLogLevel(0);
    CHECK(log.text() == "app error: this 7\nerror: and that\napp info: two\napp debug: detail\n: untagged\nnull: \n");
}

TEST_CASE("a long message is cut", "[base][log]") {
    Log log;
    std::string large(5000, 'x');
    mprLog("t", 0, "%s", large.c_str());
    CHECK(log.text() == "t: " + std::string(2000, 'x') + "\n");
    Folder folder;
    REQUIRE(mprStartLogging(folder.file().c_str(), 0) == 0);
    mprLog("t", 0, "%s", large.c_str());
    mprLog(large.c_str(), 0, "y");
    CHECK(folder.text() == "t: " + std::string(2000, 'x') + "\n" + std::string(100, 'x') + ": y\n");
}

TEST_CASE("a log file gets the messages of program and runtime", "[base][log]") {
    Folder folder;
    REQUIRE(mprStartLogging((folder.file() + ":3").c_str(), 0) == 0);
    CHECK(mprGetLogLevel() == 3);
    mprLog("app", 3, "three");
    mprLog("app", 4, "four");
    CHECK(mprAlloc(10) == nullptr); /* without a runtime */
    CHECK(folder.text().find("app: three\nmpr error: mprAlloc: ") == 0);
    CHECK(folder.text().find("four") == std::string::npos);

    /* A handler comes before the file; then the file has its turn again. */
    {
        Log log;
        mprError("to the handler");
        CHECK(log.text() == "error: to the handler\n");
    }
    mprSetLogHandler(nullptr);
    mprError("to the file");
    CHECK(folder.text().find("to the handler") == std::string::npos);
    CHECK(folder.text().find("error: to the file\n") != std::string::npos);
    CHECK_FALSE(mprGetCmdlineLogging());
}

TEST_CASE("a log is appended to, or started again", "[base][log]") {
    Folder folder;
    REQUIRE(mprStartLogging(folder.file().c_str(), 0) == 0);
    mprError("1");
    REQUIRE(mprStartLogging(folder.file().c_str(), 0) == 0);
    mprError("2");
    CHECK(folder.text() == "error: 1\nerror: 2\n");
    REQUIRE(mprStartLogging(folder.file().c_str(), MPR_LOG_ANEW) == 0);
    mprError("3");
    CHECK(folder.text() == "error: 3\n");
    CHECK_FALSE(folder.has("app.log.1"));
    mprSetLogBackup(0, 2, MPR_LOG_ANEW);
    REQUIRE(mprStartLogging(folder.file().c_str(), 0) == 0);
    mprError("4");
    CHECK(folder.text() == "error: 4\n");
    CHECK(folder.text("app.log.1") == "error: 3\n");
    REQUIRE(mprStartLogging("none", 0) == 0);
    mprError("nowhere");
    CHECK(folder.text() == "error: 4\n");
}

TEST_CASE("a log that grows becomes a backup", "[base][log]") {
    Folder folder;
    mprSetLogBackup(100, 3, 0);
    REQUIRE(mprStartLogging(folder.file().c_str(), 0) == 0);
    for (int i = 0; i < 50; i++) {
        mprError("message %02d", i); /* 18 bytes: five to a file */
        struct stat info;
        REQUIRE(stat(folder.file().c_str(), &info) == 0);
        REQUIRE(info.st_size <= 100);
    }
    CHECK(folder.text().find("error: message 45\n") == 0);
    CHECK(folder.text("app.log.1").find("error: message 40\n") == 0);
    CHECK(folder.text("app.log.3").find("error: message 30\n") == 0);
    CHECK_FALSE(folder.has("app.log.4"));
    /* A message larger than the limit is written all the same. */
    mprError("%s", std::string(500, 'l').c_str());
    mprError("next");
    CHECK(folder.text() == "error: next\n");
    CHECK(folder.text("app.log.1") == "error: " + std::string(500, 'l') + "\n");
    /* Without backups the old file is dropped. */
    mprSetLogBackup(20, 0, 0);
    mprError("last of all");
    CHECK(folder.text() == "error: last of all\n");
    CHECK(folder.text("app.log.1").size() == 508);
}

TEST_CASE("mprBackupLog", "[base][log]") {
    Folder folder;
    std::ofstream(folder.file("x")) << "first";
    CHECK(mprBackupLog(folder.file("x").c_str(), 2) == 0);
    CHECK_FALSE(folder.has("x"));
    CHECK(folder.text("x.1") == "first");
    CHECK(mprBackupLog(folder.file("x").c_str(), 2) == 0); /* none there */
    CHECK(folder.text("x.2") == "first");
    std::ofstream(folder.file("x")) << "second";
    CHECK(mprBackupLog(folder.file("x").c_str(), 1) == 0);
    CHECK(folder.text("x.1") == "second");
    CHECK(folder.text("x.2") == "first");
    CHECK(mprBackupLog(nullptr, 1) == MPR_ERR_BAD_ARGS);
    CHECK(mprBackupLog("", 1) == MPR_ERR_BAD_ARGS);
    CHECK(mprBackupLog("x", 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprBackupLog(std::string(5000, 'x').c_str(), 1) == MPR_ERR_BAD_ARGS);
    std::ofstream(folder.file("file")) << "no folder";
    CHECK(mprBackupLog(folder.file("file/x").c_str(), 1) == MPR_ERR_CANT_WRITE);
}

TEST_CASE("lines with details", "[base][log]") {
    Folder folder;
    REQUIRE(mprStartLogging(folder.file().c_str(), MPR_LOG_DETAILED) == 0);
    mprLog("app info", 0, "text");
    mprLog(nullptr, 0, "bare");
    INFO(folder.text());
    std::string time = "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z ";
    CHECK(std::regex_match(folder.text(), std::regex(time + "app info 0 : text\n" + time + "0 : bare\n")));
}

TEST_CASE("lines with details name the thread; tags are there with and without MPR_LOG_TAGGED", "[base][log]") {
    Folder folder;
    Runtime runtime;
    mprSetLogHandler(nullptr);
    REQUIRE(mprStartLogging(folder.file().c_str(), MPR_LOG_DETAILED | MPR_LOG_TAGGED) == 0);
    mprLog("app info", 0, "text");
    INFO(folder.text());
    CHECK(std::regex_match(folder.text(), std::regex("20[0-9T:.-]+Z app info 0 main: text\n")));
    REQUIRE(mprStartLogging(folder.file().c_str(), MPR_LOG_ANEW | MPR_LOG_TAGGED) == 0);
    mprLog("app info", 0, "text");
    CHECK(folder.text() == "app info: text\n");
}

TEST_CASE("the configuration is logged", "[base][log]") {
    Folder folder;
    REQUIRE(mprStartLogging(folder.file().c_str(), MPR_LOG_CONFIG | MPR_LOG_CMDLINE) == 0);
    CHECK(mprGetCmdlineLogging());
    CHECK(folder.text().find("mpr config: Machine: ") == 0);
    Runtime runtime;
    mprSetLogHandler(nullptr);
    mprSetAppName("logger", "The Logger", "9.9");
    mprLogConfig();
    CHECK(folder.text().find("mpr config: Program: logger, The Logger, version \"9.9\"\n") != std::string::npos);
}

TEST_CASE("a log that cannot be opened changes nothing", "[base][log]") {
    Folder folder;
    REQUIRE(mprStartLogging(folder.file().c_str(), 0) == 0);
    CHECK(mprStartLogging("/no/such/folder/log:5", MPR_LOG_CMDLINE) == MPR_ERR_CANT_OPEN);
    CHECK(mprStartLogging("", 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprStartLogging(":3", 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprStartLogging(std::string(5000, 'x').c_str(), 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprGetLogLevel() == 0);
    CHECK_FALSE(mprGetCmdlineLogging());
    CHECK(folder.text().find("error: mprStartLogging: cannot open the log \"/no/such/folder/log:5\": No such file") ==
          0);
}

TEST_CASE("a colon that no level follows belongs to the name", "[base][log]") {
    Folder folder;
    REQUIRE(mprStartLogging(folder.file("a:b").c_str(), 0) == 0);
    mprError("x");
    CHECK(folder.text("a:b") == "error: x\n");
    REQUIRE(mprStartLogging(folder.file("a:1:2").c_str(), 0) == 0);
    CHECK(mprGetLogLevel() == 2);
    CHECK(folder.has("a:1"));
}

TEST_CASE("the level of a log is a decimal number, the nearest that there is", "[base][log]") {
    Folder folder;
    auto level = [&](cchar *text) {
        REQUIRE(mprStartLogging(folder.file(text).c_str(), 0) == 0);
        return mprGetLogLevel();
    };
    CHECK(level("x:010") == 10);
    CHECK(level("x:4294967296") == INT_MAX); /* 2^32: wraps to 0 */
    CHECK(level("x:99999999999999999999") == INT_MAX);
    CHECK(level("x:-99999999999999999999") == INT_MIN);
    CHECK(level("x:-1") == -1);
}

TEST_CASE("child: log to the streams", "[.][log-child]") {
    mprError("at first");
    mpr::os::Message message;
    message << "of the runtime\nmpr error: forged\t\x1b[31m\x7f";
    mpr::os::log(mpr::os::Level::error, message);
    REQUIRE(mprStartLogging("stdout:1", 0) == 0);
    mprLog("out", 1, "to stdout");
    REQUIRE(mprStartLogging(nullptr, 0) == 0);
    mprLog("err", 1, "to stderr");
}

TEST_CASE("logging to the standard streams", "[base][log]") {
    Ended child = runChild("[log-child]");
    INFO(child.output);
    CHECK(child.exited(0));
    CHECK(child.wrote("error: at first\n"));
    CHECK(child.wrote("mpr error: of the runtime\\nmpr error: forged\t\\x1b[31m\\x7f\n"));
    CHECK(child.wrote("out: to stdout\n"));
    CHECK(child.wrote("err: to stderr\n"));
}

TEST_CASE("child: log in the handler", "[.][log-handler-child]") {
    mprSetLogHandler([](cchar *tags, int, cchar *msg) {
        printf("<%s: %s>\n", tags, msg);
        fflush(stdout);
        mprError("the handler's own");
    });
    mprError("of the program");
    mprRealloc(nullptr, 10); // there is no runtime
    mprSetLogHandler(nullptr);
}

TEST_CASE("a handler is not called for what it logs itself", "[base][log]") {
    const Ended child = runChild("[log-handler-child]");
    INFO(child.output);
    CHECK(child.exited(0));
    CHECK(child.wrote("<error: of the program>\nerror: the handler's own\n<mpr error: mprAlloc"));
    CHECK(child.wrote(">\nerror: the handler's own\n"));
    CHECK_FALSE(child.wrote("<error: the handler's own>"));
}

TEST_CASE("no message makes two lines or commands a terminal", "[base][log]") {
    Folder folder;
    struct {
        cchar *text, *common, *json;
    } cases[] = {
        {"plain, \"quoted\" and C:\\x", "plain, \"quoted\" and C:\\x", "plain, \\\"quoted\\\" and C:\\\\x"},
        {"a\nerror: forged", "a\\nerror: forged", "a\\nerror: forged"},
        {"a\r\n\r\n", "a", "a"},
        {"a\rb\tc", "a\\rb\tc", "a\\rb\\tc"},
        {"\x1b[2J\x07\x7f\x01", "\\x1b[2J\\x07\\x7f\\x01", "\\u001b[2J\\u0007\\u007f\\u0001"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m", "\\u009b31m"}, /* the same by a control character of 8 bits */
        {"\x9b"
         "31m\xff",
         "\\x9b31m\\xff", "\\ufffd31m\\ufffd"},
        {"\xe2\x80\xa8x", "\\u2028x", "\\u2028x"},
        {"\xc0\x8a\xed\xa0\x80", "\\xc0\\x8a\\xed\\xa0\\x80", "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"cut \xe2\x82", "cut \\xe2\\x82", "cut \\ufffd\\ufffd"},
    };
    for (auto &c : cases) {
        INFO(c.text);
        REQUIRE(mprStartLogging(folder.file().c_str(), MPR_LOG_ANEW) == 0);
        mprLog("t", 0, "%s", c.text);
        CHECK(folder.text() == std::string("t: ") + c.common + "\n");
        REQUIRE(mprStartLogging(folder.file().c_str(), MPR_LOG_ANEW | MPR_LOG_DETAILED) == 0);
        mprLog("a\nb", 0, "%s", c.text);
        CHECK(folder.text().find(std::string("Z a\\nb 0 : ") + c.common + "\n") == 24 - 1);
        REQUIRE(mprStartLogging((folder.file() + ":json").c_str(), MPR_LOG_ANEW) == 0);
        mprLog("t", 0, "%s", c.text);
        CHECK(folder.text().find(std::string(",\"text\":\"") + c.json + "\"}\n") != std::string::npos);
    }
}

TEST_CASE("lines of JSON", "[base][log]") {
    Folder folder;
    Runtime runtime;
    mprSetLogHandler(nullptr);
    const std::string time =
        "\\{\"time\":\"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z\",";
    struct {
        cchar *suffix;
        int flags, level;
    } cases[] = {{":json", 0, 0}, {":4:json", 0, 4}, {":json:4", 0, 4}, {"", MPR_LOG_JSON, 0}, {":3", MPR_LOG_JSON, 3}};
    for (auto &c : cases) {
        INFO(c.suffix);
        mprSetLogLevel(0);
        REQUIRE(mprStartLogging((folder.file() + c.suffix).c_str(), c.flags | MPR_LOG_ANEW) == 0);
        CHECK(mprGetLogLevel() == c.level);
        mprLog("app info", -1, "say \"%s\"", "hi");
        CHECK(
            std::regex_match(folder.text(), std::regex(time + "\"level\":-1,\"tags\":\"app info\",\"thread\":\"main\","
                                                              "\"text\":\"say \\\\\"hi\\\\\"\"\\}\n")));
    }
    /* A line stays an object when it is cut. */
    REQUIRE(mprStartLogging((folder.file() + ":json").c_str(), MPR_LOG_ANEW) == 0);
    mprLog(std::string(500, '\n').c_str(), 0, "%s", std::string(5000, '\x01').c_str());
    std::string line = folder.text();
    CHECK(line.size() <= 4400);
    CHECK(line.substr(line.size() - 9) == "\\u0001\"}\n");
    /* Only the last words are more than the name. */
    REQUIRE(mprStartLogging(folder.file("x:json:json").c_str(), 0) == 0);
    CHECK(folder.has("x:json"));
}

TEST_CASE("a message is not cut within a character", "[base][log]") {
    Log log;
    const std::string text = std::string(1998, 'x') + "\xe2\x82\xac"
                                                      "more";
    mprLog("t", 0, "%s", text.c_str());
    CHECK(log.text() == "t: " + std::string(1998, 'x') + "\n");
    Log::clear();
    mprLog("t", 0, "%s", (text.substr(1) + "more").c_str());
    CHECK(log.text() == "t: " + text.substr(1, 2000) + "\n");
}

TEST_CASE("a log that cannot become a backup is written on", "[base][log]") {
    Folder folder;
    mprSetLogBackup(100, 2, 0);
    REQUIRE(mprStartLogging(folder.file().c_str(), 0) == 0);
    std::string expected;
    auto fill = [&] {
        for (int i = 0; i < 30; i++) {
            mprError("message %02d", i);
            expected += "error: message " + std::string(i < 10 ? "0" : "") + std::to_string(i) + "\n";
        }
    };
    SECTION("a folder is in the way") {
        REQUIRE(mkdir(folder.file("app.log.2").c_str(), 0700) == 0);
        REQUIRE(mkdir(folder.file("app.log.2/x").c_str(), 0700) == 0);
        std::ofstream(folder.file("app.log.1")) << "first";
        fill();
        CHECK(folder.text() == expected);
        CHECK(folder.text("app.log.1") == "first");
        /* And once more at the start: nothing is emptied. */
        CHECK(mprStartLogging(folder.file().c_str(), MPR_LOG_ANEW) == 0);
        CHECK(folder.text() == expected);
        CHECK(mprBackupLog(folder.file().c_str(), 2) == MPR_ERR_CANT_WRITE);
        CHECK(folder.text() == expected);
        /* When the way is free it becomes one. */
        REQUIRE(system(("rm -r " + folder.file("app.log.2")).c_str()) == 0);
        mprSetLogBackup(100, 2, 0);
        mprError("last");
        CHECK(folder.text() == "error: last\n");
        CHECK(folder.text("app.log.1") == expected);
        CHECK(folder.text("app.log.2") == "first");
    }
    SECTION("the folder is read-only") {
        const std::string path = folder.file("");
        Nobody::give(path);
        REQUIRE(chmod(path.c_str(), 0500) == 0);
        {
            const Nobody nobody;
            if (nobody.is) {
                fill();
            }
        }
        REQUIRE(chmod(path.c_str(), 0700) == 0);
        CHECK(folder.text() == expected);
        CHECK_FALSE(folder.has("app.log.1"));
    }
}

TEST_CASE("child: a log that cannot become a backup", "[.][log-stuck]") {
    Folder folder;
    mprSetLogBackup(100, 1, 0);
    REQUIRE(mprStartLogging(folder.file().c_str(), 0) == 0);
    REQUIRE(mkdir(folder.file("app.log.1").c_str(), 0700) == 0);
    for (int i = 0; i < 100; i++) {
        mprError("message %02d", i);
    }
}

TEST_CASE("child: logs that cannot be written", "[.][log-full]") {
    REQUIRE(mprStartLogging("/dev/full", 0) == 0);
    for (int i = 0; i < 10; i++) {
        mprError("message %02d", i);
    }
    REQUIRE(mprStartLogging("none", 0) == 0);

    Folder folder;
    signal(SIGXFSZ, SIG_IGN);
    rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    for (cchar *form : {"", ":json"}) {
        REQUIRE(mprStartLogging((folder.file() + form).c_str(), MPR_LOG_ANEW) == 0);
        rlimit small = before;
        small.rlim_cur = 45;
        setrlimit(RLIMIT_FSIZE, &small);
        for (int i = 0; i < 7; i++) {
            mprError("message %02d", i);
        }
        setrlimit(RLIMIT_FSIZE, &before);
        mprError("again");
        mprError("and again");
        if (*form) {
            CHECK(folder.text().find("\n{\"time\":") == 45);
            CHECK(folder.text().find("\"text\":\"the log: 7 lines were lost here\"}\n{") != std::string::npos);
        } else {
            CHECK(folder.text() == "error: message 00\nerror: message 01\nerror: me\n"
                                   "mpr error: the log: 5 lines were lost here\nerror: again\nerror: and again\n");
        }
    }
}

TEST_CASE("what is wrong with the log is said on standard error, once", "[base][log]") {
    auto times = [](const Ended &child, const std::string &part) {
        int found = 0;
        for (size_t at = 0; (at = child.output.find(part, at)) != std::string::npos; at += part.size()) {
            found++;
        }
        return found;
    };
    Ended stuck = runChild("[log-stuck]");
    INFO(stuck.output);
    CHECK(stuck.exited(0));
    CHECK(times(stuck, "grows past its limit, it cannot become a backup: Is a directory\n") == 1);
    Ended full = runChild("[log-full]");
    INFO(full.output);
    CHECK(full.exited(0));
    CHECK(times(full,
                "mpr error: the log \"/dev/full\" cannot be written, lines are lost until it can: No space left") == 1);
    CHECK(times(full, "mpr error: the log \"/dev/full\" is closed: 10 lines were lost\n") == 1);
    CHECK(times(full, "cannot be written, lines are lost until it can: File too large\n") == 2);
}

TEST_CASE("a log is its owner's, no link, and not inherited", "[base][log]") {
    Folder folder;
    auto permissions = [&](cchar *name) {
        struct stat status;
        REQUIRE(stat(folder.file(name).c_str(), &status) == 0);
        return status.st_mode & 0777;
    };
    const mode_t mask = umask(0);
    mprSetLogBackup(20, 1, 0);
    REQUIRE(mprStartLogging(folder.file().c_str(), 0) == 0);
    mprError("one");
    mprError("another");
    CHECK(permissions("app.log") == 0600);
    CHECK(permissions("app.log.1") == 0600);
    std::ofstream(folder.file("shared.log")) << "";
    REQUIRE(chmod(folder.file("shared.log").c_str(), 0640) == 0);
    REQUIRE(mprStartLogging(folder.file("shared.log").c_str(), 0) == 0);
    mprError("one");
    mprError("another");
    CHECK(permissions("shared.log") == 0640);
    CHECK(permissions("shared.log.1") == 0640);
    const bool may = geteuid() == 0;
    REQUIRE(chown(folder.file("shared.log").c_str(), may ? 1234 : geteuid(), may ? 2345 : getegid()) == 0);
    mprError("a third");
    for (cchar *name : {"shared.log", "shared.log.1"}) {
        struct stat status;
        REQUIRE(stat(folder.file(name).c_str(), &status) == 0);
        CHECK(status.st_uid == (may ? 1234 : geteuid()));
        CHECK(status.st_gid == (may ? 2345 : getegid()));
    }
    umask(mask);

    int found = 0;
    for (int file = 0; file < 1000; file++) {
        char path[PATH_MAX] = {};
        if (readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path, sizeof(path) - 1) > 0 &&
            folder.file("shared.log") == path) {
            found++;
            CHECK((fcntl(file, F_GETFD) & FD_CLOEXEC) != 0);
        }
    }
    CHECK(found == 1);

    std::ofstream(folder.file("victim")) << "untouched";
    REQUIRE(symlink(folder.file("victim").c_str(), folder.file("link").c_str()) == 0);
    Log log;
    for (int flags : {0, MPR_LOG_ANEW}) {
        CHECK(mprStartLogging(folder.file("link").c_str(), flags) == MPR_ERR_CANT_OPEN);
        CHECK(log.has("symbolic links are not followed"));
    }
    CHECK(folder.text("victim") == "untouched");
    /* Nor one that is put in place of the file when that becomes a backup. */
    mprSetLogBackup(20, 0, 0);
    mprSetLogHandler(nullptr);
    REQUIRE(mprStartLogging(folder.file().c_str(), MPR_LOG_ANEW) == 0);
    REQUIRE(unlink(folder.file().c_str()) == 0);
    REQUIRE(symlink(folder.file("victim").c_str(), folder.file().c_str()) == 0);
    for (int i = 0; i < 10; i++) {
        mprError("message %02d", i);
    }
    CHECK(folder.text("victim") == "untouched");
    /* A named pipe without a reader is not waited for. */
    REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
    CHECK(mprStartLogging(folder.file("pipe").c_str(), 0) == MPR_ERR_CANT_OPEN);
}

TEST_CASE("a log that is a pipe or a device keeps its name", "[base][log]") {
    Folder folder;
    REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
    const int reader = open(folder.file("pipe").c_str(), O_RDONLY | O_NONBLOCK);
    REQUIRE(reader >= 0);
    mprSetLogBackup(20, 2, 0);
    mprSetLogHandler(nullptr);
    REQUIRE(mprStartLogging(folder.file("pipe").c_str(), 0) == 0);
    for (int i = 0; i < 3; i++) {
        mprError("message %02d", i);
    }
    char text[200];
    const ssize count = read(reader, text, sizeof(text));
    CHECK(std::string(text, count > 0 ? static_cast<size_t>(count) : 0) ==
          "error: message 00\nerror: message 01\nerror: message 02\n");
    struct stat status;
    CHECK((stat(folder.file("pipe").c_str(), &status) == 0 && S_ISFIFO(status.st_mode)));
    CHECK_FALSE(folder.has("pipe.1"));
    close(reader);
}

TEST_CASE("threads log whole lines while the log is rotated", "[base][log]") {
    Folder folder;
    mprSetLogBackup(4000, 1000, 0);
    REQUIRE(mprStartLogging(folder.file().c_str(), 0) == 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([t] {
            for (int i = 0; i < 500; i++) {
                mprError("%d:%d.", t, i);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    std::set<std::string> lines;
    int count = 0;
    std::string name = "app.log";
    for (int i = 1; folder.has(name.c_str()); i++) {
        std::istringstream in(folder.text(name.c_str()));
        for (std::string line; std::getline(in, line); count++) {
            CHECK(std::regex_match(line, std::regex("error: [0-3]:[0-9]+\\.")));
            lines.insert(line);
        }
        name = "app.log." + std::to_string(i);
    }
    CHECK(count == 2000);
    CHECK(lines.size() == 2000);
}
