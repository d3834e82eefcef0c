// SPDX-License-Identifier: MIT
/* work_malloc.cpp - The workloads over malloc and free: glibc's, or that of a library named in LD_PRELOAD. */
#include "policy_malloc.h"
#include "work.h"
