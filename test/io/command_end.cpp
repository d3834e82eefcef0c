// SPDX-License-Identifier: MIT
/*
    test/io/command_end.cpp - How commands end: with all their output, with all that they have started, without zombies.
*/
#include "test/support/every_yield.hpp"
#include "test/support/folder.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/printed.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/service.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

using namespace test;

namespace {

/* Whether a child that is made has ended, and others had time to hear of that, before who made it goes on. */
std::atomic<bool> endsFirst;

/* Whether the system has no descriptors any more once a child is made, until a Shortage ends. */
std::atomic<bool> fewDescriptors;

struct Shortage {
    Shortage() {
        getrlimit(RLIMIT_NOFILE, &before);
        fewDescriptors = true;
    }
    ~Shortage() {
        fewDescriptors = false;
        setrlimit(RLIMIT_NOFILE, &before);
    }
    static void begin() {
        rlimit none{};
        getrlimit(RLIMIT_NOFILE, &none);
        none.rlim_cur = 0;
        setrlimit(RLIMIT_NOFILE, &none);
    }

    rlimit before;
};
} // namespace

extern "C" int __real_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                                  const posix_spawnattr_t *attributes, char *const *argv, char *const *envp);
extern "C" int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                                  const posix_spawnattr_t *attributes, char *const *argv, char *const *envp) {
    const int result = __real_posix_spawn(pid, path, actions, attributes, argv, envp);
    if (result == 0 && fewDescriptors) {
        Shortage::begin();
    }
    if (result == 0 && endsFirst) {
        siginfo_t how{};
        while (waitid(P_PID, static_cast<id_t>(*pid), &how, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return result;
}

namespace {

/* What a callback has received; it asks for more until the end, which it sees by closing the channel or not. */
struct Received {
    std::atomic<long> bytes{0};
    std::atomic<int> ends{0};
    bool closes = false;

    static ssize take(MprCmd *cmd, int channel, void *data) {
        auto &self = *static_cast<Received *>(data);
        if (channel < 0) {
            return 0;
        }
        char buf[8192];
        const ssize count = mprReadCmd(cmd, channel, buf, sizeof(buf));
        self.bytes += count > 0 ? count : 0;
        self.ends += count == 0;
        if (count == 0 && self.closes) {
            mprCloseCmdFd(cmd, channel);
        } else {
            mprEnableCmdEvents(cmd, channel);
        }
        return count;
    }
};

/* A process writes so many bytes; @return whether all were in the callback by the time when mprWaitForCmd said that it ended. */
bool receivesAll(MprDispatcher *dispatcher, cchar *bytes, bool closes) {
    Received received;
    received.closes = closes;
    MprCmd *cmd = mprCreateCmd(dispatcher);
    Root root(cmd);
    mprSetCmdCallback(cmd, Received::take, &received);
    cchar *argv[] = {"sh", "-c", "head -c $0 /dev/zero; head -c $0 /dev/zero >&2", bytes, nullptr};
    if (mprStartCmd(cmd, 4, argv, nullptr, MPR_CMD_OUT | MPR_CMD_ERR) != 0 || mprWaitForCmd(cmd, 40000) != 0) {
        return false;
    }
    const bool all = received.bytes == 2 * atol(bytes) && received.ends == 2 && mprGetCmdExitStatus(cmd) == 0;
    mprDestroyCmd(cmd);
    return all;
}

/* A process that is there, and not merely as a zombie. */
bool isAlive(long pid) {
    char path[64], state = 'Z';
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    if (FILE *file = fopen(path, "r")) {
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
            state = 'Z';
        }
        fclose(file);
    }
    return state != 'Z';
}

/* No child is left that runs or has not been waited for. It does not wait for any itself: a zombie stays one. */
bool hasNoChildren() {
    siginfo_t how{};
    return waitid(P_ALL, 0, &how, WEXITED | WNOHANG | WNOWAIT) == -1 && errno == ECHILD;
}

/* Those that other tests left running at the end of their runtimes are nobody's. */
void awaitOldChildren() {
    while (waitpid(-1, nullptr, 0) > 0) {}
}

/* One command by the synchronous call, or by callback and wait. @return Whether all its output has come. */
bool runsOne(int which, int number) {
    const std::string command =
        "sh -c 'echo begin " + std::to_string(number) + "; head -c 3000 /dev/zero | tr \"\\0\" x; echo; echo end'";
    if (which % 2) {
        char *out = nullptr;
        const std::string begin = "begin " + std::to_string(number) + "\n";
        return mprRun(nullptr, command.c_str(), "ignored", &out, nullptr, 40000) == 0 && out &&
               std::string(out) == begin + std::string(3000, 'x') + "\nend\n";
    }
    return receivesAll(nullptr, which % 4 ? "3000" : "200000", which % 8 < 4);
}

void runMany(int total) {
    awaitOldChildren();
    for (bool started : {true, false}) {
        Runtime runtime("", 0, std::max(300, total)); // seconds, for a machine that has other work
        REQUIRE(mprGetDispatcher());
        if (started) {
            REQUIRE(mprStart() == 0);
        }
        REQUIRE(runsOne(1, 0));
        REQUIRE(runsOne(0, 0));
        collect();
        const int files = countEntries("/proc/self/fd");
        std::atomic<int> next{0}, complete{0};
        const auto body = [&](Mutator &) {
            for (int i; (i = next++) < total;) {
                complete += runsOne(i, i);
                mprYield(0);
            }
        };
        {
            Mutator a("a", body), b("b", body), c("c", body), d("d", body);
            a.join();
            b.join();
            c.join();
            d.join();
        }
        CHECK(complete == total);
        CHECK(hasNoChildren());
        collect();
        mprServiceEvents(0, 0);
        CHECK(until([&] { return countEntries("/proc/self/fd") == files; }));
    }
}
} // namespace

TEST_CASE("a command that ends before it has been started is told to have ended", "[io][command]") {
    Runtime runtime;
    REQUIRE(mprStart() == 0);
    static std::atomic<int> ends, status;
    ends = 0;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    mprSetCmdCallback(
        cmd,
        [](MprCmd *self, int channel, void *) -> ssize {
            status = mprGetCmdExitStatus(self);
            ends += channel < 0;
            return 0;
        },
        nullptr);
    cchar *argv[] = {"sh", "-c", "exit 3", nullptr};
    endsFirst = true;
    const int result = mprStartCmd(cmd, 3, argv, nullptr, 0);
    endsFirst = false;
    REQUIRE(result == 0);
    CHECK(until([] { return ends > 0; }));
    CHECK(ends == 1);
    CHECK(status == 3);
    mprDestroyCmd(cmd);
}

TEST_CASE("a command with a callback does not start when its dispatcher was destroyed", "[io][command]") {
    Runtime runtime;
    MprDispatcher *dispatcher = mprCreateDispatcher("gone", 0);
    MprCmd *cmd = mprCreateCmd(dispatcher);
    Root root(cmd);
    mprDestroyDispatcher(dispatcher);
    cchar *argv[] = {"true", nullptr};
    mprSetCmdCallback(
        cmd, [](MprCmd *, int, void *) -> ssize { return 0; }, nullptr);
    for (int flags : {0, MPR_CMD_OUT, MPR_CMD_OUT | MPR_CMD_ERR}) {
        CHECK(mprStartCmd(cmd, 1, argv, nullptr, flags) == MPR_ERR_BAD_STATE);
        CHECK(mprGetCmdPid(cmd) == 0);
        CHECK(mprWaitForCmd(cmd, 1) == MPR_ERR_BAD_STATE); // none was started
    }
    mprSetCmdCallback(cmd, nullptr, nullptr);
    CHECK(mprStartCmd(cmd, 1, argv, nullptr, 0) == 0); // nothing is to be told there
    CHECK(mprWaitForCmd(cmd, 20000) == 0);
}

TEST_CASE("a command is complete when its process has ended and the callback has all output", "[io][command]") {
    for (bool started : {false, true}) {
        Runtime runtime;
        if (started) {
            REQUIRE(mprStart() == 0);
        }
        MprDispatcher *claimed = mprCreateDispatcher("claimed", 0);
        MprDispatcher *worker = mprCreateDispatcher("worker", 0);
        MprDispatcher *prompt = mprCreateDispatcher("prompt", MPR_DISPATCHER_IMMEDIATE);
        Root a(claimed), b(worker), c(prompt);
        REQUIRE(mprStartDispatcher(claimed) == 0);
        for (cchar *bytes : {"0", "1000", "1000000"}) {
            for (MprDispatcher *dispatcher : {static_cast<MprDispatcher *>(nullptr), claimed, worker, prompt}) {
                INFO((started ? "an events' thread, " : "none, ") << (!dispatcher             ? "main"
                                                                      : dispatcher == claimed ? "claimed"
                                                                      : dispatcher == worker  ? "worker"
                                                                                              : "prompt")
                                                                  << ", " << bytes << " bytes");
                CHECK(receivesAll(dispatcher, bytes, false));
                CHECK(receivesAll(dispatcher, bytes, true));
            }
        }
    }
}

TEST_CASE("an event waits for a command whose callbacks are its own dispatcher's", "[io][command]") {
    Runtime runtime;
    static std::atomic<int> complete;
    MprDispatcher *worker = mprCreateDispatcher("worker", 0);
    Root root(worker);
    for (MprDispatcher *dispatcher : {mprGetDispatcher(), worker}) {
        complete = -1;
        const auto proc = [](void *, MprEvent *event) { complete = receivesAll(event->dispatcher, "100000", true); };
        mprCreateEvent(dispatcher, "waits", 0, reinterpret_cast<void *>(static_cast<MprEventProc>(proc)), nullptr, 0);
        CHECK(serviceUntil([] { return complete >= 0; }));
        CHECK(complete == 1);
    }
}

TEST_CASE("a wait for a command ends although its callback wants no more, and from within the callback",
          "[io][command]") {
    Runtime runtime;
    static std::atomic<int> called, waited;
    called = waited = 0;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    cchar *argv[] = {"echo", "text", nullptr};
    mprSetCmdCallback(
        cmd, [](MprCmd *, int channel, void *) { return ssize(called += channel > 0); }, nullptr);
    REQUIRE(mprStartCmd(cmd, 2, argv, nullptr, MPR_CMD_OUT) == 0);
    CHECK(mprWaitForCmd(cmd, 20000) == 0);
    CHECK(called <= 1);
    mprDestroyCmd(cmd);

    mprSetCmdCallback(
        cmd,
        [](MprCmd *self, int channel, void *) {
            waited += channel > 0 && mprWaitForCmd(self, 20000) == 0;
            return ssize(0);
        },
        nullptr);
    REQUIRE(mprStartCmd(cmd, 2, argv, nullptr, MPR_CMD_OUT) == 0);
    CHECK(serviceUntil([] { return waited == 1; }));
}

TEST_CASE("a command is not complete while somebody may write to its output", "[io][command]") {
    Runtime runtime;
    static std::string text;
    text.clear();
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    mprSetCmdCallback(
        cmd,
        [](MprCmd *self, int channel, void *) {
            char buf[100];
            const ssize count = channel > 0 ? mprReadCmd(self, channel, buf, sizeof(buf)) : 0;
            text.append(buf, static_cast<size_t>(count > 0 ? count : 0));
            mprEnableCmdEvents(self, channel);
            return count;
        },
        nullptr);
    cchar *argv[] = {"sh", "-c", "sleep 1000 & echo $!; exit 3", nullptr};
    REQUIRE(mprStartCmd(cmd, 3, argv, nullptr, MPR_CMD_OUT) == 0);
    CHECK(until([&] {
        return mprWaitForCmd(cmd, 20) == MPR_ERR_TIMEOUT && !mprIsCmdRunning(cmd) && text.find('\n') != text.npos;
    }));
    CHECK(mprGetCmdExitStatus(cmd) == 3);
    kill(static_cast<pid_t>(atol(text.c_str())), SIGKILL);
    CHECK(mprWaitForCmd(cmd, 20000) == 0);
}

TEST_CASE("when a command's time is up all that it has started is killed, and waited for", "[io][command]") {
    awaitOldChildren();
    Runtime runtime;
    REQUIRE(mprGetDispatcher()); // nobody services
    // It waits for what it started, or has ended, or ignores what it can.
    for (cchar *rest : {"wait", "exit", "trap \"\" TERM INT HUP; wait"}) {
        char *out = nullptr;
        const std::string command = std::string("sh -c 'sleep 1000 & echo $! $$; ") + rest + "'";
        long started = 0, first = 0;
        for (MprTicks limit = 100; !first && limit < 30000; limit *= 4) { // time enough for it to begin
            CHECK(mprRun(nullptr, command.c_str(), nullptr, &out, nullptr, limit) == MPR_ERR_TIMEOUT);
            if (!out || sscanf(out, "%ld %ld", &started, &first) != 2) {
                first = 0;
            }
        }
        REQUIRE(first > 0);
        CHECK(until([&] { return !isAlive(started); }));
        CHECK_FALSE(isAlive(first));
        CHECK(hasNoChildren());
    }
}

TEST_CASE("what a command leaves running on purpose goes on when it ends in time", "[io][command]") {
    Runtime runtime;
    char *out = nullptr;
    CHECK(mprRun(nullptr, "sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!'", nullptr, &out, nullptr, 20000) == 0);
    REQUIRE(out);
    const long started = atol(out);
    CHECK(isAlive(started));
    kill(static_cast<pid_t>(started), SIGKILL);
}

TEST_CASE("a command that is destroyed while it runs leaves no zombie", "[io][command]") {
    awaitOldChildren();
    Runtime runtime;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    cchar *argv[] = {"sleep", "1000", nullptr};
    for (int flags : {0, MPR_CMD_NEW_SESSION}) {
        REQUIRE(mprStartCmd(cmd, 2, argv, nullptr, flags) == 0);
        mprDestroyCmd(cmd);
        CHECK_FALSE(mprIsCmdRunning(cmd));
        CHECK(serviceUntil(hasNoChildren));
    }
    REQUIRE(mprStartCmd(cmd, 2, argv, nullptr, 0) == 0);
    mprDestroyCmd(cmd);
    runtime.end();
    CHECK(hasNoChildren());
}

TEST_CASE("what runs when the runtime ends is killed with its group, and is no zombie", "[io][command]") {
    awaitOldChildren();
    Runtime runtime;
    Folder folder;
    const std::string place = folder / "pid",
                      script = "sleep 1000 & echo $! >" + place + "_ && mv " + place + "_ " + place + "; wait";
    cchar *leader[] = {"sh", "-c", script.c_str(), nullptr}, *alone[] = {"sleep", "1000", nullptr};
    MprCmd *first = mprCreateCmd(nullptr);
    Root firstRoot(first);
    MprCmd *second = mprCreateCmd(nullptr);
    Root secondRoot(second);
    REQUIRE(mprStartCmd(first, 3, leader, nullptr, MPR_CMD_NEW_SESSION) == 0);
    REQUIRE(mprStartCmd(second, 2, alone, nullptr, 0) == 0);
    REQUIRE(serviceUntil([&] { return access(place.c_str(), F_OK) == 0; }));
    const long started = std::stol(folder.read("pid"));
    CHECK(isAlive(started));
    runtime.end();
    CHECK(hasNoChildren());
    const Watchdog watchdog(60);
    while (isAlive(started)) { // the signal is on its way
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

TEST_CASE("a detached child that outlives its runtime is waited for by a later one", "[io][command]") {
    awaitOldChildren();
    int pid = 0;
    {
        Runtime runtime;
        MprCmd *cmd = mprCreateCmd(nullptr);
        Root root(cmd);
        cchar *argv[] = {"sleep", "1000", nullptr};
        REQUIRE(mprStartCmd(cmd, 2, argv, nullptr, MPR_CMD_DETACH) == 0);
        pid = mprGetCmdPid(cmd);
    }
    CHECK(isAlive(pid));
    kill(pid, SIGKILL);
    siginfo_t how{};
    REQUIRE(waitid(P_PID, static_cast<id_t>(pid), &how, WEXITED | WNOWAIT) == 0);
    Runtime runtime;
    CHECK(mprRun(nullptr, "true", nullptr, nullptr, nullptr, 20000) == 0);
    CHECK(waitid(P_PID, static_cast<id_t>(pid), &how, WEXITED | WNOHANG | WNOWAIT) == -1);
}

TEST_CASE("a script without a first line that says of what is the shell's", "[io][command]") {
    if (emulator()) { // under one, posix_spawn does not say why a program could not be executed
        return;
    }
    Runtime runtime;
    Folder folder;
    const std::string script = folder.write("script", "echo script $1 $2\n");
    REQUIRE(chmod(script.c_str(), 0700) == 0);
    char *out = nullptr;
    CHECK(mprRun(nullptr, (script + " one two").c_str(), nullptr, &out, nullptr, 20000) == 0);
    CHECK((out && std::string(out) == "script one two\n"));
}

TEST_CASE("a program whose first three descriptors are closed", "[.][child][command]") {
    if (!getenv("MPR_TEST_CHILD")) {
        return;
    }
    for (int fd : {0, 1, 2}) {
        close(fd);
    }
    mprCreate(0, nullptr, 0);
    char *out = nullptr, *err = nullptr;
    int failed = mprRun(nullptr, "sh -c 'cat; echo out; echo err >&2; exit 3'", "in ", &out, &err, 20000) != 3 ||
                 !out || strcmp(out, "in out\n") != 0 || !err || strcmp(err, "err\n") != 0;
    failed |= (mprRun(nullptr, "sh -c 'read line; echo out && echo err >&2 && exit 4'", nullptr, nullptr, nullptr,
                      20000) != 4)
              << 1;
    mprLog("test", 0, "to nobody"); // and into nothing of libuv's
    failed |=
        (mprRun(nullptr, "sh -c 'echo out; exit 5'", nullptr, &out, nullptr, 20000) != 5 || strcmp(out, "out\n") != 0)
        << 2;
    failed |= !mprDestroy() << 3;
    _exit(100 + failed);
}

TEST_CASE("commands of a program whose first three descriptors are closed", "[io][command]") {
    const Ended ended = runChild("a program whose first three descriptors are closed");
    INFO("status " << ended.status);
    CHECK(ended.exited(100));
}

TEST_CASE("commands by four threads, with all output, no zombie, no descriptor left", "[io][command]") {
    runMany(static_cast<int>(inTrial() ? 40 : heavy(400)));
}

TEST_CASE("ten thousand commands by four threads", "[.][soak]") {
    runMany(10000);
}

namespace {

int toldEnds = 0;

ssize tellEnd(MprCmd *, int channel, void *) {
    toldEnds += channel == -1;
    return 0;
}
} // namespace

TEST_CASE("the end of a run is reported to nobody once the program has changed its mind", "[io][command]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    MprCmd *cmd = mprCreateCmd(nullptr);
    REQUIRE(cmd);
    mprAddRoot(cmd);
    cchar *argv[] = {"/bin/true", nullptr};
    toldEnds = 0;
    mprSetCmdCallback(cmd, tellEnd, nullptr);
    REQUIRE(mprStartCmd(cmd, 1, argv, nullptr, 0) == 0);
    REQUIRE(mprWaitForCmd(cmd, 10000) == 0);
    const int before = toldEnds; // a wait may serve the callback's dispatcher, too
    int told = before;
    SECTION("no callback any more") {
        mprSetCmdCallback(cmd, nullptr, nullptr);
    }
    SECTION("the command was ended") {
        mprDestroyCmd(cmd);
    }
    SECTION("it was ended and runs once more") {
        mprDestroyCmd(cmd);
        REQUIRE(mprStartCmd(cmd, 1, argv, nullptr, 0) == 0);
        REQUIRE(mprWaitForCmd(cmd, 10000) == 0);
        told = before + 1;
    }
    SECTION("it is as it was") {
        told = 1;
    }
    for (int turns = 0; turns < 20; turns++) {
        mprServiceEvents(10, MPR_SERVICE_NO_BLOCK);
    }
    CHECK(toldEnds == told);
    mprRemoveRoot(cmd);
}

namespace {

/* A program that does not let the runtime hear of its children. */
class Deaf {
public:
    explicit Deaf(bool blocks) {
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        blocks ? pthread_sigmask(SIG_BLOCK, &child, &mask) : pthread_sigmask(SIG_BLOCK, nullptr, &mask);
        sigaction(SIGCHLD, nullptr, &action);
        if (!blocks) {
            struct sigaction own {};
            own.sa_handler = [](int) {};
            sigaction(SIGCHLD, &own, nullptr);
        }
    }
    ~Deaf() {
        sigaction(SIGCHLD, &action, nullptr);
        pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    }
    Deaf(const Deaf &) = delete;
    Deaf &operator=(const Deaf &) = delete;

private:
    sigset_t child, mask;
    struct sigaction action;
};

/* A command of some milliseconds, started with or without descriptors to spare, is waited for without a time-out. */
int waitsForEnd(bool spare) {
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    cchar *argv[] = {"sh", "-c", "sleep 0.05; exit 3", nullptr};
    int result = 0;
    if (spare) {
        result = mprStartCmd(cmd, 3, argv, nullptr, 0);
    } else {
        const Shortage shortage;
        result = mprStartCmd(cmd, 3, argv, nullptr, 0);
    }
    result = result == 0 ? mprWaitForCmd(cmd, -1) : result;
    return result == 0 ? mprGetCmdExitStatus(cmd) : result;
}
} // namespace

TEST_CASE("commands end for a program that blocks SIGCHLD, or handles it", "[io][command]") {
    const bool blocks = GENERATE(true, false);
    const bool spare = GENERATE(true, false);
    const bool started = GENERATE(true, false);
    Runtime runtime;
    if (started) {
        REQUIRE(mprStart() == 0);
    }
    REQUIRE(mprRun(nullptr, "true", nullptr, nullptr, nullptr, -1) == 0); // from here libuv handles it
    const int before = countEntries("/proc/self/fd");
    const std::string had = listFiles();
    {
        const Deaf deaf(blocks);
        CHECK(waitsForEnd(spare) == 3);
        INFO("before: " << had << "\nnow:    " << listFiles());
        CHECK(countEntries("/proc/self/fd") <= before); // by the wait, whoever services events
        char *out = nullptr;
        CHECK(mprRun(nullptr, "echo heard", nullptr, &out, nullptr, -1) == 0);
        CHECK(std::string(out ? out : "") == "heard\n");
    }
    // Its events have run; before, those of the first command may not have, so that it counted more.
    const bool given = until([&] { return collect() >= 0 && countEntries("/proc/self/fd") <= before; });
    INFO("before: " << had << "\nnow:    " << listFiles());
    CHECK(given);
}

TEST_CASE("the end of a run is not told as the next one's", "[io][command]") {
    Runtime runtime("", MPR_USER_EVENTS_THREAD);
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    toldEnds = 0;
    mprSetCmdCallback(cmd, tellEnd, nullptr);
    cchar *first[] = {"/bin/true", nullptr}, *second[] = {"cat", nullptr};
    REQUIRE(mprStartCmd(cmd, 1, first, nullptr, 0) == 0);
    REQUIRE(until([&] { return !mprIsCmdRunning(cmd) || mprIsCmdComplete(cmd); })); // its event is queued, and waits
    REQUIRE(mprStartCmd(cmd, 1, second, nullptr, MPR_CMD_IN) == 0);
    for (int turns = 0; turns < 20; turns++) {
        mprServiceEvents(1, 0);
    }
    CHECK(mprIsCmdRunning(cmd));
    CHECK(toldEnds == 0);
    mprFinalizeCmd(cmd);
    CHECK(serviceUntil([] { return toldEnds > 0; }));
    CHECK(mprGetCmdExitStatus(cmd) == 0);
    for (int turns = 0; turns < 20; turns++) {
        mprServiceEvents(1, 0);
    }
    CHECK(toldEnds == 1);
}

TEST_CASE("a wait for a command ends when the dispatcher of its callback is destroyed meanwhile", "[io][command]") {
    Runtime runtime;
    REQUIRE(mprStart() == 0);
    MprDispatcher *dispatcher = mprCreateDispatcher("going", 0);
    Root a(dispatcher);
    mprDisableDispatcher(dispatcher); // the callback is never called
    MprCmd *cmd = mprCreateCmd(dispatcher);
    Root b(cmd);
    mprSetCmdCallback(cmd, tellEnd, nullptr);
    cchar *argv[] = {"echo", "text", nullptr};
    REQUIRE(mprStartCmd(cmd, 2, argv, nullptr, MPR_CMD_OUT) == 0);
    std::atomic<int> result{1};
    Mutator waiter("waiter", [&](Mutator &) { result = mprWaitForCmd(cmd, -1); });
    REQUIRE(until([&] { return !mprIsCmdRunning(cmd); }));
    CHECK(result == 1); // its output is still to come
    mprDestroyDispatcher(dispatcher);
    waiter.join();
    CHECK(result == 0);
}

TEST_CASE("a command that is started again and again, and whose end no descriptor tells of, has one timer for that",
          "[io][command]") {
    Runtime runtime;
    MprCmd *cmd = mprCreateCmd(nullptr);
    Root root(cmd);
    cchar *argv[] = {"true", nullptr};
    for (int i = 0; i < 20; i++) {
        Shortage shortage;
        REQUIRE(mprStartCmd(cmd, 1, argv, nullptr, 0) == 0);
        CHECK(until([&] { return mprIsCmdComplete(cmd) != 0; }));
    }
    collect();
    const std::string text = memPrinted();
    INFO(text);
    CHECK(std::stoi("0" + lineOf(text, "MprEvent")) < 10);
}
