/* SPDX-License-Identifier: MIT */
/*
    gc_main.h - The table of the collector's workloads: `program WORKLOAD [SCALE [WAY]]`, or a list of their names.
 */
#include "gc_work.h"
#ifdef GC_MPR
#include "gc_pause.h"
#endif

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*work)(const char *workload);
    } workloads[] = {
        {"ring_leaf", ringLeaf},
        {"ring_scanned", ringScanned},
        {"hash_million", hashMillion},
        {"trees18", binaryTrees<1>},
        {"trees18_2", binaryTrees<2>},
        {"gcbench", gcBench},
        {"service", service<Survivors::ofOneSize, 2>},
        {"service_same", service<Survivors::ofAllSizes, 2>},
        {"service_same_1", service<Survivors::ofAllSizes, 1>},
        {"service_same_4", service<Survivors::ofAllSizes, 4>},
        {"service_same_disturbed", service<Survivors::ofAllSizes, 2>},
        {"filled_64", filled<64, 64>},
        {"filled_512", filled<16, 512>},
        {"filled_4096", filled<16, 4096>},
#ifdef GC_MPR
        {"pause_10k", [](const char *name) { pauses<true>(name, 10000); }},
        {"pause_1m", [](const char *name) { pauses<true>(name, 1000000); }},
        {"pause_1m_plain", [](const char *name) { pauses<false>(name, 1000000); }},
        {"living_10m", [](const char *name) { living(name, 10000000); }},
        {"plain_100m", [](const char *name) { plainShare(name, 100000000); }},
        {"plain_1g", [](const char *name) { plainShare(name, 1000000000); }},
        {"barrier", barrierCost},
        {"machine", machineNoise},
#endif
    };
    static char output[8192];
    setvbuf(stdout, output, _IOFBF, sizeof(output));
    scale = argc > 2 ? atof(argv[2]) : 1;
#ifdef GC_MPR
    if (argc > 3) {
        Policy::choose(argv[3]);
    }
#endif
    for (auto &entry : workloads) {
        if (argc < 2) {
            puts(entry.name);
        } else if (strcmp(argv[1], entry.name) == 0) {
            entry.work(entry.name);
            return 0;
        }
    }
    return argc < 2 ? 0 : 3;
}
