// SPDX-License-Identifier: MIT
/*
    test/io/local_socket.cpp - Sockets that are files: who may connect, what of an earlier process is replaced and what
    not, and that nothing is left behind.
 */
#include "test/support/folder.hpp"
#include "test/support/mutator.hpp"
#include "test/support/nobody.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

using namespace test;

namespace {

/* A socket that is rooted as long as this. */
struct Kept {
    Kept() {
        REQUIRE(sp);
        mprAddRoot(sp);
    }
    ~Kept() { mprRemoveRoot(sp); }
    Kept(const Kept &) = delete;
    Kept &operator=(const Kept &) = delete;
    bool listens(const std::string &path) const {
        return mprListenOnSocket(sp, ("unix:" + path).c_str(), 7, 0) != SOCKET_ERROR;
    }
    int connects(const std::string &path) const { return mprConnectSocket(sp, ("unix:" + path).c_str(), 0, 0); }

    MprSocket *sp = mprCreateSocket();
};

/* The mode of a file with its type; 0: there is none. */
mode_t modeOf(const std::string &path) {
    struct stat info;
    return lstat(path.c_str(), &info) == 0 ? info.st_mode : 0;
}

/* @return The descriptor of a listener that is not mpr's. */
int listenAt(const std::string &path, int backlog) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    strcpy(name.sun_path, path.c_str());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(bind(fd, reinterpret_cast<sockaddr *>(&name), sizeof(name)) == 0);
    REQUIRE(listen(fd, backlog) == 0);
    return fd;
}

/* What a process that was killed leaves. */
void leaveStale(const std::string &path) {
    close(listenAt(path, 1));
    REQUIRE(S_ISSOCK(modeOf(path)));
}
} // namespace

TEST_CASE("a socket may be a file that only its user may use, and that is removed with it", "[io][localsocket]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder / "a.sock";
    Kept listener, client;
    REQUIRE(listener.listens(path));
    CHECK(modeOf(path) == (S_IFSOCK | 0600));
    CHECK(listener.sp->port == 0);
    REQUIRE(client.connects(path) == 0);
    MprSocket *server = mprAcceptSocket(listener.sp);
    REQUIRE(server);
    CHECK(std::string(server->ip) == "unix:");
    CHECK(std::string(server->acceptIp) == "unix:" + path);
    CHECK(mprWriteSocketString(client.sp, "ping") == 4);
    char bytes[8] = "";
    CHECK(mprReadSocket(server, bytes, sizeof(bytes)) == 4);
    CHECK(std::string(bytes) == "ping");
    mprCloseSocket(server, true);
    CHECK(modeOf(path) != 0);
    mprCloseSocket(listener.sp, true);
    CHECK(modeOf(path) == 0);
    Kept late;
    CHECK(late.connects(path) == MPR_ERR_CANT_CONNECT);
}

namespace {

/* A listener that has as many connections as it may. */
struct FullListener {
    FullListener() { REQUIRE(first.connects(path) == 0); }
    ~FullListener() { close(fd); }
    FullListener(const FullListener &) = delete;
    FullListener &operator=(const FullListener &) = delete;
    void acceptOne() const { close(accept(fd, nullptr, nullptr)); }

    Folder folder;
    const std::string path = folder / "a.sock";
    const int fd = listenAt(path, 0);
    Kept first;
};

void joinYielded(std::thread &thread) {
    mprYield(MPR_YIELD_STICKY);
    thread.join();
    mprResetYield();
}
} // namespace

TEST_CASE("who connects to a file waits for a listener that has as many as it may", "[io][localsocket]") {
    Runtime runtime;
    const FullListener listener;
    Kept second;
    std::thread other([&listener] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100)); // the second has been refused by then, mostly
        listener.acceptOne();
        listener.acceptOne();
    });
    CHECK(second.connects(listener.path) == 0);
    joinYielded(other);
}

TEST_CASE("a wait for a listener that has as many as it may ends when another thread disconnects",
          "[io][localsocket]") {
    Runtime runtime;
    const FullListener listener;
    Kept second;
    std::thread other([&] {
        while (mprGetSocketHandle(second.sp) < 0) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        mprDisconnectSocket(second.sp);
        listener.acceptOne(); // there is room now, too late
    });
    CHECK(second.connects(listener.path) == MPR_ERR_CANT_CONNECT);
    CHECK(mprGetSocketError(second.sp) == ECANCELED);
    joinYielded(other);
}

TEST_CASE("a socket's file is replaced if nobody listens, and only then", "[io][localsocket]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder / "a.sock";
    Kept first, second, client;
    SECTION("of a process that is no more") {
        leaveStale(path);
        REQUIRE(second.listens(path));
        CHECK(client.connects(path) == 0);
    }
    SECTION("of one that listens") {
        REQUIRE(first.listens(path));
        CHECK_FALSE(second.listens(path));
        CHECK(runtime.log.has("unix:" + path));
        CHECK(client.connects(path) == 0);
        MprSocket *accepted = mprAcceptSocket(first.sp); /* Who has asked whether it listens comes first */
        CHECK(accepted);
    }
    SECTION("what is no socket") {
        folder.write("a.sock", "contents");
        CHECK_FALSE(second.listens(path));
        CHECK(folder.read("a.sock") == "contents");
    }
}

TEST_CASE("a stale socket file that may not be removed is named as such, not as in use", "[io][localsocket]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder / "a.sock";
    Kept listener;
    Nobody::give(folder.root);
    const Nobody nobody;
    if (!nobody.is) {
        return;
    }
    leaveStale(path);
    REQUIRE(chmod(folder.root.c_str(), 0500) == 0);
    CHECK_FALSE(listener.listens(path));
    CHECK(mprGetSocketError(listener.sp) == EACCES);
    CHECK(runtime.log.has("unix:" + path + " port 0: Permission denied"));
    REQUIRE(chmod(folder.root.c_str(), 0700) == 0);
    CHECK(listener.listens(path));
}

TEST_CASE("a socket removes its own file, not another's", "[io][localsocket]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder / "a.sock";
    Kept first, second;
    REQUIRE(first.listens(path));
    unlink(path.c_str());
    REQUIRE(second.listens(path));
    mprCloseSocket(first.sp, true);
    CHECK(modeOf(path) != 0);
    SECTION("also when its descriptor was cloned") {
        mprCloseSocket(mprCloneSocket(second.sp), true);
        CHECK(modeOf(path) != 0);
        mprCloseSocket(second.sp, true);
        CHECK(modeOf(path) == 0);
    }
    SECTION("but what is given away is the program's") {
        close(mprStealSocketHandle(second.sp));
        CHECK(modeOf(path) != 0);
    }
}

TEST_CASE("a socket that is collected removes its file, and so does the runtime's end", "[io][localsocket]") {
    Runtime runtime("everyyield=0");
    Folder folder;
    const std::string path = folder / "a.sock";
    MprSocket *sp = mprCreateSocket();
    REQUIRE(mprListenOnSocket(sp, ("unix:" + path).c_str(), 0, 0) != SOCKET_ERROR);
    const bool kept = GENERATE(false, true);
    if (kept) {
        mprHold(sp);
        collect();
        CHECK(modeOf(path) != 0);
        runtime.end();
    } else {
        collect();
    }
    CHECK(modeOf(path) == 0);
}

TEST_CASE("a path that is none is refused and named", "[io][localsocket]") {
    Runtime runtime;
    Folder folder;
    Kept sp;
    const std::string longest(sizeof(sockaddr_un::sun_path), 'x');
    for (const std::string &path : {std::string(), longest, folder / "none/a.sock"}) {
        INFO(path);
        Log::clear();
        CHECK_FALSE(sp.listens(path));
        CHECK(Log::has("mprListenOnSocket: unix:" + path));
        CHECK(sp.connects(path) == MPR_ERR_CANT_CONNECT);
        CHECK(Log::has("mprConnectSocket: unix:" + path));
    }
    CHECK(mprListenOnSocket(sp.sp, ("unix:" + (folder / "a")).c_str(), 0, MPR_SOCKET_DATAGRAM) == SOCKET_ERROR);
    /* As long as can be, without its end. */
    Folder other;
    const std::string most = other.root + "/" + std::string(sizeof(sockaddr_un::sun_path) - 2 - other.root.size(), 'y');
    CHECK(sp.listens(most));
    CHECK(modeOf(most) != 0);
}
