// SPDX-License-Identifier: MIT
/*
    test/stress/places/script.cpp - Scripts from a seed. The generator's numbers are the same on every machine.
 */
#include "test/stress/places/script.hpp"

#include "test/stress/places/acts.hpp"

#include <random>
#include <sstream>

namespace places {

namespace {

const char *const placeNames[] = {
    "callback",
    "open",
    "start",
    "ready",
    "writable",
    "incoming",
    "incomingService",
    "close",
    "match",
    "filter.open",
    "filter.incoming",
    "filter.incomingService",
    "filter.outgoing",
    "filter.outgoingService",
    "filter.close",
    "FIRST",
    "PARSED",
    "CONTENT",
    "READY",
    "RUNNING",
    "FINALIZED",
    "COMPLETE",
    "READABLE",
    "WRITABLE",
    "ERROR",
    "TIMEOUT",
    "DONE",
    "DESTROY",
    "event",
    "timer",
    "foreign",
};
static_assert(std::size(placeNames) == placeCount);

class Maker {
public:
    Maker(uint64_t seed, const std::string &only) : random_(seed), only_(only) {}

    Plan make(uint64_t seed) {
        Plan plan;
        plan.seed = seed;
        plan.workers = pick({0, 0, 1, 4});
        plan.options = pick({"", "young=64k", "poison=1", "everyyield=1"});
        for (size_t clients = 2 + below(4); clients > 0; clients--) {
            std::vector<Visit> visits;
            for (size_t count = 1 + below(3); count > 0; count--) {
                visits.push_back(visit());
            }
            plan.clients.push_back(visits);
        }
        plan.endsWith = once(4) ? 1 + static_cast<int>(below(static_cast<size_t>(scripts_))) : 0;
        return plan;
    }

private:
    size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }
    bool once(size_t in) { return below(in) == 0; }
    template <typename T>
    T pick(std::initializer_list<T> from) {
        return from.begin()[below(from.size())];
    }

    std::string someActs(Place place) {
        std::string all;
        for (size_t count = pick<size_t>({1, 1, 2, 3, 5}); count > 0; count--) {
            all += pickAct(place, random_(), only_);
        }
        return all;
    }

    Visit visit() {
        Visit visit;
        visit.waits = once(2);
        visit.slow = once(4);
        visit.leaves = once(5) ? static_cast<long>(pick<size_t>({0, 1, 200, 3000, 30000})) : -1;
        visit.piece = pick<size_t>({0, 0, 0, 7, 100, 1460});
        visit.finishes = once(4);
        for (size_t count = 1 + below(4); count > 0; count--) {
            visit.scripts.push_back(script());
        }
        visit.scripts.back().closes = visit.scripts.back().closes || !visit.finishes;
        return visit;
    }

    Script script() {
        Script script;
        script.id = ++scripts_;
        const auto crowded = pick<size_t>({2, 4, 8, 16}); // one place in so many does something
        for (int place = 0; place < placeCount; place++) {
            if (once(crowded)) {
                script.acts[static_cast<size_t>(place)] = someActs(static_cast<Place>(place));
            }
        }
        script.handler = pick({Handler::full, Handler::full, Handler::lean, Handler::finishing, Handler::action});
        script.in = pick({Passing::on, Passing::on, Passing::later, Passing::split, Passing::cloned});
        script.out = pick({Passing::on, Passing::on, Passing::later, Passing::split, Passing::cloned});
        script.inService = pick({Service::plain, Service::careful, Service::slow, Service::joined});
        script.outService = pick({Service::plain, Service::careful, Service::slow, Service::joined});
        script.intake = pick({Intake::kept, Intake::read, Intake::dropped});
        script.end = once(16) ? End::never : pick({End::start, End::ready, End::ready, End::event, End::timer});
        script.match = pick({HTTP_ROUTE_OK, HTTP_ROUTE_OK, HTTP_ROUTE_OK, HTTP_ROUTE_REJECT, HTTP_ROUTE_OMIT_FILTER});
        script.gated = !once(3);
        script.rated = once(6);
        request(script);
        return script;
    }

    void request(Script &script) {
        script.method = pick({"GET", "GET", "HEAD", "POST", "POST", "PUT"});
        if (script.method[0] == 'P') {
            script.bodySize = pick<size_t>({0, 1, 10, 1000, 20000, 50000, 200000});
            script.chunked = once(3);
            script.form = once(6);
        }
        // What nobody takes stops at the socket; then nobody ends it.
        const bool taken = script.handler == Handler::full && script.intake != Intake::kept;
        if (!taken || script.form) {
            script.bodySize = std::min<size_t>(script.bodySize, 20000);
        }
        script.old = !script.chunked && once(8);
        script.closes = script.old || once(8);
        script.zips = once(3);
    }

    std::mt19937_64 random_;
    const std::string only_;
    int scripts_ = 0;
};

} // namespace

const char *nameOf(Place place) {
    return placeNames[place];
}

std::string Script::path() const {
    static const char *const handlers[] = {"full", "lean", "finishing", "action"};
    return std::string(gated ? "/gated" : "/free") + (rated ? "-rated-" : "-") + handlers[static_cast<int>(handler)] +
           "?id=" + std::to_string(id);
}

std::string Script::text() const {
    std::ostringstream all;
    all << id << ": " << method << " " << path() << (old ? " 1.0" : "") << (closes ? " closes" : "")
        << (zips ? " zips" : "") << (form ? " form" : "") << (chunked ? " chunked" : "");
    all << " body " << bodySize << " intake " << static_cast<int>(intake) << " end " << static_cast<int>(end)
        << " match " << match << " in " << static_cast<int>(in) << static_cast<int>(inService) << " out "
        << static_cast<int>(out) << static_cast<int>(outService) << ";";
    for (int place = 0; place < placeCount; place++) {
        const std::string &some = acts[static_cast<size_t>(place)];
        if (!some.empty()) {
            all << " " << nameOf(static_cast<Place>(place)) << ":" << some;
        }
    }
    return all.str();
}

std::string Plan::text() const {
    std::ostringstream all;
    all << "seed " << seed << ", " << workers << " workers, options '" << options << "'";
    if (endsWith > 0) {
        all << ", ends with " << endsWith << " requests";
    }
    all << "\n";
    for (size_t i = 0; i < clients.size(); i++) {
        for (const Visit &visit : clients[i]) {
            all << "  client " << i << (visit.waits ? " waits" : "") << (visit.slow ? " slow" : "");
            all << (visit.finishes ? " finishes" : "") << " leaves " << visit.leaves << " piece " << visit.piece
                << "\n";
            for (const Script &script : visit.scripts) {
                all << "    " << script.text() << "\n";
            }
        }
    }
    return all.str();
}

Plan makePlan(uint64_t seed, const std::string &only) {
    return Maker(seed, only).make(seed);
}

Plan plainPlan(Sabotage sabotage) {
    Script script;
    script.id = 1;
    script.method = "POST";
    script.bodySize = 5000;
    script.closes = true;
    script.acts[ready] = "wf";
    Visit visit;
    visit.scripts.push_back(script);
    Plan plan;
    plan.sabotage = sabotage;
    plan.endsWith = sabotage == Sabotage::staysSilent;
    plan.clients.push_back({visit});
    return plan;
}

} // namespace places
