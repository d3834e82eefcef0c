// SPDX-License-Identifier: MIT
/*
    test/fault/syscalls/main.cpp - What becomes of programs when a call to the system fails: out of descriptors, threads,
    memory, space.

        syscalls [--short] [--program NAME] [--call NAME] [--verbose]    a table; status 1 when a program behaves badly
        syscalls --detect                                                whether programs that do are found

    Each example, the programs of README.md and the demo run again and again: in each run another call fails, the first of
    its kind, the second and so on, once or from then on. Whatever fails, a program must not spin, abort, crash or hang; where
    it cannot do its job it says why, and its status is not 0. The demo takes seconds, so of it fewer calls fail;
    --short takes for each program the first calls of a kind, the last, and some between.
 */
#include "test/fault/syscalls/trial.hpp"

#include "test/support/folder.hpp"
#include "test/support/process.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <netdb.h>
#include <sys/stat.h>
#include <thread>

using namespace syscalls;

namespace {

struct Command {
    std::string program, call;
    bool isShort = false, detects = false, verbose = false;
};

/* Errors that a kind of call may have. Those of `once` pass: who tries again forever is right. */
struct Kind {
    Call call;
    std::vector<int> lasting, once;
    bool ofDemo = false; // fails in the demo, too, when there is little time
};

const Kind kinds[] = {
    {callOpen, {EMFILE, ENFILE, ENOMEM}, {EINTR}},
    {callOpendir, {EMFILE, ENOMEM}, {}},
    {callSocket, {EMFILE, ENFILE, ENOBUFS}, {}, true},
    {callAccept, {EMFILE, ENFILE, ENOMEM}, {EINTR, ECONNABORTED, EAGAIN}, true},
    {callPipe, {EMFILE, ENFILE}, {}, true},
    {callEpollCreate, {EMFILE, ENOMEM}, {}},
    {callEpollCtl, {ENOMEM, ENOSPC}, {}},
    {callEventfd, {EMFILE, ENFILE, ENOMEM}, {}},
    {callDup, {EMFILE}, {}},
    {callRead, {EIO}, {EINTR}},
    {callRecv, {ECONNRESET, ENOMEM}, {EINTR, EAGAIN}},
    {callWrite, {ENOSPC, EIO}, {EINTR}},
    {callSend, {EPIPE, ENOBUFS}, {EINTR, EAGAIN}},
    {callFsync, {EIO, ENOSPC}, {}},
    {callClose, {EIO, ENOSPC}, {}},
    {callRename, {ENOSPC, EIO}, {}},
    {callUnlink, {EIO}, {}},
    {callMkdir, {ENOSPC}, {}},
    {callSpawn, {EAGAIN, ENOMEM}, {}},
    {callThread, {EAGAIN}, {}, true},
    {callMmap, {ENOMEM}, {}, true},
    {callMunmap, {ENOMEM}, {}},
    {callMadvise, {ENOMEM}, {EAGAIN}},
    {callMprotect, {ENOMEM}, {}},
    {callKey, {EAGAIN}, {}},
    {callSetspecific, {ENOMEM}, {}},
    {callAtfork, {ENOMEM}, {}},
    {callGetaddrinfo, {EAI_MEMORY, EAI_AGAIN}, {}},
    {callPoll, {ENOMEM}, {EINTR}},
    {callEpollWait, {}, {EINTR}},
    {callWaitid, {}, {EINTR}},
    {callFutex, {}, {EINTR, EAGAIN}},
    {callBind, {ENOMEM}, {}},
    {callListen, {EADDRINUSE}, {}},
    {callConnect, {ENETUNREACH}, {}},
    {callGetsockname, {ENOBUFS}, {}},
    {callSetsockopt, {ENOMEM}, {}},
    {callGetrandom, {ENOSYS}, {EINTR}},
};

/* Where this build has its programs. */
std::string besides() {
    const std::string self = test::selfPath();
    return self.substr(0, self.rfind("/test/"));
}

/* A certificate for localhost that is its own issuer's, so that no run has to make one. @return false without openssl. */
bool makeCertificate(const std::string &folder) {
    const std::string command = "cd " + folder +
                                " && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
                                "-addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem 2>log && "
                                "cp cert.pem ca.pem";
    return system(command.c_str()) == 0;
}

/* @param folder Where to put what they need. */
std::vector<Program> programs(const std::string &folder) {
    const std::string build = besides(), examples = build + "/examples/", tests = build + "/test/";
    const auto isBuilt = [&](const char *name) { return access((examples + name).c_str(), X_OK) == 0; };
    const auto example = [&](const char *name, const char *done) { return Program{name, {examples + name}, done}; };
    std::vector<Program> all = {
        example("buffers", "as sent"),
        example("commands", "ended with status 7"),
        example("events", "enough"),
        example("files", "done"),
        example("hashes", "length 42"),
        example("hello_c", "500 kept"),
        example("hello_cpp", "500 kept"),
        example("lists", "doing sweep"),
        example("logging", "two words"),
        example("paths", "sub/c.txt matches"),
        example("signals", "asked to stop"),
        example("sockets", "client: goodbye"),
        example("strings", "Content-Length: 34"),
        example("threads", "10 served"),
        example("time", "took"),
        example("waiting", "read: one"),
        example("workers", "4203 primes"),
        {"readme_c", {tests + "readme_c"}, "999999"},
        {"readme_cpp", {tests + "readme_cpp"}, "999999"},
    };
    // What a build may leave out.
    for (const Program &program : {
             example("cache", "4 items"),
             example("digest", "$2b$10$"),
             example("json", "cached: "),
             example("mime", "index.page: "),
             example("modules", "unloaded: yes"),
             example("xml", "mismatched tag"),
         }) {
        if (isBuilt(program.name)) {
            all.push_back(program);
        }
    }
    if (isBuilt("tls") && makeCertificate(folder)) {
        all.push_back({"tls", {examples + "tls", folder}, "came back"});
    }
    if (isBuilt("service")) {
        all.push_back(
            {"demo",
             {examples + "service", "--demo", "--seconds", "1", "--redline", "12m", "--max", "16m", "--cache", "3m"},
             "served on",
             25,
             true,
             60});
    }
    return all;
}

struct Trial {
    const Program *program;
    Fault fault;
    Outcome outcome;
};

/*
    Which of the calls of a kind are to fail: all, or the first, the last and some between. One alone: an early one, after
    which the program needs more of them.
 */
std::vector<uint64_t> choose(uint64_t calls, uint64_t most) {
    if (most == 1 && calls > 1) {
        return {(calls + 3) / 4};
    }
    std::vector<uint64_t> chosen;
    const uint64_t count = std::min(calls, most);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t nth = calls <= most ? i + 1 : i < most / 2 ? i + 1 : calls - (count - 1 - i) * calls / most;
        if (chosen.empty() || chosen.back() < nth) {
            chosen.push_back(nth);
        }
    }
    return chosen;
}

void plan(const Program &program, const Outcome &reference, const Command &command, std::vector<Trial> &trials) {
    const bool isDemo = program.ownsLoop;
    const uint64_t most = isDemo ? (command.isShort ? 1 : 4) : command.isShort ? 3 : 200;
    for (const Kind &kind : kinds) {
        if (!command.call.empty() && command.call != callNames[kind.call]) {
            continue;
        }
        if (isDemo && command.isShort && !kind.ofDemo) {
            continue;
        }
        // A thread to which OpenSSL 3.0 could give no value crashes in OpenSSL when it ends.
        if (kind.call == callSetspecific && strcmp(program.name, "tls") == 0) {
            continue;
        }
        for (const uint64_t nth : choose(reference.calls[kind.call], most)) {
            for (const int error : kind.lasting) {
                if (command.isShort && (error != kind.lasting[(nth + program.name[0]) % kind.lasting.size()])) {
                    continue;
                }
                trials.push_back({&program, {kind.call, error, nth, true}, {}});
                // One that passes, as none does, OpenSSL ignores where a server offers a session: it would go on.
                if (error != EPIPE || strcmp(program.name, "tls") != 0) {
                    trials.push_back({&program, {kind.call, error, nth, false}, {}});
                }
            }
            for (const int error : kind.once) {
                if (!command.isShort || (error == kind.once[nth % kind.once.size()] && nth < 3 && !isDemo)) {
                    trials.push_back({&program, {kind.call, error, nth, false}, {}});
                }
            }
        }
    }
}

/* Four at a time: most of them wait. */
void runAll(std::vector<Trial> &trials, const std::string &library, const std::string &folder) {
    std::atomic<size_t> next{0};
    const auto work = [&](int self) {
        const std::string own = folder + "/" + std::to_string(self);
        mkdir(own.c_str(), 0700);
        for (size_t i = 0; (i = next++) < trials.size();) {
            trials[i].outcome = run(*trials[i].program, trials[i].fault, library, own);
        }
    };
    std::vector<std::thread> workers;
    for (int i = 0; i < 4; i++) {
        workers.emplace_back(work, i);
    }
    for (std::thread &worker : workers) {
        worker.join();
    }
}

std::string describe(const Trial &trial) {
    char text[200];
    snprintf(text, sizeof(text), "%s: %s %llu %s %s", trial.program->name, callNames[trial.fault.call],
             static_cast<unsigned long long>(trial.fault.nth), errorName(trial.fault.error),
             trial.fault.on ? "and on" : "once");
    return text;
}

void print(const Trial &trial) {
    printf("%s: %s (status %x)\n", describe(trial).c_str(), verdictNames[trial.outcome.verdict],
           static_cast<unsigned>(trial.outcome.status));
    const std::string text = trial.outcome.errors.substr(0, 600);
    if (!text.empty()) {
        printf("    %s\n", text.substr(0, text.find_last_not_of('\n') + 1).c_str());
    }
}

/* How many trials of each kind of call and error had which end. @return How many were bad. */
size_t printTable(const std::vector<Trial> &trials) {
    std::map<std::pair<Call, int>, std::vector<size_t>> rows;
    std::vector<size_t> total(verdicts);
    for (const Trial &trial : trials) {
        auto &row = rows[{trial.fault.call, trial.fault.error}];
        row.resize(verdicts);
        row[trial.outcome.verdict]++;
        total[trial.outcome.verdict]++;
    }
    printf("%-26s", "");
    for (int i = served; i < verdicts; i++) {
        printf(" %7s", verdictNames[i]);
    }
    const auto printRow = [](const char *name, const char *error, const std::vector<size_t> &row) {
        printf("\n%-12s %-13s", name, error);
        for (int i = served; i < verdicts; i++) {
            printf(" %7zu", row[static_cast<size_t>(i)]);
        }
    };
    for (const auto &[key, row] : rows) {
        printRow(callNames[key.first], errorName(key.second), row);
    }
    printRow("all", "", total);
    printf("\n");
    size_t bad = 0;
    for (int i = silent; i < verdicts; i++) {
        bad += total[static_cast<size_t>(i)];
    }
    return bad;
}

int runPrograms(const Command &command, const std::string &library) {
    const test::Folder folder;
    const auto begin = std::chrono::steady_clock::now();
    const test::Folder certificates;
    const std::vector<Program> all = programs(certificates.root);
    std::vector<Trial> trials;
    for (const Program &program : all) {
        if (!command.program.empty() && command.program != program.name) {
            continue;
        }
        const Outcome reference = run(program, {}, library, folder.root);
        if (reference.verdict != served) {
            printf("%s: %s without a fault (status %x)\n%s%s", program.name, verdictNames[reference.verdict],
                   static_cast<unsigned>(reference.status), reference.output.c_str(), reference.errors.c_str());
            return 2;
        }
        plan(program, reference, command, trials);
    }
    runAll(trials, library, folder.root);
    for (const Trial &trial : trials) {
        if (command.verbose || trial.outcome.verdict >= silent) {
            print(trial);
        }
    }
    const size_t bad = printTable(trials);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    printf("%zu runs in %.0f s, %zu bad\n", trials.size(), time.count(), bad);
    return bad > 0 || trials.empty() ? 1 : 0;
}

/* Programs with a planted mistake: each behaves badly when it has no descriptor, in its own way. */
int detect(const std::string &library) {
    const test::Folder folder;
    int missed = 0;
    for (int verdict = served; verdict < verdicts; verdict++) {
        if (verdict == listed) {
            continue;
        }
        const char *name = verdictNames[verdict];
        const Program program{name, {besides() + "/test/misbehaves", name}, "done", 1, false, verdict == hang ? 5 : 25};
        for (const bool fails : {false, true}) {
            const Fault fault = fails ? Fault{callOpen, EMFILE, 2, true} : Fault{};
            const Outcome outcome = run(program, fault, library, folder.root);
            const Verdict expected = fails ? static_cast<Verdict>(verdict) : served;
            printf("%-8s %-8s %s\n", name, fails ? "EMFILE" : "", verdictNames[outcome.verdict]);
            missed += outcome.verdict != expected;
        }
    }
    return missed > 0 ? 1 : 0;
}

Command parse(int argc, char **argv) {
    Command command;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--program") == 0) {
            command.program = value, i++;
        } else if (strcmp(argv[i], "--call") == 0) {
            command.call = value, i++;
        } else if (strcmp(argv[i], "--short") == 0) {
            command.isShort = true;
        } else if (strcmp(argv[i], "--detect") == 0) {
            command.detects = true;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            command.verbose = true;
        } else {
            fprintf(stderr, "usage: syscalls [--short] [--program NAME] [--call NAME] [--verbose] [--detect]\n");
            exit(2);
        }
    }
    return command;
}
} // namespace

int main(int argc, char **argv) {
    const Command command = parse(argc, argv);
    const std::string library = besides() + "/test/libfail.so";
    return command.detects ? detect(library) : runPrograms(command, library);
}
