// SPDX-License-Identifier: MIT
/*
    test/stress/oracle/plan.cpp - Profiles, and what a seed makes of them.
 */
#include "test/stress/oracle/plan.hpp"

#include "test/stress/oracle/fault.hpp"
#include "test/stress/oracle/ops.hpp"
#include "test/support/pattern.hpp"
#include "test/support/sanitizer.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

namespace oracle {

using test::Random;

namespace {

/* What a profile changes. Weights: "name=number", or "all=0" first to leave out what is not named. */
struct Profile {
    const char *name;
    const char *weights;
    int threads; /* At most */
    int ghosts;
    int limited;        /* Percent of the programs with a hard limit */
    int shortLives;     /* Percent of the programs with many lives */
    int events;         /* Percent */
    int brief = 0;      /* Operations of each life at most; 0: many, or few */
    bool tight = false; /* A limit of some megabytes */
};

constexpr Profile known[] = {
    {"mixed", "", 4, 2, 30, 20, 10},
    {"roots", "crowd=60,uncrowd=50,addroot=100,removeroot=100,reference=60,unreference=60,major=6,collect=6", 2, 1, 60,
     10, 0},
    {"rows", "all=0,wide=20,table=10,vector=10,pmr=5,resize=100,swap=500,link=100,garbage=100,yield=100,ask=40,drop=1",
     2, 0, 0, 0, 0},
    {"ends", "managed=300,garbage=100,plain=100,ask=10,complete=30", 2, 0, 20, 100, 0},
    {"brief", "all=0,managed=3,leaf=10,yield=1", 1, 0, 0, 100, 0, 5},
    {"arrays",
     "all=0,row=400,elements=60,rowfree=500,link=300,barrier=100,nofree=50,free=50,ask=10,garbage=20,vector=5", 3, 0,
     10, 0, 0},
    {"ghosts", "all=0,leaf=50,barrier=20,garbage=300,minor=200,permanent=100,managed=20,drop=50,free=20", 2, 4, 20, 10,
     50},
    {"holds", "hold=200,release=200,relink=100,batch=60,batchfree=30,realloc=100,minor=20", 3, 2, 20, 10, 0},
    {"holders", "all=0,leaf=10,barrier=10,major=100,minor=100,drop=10,sticky=10", 1, 4, 0, 0, 0},
    {"sizes", "realloc=300,large=40,leaf=300,free=200,memdup=50,wide=20", 3, 0, 60, 10, 0},
    {"grows", "all=0,leaf=20,grow=40,garbage=40,free=40,minor=5,yield=20,batchfree=5,drop=20", 3, 0, 20, 0, 0},
    {"handles",
     "handle=400,handles=6,chain=20,unhandle=250,sethandle=200,exchangehandle=100,changehandle=150,duplicate=40,"
     "follow=400,contest=100,barrier=100,plain=100,leaf=100,free=150,realloc=60,drop=200,minor=6,major=3,sticky=10",
     4, 2, 20, 20, 10},
    {"contest", "all=0,contest=500,leaf=20,handle=20,unhandle=15,follow=20,minor=5,major=2,sticky=5,garbage=20", 4, 2,
     0, 10, 0},
    {"doors",
     "mprlist=200,mprhash=150,pinned=200,keep=100,event=200,handle=200,follow=100,unhandle=150,map=60,row=100,"
     "contest=100,spawn=10,drop=150",
     4, 1, 10, 10, 60},
    {"lists", "list=100,wide=20,drop=30,shift=60", 3, 0, 40, 10, 0},
    {"threads", "spawn=40,sticky=60,fork=2,permanent=60,lock=60,mutex=60,cond=20,exchange=60", 4, 3, 20, 20, 30},
    {"signals", "signal=200,sticky=60,mutex=60,cond=30,sleep=3,spawn=10,permanent=60,minor=20,fork=1", 4, 3, 20, 20,
     30},
    {"misuse", "trespass=60,pointwrongly=60,stale=60,handle=100,unhandle=60,follow=60,fork=1,garbage=100,minor=5,ask=5",
     3, 2, 20, 20, 0},
    {"checks", "verify=10,mutex=30,spawn=5,minor=20,ask=20", 4, 2, 10, 10, 10},
    {"batches", "barrier=400,garbage=100,leaf=400,free=100,realloc=60,list=6,wide=2,permanent=60,yield=100", 4, 2, 20,
     10, 20},
    {"takers",
     "all=0,leaf=20,nofree=300,barrier=100,free=400,link=300,yield=1,garbage=2,drop=30,follow=20,handle=20,unhandle=15",
     4, 0, 0, 0, 0},
    {"frees", "free=500,rowfree=300,realloc=100,ask=20,permanent=200", 4, 2, 20, 10, 0},
    {"tight",
     "crowd=10,uncrowd=20,addroot=60,removeroot=100,hold=60,release=100,garbage=400,large=20,spawn=20,permanent=60,"
     "drop=60,free=100,realloc=60",
     24, 4, 100, 10, 10, 0, true},
};

const char *any(Random &random, std::initializer_list<const char *> choices) {
    return choices.begin()[random.below(choices.size())];
}

std::string drawOptions(Random &random, bool older) {
    if (random.chance(20)) {
        return "";
    }
    std::string options = any(random, {"young=64k", "young=256k", "young=1m"});
    options += any(random, {"", ",marks=1k", ",marks=1k", ",marks=4k", ",marks=64k"});
    options += any(random, {"", ",markers=1", ",markers=2", ",markers=4"});
    options += any(random, {"", ",pausebudget=10", ",pausebudget=10", ",pausebudget=100"});
    options += any(random, {"", "", "", "", "", "", ",everyyield=1", ",everyalloc=7", ",everyalloc=100"});
    options += any(random, {"", ",growth=5", ",growth=20", ",growth=400"});
    options += any(random, {"", "", ",check=1", older ? "" : ",check=fields"});
    options += any(random, {"", "", "", older ? "" : ",poison=1"});
    options += any(random, {"", "", "", "", ",deadline=1"});
    options += any(random, {"", "", ",cpu=1", ",cpu=90"});
    options += any(random, {"", "", "", ",region=64k", ",region=1m"});
    options += any(random, {"", "", "", ",reserve=4m"});
    return options;
}

size_t indexOf(const std::string &name) {
    for (size_t i = 0; i < opCount; i++) {
        if (name == ops[i].name) {
            return i;
        }
    }
    fault("there is no operation \"%s\"", name.c_str());
}

std::vector<int> drawWeights(const Profile &profile, Random &random) {
    std::vector<int> weights(opCount);
    for (size_t i = 0; i < opCount; i++) {
        weights[i] = ops[i].weight;
    }
    std::istringstream items(profile.weights);
    for (std::string item; std::getline(items, item, ',');) {
        const size_t equals = item.find('=');
        const int weight = atoi(item.c_str() + equals + 1);
        if (item.starts_with("all=")) {
            std::fill(weights.begin(), weights.end(), weight);
        } else {
            weights[indexOf(item.substr(0, equals))] = weight;
        }
    }
    for (int &weight : weights) { // seeds differ in what they do much of, and in what they never do
        constexpr int factors[] = {0, 1, 1, 1, 2, 5};
        weight *= factors[random.below(6)];
    }
    weights[indexOf("leaf")] += 1; // there is always something to do
    return weights;
}

const Profile &drawProfile(const std::string &name, Random &random) {
    if (name.empty()) {
        return random.chance(30) ? known[0] : known[random.below(std::size(known))];
    }
    for (auto &profile : known) {
        if (name == profile.name) {
            return profile;
        }
    }
    fault("there is no profile \"%s\"", name.c_str());
}

int drawCount(int most, Random &random) {
    return static_cast<int>(random.below(static_cast<size_t>(most) + 1));
}

void drawAll(Plan &plan, const Profile &profile, Random &random, bool older) {
    constexpr long megabyte = 1 << 20;
    constexpr long limits[] = {256 * megabyte, 64 * megabyte, 64 * megabyte, 24 * megabyte, 12 * megabyte};
    const auto percent = [&](int chance) { return random.chance(static_cast<unsigned>(chance)); };
    plan.profile = profile.name;
    plan.options = percent(profile.shortLives / 2) ? "" : drawOptions(random, older);
    if (const size_t reserve = plan.options.find(",reserve="); profile.tight && reserve != std::string::npos) {
        plan.options.erase(reserve); // the last: more than the limit, which would be named
    }
    plan.weights = drawWeights(profile, random);
    plan.limit = percent(profile.limited) ? limits[random.below(std::size(limits))] : 0;
    plan.limit = profile.tight ? (2 * megabyte) << random.below(3) : plan.limit;
    plan.threads = 1 + drawCount(profile.threads - 1, random);
    plan.ghosts = percent(80) && profile.ghosts > 0 ? 1 + drawCount(profile.ghosts - 1, random) : 0;
    plan.foreigners = percent(20);
    const size_t leastLives = profile.brief ? 11 : profile.shortLives == 100 ? 5 : 0;
    plan.lives = percent(profile.shortLives) ? 1 << (leastLives + random.below(12 - leastLives)) : 1;
    plan.events = percent(profile.events);
    plan.slots = size_t{16} << random.below(9);
    plan.checkEvery = 500 << random.below(6);
    plan.settlePercent = percent(50) ? 90 : 10;
    plan.yieldPercent = percent(30) ? 5 : percent(50) ? 100 : 50;
    const std::string name = profile.name;
    plan.sharedPercent = name == "takers" ? 60 : percent(50) ? 10 : 0;
    plan.hasty = percent(70);
    plan.operations = percent(profile.shortLives / 2) ? 20 : plan.operations;
    plan.operations = profile.brief ? profile.brief : plan.operations;
    plan.seconds = 1;
    const bool batches = percent(name == "batches" || name == "doors" || name == "takers" ? 100
                                 : name == "handles"                                      ? 50
                                                                                          : 20);
    plan.batches = batches && !older;
}

void obey(Plan &plan, const Wishes &wishes) {
    if (wishes.optionsSet) {
        plan.options = wishes.options;
    }
    plan.sabotage = wishes.sabotage;
    plan.threads = wishes.threads > 0 ? wishes.threads : plan.threads;
    plan.ghosts = wishes.ghosts >= 0 ? wishes.ghosts : plan.ghosts;
    plan.lives = wishes.lives > 0 ? wishes.lives : plan.lives;
    plan.operations = wishes.operations > 0 ? wishes.operations : plan.operations;
    plan.seconds = wishes.seconds > 0 ? wishes.seconds : plan.seconds;
    for (auto &name : wishes.without) {
        plan.weights[indexOf(name)] = 0;
    }
    if (std::all_of(plan.weights.begin(), plan.weights.end(), [](int weight) { return weight == 0; })) {
        plan.weights[indexOf("yield")] = 1;
    }
}

} // namespace

Plan makePlan(const Wishes &wishes) {
    Random random(wishes.seed);
    Plan plan;
    plan.seed = wishes.seed;
    drawAll(plan, drawProfile(wishes.profile, random), random, wishes.older);
    obey(plan, wishes);
    plan.misuse = plan.weights[indexOf("trespass")] > 0 || plan.weights[indexOf("pointwrongly")] > 0 ||
                  plan.weights[indexOf("stale")] > 0;
    plan.forks = plan.weights[indexOf("fork")] > 0;
    plan.signals = plan.weights[indexOf("signal")] > 0;
    return plan;
}

std::vector<std::string> profiles() {
    std::vector<std::string> names;
    for (auto &profile : known) {
        names.push_back(profile.name);
    }
    return names;
}

std::string Plan::text() const {
    std::ostringstream out;
    out << "seed " << seed << ", profile " << profile << ", options \"" << options << "\", limit " << limit
        << ", threads " << threads << ", ghosts " << ghosts << ", foreigners " << foreigners << ", lives " << lives
        << ", slots " << slots << (events ? ", events" : "") << (batches ? ", batches" : "")
        << (hasty ? ", hasty" : "");
    return out.str();
}

} // namespace oracle
