// SPDX-License-Identifier: MIT
/*
    test/io/terminal.cpp - Passwords: typed at a terminal that does not show them, or read from standard input.
 */
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstring>
#include <string>

using namespace test;

namespace {

/* In a session of its own, of which a terminal is that of the process if there is a name. @return The child's number. */
pid_t ask(cchar *terminal, int input) {
    const std::string self = selfPath();
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        setsid();
        if (terminal) {
            open(terminal, O_RDWR); // the first that a leader of a session opens
        } else {
            dup2(input, 0);
        }
        becomeCase(self, terminal ? "child: asks at the terminal" : "child: asks standard input");
    }
    return child;
}

/* What a child does; its status says what it was told. */
[[noreturn]] void hear(cchar *prompt) {
    int status = 2;
    mprConfigure("everyyield=1");
    if (mprCreate(0, nullptr, 0)) {
        cchar *password = mprGetPassword(prompt);
        status = !password ? 3 : std::string(password) == "open sesame" ? 0 : 1;
    }
    _exit(status);
}

int statusOf(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Terminal {
    int fd = posix_openpt(O_RDWR | O_NOCTTY);
    std::string shown;

    Terminal() { REQUIRE((fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0)); }
    ~Terminal() { close(fd); }

    /* Wait until it shows something. */
    bool shows(cchar *text) {
        char part[100];
        while (shown.find(text) == std::string::npos) {
            pollfd ready{fd, POLLIN, 0};
            const ssize_t count = poll(&ready, 1, 30000) == 1 ? read(fd, part, sizeof(part)) : 0;
            if (count <= 0) {
                return false;
            }
            shown.append(part, static_cast<size_t>(count));
        }
        return true;
    }
    void type(const std::string &text) { REQUIRE(write(fd, text.data(), text.size()) > 0); }
    bool echoes() const {
        termios now;
        return tcgetattr(fd, &now) == 0 && (now.c_lflag & ECHO);
    }
};
} // namespace

TEST_CASE("child: asks at the terminal", "[.child]") {
    hear("Word? ");
}

TEST_CASE("child: asks standard input", "[.child]") {
    hear(nullptr);
}

TEST_CASE("a password is typed at a terminal and not shown", "[io][terminal]") {
    Watchdog watchdog(60);
    Terminal terminal;
    const int other = open(ptsname(terminal.fd), O_RDWR | O_NOCTTY); // it stays when the child ends
    const pid_t child = ask(ptsname(terminal.fd), -1);
    REQUIRE(terminal.shows("Word? "));
    CHECK_FALSE(terminal.echoes());
    terminal.type("open sesame\n");
    CHECK(statusOf(child) == 0);
    CHECK(terminal.echoes());
    CHECK(terminal.shows("\n"));
    CHECK(terminal.shown.find("sesame") == std::string::npos);

    const pid_t another = ask(ptsname(terminal.fd), -1);
    terminal.shown.clear();
    REQUIRE(terminal.shows("Word? "));
    terminal.type("op\x03\n"); // given up; the terminal hands lines over
    CHECK(statusOf(another) == 3);
    CHECK(terminal.echoes());
    close(other);
}

TEST_CASE("without a terminal a password comes from standard input", "[io][terminal]") {
    Watchdog watchdog(60);
    for (cchar *typed : {"open sesame\nmore", "open sesame", "else\n"}) {
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        REQUIRE(write(ends[1], typed, strlen(typed)) > 0);
        close(ends[1]);
        const int expected = typed[0] != 'o' ? 1 : strchr(typed, '\n') ? 0 : 3;
        CHECK(statusOf(ask(nullptr, ends[0])) == expected);
        close(ends[0]);
    }
}
