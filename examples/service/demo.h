/* SPDX-License-Identifier: MIT */
/*
    demo.h - The service under the eyes of its clients: ten seconds of traffic, then across the redline and back.
 */
#pragma once

#include "options.h"

namespace service {

/** @return The process's exit code: 0 only if everything that the demo shows did happen. */
int demonstrate(const Options& options);

} // namespace service
