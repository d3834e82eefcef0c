// SPDX-License-Identifier: MIT
/*
    test/stress/places/main.cpp - Servers whose programs do anything at any place where the HTTP room calls them: write, wait,
    finalize, fail, suspend ... in every procedure of handlers and filters, in notifiers, events, timers, from foreign
    threads; clients that are slow, that leave, that ask without waiting. Whatever they do: nothing crashes or hangs, each
    request ends once, and the answer is what was written.

        places --programs P --seed N [--only LETTERS]   plans of seeds N, N+1, ... each in a process of its own
        places --seconds S [--seed N]                   for so long
        places --one --seed N                           one plan in this process; the plan is printed

        places --detect                                 faults made on purpose: whether they are noticed

    Status 1 when a plan failed. Letters of acts are in acts.cpp.
 */
#include "test/stress/places/client.hpp"
#include "test/stress/places/ledger.hpp"
#include "test/stress/places/site.hpp"
#include "test/support/process.hpp"
#include "test/support/sanitizer.hpp"

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace places;

namespace {

constexpr unsigned hangs = 600; // seconds that no plan takes, however busy the machine

/* Run a plan in this process. */
void run(const Plan &plan) {
    alarm(hangs * (test::slow() ? 6 : 1)); // ends it with a signal
    openLedger(plan);
    const int port = startSite(plan);
    std::atomic<size_t> left{plan.clients.size()};
    std::vector<std::thread> clients;
    for (const auto &visits : plan.clients) {
        clients.emplace_back([&] {
            for (const Visit &each : visits) {
                visit(port, each);
            }
            left--;
        });
    }
    serveUntil([&] { return left == 0 || (plan.endsWith > 0 && countBegun() >= plan.endsWith); });
    if (left == 0) {
        awaitRest();
        closeLedger();
    }
    stopSite();
    closeLedger();
    for (std::thread &client : clients) {
        client.join();
    }
}

/* @return Whether a plan of a child process holds. */
bool holds(const Plan &plan) {
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
        run(plan);
        _exit(0);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        fault("no child");
    }
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "signal %s\n", strsignal(WTERMSIG(status)));
    }
    return status == 0;
}

/* A child runs a sabotaged plan. @return Its messages. */
std::string findingsOf(Sabotage sabotage) {
    const auto trial = [sabotage] {
        run(plainPlan(sabotage));
        fputs("nothing", stderr);
    };
    return test::inChild(trial).output;
}

/* @return Faults that were not noticed, or called something else. */
int detect() {
    const struct {
        Sabotage sabotage;
        const char *noticed;
    } all[] = {{Sabotage::none, "nothing"},
               {Sabotage::losesByte, "a document is another"},
               {Sabotage::losesPacket, "is ready with"},
               {Sabotage::neverEnds, "takes too long"},
               {Sabotage::leavesOpen, "2 filters are open"},
               {Sabotage::endsTwice, "told of DONE 2 times"},
               {Sabotage::goesBack, "state 4 after 6"},
               {Sabotage::callsLate, "after its end"},
               {Sabotage::staysSilent, "does not end"}};
    int missed = 0;
    for (const auto &each : all) {
        const std::string findings = findingsOf(each.sabotage);
        const bool noticed = findings.find(each.noticed) != std::string::npos;
        printf("%s: %s\n", each.noticed, noticed ? "noticed" : "not noticed");
        if (!noticed) {
            fprintf(stderr, "%s\n", findings.c_str());
            missed++;
        }
    }
    return missed;
}

[[noreturn]] void usage() {
    fprintf(stderr, "usage: places [--programs P | --seconds S | --one | --detect] [--seed N] [--only LETTERS] "
                    "[--keep-going]\n");
    exit(2);
}

} // namespace

int main(int argc, char **argv) {
    const char *given = getenv("MPR_SEED");
    uint64_t seed = given ? strtoull(given, nullptr, 10) : static_cast<uint64_t>(time(nullptr)) % 1000000 * 1000;
    long programs = 0, seconds = 20;
    bool one = false, keepGoing = false, detects = false;
    std::string only;
    for (int i = 1; i < argc; i++) {
        const std::string name = argv[i];
        if (name == "--one") {
            one = true;
        } else if (name == "--keep-going") {
            keepGoing = true;
        } else if (name == "--detect") {
            detects = true;
        } else if (i + 1 == argc) {
            usage();
        } else if (name == "--seed") {
            seed = strtoull(argv[++i], nullptr, 10);
        } else if (name == "--programs") {
            programs = atol(argv[++i]);
        } else if (name == "--seconds") {
            seconds = atol(argv[++i]);
        } else if (name == "--only") {
            only = argv[++i];
        } else {
            usage();
        }
    }
    if (detects) {
        return detect() > 0;
    }
    if (one) {
        const Plan plan = makePlan(seed, only);
        printf("%s", plan.text().c_str());
        fflush(stdout);
        run(plan);
        return 0;
    }
    const time_t begin = time(nullptr);
    int faults = 0;
    long count = 0;
    for (; programs ? count < programs : time(nullptr) - begin < seconds; count++, seed++) {
        const Plan plan = makePlan(seed, only);
        if (!holds(plan)) {
            faults++;
            fprintf(stderr, "---- places --one --seed %" PRIu64 "%s%s\n%s", seed, only.empty() ? "" : " --only ",
                    only.c_str(), keepGoing ? "" : plan.text().c_str());
            if (!keepGoing) {
                break;
            }
        }
    }
    printf("places: %ld plans, %ld s, %d faults\n", count, static_cast<long>(time(nullptr) - begin), faults);
    return faults > 0;
}
