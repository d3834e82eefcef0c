// SPDX-License-Identifier: MIT
/*
    test/fault/flips/main.cpp - What becomes of a program whose heap's own data is damaged: a bit of it flipped, or a word
    written where none may be.

        flips [--kind NAME] [--count N] [--seed N] [--verbose]    N trials of each kind, a table of how they ended
        flips --detect                                            few trials of some kinds; status 1 when too few were named

    Each trial is a process of its own: it works, is damaged once, works on, is asked by mprVerifyHeap, ends. It ends as
      harmless  nobody noticed anything, and nothing was wrong
      named     a message says that something is wrong, and every block kept its place and contents
      +wrong    a message came first; then a block was lost or changed, the process crashed or hung
      verify    only mprVerifyHeap found it
      wrong     a block was lost, changed, or given to two, and nothing was said
      crash     a signal ended the process, and nothing was said
      hang      it did not end, and nothing was said
 */
#include "test/fault/flips/damage.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace flips;

namespace {

struct Command {
    const char *kind = nullptr;
    size_t count = 100;
    uint64_t seed = 1;
    bool verbose = false, detects = false;
};

// ---- The process that is damaged --------------------------------------------------------------------------------

int report = 1; /* Where it says what happens, a line each */

void say(const char *tag, const std::string &text) {
    const std::string line = std::string(tag) + " " + text + "\n";
    if (::write(report, line.data(), line.size()) < 0) {
        _exit(3);
    }
}

void takeMessage(cchar *, int level, cchar *text) {
    if (level == 0) {
        say("message", text);
    }
}

constexpr size_t before = 4000, after = 6000;

[[noreturn]] void runTrial(const Damage &damage, uint64_t seed) {
    const rlimit none{0, 0}, seconds{10, 12};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &seconds);
    alarm(60);
    mprSetLogHandler(takeMessage);
    mprConfigure("region=1m,poison=0,young=512k,deadline=600000");
    mprCreate(0, nullptr, 0);
    Random random(seed);
    {
        Work work(random);
        bool right = work.run(before + random.below(1000));
        const std::string done = right ? damage.commit(work, random) : "";
        if (done.empty()) {
            _exit(3);
        }
        say("damage", done);
        right = work.run(after);
        for (int i = 0; right && i < 2; i++) {
            mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        }
        right = right && work.checkAll();
        if (!right) {
            say("wrong", work.what());
        }
        say("verify", "");
        mprVerifyHeap();
        if (!right) {
            _exit(0);
        }
        say("end", "");
        mprDestroy();
        say("ended", "");
    }
    _exit(0);
}

// ---- The process that looks on ----------------------------------------------------------------------------------

enum Outcome { harmless, named, namedWrong, verified, wrong, crash, hang, outcomes };
const char *const outcomeNames[] = {"harmless", "named", "+wrong", "verify", "wrong", "crash", "hang"};

bool has(const std::string &output, const char *line, size_t &at) {
    at = output.find(line);
    return at != std::string::npos;
}

/* @param output What the damaged process said, of it after the damage. */
Outcome judge(const std::string &output, int status) {
    size_t message = 0, failed = 0, verify = 0;
    const bool told = has(output, "\nmessage ", message);
    const bool bad = has(output, "\nwrong ", failed);
    const bool asked = has(output, "\nverify ", verify);
    const bool first = told && message < std::min(failed, verify);
    const bool signalled = WIFSIGNALED(status);
    if (bad || signalled) {
        const bool late =
            signalled && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
        return first ? namedWrong : bad ? wrong : late ? hang : crash;
    }
    return !told ? harmless : first || !asked ? named : verified;
}

Outcome watchTrial(const Damage &damage, uint64_t seed, bool verbose) {
    int ends[2];
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(2);
    }
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        report = ends[1];
        runTrial(damage, seed);
    }
    close(ends[1]);
    std::string output;
    char part[4096];
    for (ssize_t got; (got = read(ends[0], part, sizeof(part))) > 0;) {
        if (output.size() < 1 << 20) {
            output.append(part, static_cast<size_t>(got));
        }
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    const size_t from = output.find("damage ");
    if (from == std::string::npos) {
        fprintf(stderr, "flips: %s, seed %llu: no damage done; status %x\n%s", damage.name,
                static_cast<unsigned long long>(seed), static_cast<unsigned>(status), output.c_str());
        exit(2);
    }
    const Outcome outcome = judge(output.substr(from), status);
    if (verbose) {
        printf("%s %llu %s (status %x)\n%.1500s", damage.name, static_cast<unsigned long long>(seed),
               outcomeNames[outcome], static_cast<unsigned>(status), output.c_str() + from);
    }
    return outcome;
}

void printRow(const char *name, const char *where, const size_t (&count)[outcomes]) {
    printf("%-11s", name);
    for (size_t n : count) {
        printf(" %8zu", n);
    }
    printf("  %s\n", where);
    fflush(stdout);
}

void printHeads() {
    printf("%-11s", "");
    for (const char *name : outcomeNames) {
        printf(" %8s", name);
    }
    printf("\n");
}

void runAll(const Command &command) {
    size_t total[outcomes] = {};
    printHeads();
    for (size_t i = 0; i < damageCount; i++) {
        const Damage &damage = damages[i];
        if (command.kind ? strcmp(command.kind, damage.name) != 0 : i == 0) {
            continue;
        }
        size_t count[outcomes] = {};
        for (uint64_t trial = 0; trial < command.count; trial++) {
            const Outcome outcome = watchTrial(damage, command.seed + trial, command.verbose);
            count[outcome]++;
            total[outcome]++;
        }
        printRow(damage.name, damage.where, count);
    }
    printRow("all", "", total);
}

/*
    Of so many trials of a kind at least `named` are named first, at least `found` named or found by mprVerifyHeap, and at
    most `silent` go wrong in silence. A hole that is used again before anybody looks makes the damage harmless, and how
    often that is so depends on how the machine is loaded: 8 to 14 of 24 times.
 */
struct Bar {
    const char *kind;
    size_t named, found, silent;
};
constexpr size_t detectTrials = 24;
constexpr Bar bars[] = {{"none", 0, 0, 0},   {"link", 20, 20, 1},  {"manager", 22, 22, 0},  {"overflow", 10, 10, 7},
                        {"header", 9, 9, 6}, {"inside", 0, 10, 2}, {"insidehole", 0, 6, 2}, {"hole", 15, 21, 1}};

bool detects(const Command &command) {
    bool all = true;
    printHeads();
    for (const Bar &bar : bars) {
        const Damage *damage = damages;
        while (strcmp(damage->name, bar.kind) != 0) {
            damage++;
        }
        size_t count[outcomes] = {};
        for (uint64_t trial = 0; trial < detectTrials; trial++) {
            count[watchTrial(*damage, command.seed + trial, command.verbose)]++;
        }
        printRow(damage->name, damage->where, count);
        const size_t said = count[named] + count[namedWrong];
        const size_t silent = count[wrong] + count[crash] + count[hang];
        const size_t found = said + count[verified];
        if (said < bar.named || found < bar.found || silent > bar.silent ||
            (damage == damages && count[harmless] != detectTrials)) {
            printf("flips: %s: %zu named of %zu, %zu found of %zu, %zu wrong in silence where %zu may be\n", bar.kind,
                   said, bar.named, found, bar.found, silent, bar.silent);
            all = false;
        }
    }
    return all;
}

Command parse(int argc, char **argv) {
    Command command;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--kind") == 0) {
            command.kind = value, i++;
        } else if (strcmp(argv[i], "--count") == 0) {
            command.count = strtoull(value, nullptr, 10), i++;
        } else if (strcmp(argv[i], "--seed") == 0) {
            command.seed = strtoull(value, nullptr, 10), i++;
        } else if (strcmp(argv[i], "--detect") == 0) {
            command.detects = true;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            command.verbose = true;
        } else {
            fprintf(stderr, "usage: flips [--kind NAME] [--count N] [--seed N] [--verbose] [--detect]\n");
            exit(2);
        }
    }
    return command;
}
} // namespace

int main(int argc, char **argv) {
    const Command command = parse(argc, argv);
    if (command.detects) {
        return detects(command) ? 0 : 1;
    }
    runAll(command);
}
