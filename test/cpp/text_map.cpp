// SPDX-License-Identifier: MIT
/*
    test/cpp/text_map.cpp - mpr::TextMap, and objects with room behind them.
 */
#include "test/cpp/setting.hpp"
#include "test/support/sanitizer.hpp"

#include <map>
#include <random>
#include <set>
#include <string>

using test::Counted;
using test::heavy;
using test::Setting;

namespace {

using Map = mpr::TextMap<Counted>;

std::string name(size_t i) {
    return std::string(i % 40, 'x') + std::to_string(i);
}

TEST_CASE("cpp text map: random operations agree with std::map, across collections") {
    Setting setting;
    {
        mpr::Root<Map> map = mpr::make<Map>();
        std::map<std::string, int> model;
        std::mt19937 random(1);
        size_t wrong = 0;
        const size_t steps = heavy(200000);
        for (size_t i = 0; i < steps; i++) {
            const std::string key = name(random() % 3000);
            const bool shrinks = i / 20000 % 2; // more is removed than added by turns
            switch (random() % 4) {
            case 0:
            case 1:
                if (shrinks || random() % 4 == 0) {
                    wrong += (map->remove(key) != nullptr) != (model.erase(key) == 1);
                    break;
                }
                [[fallthrough]];
            case 2:
                wrong += !map->set(key, mpr::make<Counted>(static_cast<int>(i)));
                model[key] = static_cast<int>(i);
                break;
            default: {
                Counted* const found = map->find(key);
                const auto known = model.find(key);
                wrong += (found != nullptr) != (known != model.end()) || (found && found->value != known->second);
            }
            }
            wrong += map->size() != model.size();
            mpr::yield();
        }
        std::set<std::string> seen;
        map->forEach([&](std::string_view key, Counted* value) {
            const auto known = model.find(std::string(key));
            wrong += known == model.end() || known->second != value->value || key.data()[key.size()] != '\0';
            seen.emplace(key);
        });
        CHECK(seen.size() == model.size());
        CHECK(wrong == 0);
        mpr::collect();
        CHECK(Counted::alive() == static_cast<int>(map->size()));
        for (const auto& [key, value] : model) {
            wrong += map->remove(key) == nullptr;
        }
        CHECK(wrong == 0);
        CHECK(map->empty());
        CHECK(Counted::wrong == 0);
    }
    mpr::collect();
    CHECK(Counted::alive() == 0);
}

TEST_CASE("cpp text map: any bytes are a key") {
    Setting setting;
    mpr::Root<Map> map = mpr::make<Map>();
    CHECK(map->find("") == nullptr);
    CHECK(map->remove("a") == nullptr);
    const std::string keys[] = {"", std::string(1, '\0'), std::string("a\0b", 3), "a", std::string(70000, 'k')};
    for (const std::string& key : keys) {
        REQUIRE(map->set(key, mpr::make<Counted>(static_cast<int>(key.size()))));
    }
    CHECK(map->size() == std::size(keys));
    for (const std::string& key : keys) {
        REQUIRE(map->find(key));
        CHECK(map->find(key)->value == static_cast<int>(key.size()));
    }
    Counted* const other = mpr::make<Counted>(-1);
    REQUIRE(map->set("a", other));
    CHECK(map->find("a") == other);
    CHECK(map->size() == std::size(keys));
    CHECK(map->remove("a") == other);
    CHECK(map->find("a") == nullptr);
    CHECK(map->find(keys[2]));
}

TEST_CASE("cpp text map: memory is given back when keys are removed") {
    Setting setting;
    mpr::Root<Map> map = mpr::make<Map>();
    mpr::Root<Counted> value = mpr::make<Counted>(1);
    const auto live = [] {
        mpr::collect();
        MprMemStats stats;
        mprReadMemStats(&stats);
        return stats.bytesLive;
    };
    const auto before = live();
    for (size_t i = 0; i < 20000; i++) {
        REQUIRE(map->set(name(i), value.get()));
    }
    CHECK(live() > before + 20000 * sizeof(void*));
    for (size_t i = 0; i < 20000; i++) {
        REQUIRE(map->remove(name(i)) == value.get());
    }
    CHECK(live() < before + 65536);
}

TEST_CASE("cpp text map: without memory nothing changes") {
    Setting setting;
    mpr::Root<Map> map = mpr::make<Map>();
    mpr::Root<Counted> value = mpr::make<Counted>(1);
    mprSetMemLimits(-1, 4 << 20, -1);
    size_t count = 0;
    while (map->set(name(count), value.get())) {
        count++;
        REQUIRE(count < 1000000);
    }
    CHECK(map->size() == count);
    CHECK(map->find(name(count)) == nullptr);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        wrong += map->find(name(i)) != value.get();
    }
    CHECK(wrong == 0);
    CHECK(map->remove(name(0)) == value.get());
    mprSetMemLimits(-1, 0, -1);
}

struct Line {
    explicit Line(size_t size) noexcept : length(size) {}
    void trace(mpr::Marker& marker) { marker(next); }
    size_t length;
    mpr::Member<Line> next;
};

TEST_CASE("cpp make: with room behind the object, which is its own") {
    Setting setting;
    mpr::Root<Line> lines;
    for (size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{100000}}) {
        Line* const line = mpr::makeWithRoom<Line>(size, size);
        REQUIRE(line);
        memset(mpr::roomBehind(line), 0x5A, size);
        line->next = lines;
        lines = line;
        mpr::collect();
    }
    size_t wrong = 0, count = 0;
    for (const Line* line = lines; line; line = line->next) {
        for (size_t i = 0; i < line->length; i++) {
            wrong += mpr::roomBehind(line)[i] != 0x5A;
        }
        count++;
    }
    CHECK(count == 4);
    CHECK(wrong == 0);
    CHECK(mpr::makeWithRoom<Line>(SIZE_MAX, size_t{0}) == nullptr);
    CHECK(mpr::makeWithRoom<Line>(static_cast<size_t>(PTRDIFF_MAX), size_t{0}) == nullptr);
}

} // namespace
