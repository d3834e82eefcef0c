// SPDX-License-Identifier: MIT
/*
    micro_containers.cpp - Lists and hashes under Google Benchmark, beside std::vector and std::unordered_map.

    Each table maps strings to pointers; the keys are the same for all and copied by all. "CPU" is that of the process, so
    the collector's thread is in it. What is measured on a thread that owns its table (MPR_HASH_STABLE) is so named.
 */
#include <benchmark/benchmark.h>

#include "mpr.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

std::vector<std::string> makeKeys(size_t count, cchar *format) {
    std::vector<std::string> keys(count);
    char text[64];
    for (size_t i = 0; i < count; i++) {
        /* In no order that memory has */
        snprintf(text, sizeof(text), format, static_cast<unsigned>(i * 2654435761u));
        keys[i] = text;
    }
    return keys;
}

class Rooted {
public:
    explicit Rooted(void *block) : block(block) { mprAddRoot(block); }
    ~Rooted() { mprRemoveRoot(block); }

private:
    void *block;
};

void *asValue(size_t i) {
    return reinterpret_cast<void *>(i + 1);
}

using Map = std::unordered_map<std::string, void *>;

MprHash *makeHash(const std::vector<std::string> &keys, int flags) {
    MprHash *table = mprCreateHash(0, flags | MPR_HASH_STATIC_VALUES);
    for (size_t i = 0; i < keys.size(); i++) {
        mprAddKey(table, keys[i].c_str(), asValue(i));
    }
    return table;
}

Map makeMap(const std::vector<std::string> &keys) {
    Map map;
    for (size_t i = 0; i < keys.size(); i++) {
        map[keys[i]] = asValue(i);
    }
    return map;
}

/* One operation is one key. */
void perKey(benchmark::State &state) {
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

void hashAdd(benchmark::State &state, int flags) {
    auto keys = makeKeys(static_cast<size_t>(state.range(0)), "key-%u");
    for (auto _ : state) {
        benchmark::DoNotOptimize(makeHash(keys, flags));
        mprYield(0);
    }
    perKey(state);
}

void mapAdd(benchmark::State &state) {
    auto keys = makeKeys(static_cast<size_t>(state.range(0)), "key-%u");
    for (auto _ : state) {
        benchmark::DoNotOptimize(makeMap(keys));
    }
    perKey(state);
}

void hashFind(benchmark::State &state, int flags, cchar *format) {
    auto keys = makeKeys(static_cast<size_t>(state.range(0)), "key-%u");
    auto asked = makeKeys(keys.size(), format);
    MprHash *table = makeHash(keys, flags);
    Rooted root(table);
    for (auto _ : state) {
        for (auto &key : asked) {
            benchmark::DoNotOptimize(mprLookupKey(table, key.c_str()));
        }
        mprYield(0);
    }
    perKey(state);
}

/* As C programs ask: with a pointer, so the key becomes a string first. */
void mapFind(benchmark::State &state, cchar *format) {
    auto keys = makeKeys(static_cast<size_t>(state.range(0)), "key-%u");
    auto asked = makeKeys(keys.size(), format);
    auto map = makeMap(keys);
    for (auto _ : state) {
        for (auto &key : asked) {
            auto found = map.find(key.c_str());
            benchmark::DoNotOptimize(found == map.end() ? nullptr : found->second);
        }
    }
    perKey(state);
}

void hashChurn(benchmark::State &state, int flags) {
    auto keys = makeKeys(static_cast<size_t>(state.range(0)), "key-%u");
    MprHash *table = makeHash(keys, flags);
    Rooted root(table);
    for (auto _ : state) {
        for (size_t i = 0; i < keys.size(); i++) {
            mprRemoveKey(table, keys[i].c_str());
            mprAddKey(table, keys[i].c_str(), asValue(i));
        }
        mprYield(0);
    }
    perKey(state);
}

void mapChurn(benchmark::State &state) {
    auto keys = makeKeys(static_cast<size_t>(state.range(0)), "key-%u");
    auto map = makeMap(keys);
    for (auto _ : state) {
        for (size_t i = 0; i < keys.size(); i++) {
            map.erase(keys[i]);
            map[keys[i]] = asValue(i);
        }
    }
    perKey(state);
}

void hashIterate(benchmark::State &state, int flags) {
    MprHash *table = makeHash(makeKeys(static_cast<size_t>(state.range(0)), "key-%u"), flags);
    Rooted root(table);
    for (auto _ : state) {
        MprKey *kp;
        for (ITERATE_KEYS(table, kp)) {
            benchmark::DoNotOptimize(kp->data);
        }
    }
    perKey(state);
}

void mapIterate(benchmark::State &state) {
    auto map = makeMap(makeKeys(static_cast<size_t>(state.range(0)), "key-%u"));
    for (auto _ : state) {
        for (auto &entry : map) {
            benchmark::DoNotOptimize(entry.second);
        }
    }
    perKey(state);
}

void listAdd(benchmark::State &state, int flags) {
    for (auto _ : state) {
        MprList *list = mprCreateList(0, flags);
        for (int64_t i = 0; i < state.range(0); i++) {
            mprAddItem(list, flags & MPR_LIST_STATIC_VALUES ? asValue(static_cast<size_t>(i)) : list);
        }
        benchmark::DoNotOptimize(list);
        mprYield(0);
    }
    perKey(state);
}

void vectorAdd(benchmark::State &state) {
    for (auto _ : state) {
        std::vector<void *> list;
        for (int64_t i = 0; i < state.range(0); i++) {
            list.push_back(asValue(static_cast<size_t>(i)));
        }
        benchmark::DoNotOptimize(list);
    }
    perKey(state);
}

void listIterate(benchmark::State &state) {
    MprList *list = mprCreateList(0, MPR_LIST_STATIC_VALUES);
    Rooted root(list);
    for (int64_t i = 0; i < state.range(0); i++) {
        mprAddItem(list, asValue(static_cast<size_t>(i)));
    }
    for (auto _ : state) {
        void *item;
        int next;
        for (ITERATE_ITEMS(list, item, next)) {
            benchmark::DoNotOptimize(item);
        }
    }
    perKey(state);
}

std::vector<uintptr_t> shuffled(size_t count) {
    std::vector<uintptr_t> items(count);
    for (size_t i = 0; i < count; i++) {
        items[i] = i * 2654435761u;
    }
    return items;
}

int compare(cvoid *p1, cvoid *p2, void *) {
    auto a = *static_cast<const uintptr_t *>(p1), b = *static_cast<const uintptr_t *>(p2);
    return (a > b) - (a < b);
}

void sortMpr(benchmark::State &state) {
    auto items = shuffled(static_cast<size_t>(state.range(0)));
    for (auto _ : state) {
        auto copy = items;
        mprSort(copy.data(), static_cast<ssize>(copy.size()), sizeof(uintptr_t), compare, nullptr);
        benchmark::DoNotOptimize(copy.data());
    }
    perKey(state);
}

void sortQsort(benchmark::State &state) {
    auto items = shuffled(static_cast<size_t>(state.range(0)));
    for (auto _ : state) {
        auto copy = items;
        qsort(copy.data(), copy.size(), sizeof(uintptr_t),
              [](cvoid *p1, cvoid *p2) { return compare(p1, p2, nullptr); });
        benchmark::DoNotOptimize(copy.data());
    }
    perKey(state);
}

void sizes(benchmark::internal::Benchmark *bench) {
    bench->Arg(10)->Arg(1000)->Arg(100000)->MeasureProcessCPUTime();
}

BENCHMARK_CAPTURE(hashAdd, shared, 0)->Name("hash: make and add")->Apply(sizes);
BENCHMARK_CAPTURE(hashAdd, stable, MPR_HASH_STABLE)->Name("hash, stable: make and add")->Apply(sizes);
BENCHMARK(mapAdd)->Name("unordered_map: make and add")->Apply(sizes);
BENCHMARK_CAPTURE(hashFind, hit, 0, "key-%u")->Name("hash: find")->Apply(sizes);
BENCHMARK_CAPTURE(mapFind, hit, "key-%u")->Name("unordered_map: find")->Apply(sizes);
BENCHMARK_CAPTURE(hashFind, miss, 0, "not-%u")->Name("hash: find nothing")->Apply(sizes);
BENCHMARK_CAPTURE(mapFind, miss, "not-%u")->Name("unordered_map: find nothing")->Apply(sizes);
BENCHMARK_CAPTURE(hashChurn, shared, 0)->Name("hash: remove and add")->Apply(sizes);
BENCHMARK_CAPTURE(hashChurn, stable, MPR_HASH_STABLE)->Name("hash, stable: remove and add")->Apply(sizes);
BENCHMARK(mapChurn)->Name("unordered_map: remove and add")->Apply(sizes);
BENCHMARK_CAPTURE(hashIterate, shared, 0)->Name("hash: iterate")->Apply(sizes);
BENCHMARK_CAPTURE(hashIterate, stable, MPR_HASH_STABLE)->Name("hash, stable: iterate")->Apply(sizes);
BENCHMARK(mapIterate)->Name("unordered_map: iterate")->Apply(sizes);
BENCHMARK_CAPTURE(listAdd, managed, 0)->Name("list: make and add")->Apply(sizes);
BENCHMARK_CAPTURE(listAdd, own, MPR_LIST_STABLE | MPR_LIST_STATIC_VALUES)
    ->Name("list, stable and static: make and add")
    ->Apply(sizes);
BENCHMARK(vectorAdd)->Name("vector: make and add")->Apply(sizes);
BENCHMARK(listIterate)->Name("list: iterate")->Apply(sizes);
BENCHMARK(sortMpr)->Name("mprSort")->Apply(sizes);
BENCHMARK(sortQsort)->Name("qsort")->Apply(sizes);

} // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (!mprCreate(argc, argv, 0)) {
        return 2;
    }
    benchmark::RunSpecifiedBenchmarks();
    return mprDestroy() ? 0 : 2;
}
