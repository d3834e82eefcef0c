/* SPDX-License-Identifier: MIT */
/*
    gc_main.h - The table of the collector's workloads: `program WORKLOAD [SCALE]`, or a list of their names.
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
        {"service", service},
#ifdef GC_MPR
        {"pause_10k", [](const char *name) { pauses<true>(name, 10000); }},
        {"pause_1m", [](const char *name) { pauses<true>(name, 1000000); }},
        {"pause_1m_plain", [](const char *name) { pauses<false>(name, 1000000); }},
        {"barrier", barrierCost},
        {"machine", machineNoise},
#endif
    };
    static char output[8192];
    setvbuf(stdout, output, _IOFBF, sizeof(output));
    scale = argc > 2 ? atof(argv[2]) : 1;
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
