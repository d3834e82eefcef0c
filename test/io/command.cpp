// SPDX-License-Identifier: MIT
/*
    test/io/command.cpp - Commands: output, input, status, time limits, events, what cannot be run.
 */
#include "test/support/folder.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/service.hpp"
#include "test/support/sanitizer.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <unistd.h>
#include <cstdio>
#include <cstring>
#include <string>

using namespace test;

namespace {} // namespace

TEST_CASE("a command's output and status", "[io][command]") {
    Runtime runtime;
    char *out = nullptr, *err = nullptr;
    CHECK(mprRun(nullptr, "/bin/sh -c 'echo \"to out\"; echo to err >&2; exit 3'", nullptr, &out, &err, 20000) == 3);
    REQUIRE((out && err));
    CHECK(std::string(out) == "to out\n");
    CHECK(std::string(err) == "to err\n");
    CHECK(mprRun(nullptr, "true", nullptr, nullptr, nullptr, -1) == 0);
    CHECK(mprRun(nullptr, "sh -c 'kill -9 $$'", nullptr, &out, nullptr, -1) == 128 + SIGKILL);
    CHECK(std::string(out).empty());
}

TEST_CASE("the end of a process is told although libuv has let go of it by then", "[io][command]") {
    Runtime runtime("poison=1"); // what is read after it was freed is no event
    for (int i = 0; i < 20; i++) {
        CHECK(mprRun(nullptr, "true", nullptr, nullptr, nullptr, 20000) == 0);
    }
    int told = 0;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    mprSetCmdCallback(
        cmd,
        [](MprCmd *, int channel, void *data) {
            *static_cast<int *>(data) += channel == -1;
            return ssize(0);
        },
        &told);
    cchar *argv[] = {"true", nullptr};
    for (int i = 1; i <= 20; i++) {
        REQUIRE(mprStartCmd(cmd, 1, argv, nullptr, 0) == 0);
        CHECK(mprWaitForCmd(cmd, 20000) == 0);
        CHECK(serviceUntil([&] { return told >= i; }));
        CHECK(told == i);
    }
}

TEST_CASE("much input and output at once, collections meanwhile", "[io][command]") {
    Runtime runtime("deadline=10000");
    REQUIRE(mprStart() == 0);
    std::string text(heavy(3000000), 'x');
    for (size_t i = 0; i < text.size(); i += 80) {
        text[i] = '\n';
    }
    Mutator collecting("collecting", [](Mutator &self) {
        while (self.go()) {
            mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        }
    });
    char *out = nullptr;
    CHECK(mprRun(nullptr, "cat", text.c_str(), &out, nullptr, 60000) == 0);
    REQUIRE(out);
    CHECK(text == out);
    CHECK(mprRun(nullptr, "true", text.c_str(), nullptr, nullptr, 60000) == 0); // it does not read: no SIGPIPE for us
    CHECK(stats().late == 0);
}

TEST_CASE("a command that takes too long is killed", "[io][command]") {
    Runtime runtime;
    char *out = nullptr;
    MprCmd *cmd = mprCreateCmd(nullptr);
    mprAddRoot(cmd);
    for (MprTicks limit = 200; !out && limit < 30000; limit *= 4) { // time enough for it to begin
        CHECK(mprRunCmd(cmd, "sh -c 'echo begun; exec sleep 1000'", nullptr, nullptr, &out, nullptr, limit, 0) ==
              MPR_ERR_TIMEOUT);
        CHECK_FALSE(mprIsCmdRunning(cmd));
        out = out && *out ? out : nullptr;
    }
    CHECK((out && std::string(out) == "begun\n"));
    CHECK(mprRunCmd(cmd, "sleep 1000", nullptr, nullptr, nullptr, nullptr, 20, 0) == MPR_ERR_TIMEOUT);
    /* Its output comes faster than it is read, so there is always more. */
    CHECK(mprRunCmd(cmd, "cat /dev/zero", nullptr, nullptr, &out, nullptr, 20, 0) == MPR_ERR_TIMEOUT);
    CHECK_FALSE(mprIsCmdRunning(cmd));
    CHECK(mprRunCmd(cmd, "echo again", nullptr, nullptr, &out, nullptr, 20000, 0) == 0);
    CHECK(std::string(out) == "again\n");
    mprRemoveRoot(cmd);
}

TEST_CASE("a command is of our session, or of its own", "[io][command]") {
    Runtime runtime;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    // The fields of /proc/PID/stat: process, name, state, parent, group, session.
    cchar *tell = "sh -c 'read pid name state parent group session rest < /proc/$$/stat; echo $$ $session'";
    for (int flags : {0, MPR_CMD_NEW_SESSION}) {
        char *out = nullptr;
        REQUIRE(mprRunCmd(cmd, tell, nullptr, nullptr, &out, nullptr, 20000, flags) == 0);
        long pid = 0, session = 0;
        REQUIRE((out && sscanf(out, "%ld %ld", &pid, &session) == 2));
        CHECK(pid != getpid());
        CHECK(session == (flags ? pid : static_cast<long>(getsid(0))));
    }
}

TEST_CASE("what cannot be run is refused and named", "[io][command]") {
    Runtime runtime;
    CHECK(mprRun(nullptr, "no-such-program-anywhere", nullptr, nullptr, nullptr, -1) == MPR_ERR_CANT_FIND);
    CHECK(runtime.log.has("no-such-program-anywhere"));
    CHECK(mprRun(nullptr, "/etc/passwd", nullptr, nullptr, nullptr, -1) == MPR_ERR_CANT_ACCESS);
    CHECK(mprRun(nullptr, "", nullptr, nullptr, nullptr, -1) == MPR_ERR_BAD_ARGS);
    CHECK(mprRun(nullptr, nullptr, nullptr, nullptr, nullptr, -1) == MPR_ERR_BAD_ARGS);
    MprCmd *cmd = mprCreateCmd(nullptr);
    CHECK(mprWaitForCmd(cmd, 0) == MPR_ERR_BAD_STATE);
    CHECK(mprGetCmdExitStatus(cmd) == MPR_ERR_BAD_STATE);
    CHECK(mprStopCmd(cmd, 0) == MPR_ERR_BAD_STATE);
    CHECK(mprGetCmdFd(cmd, 1) == -1);
    CHECK(mprGetCmdFd(cmd, 9) == -1);
    char c;
    CHECK(mprReadCmd(cmd, 1, &c, 1) == MPR_ERR_BAD_HANDLE);
    CHECK(mprStartCmd(cmd, 0, nullptr, nullptr, 0) == MPR_ERR_BAD_ARGS);
    mprDestroyCmd(nullptr);
}

TEST_CASE("environment and search path", "[io][command]") {
    Runtime runtime;
    setenv("MPR_TEST_KEPT", "kept", 1);
    MprCmd *cmd = mprCreateCmd(nullptr);
    mprAddRoot(cmd);
    char *out = nullptr;
    cchar *env[] = {"MPR_TEST_NEW=new", nullptr};
    CHECK(mprRunCmd(cmd, "sh -c 'echo $MPR_TEST_KEPT $MPR_TEST_NEW'", env, nullptr, &out, nullptr, -1, 0) == 0);
    CHECK(std::string(out) == "kept new\n");
    cchar *other[] = {"MPR_TEST_KEPT=other", nullptr};
    CHECK(mprRunCmd(cmd, "sh -c 'echo $MPR_TEST_KEPT'", other, nullptr, &out, nullptr, -1, 0) == 0);
    CHECK(std::string(out) == "other\n");
    CHECK(mprRunCmd(cmd, "/bin/sh -c 'echo $MPR_TEST_KEPT$MPR_TEST_NEW'", env, nullptr, &out, nullptr, -1,
                    MPR_CMD_EXACT_ENV) == 0);
    CHECK(std::string(out) == "new\n");
    mprSetCmdSearchPath(cmd, "/nowhere:/etc");
    CHECK(mprRunCmd(cmd, "sh -c true", nullptr, nullptr, nullptr, nullptr, -1, 0) == MPR_ERR_CANT_FIND);
    mprSetCmdSearchPath(cmd, "/nowhere:/bin");
    CHECK(mprRunCmd(cmd, "sh -c true", nullptr, nullptr, nullptr, nullptr, -1, 0) == 0);
    unsetenv("MPR_TEST_KEPT");
    mprRemoveRoot(cmd);
}

TEST_CASE("a command beside us, read as events tell", "[io][command]") {
    Runtime runtime;
    static std::string text;
    static std::atomic<int> ended, status;
    for (bool worker : {false, true}) {
        text.clear();
        ended = 0;
        MprCmd *cmd = mprCreateCmd(worker ? mprCreateDispatcher("cmd", 0) : nullptr);
        mprSetCmdCallback(
            cmd,
            [](MprCmd *cmd, int channel, void *data) {
                if (channel < 0) {
                    status = mprGetCmdExitStatus(cmd);
                    ended += *static_cast<int *>(data) == 5;
                    return ssize(0);
                }
                char buf[100];
                ssize count = mprReadCmd(cmd, channel, buf, sizeof(buf));
                if (count > 0) {
                    text.append(buf, size_t(count));
                }
                if (count != 0) {
                    mprEnableCmdEvents(cmd, channel);
                } else {
                    ended++;
                }
                return count;
            },
            mprMemdup(&*std::begin({5}), sizeof(int)));
        cchar *argv[] = {"sh", "-c", "read line; echo got $line; sleep 0.02; echo more; exit 4", nullptr};
        REQUIRE(mprStartCmd(cmd, 3, argv, nullptr, MPR_CMD_IN | MPR_CMD_OUT) == 0);
        CHECK(mprStartCmd(cmd, 3, argv, nullptr, 0) == MPR_ERR_BAD_STATE);
        CHECK(mprIsCmdRunning(cmd));
        CHECK(mprGetCmdPid(cmd) > 0);
        CHECK(mprGetCmdExitStatus(cmd) == MPR_ERR_NOT_READY);
        mprEnableCmdOutputEvents(cmd, true);
        CHECK(mprWriteCmd(cmd, MPR_CMD_STDIN, "hello\n", 6) == 6);
        mprFinalizeCmd(cmd);
        collect(); // nobody but the process retains it
        CHECK(serviceUntil([] { return ended == 2; }));
        CHECK(text == "got hello\nmore\n");
        CHECK(status == 4);
    }
}

TEST_CASE("channels are closed one by one; a process sees the end of its input and nobody at its output",
          "[io][command]") {
    Runtime runtime;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    cchar *argv[] = {"sh", "-c", "cat; echo end >&2; sleep 0.01; exec 2>&-; read line; exit 3", nullptr};
    REQUIRE(mprStartCmd(cmd, 3, argv, nullptr, MPR_CMD_IN | MPR_CMD_OUT | MPR_CMD_ERR) == 0);
    for (int channel : {MPR_CMD_STDIN, MPR_CMD_STDOUT, MPR_CMD_STDERR}) {
        CHECK(mprGetCmdFd(cmd, channel) >= 0);
    }
    CHECK(mprWriteCmd(cmd, MPR_CMD_STDIN, "text", 4) == 4);
    mprCloseCmdFd(cmd, MPR_CMD_STDIN);
    CHECK(mprGetCmdFd(cmd, MPR_CMD_STDIN) < 0);
    CHECK(mprWriteCmd(cmd, MPR_CMD_STDIN, "text", 4) < 0);
    char buf[10];
    CHECK(mprWaitForSingleIO(mprGetCmdFd(cmd, MPR_CMD_STDOUT), MPR_READABLE, 20000) == MPR_READABLE);
    CHECK(mprReadCmd(cmd, MPR_CMD_STDOUT, buf, sizeof(buf)) == 4);
    CHECK(memcmp(buf, "text", 4) == 0);
    mprCloseCmdFd(cmd, MPR_CMD_STDOUT);
    mprCloseCmdFd(cmd, MPR_CMD_STDOUT); // once more
    CHECK(mprGetCmdFd(cmd, MPR_CMD_STDOUT) < 0);
    CHECK(mprGetCmdFd(cmd, MPR_CMD_STDERR) >= 0);
    CHECK(mprWaitForCmd(cmd, 20000) == 0);
    CHECK(mprGetCmdExitStatus(cmd) == 3);
    mprCloseCmdFd(cmd, 7);
    mprCloseCmdFd(nullptr, MPR_CMD_STDIN);
}

TEST_CASE("a process is stopped, waited for from another thread, and its command is retained while it runs",
          "[io][command]") {
    Runtime runtime;
    REQUIRE(mprStart() == 0);
    cchar *argv[] = {"sleep", "1000", nullptr};
    for (int i = 0; i < 5; i++) {
        MprCmd *cmd = mprCreateCmd(nullptr);
        REQUIRE(mprStartCmd(cmd, 2, argv, nullptr, MPR_CMD_OUT | MPR_CMD_ERR) == 0);
        collect();
        CHECK(mprIsValid(cmd));
        CHECK(mprWaitForCmd(cmd, 5) == MPR_ERR_TIMEOUT);
        CHECK(mprStopCmd(cmd, i % 2 ? SIGKILL : 0) == 0);
        mprHold(cmd);
        CHECK(mprWaitForCmd(cmd, 20000) == 0);
        CHECK(mprGetCmdExitStatus(cmd) == 128 + (i % 2 ? SIGKILL : SIGTERM));
        mprRelease(cmd);
        // The event that tells of the end may still count as running, in the yield after it.
        CHECK(until([&] {
            collect();
            return !mprIsValid(cmd);
        }));
    }
}

TEST_CASE("many commands leave nothing behind", "[io][command]") {
    Runtime runtime;
    mprGetDispatcher();
    int files = 0;
    for (int i = 0; i < 40; i++) {
        char *out = nullptr;
        CHECK(mprRun(nullptr, "echo x", "in", &out, nullptr, 20000) == 0);
        CHECK((out && std::string(out) == "x\n"));
        mprServiceEvents(0, 0);
        if (i == 2) {
            collect();
            files = countEntries("/proc/self/fd");
        }
    }
    collect();
    CHECK(countEntries("/proc/self/fd") == files);
    cchar *argv[] = {"sleep", "0.1", nullptr};
    CHECK(mprStartCmd(mprCreateCmd(nullptr), 2, argv, nullptr, MPR_CMD_OUT) == 0); // it outlives the runtime
}

TEST_CASE("a folder named like a program hides none, and an empty folder of the search path is the current one",
          "[io][command]") {
    Runtime runtime;
    Folder folder;
    const std::string before = std::filesystem::current_path(), own = folder.write("own", "#!/bin/sh\nexit 7\n");
    mkdir((folder / "sh").c_str(), 0755);
    chmod(own.c_str(), 0755);
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    mprSetCmdSearchPath(cmd, (folder.root + ":/bin").c_str());
    CHECK(mprRunCmd(cmd, "sh -c 'exit 3'", nullptr, nullptr, nullptr, nullptr, -1, 0) == 3);
    CHECK(mprRunCmd(cmd, (folder / "sh").c_str(), nullptr, nullptr, nullptr, nullptr, -1, 0) == MPR_ERR_CANT_ACCESS);
    std::filesystem::current_path(folder.root);
    for (cchar *search : {":/bin", "/bin:", "/bin::/usr/bin", ""}) {
        INFO(search);
        mprSetCmdSearchPath(cmd, search);
        CHECK(mprRunCmd(cmd, "own", nullptr, nullptr, nullptr, nullptr, -1, 0) == 7);
        mprSetCmdDir(cmd, "/");
        CHECK(mprRunCmd(cmd, "own", nullptr, nullptr, nullptr, nullptr, -1, 0) == 7);
        mprSetCmdDir(cmd, nullptr);
    }
    std::filesystem::current_path(before);
}

TEST_CASE("the log says what was not there: the program, its interpreter, or its working folder", "[io][command]") {
    if (emulator()) {
        WARN("not tried: an emulated child is a copy, so what it cannot do after that is told by its status");
        return;
    }
    Runtime runtime;
    Folder folder;
    const std::string script = folder.write("script", "#!/no/such/interpreter\n");
    chmod(script.c_str(), 0755);
    CHECK(mprRun(nullptr, script.c_str(), nullptr, nullptr, nullptr, -1) < 0);
    CHECK(runtime.log.has("interpreter"));
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    mprSetCmdDir(cmd, "/no/such/folder");
    CHECK(mprRunCmd(cmd, "/bin/true", nullptr, nullptr, nullptr, nullptr, -1, 0) < 0);
    CHECK(runtime.log.has("working folder \"/no/such/folder\""));
}

TEST_CASE("a text is written as far as the child takes it, though another holds its input open", "[io][command]") {
    Runtime runtime;
    REQUIRE(mprStart() == 0);
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    const std::string text(1'000'000, 'x');
    // What it leaves in the background has its input and reads nothing of it.
    cchar *argv[] = {"sh", "-c", "exec 3<&0; sleep 30 <&3 & sleep 0.05", nullptr};
    REQUIRE(mprStartCmd(cmd, 3, argv, nullptr, MPR_CMD_IN | MPR_CMD_NEW_SESSION) == 0);
    const int pid = mprGetCmdPid(cmd);
    const ssize written = mprWriteCmdBlock(cmd, MPR_CMD_STDIN, text.data(), static_cast<ssize>(text.size()));
    CHECK(written < static_cast<ssize>(text.size()));
    CHECK_FALSE(mprIsCmdRunning(cmd));
    kill(-pid, SIGKILL);
}

TEST_CASE("a child that wants its output read before it takes more input gets both", "[io][command]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD); // nobody but the calls here services
    static std::atomic<long> came;
    came = 0;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    mprSetCmdCallback(
        cmd,
        [](MprCmd *cmd, int channel, void *) {
            char buf[8192];
            const ssize count = channel >= 0 ? mprReadCmd(cmd, channel, buf, sizeof(buf)) : 0;
            came += count > 0 ? count : 0;
            if (channel >= 0 && count != 0) {
                mprEnableCmdEvents(cmd, channel);
            }
            return count;
        },
        nullptr);
    const std::string text(1'000'000, 'x');
    cchar *argv[] = {"cat", nullptr};
    REQUIRE(mprStartCmd(cmd, 1, argv, nullptr, MPR_CMD_IN | MPR_CMD_OUT) == 0);
    CHECK(mprWriteCmdBlock(cmd, MPR_CMD_STDIN, text.data(), static_cast<ssize>(text.size())) ==
          static_cast<ssize>(text.size()));
    mprFinalizeCmd(cmd);
    CHECK(mprWaitForCmd(cmd, -1) == 0);
    CHECK(came == static_cast<long>(text.size()));
}
