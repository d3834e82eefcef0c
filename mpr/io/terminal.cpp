// SPDX-License-Identifier: MIT
/*
    terminal.cpp - Passwords asked for at a terminal. See mpr/app.h.
 */
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mpr/app.h"
#include "mpr/base/string.hpp"
#include "mpr/gc/guard.hpp"
#include "mpr/memory.h"
#include "mpr/os/os.hpp"
#include "mpr/task/waiting.hpp"

namespace {

constexpr std::size_t longest = 1024;
constexpr char interrupt = 3; // Ctrl-C, where the terminal makes no signal of it

/** A terminal that neither shows what is typed nor makes signals of it while this exists. */
class Silent {
public:
    explicit Silent(int fd) : fd_(fd), silent_(tcgetattr(fd, &before_) == 0) {
        if (silent_) {
            termios now = before_;
            now.c_lflag &= ~static_cast<tcflag_t>(ECHO | ISIG);
            tcsetattr(fd_, TCSAFLUSH, &now);
        }
    }
    ~Silent() {
        if (silent_) {
            tcsetattr(fd_, TCSAFLUSH, &before_);
        }
    }
    Silent(const Silent&) = delete;
    Silent& operator=(const Silent&) = delete;

private:
    int fd_;
    termios before_;
    bool silent_;
};

void say(int fd, const char* text) {
    const ssize_t written = write(fd, text, std::strlen(text));
    (void) written; // a user who does not see it may still type
}

/** Read a line, not further. @return Its length; -1 at the end of input or when it is given up. */
std::ptrdiff_t readLine(int fd, char (&line)[longest]) {
    std::size_t length = 0;
    for (;;) {
        char c = 0;
        const ssize_t count = read(fd, &c, 1);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0 || c == interrupt) {
            return -1;
        }
        if (c == '\n') {
            return static_cast<std::ptrdiff_t>(length);
        }
        if (length < sizeof(line)) {
            line[length++] = c;
        }
    }
}
} // namespace

char* mprGetPassword(const char* prompt) {
    if (!mpr::gc::admitRunning("mprGetPassword")) {
        return nullptr;
    }
    const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    const int from = terminal >= 0 ? terminal : STDIN_FILENO;
    char line[longest];
    std::ptrdiff_t length = 0;
    {
        const Silent silent(from);
        say(terminal >= 0 ? terminal : STDERR_FILENO, prompt ? prompt : "Password: ");
        const mpr::task::Waiting waiting(__builtin_return_address(0));
        length = readLine(from, line);
    }
    if (terminal >= 0) {
        say(terminal, "\n"); // the one that was typed was not shown
        close(terminal);
    }
    char* password = length >= 0 ? mpr::base::newString(line, static_cast<std::size_t>(length)) : nullptr;
    explicit_bzero(line, sizeof(line));
    return password;
}
