// SPDX-License-Identifier: MIT
/*
    json - JSON beside cJSON, jansson and nlohmann: parsing a text and dropping the tree, printing, memory of a tree.

    Usage: json [WHAT TEXT WHO ROUNDS]

    Without arguments, rounds of all, one after the other for each round, so that a noisy moment hits everybody. Figures are
    medians over rounds: nanoseconds of CPU a byte of text, collection included; the ratio of mpr to a peer, of the same
    round; bytes of a tree for a byte of text, from the allocator's own books, for mpr with the heap's map (a sixteenth).
    With arguments one thing, parse or print, is done ROUNDS times and nothing printed, for counting instructions: twice with
    valgrind --tool=callgrind --callgrind-out-file=/dev/null, for one number of rounds and another.

    Peers parse as they do by default. cJSON checks neither UTF-8 nor, to the end, numbers; it keeps numbers as doubles, as
    nlohmann and jansson do, and mpr keeps their texts.
*/
#include "mpr.h"
#include "test/bench/bench.h"

#include <cjson/cJSON.h>
#include <jansson.h>
#include <nlohmann/json.hpp>

#include <malloc.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace bench;

namespace {

// ---- Texts ----

std::string words(Random &random, size_t count) {
    static const char *const vocabulary[] = {"memory", "board",  "collector", "of",     "queue", "the",   "thread",
                                             "and",    "region", "a",         "Zürich", "naïve", "server"};
    std::string text;
    for (size_t i = 0; i < count; i++) {
        text += (i ? " " : "") + std::string(vocabulary[random.below(13)]);
    }
    return text;
}

std::string number(Random &random, size_t most) {
    return std::to_string(random.below(most));
}

/* What services answer with: rows of a table. */
std::string records() {
    Random random(1);
    std::string text = "[";
    for (int i = 0; i < 2000; i++) {
        text += (i ? ",\n " : "\n ") + std::string("{\"id\": ") + std::to_string(100000 + i) + ", \"name\": \"" +
                words(random, 2) + "\", \"email\": \"user" + std::to_string(i) +
                "@example.com\", \"active\": " + (i % 3 ? "true" : "false") +
                ", \"balance\": " + number(random, 100000) + "." + number(random, 100) +
                ", \"manager\": null, \"tags\": [\"" + words(random, 1) + "\", \"" + words(random, 1) +
                "\"], \"address\": {\"street\": \"" + words(random, 3) + "\", \"zip\": \"" + number(random, 100000) +
                "\", \"floor\": " + number(random, 20) + "}}";
    }
    return text + "\n]\n";
}

/* Messages: long texts with escapes, few names. */
std::string messages() {
    Random random(2);
    std::string text = "{\"messages\": [";
    for (int i = 0; i < 1000; i++) {
        text += (i ? "," : "") + std::string("{\"text\":\"") + words(random, 5 + random.below(30)) +
                "\\n\\\"quoted\\\" \\u00e9\\ud83d\\ude00\",\"user\":{\"id\":" + number(random, 1000000000) +
                ",\"screen_name\":\"" + words(random, 1) + number(random, 1000) +
                "\",\"followers_count\":" + number(random, 5000) +
                ",\"verified\":false,\"url\":\"https:\\/\\/example.com\\/" + number(random, 100000) +
                "\"},\"retweeted\":false,\"retweet_count\":" + number(random, 50) + "}";
    }
    return text + "]}";
}

/* A configuration, small. */
std::string settings() {
    return "{\n  \"server\": {\"listen\": [\"127.0.0.1:8080\", \"[::1]:8080\"], \"timeout\": 30, \"keepAlive\": "
           "true},\n"
           "  \"log\": {\"path\": \"/var/log/service.log\", \"level\": 2, \"size\": 1048576, \"backup\": 5},\n"
           "  \"limits\": {\"clients\": 200, \"body\": 262144, \"memory\": \"64m\", \"rate\": 12.5},\n"
           "  \"routes\": [{\"pattern\": \"^/api/\", \"handler\": \"json\", \"methods\": [\"GET\", \"POST\"]},\n"
           "    {\"pattern\": \"/\", \"handler\": \"file\", \"methods\": [\"GET\"], \"cache\": {\"seconds\": "
           "86400}}]\n}\n";
}

/* Coordinates: nearly nothing but numbers in arrays. */
std::string numbers() {
    Random random(3);
    std::string text = "{\"coordinates\":[";
    for (int i = 0; i < 10000; i++) {
        text += (i ? ",[" : "[") + std::string("-") + number(random, 180) + "." + number(random, 1000000000) + "," +
                number(random, 90) + "." + number(random, 1000000000) + "]";
    }
    return text + "]}";
}

struct Text {
    const char *name;
    std::string text;
    size_t times; /* in a round */
};

std::vector<Text> &texts() {
    static std::vector<Text> all = {{"records", records(), 4},
                                    {"messages", messages(), 4},
                                    {"settings", settings(), 2000},
                                    {"numbers", numbers(), 4}};
    return all;
}

// ---- Who ----

void *parseMpr(const char *text) {
    return mprParseJson(text);
}
void dropMpr(void *) {
    mprYield(0);
}
void printMpr(void *tree) {
    hide(mprJsonToString((MprJson *) tree, MPR_JSON_QUOTES));
    mprYield(0);
}

void *parseCJson(const char *text) {
    return cJSON_Parse(text);
}
void dropCJson(void *tree) {
    cJSON_Delete((cJSON *) tree);
}
void printCJson(void *tree) {
    char *text = cJSON_PrintUnformatted((cJSON *) tree);
    hide(text);
    free(text);
}

void *parseJansson(const char *text) {
    return json_loads(text, 0, nullptr);
}
void dropJansson(void *tree) {
    json_decref((json_t *) tree);
}
void printJansson(void *tree) {
    char *text = json_dumps((json_t *) tree, JSON_COMPACT);
    hide(text);
    free(text);
}

void *parseNlohmann(const char *text) {
    return new nlohmann::json(nlohmann::json::parse(text));
}
void dropNlohmann(void *tree) {
    delete (nlohmann::json *) tree;
}
void printNlohmann(void *tree) {
    std::string text = ((nlohmann::json *) tree)->dump();
    hide(text.data());
}

const struct Who {
    const char *name;
    void *(*parse)(const char *text);
    void (*drop)(void *tree);
    void (*print)(void *tree);
} all[] = {{"mpr", parseMpr, dropMpr, printMpr},
           {"cjson", parseCJson, dropCJson, printCJson},
           {"jansson", parseJansson, dropJansson, printJansson},
           {"nlohmann", parseNlohmann, dropNlohmann, printNlohmann}};
const size_t count = sizeof(all) / sizeof(all[0]);

// ---- What ----

void parseTimes(const Who &who, const char *text, size_t times) {
    for (size_t i = 0; i < times; i++) {
        void *tree = who.parse(text);
        if (!tree) {
            fail(who.name);
        }
        who.drop(tree);
    }
}

void printTimes(const Who &who, void *tree, size_t times) {
    for (size_t i = 0; i < times; i++) {
        who.print(tree);
    }
}

void *kept(const Who &who, const char *text) {
    void *tree = who.parse(text);
    if (&who == all) {
        mprAddRoot(tree);
    }
    return tree;
}

void unkeep(const Who &who, void *tree) {
    if (&who == all) {
        mprRemoveRoot(tree);
    }
    who.drop(tree);
}

double inUse(const Who &who) {
    if (&who == all) {
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
        return (double) mprGetMemStats()->bytesLive * 17 / 16;
    }
    return (double) mallinfo2().uordblks;
}

double treeBytes(const Who &who, const Text &text) {
    const double before = inUse(who);
    void *tree = kept(who, text.text.c_str());
    const double bytes = inUse(who) - before;
    unkeep(who, tree);
    return bytes / (double) text.text.size();
}

void print(const Text &text, const char *what, const char *who, double value) {
    bench::print("json", (std::string(what) + "_" + text.name + "_" + who).c_str(), value);
}

/* Rounds of one thing by all of them. @return The ratio of mpr to cJSON. */
template <class Work>
double compare(const Text &text, const char *what, int rounds, Work work) {
    std::vector<Values> times(count), ratios(count);
    for (int round = -1; round < rounds; round++) {
        double nanos[count];
        for (size_t i = 0; i < count; i++) {
            uint64_t start = cpuNanos();
            work(i);
            nanos[i] = (double) (cpuNanos() - start) / (double) (text.times * text.text.size());
        }
        for (size_t i = 0; i < count && round >= 0; i++) {
            times[i].add(nanos[i]);
            ratios[i].add(nanos[0] / nanos[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        print(text, what, all[i].name, times[i].median());
        if (i > 0) {
            print(text, what, (std::string("to_") + all[i].name).c_str(), ratios[i].median());
        }
    }
    return ratios[1].median();
}

void compareAll(int rounds) {
    double whole[count] = {}, parsing = 0, printing = 0;
    for (const Text &text : texts()) {
        parsing = std::max(parsing, compare(text, "parse", rounds,
                                            [&](size_t i) { parseTimes(all[i], text.text.c_str(), text.times); }));
        void *trees[count];
        for (size_t i = 0; i < count; i++) {
            trees[i] = kept(all[i], text.text.c_str());
        }
        printing = std::max(
            printing, compare(text, "print", rounds, [&](size_t i) { printTimes(all[i], trees[i], text.times); }));
        for (size_t i = 0; i < count; i++) {
            unkeep(all[i], trees[i]);
        }
        for (size_t i = 0; i < count; i++) {
            const double bytes = treeBytes(all[i], text);
            print(text, "memory", all[i].name, bytes);
            whole[i] += bytes;
        }
    }
    bench::print("json", "parse_to_cjson", parsing);
    bench::print("json", "print_to_cjson", printing);
    bench::print("json", "memory_to_jansson", whole[0] / whole[2]);
    bench::print("json", "memory_to_cjson", whole[0] / whole[1]);
    bench::print("json", "memory_to_nlohmann", whole[0] / whole[3]);
}

/* For counting: one thing, so often. */
int doOne(const std::string &what, const std::string &name, const std::string &whose, size_t rounds) {
    for (const Text &text : texts()) {
        for (const Who &who : all) {
            if (text.name != name || who.name != whose) {
                continue;
            }
            void *tree = kept(who, text.text.c_str());
            if (what == "parse") {
                parseTimes(who, text.text.c_str(), rounds);
            } else {
                printTimes(who, tree, rounds);
            }
            return 0;
        }
    }
    return 2;
}

} // namespace

int main(int argc, char **argv) {
    if (!mprCreate(0, nullptr, 0)) {
        return 2;
    }
    if (argc == 5) {
        return doOne(argv[1], argv[2], argv[3], strtoul(argv[4], nullptr, 10));
    }
    compareAll(argc > 1 ? atoi(argv[1]) : 15);
    return mprDestroy() ? 0 : 1;
}
