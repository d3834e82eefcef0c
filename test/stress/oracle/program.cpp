// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/program.cpp - The life of a program's runtimes, and its moments of rest.
 */
#include "test/stress/oracle/program.hpp"

#include "test/stress/oracle/fault.hpp"
#include "test/stress/oracle/ledger.hpp"
#include "test/stress/oracle/sabotage.hpp"
#include "test/stress/oracle/signals.hpp"

#include <cerrno>
#include <ctime>
#include <numeric>
#include <optional>
#include <thread>

namespace oracle {

namespace {

constexpr size_t pinCount = 48;

std::vector<int> sums(const std::vector<int> &weights) {
    std::vector<int> out(weights.size());
    std::partial_sum(weights.begin(), weights.end(), out.begin());
    return out;
}

std::atomic<bool> inNotifier;
std::atomic<uint64_t> notified;

void notify(int, int, size_t, size_t) {
    if (isNotifiedForErrand()) {
        return;
    }
    if (inNotifier.exchange(true)) {
        return; // on another thread
    }
    if (++notified % 3 == 0) {
        mprAlloc(200);
    }
    mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
    inNotifier = false;
}

std::atomic<uint64_t> *doneCount;

void handleEvent(void *data, MprEvent *) {
    if (data != nullptr && data != doneCount) {
        fault("an event's data is %p", data);
    }
    ++*doneCount;
}

} // namespace

void countEvent() {
    ++*doneCount;
}

void nap(unsigned microseconds) {
    timespec time{0, static_cast<long>(microseconds) * 1000};
    while (nanosleep(&time, &time) != 0 && errno == EINTR) {}
}

Program::Program(const Plan &drawn) : plan(drawn), cumulated(sums(plan.weights)), counts(opCount) {
    doneCount = &done;
}

Program::~Program() = default;

void Program::run() {
    using namespace std::chrono;
    const ProgramThread thread;
    if (plan.signals) {
        openSignals();
    }
    const auto each = duration_cast<steady_clock::duration>(duration<double>(plan.seconds / plan.lives));
    const auto last = steady_clock::now() + duration_cast<steady_clock::duration>(duration<double>(plan.seconds));
    for (int life = 0; life < plan.lives && (life == 0 || steady_clock::now() < last); life++) {
        deadline = steady_clock::now() + each;
        live(life);
    }
}

void Program::live(int life) {
    Random random(plan.seed * 1000 + static_cast<uint64_t>(life));
    begin(random);
    std::vector<std::thread> threads;
    present = plan.threads - 1 + plan.ghosts + plan.foreigners;
    std::optional<Quiet> quiet(std::in_place);
    for (int i = 1; i < plan.threads; i++) {
        threads.emplace_back([=, this, seed = random.next()] { work(i, seed); });
    }
    for (int i = 0; i < plan.ghosts + plan.foreigners; i++) {
        threads.emplace_back([=, this, seed = random.next()] { haunt(seed, i < plan.ghosts); });
    }
    quiet.reset();
    work(0, random.next());
    {
        std::lock_guard guard(parking);
        ended = true;
        changed.notify_all();
    }
    mprYield(MPR_YIELD_STICKY);
    for (auto &thread : threads) {
        thread.join();
    }
    mprResetYield();
    end(random);
}

void Program::begin(Random &random) {
    ended = stopWanted = false;
    parked = 0;
    forgetMessages();
    openLedger();
    if (mprConfigure(plan.options.c_str()) != 0 || !mprCreate(0, nullptr, 0)) {
        fault("mprCreate fails");
    }
    mprSetMemPolicy(MPR_ALLOC_POLICY_NOTHING);
    if (plan.limit) {
        mprSetMemLimits(random.chance(50) ? plan.limit / 2 : 0, plan.limit, random.chance(50) ? 0 : -1);
    }
    if (plan.limit || plan.misuse) {
        mprSetMemNotifier(notify);
    }
    if (plan.events && mprStart() != 0) {
        fault("mprStart fails");
    }
    posted = done = tooBig = 0;
    setManagersTrespass(plan.misuse);
    openRange(random);
    meeting.open();
    lasting.open();
    shared = adopt(random);
    pins = adopt(random);
    pin(random);
    contest.open(pinned.leaf);
}

/* Blocks that stay for a whole life, for ghosts and whoever marks. */
void Program::pin(Random &random) {
    pinned = {};
    pinned.permanent = lasting.memory;
    for (size_t i = 0; i < pinCount && pins; i++) {
        if (Record *pin =
                pins->make({i % 3 ? Kind::leaf : Kind::barrier, random.below(200), i % 3 ? 0u : 2u, false}, random)) {
            pin->stands = true;
            pins->set(*pins->table, i % pins->slots(), pin, random);
        }
    }
    for (size_t i = 0; i < pinCount && pins && i < pins->slots(); i++) {
        if (Record *record = pins->table->refs[i]; record && record->kind == Kind::leaf) {
            pinned.leaf = record->ptr;
            pinned.size = record->size;
        } else if (record) {
            pinned.node = record->ptr;
            pinned.field = static_cast<Head *>(record->ptr)->fields();
        }
    }
    if (!pinned.node || !pinned.permanent) {
        pinned.leaf = nullptr;
    }
}

void Program::work(int number, uint64_t seed) {
    std::optional<ProgramThread> thread;
    if (number > 0) {
        thread.emplace();
    }
    Random random(seed);
    if (number > 0 && mprAttachThread("worker") != 0) {
        leave();
        return; // no memory
    }
    Graph *graph = adopt(random);
    if (graph) {
        Worker worker(*this, *graph, seed, number == 0 ? Role::main : Role::worker);
        long left = plan.operations, untilCheck = plan.checkEvery;
        while (left-- > 0 && worker.step()) {
            if (number == 0 && --untilCheck <= 0) {
                untilCheck = plan.checkEvery;
                rest(random);
            }
        }
        worker.permanents.clear();
    }
    if (number == 0) {
        rest(random);
        return;
    }
    leave();
    if (random.chance(50)) {
        mprDetachThread(); // else it ends attached
    }
}

Graph *Program::adopt(Random &random) {
    {
        std::lock_guard guard(graphsLock);
        if (!orphans.empty() && random.chance(70)) {
            Graph *graph = orphans.back();
            orphans.pop_back();
            return graph;
        }
    }
    auto graph = std::make_unique<Graph>(plan.slots, random);
    Graph *made = *graph ? graph.get() : nullptr;
    std::lock_guard guard(graphsLock);
    graphs.push_back(std::move(graph));
    return made;
}

void Program::orphan(Graph *graph) {
    std::lock_guard guard(graphsLock);
    orphans.push_back(graph);
}

void Program::post() {
    if (posted - done > 1000) {
        nap(200);
        return;
    }
    const int result = mprCreateEventOutside(nullptr, MPR_PROC(handleEvent), posted % 2 ? &done : nullptr);
    if (result == 0) {
        ++posted;
    } else if (result != MPR_ERR_MEMORY || !plan.limit) {
        fault("mprCreateEventOutside returns %d", result);
    }
}

void Program::exchange(Random &random) {
    std::lock_guard guard(commonLock);
    for (size_t left = 1 + random.below(4); left > 0; left--) {
        common.step(random);
    }
}

/* A thread that never runs managed code: attached and yielded, or not attached. */
void Program::haunt(uint64_t seed, bool attached) {
    const ProgramThread thread;
    Random random(seed);
    Permanents permanents;
    std::vector<Record *> held;
    attached = attached && mprAttachThread("ghost") == 0;
    if (attached) {
        mprYield(MPR_YIELD_STICKY);
    }
    while (!over()) {
        permanents.step(random);
        if (attached && random.chance(20)) {
            destroyAbandoned();
        }
        if (attached && pins) {
            Record *pin = pins->table->refs[random.below(std::min(pinCount, pins->slots()))];
            for (size_t times = random.below(20); pin && times > 0; times--) {
                mprHold(pin->ptr);
                mprRelease(pin->ptr);
            }
            if (pin && random.chance(30)) {
                mprHold(pin->ptr);
                held.push_back(pin);
            } else if (held.size() > 20 || (!held.empty() && random.chance(30))) {
                mprRelease(held.back()->ptr);
                held.pop_back();
            }
        }
        if (plan.events && random.chance(20)) {
            post();
        }
        if (random.chance(10)) {
            exchange(random);
        }
        if (plan.signals && random.chance(5)) {
            sendSignal(random);
        }
        if (random.chance(1)) {
            nap(static_cast<unsigned>(random.below(300)));
        }
        parkIfWanted();
    }
    for (Record *pin : held) {
        mprRelease(pin->ptr);
    }
    permanents.clear();
    if (attached) {
        mprResetYield();
        mprDetachThread();
    }
    leave();
}

/* ---- Lasting ---- */

void Lasting::open() {
    memory = static_cast<unsigned char *>(palloc(size));
    test::fill(memory, memory ? size : 0, size);
}

void Lasting::look() const {
    if (memory && (!test::filled(memory, size, size) || psize(memory) < size)) {
        fault("permanent memory of %zu bytes that wrong calls aim at is not what it was", size);
    }
}

void Lasting::close() {
    look();
    pfree(memory);
    memory = nullptr;
}

/* ---- Rest ---- */

void Program::park() {
    std::unique_lock lock(parking);
    parked++;
    changed.notify_all();
    changed.wait(lock, [&, mine = round] { return round != mine || ended; });
}

void Program::leave() {
    std::lock_guard guard(parking);
    present--;
    changed.notify_all();
}

void Program::rest(Random &random) {
    stopWanted = true;
    mprYield(MPR_YIELD_STICKY);
    {
        std::unique_lock lock(parking);
        changed.wait(lock, [&] { return parked == present; });
    }
    mprResetYield();
    if (plan.sabotage >= 0 && pins) {
        sabotages[plan.sabotage].commit(*pins, random);
    }
    compare();
    if (plan.sabotage >= 0 || random.chance(static_cast<unsigned>(plan.settlePercent))) {
        settle();
    }
    std::lock_guard guard(parking);
    stopWanted = false;
    parked = 0;
    round++;
    changed.notify_all();
}

/* What the runtime itself has noticed. */
MprMemStats Program::compareCounts() {
    constexpr int mostTries = 200;
    MprMemStats stats;
    for (int tries = 0;; tries++) { // the collector's threads do not rest: some wrong call may be under way there
        mprReadMemStats(&stats);
        const std::string wrong = disagreement(stats.misuses);
        if (wrong.empty()) {
            break;
        }
        if (tries == mostTries) {
            fault("%s", wrong.c_str());
        }
        nap(5000);
    }
    if (strayed()) {
        fault("a thread of the runtime has taken a signal");
    }
    if (stats.checkDefects > 0) {
        fault("option check=1 found a block that was not marked");
    }
    if (stats.errors != tooBig + rangeShortages() && plan.limit == 0) {
        fault("%llu allocations returned NULL, %llu were too big, and there is no limit",
              static_cast<unsigned long long>(stats.errors), static_cast<unsigned long long>(tooBig.load()));
    }
    return stats;
}

/* Whether the runtime could not remember a root or a hold. */
bool Program::scarce() const {
    return said("no memory to remember another");
}

void Program::compare() {
    ++checks;
    compareCounts();
    lasting.look();
    for (auto &graph : graphs) {
        if (*graph) {
            graph->check();
        }
    }
    int defects = mprVerifyHeap();
    for (int tries = 0; defects != 0 && tries < 100; tries++) { // a thread of the runtime may be on its way to rest
        nap(10000);
        defects = mprVerifyHeap();
    }
    if (defects != 0) {
        fault("mprVerifyHeap answers %d", defects);
    }
}

void Program::settle() {
    constexpr int mostTries = 20;
    if (scarce()) {
        return; // nothing is collected any more
    }
    for (int tries = 0;; tries++) {
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        bool all = true;
        for (auto &graph : graphs) {
            if (*graph) {
                graph->check();
                all = graph->settled(tries == mostTries) && all;
            }
        }
        if (all) {
            return;
        }
        nap(20000); // a manager that took long ends the wait early
    }
}

/* What a program does that ends in the midst of things. */
void Program::hurry(Random &random) {
    Graph *graph = adopt(random);
    if (!graph) {
        return;
    }
    const auto litter = [&](size_t count, size_t longest) {
        for (; count > 0; count--) {
            graph->make({Kind::plain, random.below(60), 0, false}, random);
            for (size_t left = random.below(longest); left > 0; left--) {
                mprNop(nullptr);
            }
        }
    };
    if (random.chance(50)) { // the end comes while threads still use what the sweep has not cleared
        litter(9000, 1);
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        mprYield(MPR_YIELD_DEFAULT);
        litter(300 + random.below(3000), 100);
        return;
    }
    for (size_t turns = 1 + random.below(3); turns > 0; turns--) {
        litter(random.below(9000), 1);
        mprGC(MPR_GC_FORCE | MPR_GC_NO_BLOCK);
        mprYield(MPR_YIELD_DEFAULT);
        if (random.chance(50)) {
            nap(static_cast<unsigned>(random.below(5000))); // the sweep comes to its end, and nobody has used its holes
        }
        litter(random.below(3000), random.chance(50) ? 1000 : 1);
    }
}

/* However long each takes: with a collection at every yield there are some thousand in a second. */
void Program::awaitEvents() {
    constexpr int longest = 1000; // rounds without any
    uint64_t seen = done;
    for (int rounds = 0; plan.events && done < posted; rounds++) {
        if (rounds == longest) {
            fault("%llu events were posted, %llu have run", static_cast<unsigned long long>(posted),
                  static_cast<unsigned long long>(done));
        }
        mprSleep(10);
        if (const uint64_t now = done; now != seen) {
            seen = now;
            rounds = 0;
        }
    }
}

void Program::end(Random &random) {
    if (plan.hasty) {
        hurry(random);
    } else {
        compare();
        settle();
    }
    awaitEvents();
    for (auto &graph : graphs) {
        while (!graph->references.empty()) {
            graph->removeReference(graph->references.size() - 1);
        }
    }
    recallErrand();
    contest.close();
    common.clear();
    lasting.close();
    const MprMemStats stats = compareCounts();
    collections += stats.collections;
    nulls += stats.errors;
    setEnding(true);
    if (!mprDestroy()) {
        fault("mprDestroy fails");
    }
    for (auto &graph : graphs) {
        graph->checkEnd();
    }
    graphs.clear();
    orphans.clear();
    forgetAbandoned();
    setEnding(false);
}

} // namespace oracle
