// SPDX-License-Identifier: MIT
/*
    pages_host.cpp - The program as the host of all pages: mprSetHost. What asks it is os/pages.hpp.
 */
#include "mpr/gc/guard.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/host.h"
#include "mpr/host/memory_load.hpp"
#include "mpr/os/log.hpp"
#include "mpr/os/pages.hpp"

namespace os = mpr::os;

namespace {
MprHost named{}; // written while nobody is asked

bool isWhole(const MprHost& host) {
    return host.size == sizeof(MprHost) && host.reserve && host.commit && host.decommit && host.release &&
           host.protect && host.query;
}

int refuse(int error, const char* why) {
    os::Message message;
    os::log(os::Level::error, message << "mprSetHost: " << why);
    return error;
}
} // namespace

int mprSetHost(const MprHost* host) {
    if (host && !isWhole(*host)) {
        return refuse(MPR_ERR_BAD_ARGS, "a function is missing, or the size is not sizeof(MprHost)");
    }
    if (mpr::gc::running() || mpr::gc::isForked()) {
        return refuse(MPR_ERR_BAD_STATE, "there is a runtime");
    }
    if (host || os::isHosted()) {
        if (!os::giveAllPages() || !os::setPageHost(nullptr)) {
            return refuse(MPR_ERR_BAD_STATE, "pages are in use");
        }
    }
    if (host) {
        named = *host;
        os::setPageHost(&named);
    }
    mpr::host::askHostOfLoad(host && host->getLoad);
    return 0;
}

const MprHost* mprGetHost(void) {
    return os::pageHost.load(std::memory_order_relaxed);
}

int mprReadHostStats(MprHostStats* stats) {
    if (!mpr::gc::mayFill("mprReadHostStats", stats)) {
        return MPR_ERR_BAD_ARGS;
    }
    os::readPageCounts(*stats);
    return os::isHosted() ? 0 : MPR_ERR_BAD_STATE;
}
