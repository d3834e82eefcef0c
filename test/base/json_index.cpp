// SPDX-License-Identifier: MIT
/*
    test/base/json_index.cpp - Large objects and arrays of JSON: what is found in them after any changes, beside a model.
 */
#include "test/support/json.hpp"
#include "test/support/pattern.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace test;

namespace {

using Properties = std::vector<std::pair<std::string, std::string>>;

auto findIn(Properties &model, const std::string &name) {
    return std::find_if(model.begin(), model.end(), [&](const auto &each) { return each.first == name; });
}

bool agrees(MprJson *object, Properties &model, int names) {
    size_t i = 0;
    for (MprJson *child = object->children; child; child = child->next, i++) {
        if (i >= model.size() || model[i].first != child->name || model[i].second != child->value) {
            return false;
        }
    }
    for (int name = 0; name < names; name++) {
        const std::string key = std::to_string(name);
        const auto at = findIn(model, key);
        cchar *value = mprReadJson(object, key.c_str());
        if (at == model.end() ? value != nullptr : !value || at->second != value) {
            return false;
        }
    }
    return i == model.size() && isSound(object);
}

bool agrees(MprJson *array, const std::vector<std::string> &model) {
    for (size_t i = 0; i < model.size(); i++) {
        if (str(mprReadJson(array, std::to_string(i).c_str())) != model[i]) {
            return false;
        }
    }
    return static_cast<size_t>(array->length) == model.size() && isSound(array) &&
           !mprReadJson(array, std::to_string(model.size()).c_str());
}
} // namespace

TEST_CASE("an object of many names agrees with a model, as it grows and shrinks", "[base][json]") {
    Runtime runtime;
    constexpr int names = 150;
    mpr::Root<MprJson> object = mprCreateJson(MPR_JSON_OBJ);
    Properties model;
    Random random(1);
    for (int step = 0; step < 6000; step++) {
        const bool grows = step / 1000 % 2 == 0;
        const std::string name = std::to_string(random.below(names)), value = std::to_string(step);
        const auto at = findIn(model, name);
        if (random.chance(grows ? 70 : 30)) {
            REQUIRE(mprWriteJson(object, name.c_str(), value.c_str(), 0) == 0);
            if (at == model.end()) {
                model.emplace_back(name, value);
            } else {
                at->second = value;
            }
        } else {
            MprJson *const child = mprReadJsonObj(object, name.c_str());
            REQUIRE((child != nullptr) == (at != model.end()));
            if (child) {
                REQUIRE(mprRemoveJsonChild(object, child) == child);
                model.erase(at);
            }
        }
        if (step % 50 == 0) {
            REQUIRE(agrees(object, model, names));
        }
        mprYield(0);
    }
}

TEST_CASE("an array of many elements agrees with a model, as it grows and shrinks", "[base][json]") {
    Runtime runtime;
    mpr::Root<MprJson> array = mprCreateJson(MPR_JSON_ARRAY);
    std::vector<std::string> model;
    Random random(2);
    for (int step = 0; step < 6000; step++) {
        const bool grows = step / 1000 % 2 == 0;
        const std::string value = std::to_string(step);
        const size_t place = model.empty() ? 0 : random.below(model.size());
        if (random.chance(grows ? 60 : 30) || model.empty()) {
            REQUIRE(mprWriteJson(array, nullptr, value.c_str(), 0) == 0);
            model.push_back(value);
        } else if (random.chance(50)) {
            REQUIRE(mprSetJson(array, ("[" + std::to_string(place) + "]").c_str(), value.c_str(), 0) == 0);
            model[place] = value;
        } else {
            const size_t gone = random.chance(50) ? place : random.chance(50) ? 0 : model.size() - 1;
            REQUIRE(mprRemoveJson(array, ("[" + std::to_string(gone) + "]").c_str()));
            model.erase(model.begin() + static_cast<std::ptrdiff_t>(gone));
        }
        if (step % 50 == 0) {
            REQUIRE(agrees(array, model));
        }
        mprYield(0);
    }
}

TEST_CASE("of many properties with some names twice the first is found, and the second when that has gone",
          "[base][json]") {
    Runtime runtime;
    mpr::Root<MprHash> table = mprCreateHash(0, 0);
    for (int i = 0; i < 100; i++) {
        mprAddDuplicateKey(table, std::to_string(i % 60).c_str(), sclone(std::to_string(i).c_str()));
    }
    mpr::Root<MprJson> object = mprHashToJson(table);
    REQUIRE(object->length == 100);
    for (int i = 0; i < 60; i++) {
        const std::string name = std::to_string(i);
        MprJson *first = object->children;
        while (str(first->name) != name) {
            first = first->next;
        }
        REQUIRE(mprReadJsonObj(object, name.c_str()) == first);
        MprJson *second = first->next;
        while (second && str(second->name) != name) {
            second = second->next;
        }
        REQUIRE(mprRemoveJsonChild(object, first) == first);
        REQUIRE(mprReadJsonObj(object, name.c_str()) == second);
    }
}

TEST_CASE("a large object has its names when it was parsed, copied, merged or parsed into", "[base][json]") {
    Runtime runtime;
    std::string text = "{", more = "{";
    for (int i = 0; i < 200; i++) {
        text += (i ? ",\"" : "\"") + std::to_string(i % 150) + "\":" + std::to_string(i);
        more += (i ? ",\"" : "\"") + std::to_string(i + 100) + "\":\"more\"";
    }
    mpr::Root<MprJson> object = parsed(text + "}");
    Properties model;
    for (int i = 0; i < 150; i++) {
        model.emplace_back(std::to_string(i), std::to_string(i < 50 ? i + 150 : i));
    }
    CHECK(agrees(object, model, 400));
    mpr::Root<MprJson> copy = mprCloneJson(object), merged = mprCloneJson(object);
    CHECK(agrees(copy, model, 400));
    REQUIRE(mprBlendJson(merged, parsed(more + "}"), 0) == 0);
    REQUIRE(mprParseJsonInto((more + "}").c_str(), object) == object.get());
    for (int i = 100; i < 300; i++) {
        if (i < 150) {
            findIn(model, std::to_string(i))->second = "more";
        } else {
            model.emplace_back(std::to_string(i), "more");
        }
    }
    CHECK(agrees(merged, model, 400));
    CHECK(agrees(object, model, 400));
}

namespace {
MprJson *notes;
void *cached;
} // namespace

TEST_CASE("a notifier may add to an array for whose index memory is short", "[base][json]") {
    Runtime runtime;
    constexpr int count = 100000;
    notes = mprCreateJson(MPR_JSON_ARRAY);
    mprHold(notes);
    for (int i = 0; i < count; i++) {
        mprWriteJson(notes, "$", "a", MPR_JSON_STRING);
    }
    cached = mprAlloc(64 << 20);
    mprHold(cached);
    mprSetMemLimits(0, static_cast<ssize>(stats().heap) + (300 << 10), -1);
    mprSetMemNotifier([](int, int, size_t, size_t) {
        if (void *block = std::exchange(cached, nullptr)) {
            mprRelease(block);
            mprFree(block);
            for (int i = 0; i < 2 * count; i++) {
                mprWriteJson(notes, "$", "noted", MPR_JSON_STRING);
            }
        }
    });
    CHECK(str(mprReadJson(notes, std::to_string(count / 2).c_str())) == "a"); /* by an index, which is a megabyte */
    CHECK(!cached);
    CHECK(notes->length == 3 * count);
    CHECK(str(mprReadJson(notes, std::to_string(count).c_str())) == "noted");
    CHECK(str(mprReadJson(notes, std::to_string(3 * count - 1).c_str())) == "noted");
    CHECK(mprVerifyHeap() == 0);
}
