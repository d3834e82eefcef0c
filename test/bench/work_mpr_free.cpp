// SPDX-License-Identifier: MIT
/* work_mpr_free.cpp - The workloads over mpr in the style of malloc: collection disabled, mprFree for every block. */
#define MPR_BENCH_FREE 1
#include "policy_mpr.h"
#include "work.h"
