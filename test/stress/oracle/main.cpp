// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/main.cpp - The command line of the oracle.

        oracle [--seconds S] [--seed N] [--profile NAME] [--keep-going]   programs of seeds N, N+1, ... in child processes
        oracle --programs P --seed N                                      so many, however long they take
        oracle --one --seed N ...                                         one program in this process

        oracle --detect                                                   faults made on purpose: whether it notices

    The first seed is that of MPR_SEED in the environment, else a fresh one; it is printed. Status 1 when a program failed.
    What a program does follows from its seed; --threads, --ghosts, --lives, --operations, --options and --without (kinds of
    operations) change that, to make a program that fails smaller. --older leaves out what a runtime of before did not know.
 */
#include "test/stress/oracle/driver.hpp"

#include "test/stress/oracle/fault.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>
#include <unistd.h>

using namespace oracle;

namespace {

struct Command {
    Wishes wishes;
    Extent extent;
    bool one = false, keepGoing = false, detects = false;
};

uint64_t freshSeed() {
    const char *given = getenv("MPR_SEED");
    return given ? strtoull(given, nullptr, 10) : static_cast<uint64_t>(time(nullptr)) % 1000000 * 1000;
}

[[noreturn]] void usage() {
    fprintf(stderr,
            "usage: oracle [--seconds S | --programs P] [--seed N] [--profile NAME] [--keep-going] [--one] [--detect]\n"
            "              [--threads N] [--ghosts N] [--lives N] [--operations N] [--options O] [--without "
            "A,B] [--older]\n"
            "profiles:");
    for (auto &name : profiles()) {
        fprintf(stderr, " %s", name.c_str());
    }
    fprintf(stderr, "\n");
    exit(2);
}

std::vector<std::string> split(const char *list) {
    std::vector<std::string> names;
    std::istringstream items(list);
    for (std::string item; std::getline(items, item, ',');) {
        names.push_back(item);
    }
    return names;
}

/* @return Whether name is an option with this value. */
bool take(Command &command, const std::string &name, const char *value) {
    Wishes &wishes = command.wishes;
    if (name == "--seconds") {
        command.extent.seconds = wishes.seconds = atof(value);
    } else if (name == "--programs") {
        command.extent.programs = atoi(value);
    } else if (name == "--seed") {
        wishes.seed = strtoull(value, nullptr, 10);
    } else if (name == "--profile") {
        wishes.profile = value;
    } else if (name == "--threads") {
        wishes.threads = atoi(value);
    } else if (name == "--ghosts") {
        wishes.ghosts = atoi(value);
    } else if (name == "--lives") {
        wishes.lives = atoi(value);
    } else if (name == "--operations") {
        wishes.operations = atol(value);
    } else if (name == "--options") {
        wishes.options = value;
        wishes.optionsSet = true;
    } else if (name == "--without") {
        wishes.without = split(value);
    } else {
        return false;
    }
    return true;
}

Command parse(int argc, char **argv) {
    Command command;
    command.wishes.seed = freshSeed();
    for (int i = 1; i < argc; i++) {
        const std::string name = argv[i];
        if (name == "--one") {
            command.one = true;
        } else if (name == "--keep-going") {
            command.keepGoing = true;
        } else if (name == "--older") {
            command.wishes.older = true;
        } else if (name == "--detect") {
            command.detects = true;
        } else if (i + 1 == argc || !take(command, name, argv[++i])) {
            usage();
        }
    }
    return command;
}

} // namespace

int main(int argc, char **argv) {
    Command command = parse(argc, argv);
    if (command.one) {
        runHere(command.wishes, true);
    }
    if (command.detects) {
        return detect() > 0 ? 1 : 0;
    }
    command.wishes.seconds = 0; // each program as long as its plan says
    return drive(command.wishes, command.extent, command.keepGoing) > 0 ? 1 : 0;
}
