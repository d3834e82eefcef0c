/* SPDX-License-Identifier: MIT */
/*
    demo.h - The service under the eyes of its clients: ten seconds of traffic, then across the redline and back.
 */
#pragma once

#include "board.h"
#include "options.h"

namespace service {

/** Serve on this thread while another shows it. @return The process's exit code: 0 only if all that it shows did happen. */
int demonstrate(const Options& options, Board& board);

} // namespace service
