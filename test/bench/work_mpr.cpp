// SPDX-License-Identifier: MIT
/* work_mpr.cpp - The workloads over mpr, collected. */
#include "policy_mpr.h"
#include "work.h"
