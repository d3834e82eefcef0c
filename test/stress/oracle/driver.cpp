// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/driver.cpp - Child processes, their ends, and the search for a smaller program.

    A child is forked before this process has made a thread or a runtime, and executes nothing anew: so it works under an
    emulator, too.
 */
#include "test/stress/oracle/driver.hpp"

#include "test/stress/oracle/fault.hpp"
#include "test/stress/oracle/ops.hpp"
#include "test/stress/oracle/program.hpp"
#include "test/stress/oracle/sabotage.hpp"
#include "test/support/sanitizer.hpp"

#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace oracle {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int hangs = 300; // seconds that no program takes, however busy the machine

double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

/* Read what the child writes until it ends or its time is over. @return Whether it has closed its end. */
bool listen(int fd, int seconds, std::string &output) {
    constexpr size_t most = 1 << 16;
    const auto begin = Clock::now();
    char text[4096];
    for (;;) {
        const double left = seconds - since(begin);
        pollfd ready{fd, POLLIN, 0};
        if (left <= 0 || poll(&ready, 1, static_cast<int>(left * 1000) + 1) == 0) {
            return false;
        }
        const ssize_t got = read(fd, text, sizeof(text));
        if (got <= 0) {
            return true;
        }
        if (output.size() < most) {
            output.append(text, static_cast<size_t>(got));
        }
    }
}

/* What the threads of a program that hangs are about, as the system sees them: asleep or busy, and where. */
std::string threadsOf(pid_t pid) {
    std::ostringstream out;
    std::error_code none;
    for (auto &task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", none)) {
        out << "    thread";
        for (const char *name : {"comm", "wchan", "syscall", "schedstat"}) { // the last: nanoseconds it ran and waited
            std::string line;
            std::getline(std::ifstream(task.path() / name), line);
            out << " " << name << " " << line;
        }
        out << "\n";
    }
    return out.str();
}

void readCounts(Outcome &outcome) {
    const size_t at = outcome.output.rfind("COUNTS ");
    if (at != std::string::npos) {
        sscanf(outcome.output.c_str() + at, "COUNTS %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &outcome.operations,
               &outcome.collections, &outcome.checks, &outcome.nulls);
    }
}

void beChild(const Wishes &wishes, int fd) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(fd, 1);
    dup2(fd, 2);
    close(fd);
    runHere(wishes, false);
    _exit(0);
}

/* Whether a program fails in so many tries. */
bool fails(const Wishes &wishes, int tries, Clock::time_point end, Outcome &outcome) {
    for (; tries > 0 && Clock::now() < end; tries--) {
        Outcome now = runInChild(wishes, hangs);
        if (now.failed) {
            outcome = now;
            return true;
        }
    }
    return false;
}

void report(const Wishes &wishes, const Outcome &outcome) {
    fprintf(stderr, "---- a program failed: %s\n     %s\n%s\n", outcome.what.c_str(), commandLine(wishes).c_str(),
            outcome.output.c_str());
}

} // namespace

Outcome runInChild(const Wishes &wishes, int secondsAtMost) {
    Outcome outcome;
    int fds[2];
    fflush(nullptr);
    if (pipe(fds) != 0) {
        fault("pipe fails");
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        beChild(wishes, fds[1]);
    }
    close(fds[1]);
    const bool ended = pid > 0 && listen(fds[0], secondsAtMost * (test::slow() ? 6 : 1), outcome.output);
    close(fds[0]);
    if (!ended) {
        outcome.output += threadsOf(pid);
        kill(pid, SIGABRT);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (!ended) {
        outcome.what = "it hangs";
    } else if (WIFSIGNALED(status)) {
        outcome.what = std::string("signal ") + strsignal(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        outcome.what = "status " + std::to_string(WEXITSTATUS(status));
    }
    outcome.failed = !outcome.what.empty();
    readCounts(outcome);
    return outcome;
}

void runHere(const Wishes &wishes, bool verbose) {
    const Plan plan = makePlan(wishes);
    setHeadline(plan.text() + "\n" + commandLine(wishes));
    captureMessages();
    Program program(plan);
    program.run();
    if (verbose) {
        printf("%s\n", plan.text().c_str());
        for (size_t i = 0; i < opCount; i++) {
            printf("%16s %" PRIu64 "\n", ops[i].name, program.counts[i].load());
        }
    }
    printf("COUNTS %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", program.total.load(), program.collections.load(),
           program.checks.load(), program.nulls.load());
    fflush(stdout);
    _exit(0); // what the oracle has in memory is not to be looked for by a leak checker
}

Wishes shorten(Wishes wishes, Outcome &outcome, double seconds) {
    constexpr int tries = 8;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    const auto attempt = [&](Wishes smaller) {
        const bool still = fails(smaller, tries, end, outcome);
        wishes = still ? smaller : wishes;
        return still;
    };
    const Plan plan = makePlan(wishes);
    const auto with = [&](auto change) {
        Wishes smaller = wishes;
        change(smaller);
        return smaller;
    };
    if (!attempt(wishes)) {
        return wishes; // does not fail again: as it is
    }
    attempt(with([](Wishes &less) { less.threads = 1; }));
    attempt(with([](Wishes &less) { less.ghosts = 0; }));
    attempt(with([](Wishes &less) { less.lives = 1; }));
    for (long operations = 20000; operations >= 20; operations /= 3) {
        if (operations < plan.operations && !attempt(with([&](Wishes &less) { less.operations = operations; }))) {
            break;
        }
    }
    for (size_t i = 0; i < opCount; i++) {
        if (plan.weights[i] > 0) {
            attempt(with([&](Wishes &less) { less.without.push_back(ops[i].name); }));
        }
    }
    return wishes;
}

std::string commandLine(const Wishes &wishes) {
    std::ostringstream out;
    out << "oracle --one --seed " << wishes.seed;
    if (wishes.older) {
        out << " --older";
    }
    if (!wishes.profile.empty()) {
        out << " --profile " << wishes.profile;
    }
    if (wishes.optionsSet) {
        out << " --options '" << wishes.options << "'";
    }
    const auto number = [&](const char *name, auto value) {
        if (value >= 0) {
            out << " --" << name << " " << value;
        }
    };
    number("threads", wishes.threads);
    number("ghosts", wishes.ghosts);
    number("lives", wishes.lives);
    number("operations", wishes.operations);
    for (size_t i = 0; i < wishes.without.size(); i++) {
        out << (i == 0 ? " --without " : ",") << wishes.without[i];
    }
    return out.str();
}

int detect() {
    int missed = 0;
    for (size_t i = 0; i < sabotageCount; i++) {
        Wishes wishes;
        wishes.seed = 1;
        wishes.profile = "mixed";
        wishes.optionsSet = true;
        wishes.threads = wishes.lives = 1;
        wishes.ghosts = 0;
        wishes.operations = 50;
        wishes.sabotage = static_cast<int>(i);
        const Outcome outcome = runInChild(wishes, hangs);
        const bool noticed = outcome.output.find(sabotages[i].noticed) != std::string::npos;
        printf("%s: %s\n", sabotages[i].name, noticed ? "noticed" : "not noticed");
        if (!noticed) {
            missed++;
            report(wishes, outcome);
        }
    }
    return missed;
}

int drive(Wishes first, Extent extent, bool keepGoing) {
    const auto begin = Clock::now();
    Outcome sum;
    int programs = 0, faults = 0;
    const auto goesOn = [&] { return extent.programs ? programs < extent.programs : since(begin) < extent.seconds; };
    printf("oracle: first seed %" PRIu64 "%s%s, ", first.seed, first.profile.empty() ? "" : ", profile ",
           first.profile.c_str());
    extent.programs ? printf("%d programs\n", extent.programs) : printf("%.0f s\n", extent.seconds);
    for (; goesOn() && (faults == 0 || keepGoing); first.seed++) {
        Outcome outcome = runInChild(first, hangs);
        programs++;
        sum.operations += outcome.operations;
        sum.collections += outcome.collections;
        sum.checks += outcome.checks;
        sum.nulls += outcome.nulls;
        if (outcome.failed) {
            faults++;
            fprintf(stderr, "after %.1f s:\n", since(begin));
            report(first, outcome);
            if (!keepGoing) {
                const Wishes smaller = shorten(first, outcome, 60);
                fprintf(stderr, "---- shortened:\n");
                report(smaller, outcome);
            }
        }
    }
    printf("oracle: %d programs, %" PRIu64 " operations, %" PRIu64 " collections, %" PRIu64 " comparisons, %" PRIu64
           " allocations refused, %.0f s, %d faults\n",
           programs, sum.operations, sum.collections, sum.checks, sum.nulls, since(begin), faults);
    return faults;
}

} // namespace oracle
