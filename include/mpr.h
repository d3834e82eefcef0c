/* SPDX-License-Identifier: MIT */
/*
    mpr.h - The C API of mpr, all subjects.

    mpr is a runtime for embedded services: constant-time allocation, a cooperative garbage collector that never moves
    a block, and a redline that speaks up before memory runs out. Include this header, or one of mpr/ by subject.

    Every header is valid C11 and C++20. What short names there are, and how to do without: mpr/types.h. (No guard here:
    what mpr.hpp has left out is declared when this header follows.)
 */
#include "mpr/types.h"
#include "mpr/version.h"
#include "mpr/runtime.h"
#include "mpr/memory.h"
#include "mpr/barrier.h"
#include "mpr/context.h"
#include "mpr/limits.h"
#include "mpr/host.h"
#include "mpr/collect.h"
#include "mpr/handle.h"
#include "mpr/embed.h"
#include "mpr/pinned.h"
#include "mpr/stats.h"
#include "mpr/suspend.h"
#include "mpr/thread.h"
#include "mpr/lock.h"
#include "mpr/worker.h"
#include "mpr/event.h"
#include "mpr/shutdown.h"
#include "mpr/wait.h"
#include "mpr/socket.h"
#include "mpr/tls.h"
#include "mpr/signal.h"
#include "mpr/command.h"
#include "mpr/string.h"
#include "mpr/format.h"
#include "mpr/buffer.h"
#include "mpr/encode.h"
#include "mpr/digest.h"
#include "mpr/app.h"
#include "mpr/log.h"
#include "mpr/list.h"
#include "mpr/hash.h"
#include "mpr/json.h"
#include "mpr/mime.h"
#include "mpr/xml.h"
#include "mpr/cache.h"
#include "mpr/time.h"
#include "mpr/path.h"
#include "mpr/file.h"
#include "mpr/module.h"
