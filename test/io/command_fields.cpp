// SPDX-License-Identifier: MIT
/*
    test/io/command_fields.cpp - What programs read of a command and set for its child: members, buffers, folder, environment.
 */
#include "test/support/folder.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/service.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

using namespace test;

namespace {

std::string outputOf(MprCmd *cmd, cchar *text, cchar **envp = nullptr, int flags = 0) {
    cchar *argv[] = {"/bin/sh", "-c", text, nullptr};
    char *out = nullptr;
    const int status = mprRunCmdV(cmd, 3, argv, envp, nullptr, &out, nullptr, 20000, flags);
    return status == 0 && out ? out : "status " + std::to_string(status);
}

/* Reads what there is into the command's own buffer, as older programs do. */
ssize readIntoBuffer(MprCmd *cmd, int channel, void *) {
    MprBuf *buf = mprGetCmdBuf(cmd, channel);
    if (!buf) {
        return 0;
    }
    for (;;) {
        if (mprGetBufSpace(buf) < 512) {
            mprGrowBuf(buf, 512);
        }
        const ssize count = mprReadCmd(cmd, channel, mprGetBufEnd(buf), mprGetBufSpace(buf));
        if (count <= 0) {
            if (count < 0) {
                mprEnableCmdEvents(cmd, channel);
            }
            mprAddNullToBuf(buf);
            return count;
        }
        mprAdjustBufEnd(buf, count);
    }
}
} // namespace

TEST_CASE("a command given as words keeps its output in its buffers", "[io][command]") {
    Runtime runtime;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    CHECK((cmd->pid == 0 && cmd->complete == 0 && cmd->stdoutBuf == nullptr && mprIsCmdComplete(cmd) == 0));
    cmd->userFlags = 7;
    cchar *argv[] = {"sh", "-c", "echo \"$1\"; echo oh >&2; exit 2", "sh", "two  words", nullptr};
    char *out = nullptr, *err = nullptr;
    CHECK(mprRunCmdV(cmd, 5, argv, nullptr, nullptr, &out, &err, 20000, 0) == 2);
    REQUIRE((cmd->stdoutBuf && cmd->stderrBuf));
    CHECK(std::string(out) == "two  words\n");
    CHECK(cmd->stdoutBuf->start == out);
    CHECK(mprGetBufLength(cmd->stdoutBuf) == 11);
    CHECK(mprGetCmdBuf(cmd, MPR_CMD_STDERR) == cmd->stderrBuf);
    CHECK(mprGetCmdBuf(cmd, MPR_CMD_STDIN) == nullptr);
    collect();
    CHECK(std::string(cmd->stderrBuf->start) == "oh\n");
    CHECK((cmd->status == 2 && cmd->complete == 1 && cmd->pid == 0 && cmd->userFlags == 7));
    CHECK(mprRunCmdV(cmd, 0, argv, nullptr, nullptr, &out, nullptr, 20000, 0) == MPR_ERR_BAD_ARGS);
    CHECK(out == nullptr);
    CHECK(mprRunCmdV(nullptr, 1, argv, nullptr, nullptr, nullptr, nullptr, 20000, 0) == MPR_ERR_BAD_ARGS);
}

TEST_CASE("a callback fills the command's buffer, and the member says when all has come", "[io][command]") {
    Runtime runtime;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    mprSetCmdCallback(cmd, readIntoBuffer, nullptr);
    cchar *argv[] = {"sh", "-c", "read line; echo got $line; read line; exit 3", nullptr};
    REQUIRE(mprStartCmd(cmd, 3, argv, nullptr, MPR_CMD_IN | MPR_CMD_OUT) == 0);
    CHECK(cmd->pid > 0);
    CHECK(cmd->pid == mprGetCmdPid(cmd));
    CHECK(mprAreCmdEventsEnabled(cmd, MPR_CMD_STDOUT));
    CHECK_FALSE(mprAreCmdEventsEnabled(cmd, MPR_CMD_STDERR));
    CHECK_FALSE(mprAreCmdEventsEnabled(nullptr, MPR_CMD_STDOUT));
    CHECK(mprWriteCmdBlock(cmd, MPR_CMD_STDIN, "here\n", 5) == 5);
    CHECK(serviceUntil([&] { return mprGetBufLength(cmd->stdoutBuf) > 0; }));
    CHECK((cmd->complete == 0 && mprIsCmdComplete(cmd) == 0));
    mprFinalizeCmd(cmd);
    CHECK(serviceUntil([&] { return cmd->complete != 0; }));
    CHECK(std::string(cmd->stdoutBuf->start) == "got here\n");
    CHECK(mprIsCmdComplete(cmd) == 1);
    CHECK((cmd->status == 3 && cmd->pid == 0));
    mprDisableCmdEvents(cmd, MPR_CMD_STDOUT);
    CHECK_FALSE(mprAreCmdEventsEnabled(cmd, MPR_CMD_STDOUT));
    CHECK(mprWriteCmdBlock(cmd, MPR_CMD_STDIN, "x", 1) == MPR_ERR_BAD_HANDLE);
}

TEST_CASE("a child takes more than a pipe holds, while its command is only held by the call", "[io][command]") {
    Runtime runtime("everyyield=1");
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    cchar *argv[] = {"sh", "-c", "sleep 0.05; wc -c", nullptr};
    REQUIRE(mprStartCmd(cmd, 3, argv, nullptr, MPR_CMD_IN | MPR_CMD_OUT) == 0);
    constexpr ssize size = 300000;
    auto *much = static_cast<char *>(mprAllocZeroed(size));
    CHECK(mprWriteCmdBlock(cmd, MPR_CMD_STDIN, much, size) == size);
    mprFinalizeCmd(cmd);
    CHECK(mprWaitForCmd(cmd, 20000) == 0);
    char text[32] = {};
    CHECK(mprReadCmd(cmd, MPR_CMD_STDOUT, text, sizeof(text) - 1) > 0);
    CHECK(std::stoi(text) == size);
    cchar *ends[] = {"true", nullptr};
    REQUIRE(mprStartCmd(cmd, 1, ends, nullptr, MPR_CMD_IN) == 0);
    much = static_cast<char *>(mprAllocZeroed(size));
    CHECK(mprWriteCmdBlock(cmd, MPR_CMD_STDIN, much, size) < size);
    CHECK(mprWaitForCmd(cmd, 20000) == 0);
}

TEST_CASE("where a child runs and what environment it has", "[io][command]") {
    Runtime runtime;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    char own[4096];
    REQUIRE(getcwd(own, sizeof(own)));
    mprSetCmdDir(cmd, "/usr");
    CHECK(outputOf(cmd, "pwd") == "/usr\n");
    const Folder folder;
    const std::string script = folder / "script";
    mprWritePathContents(script.c_str(), "#!/bin/sh\npwd\n", -1, 0755);
    REQUIRE(chdir(folder.root.c_str()) == 0);
    cchar *relative[] = {"./script", nullptr};
    char *out = nullptr;
    CHECK(mprRunCmdV(cmd, 1, relative, nullptr, nullptr, &out, nullptr, 20000, 0) == 0);
    CHECK(std::string(out) == "/usr\n");
    REQUIRE(chdir(own) == 0);
    mprSetCmdDir(cmd, "/there/is/none");
    if (!emulator()) { // under one, posix_spawn does not say why a program could not be executed
        CHECK(outputOf(cmd, "pwd") == "status " + std::to_string(MPR_ERR_CANT_CREATE));
    }
    mprSetCmdDir(cmd, nullptr);
    CHECK(outputOf(cmd, "pwd") == std::string(own) + "\n");

    cchar *usual[] = {"WHICH=usual", nullptr};
    cchar *set[] = {"WHICH=set", "MORE=1", nullptr};
    cchar *given[] = {"WHICH=given", nullptr};
    cchar *which = "echo ${WHICH}${MORE} ${PATH:+path}";
    mprSetCmdDefaultEnv(cmd, usual);
    CHECK(outputOf(cmd, which) == "usual path\n");
    mprSetCmdEnv(cmd, set);
    set[0] = "WHICH=changed"; // it was copied
    collect();
    CHECK(outputOf(cmd, which) == "set1 path\n");
    CHECK(outputOf(cmd, which, given) == "given path\n");
    CHECK(outputOf(cmd, "echo ${WHICH}${HOME}", nullptr, MPR_CMD_EXACT_ENV) == "set\n");
    mprSetCmdEnv(cmd, nullptr);
    mprSetCmdDefaultEnv(cmd, nullptr);
    CHECK(outputOf(cmd, "echo [$WHICH]") == "[]\n");
}

TEST_CASE("a detached child goes on when its command is destroyed and the runtime ends", "[io][command]") {
    const Folder folder;
    const std::string done = folder / "done", go = folder / "go";
    const std::string text = "while [ ! -e " + go + " ]; do sleep 0.02; done; echo > " + done;
    int pid = 0;
    {
        Runtime runtime;
        MprCmd *cmd = mprCreateCmd(nullptr);
        Root root(cmd);
        cchar *argv[] = {"sh", "-c", text.c_str(), nullptr};
        REQUIRE(mprStartCmd(cmd, 3, argv, nullptr, MPR_CMD_DETACH) == 0);
        pid = cmd->pid;
        CHECK(untilUnyielded([&] { return getsid(pid) == pid; })); // an emulator starts a child by copying the parent
        mprDestroyCmd(cmd);
        CHECK((cmd->pid == 0 && !mprIsCmdRunning(cmd)));
        CHECK(kill(pid, 0) == 0);
    }
    CHECK(kill(pid, 0) == 0);
    fclose(fopen(go.c_str(), "w"));
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
    CHECK(access(done.c_str(), F_OK) == 0);
}

TEST_CASE("a command is disconnected: its process goes on", "[io][command]") {
    Runtime runtime;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    cchar *argv[] = {"sh", "-c", "read line; exit 5", nullptr};
    REQUIRE(mprStartCmd(cmd, 3, argv, nullptr, MPR_CMD_IN | MPR_CMD_OUT) == 0);
    mprDisconnectCmd(cmd);
    CHECK((mprGetCmdFd(cmd, MPR_CMD_STDIN) == -1 && mprGetCmdFd(cmd, MPR_CMD_STDOUT) == -1));
    CHECK(mprWaitForCmd(cmd, 20000) == 0);
    CHECK(cmd->status == 5);
    mprDisconnectCmd(nullptr);
}

TEST_CASE("a command is destroyed though the thread that waited for it has ended in its callback", "[io][command]") {
    Runtime runtime;
    static MprCmd *cmd;
    cmd = nullptr;
    const auto wait = [](void *, MprThread *) {
        MprDispatcher *own = mprCreateDispatcher("own", 0);
        mprStartDispatcher(own);
        MprCmd *made = mprCreateCmd(own);
        mprAddRoot(made);
        cmd = made;
        const auto leave = [](MprCmd *, int, void *) -> ssize { pthread_exit(nullptr); };
        mprSetCmdCallback(made, leave, nullptr);
        cchar *argv[] = {"/bin/sh", "-c", "echo x; exec sleep 1000", nullptr};
        mprStartCmd(made, 3, argv, nullptr, MPR_CMD_OUT);
        mprWaitForCmd(made, -1);
    };
    REQUIRE(mprStartThread(mprCreateThread("waits", reinterpret_cast<void *>(+wait), nullptr, 0)) == 0);
    CHECK(until([] { return stats().threads == 1; }));
    REQUIRE(cmd);
    CHECK(mprIsCmdRunning(cmd));
    mprDestroyCmd(cmd);
    CHECK_FALSE(mprIsCmdRunning(cmd));
    CHECK_FALSE(runtime.log.has("another thread waits"));
}

TEST_CASE("to destroy a command that another thread waits for is refused and named", "[io][command][misuse]") {
    Runtime runtime;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    static std::atomic<bool> waits;
    waits = false;
    const auto heard = [](MprCmd *self, int channel, void *) {
        char text[10];
        waits = true; // nobody services events but the thread that waits
        return channel < 0 ? ssize{0} : mprReadCmd(self, channel, text, sizeof(text));
    };
    mprSetCmdCallback(cmd, heard, nullptr);
    cchar *argv[] = {"sh", "-c", "echo; read line; exit 4", nullptr};
    REQUIRE(mprStartCmd(cmd, 3, argv, nullptr, MPR_CMD_IN | MPR_CMD_OUT) == 0);
    std::atomic<int> result{-1};
    {
        Mutator waiter("waiter", [&](Mutator &) { result = mprWaitForCmd(cmd, 20000); });
        CHECK(until([] { return waits.load(); }));
        mprDestroyCmd(cmd);
        CHECK(Log::has("mprDestroyCmd"));
        CHECK(Log::has("another thread waits for this command"));
        CHECK(mprIsCmdRunning(cmd));
        mprFinalizeCmd(cmd);
    }
    CHECK(result == 0);
    CHECK(cmd->status == 4);
    CHECK(stats().misuses == 1);
    mprDestroyCmd(cmd);
    CHECK(stats().misuses == 1);
}
