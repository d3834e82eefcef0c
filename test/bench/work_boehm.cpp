// SPDX-License-Identifier: MIT
/* work_boehm.cpp - The workloads over the Boehm-Demers-Weiser collector. Links with -lgc. */
#include "policy_boehm.h"
#include "work.h"
