// SPDX-License-Identifier: MIT
/*
    startup_limits.cpp - Limits of the start, which a host sets once for all runtimes of its process. mpr/host.h.
 */
#include <bit>

#include "mpr/gc/guard.hpp"
#include "mpr/gc/runtime.hpp"
#include "mpr/host.h"
#include "mpr/os/lock.hpp"

namespace os = mpr::os;

namespace {

constinit os::Lock limitsLock{os::outermost};

int reject(const char* function, int error, const char* why) {
    os::Message message;
    os::log(os::Level::error, message << function << ": " << why);
    return error;
}

const char* whyNot(std::size_t region, std::size_t young) {
    using namespace mpr::heap;
    if (region != 0 && (!std::has_single_bit(region) || region < std::size_t{1} << leastRegionShift ||
                        region > std::size_t{1} << greatestRegionShift)) {
        return "a region is a power of two from 64k to 64m";
    }
    return young > ~std::size_t{0} / 2 ? "no machine has so much memory for a young budget" : nullptr;
}
} // namespace

int mprSetGCStartupLimits(size_t regionSize, size_t youngBudget) {
    if (mpr::gc::running() || mpr::gc::isForked()) {
        return reject("mprSetGCStartupLimits", MPR_ERR_BAD_STATE, "there is a runtime; call it before mprCreate");
    }
    if (const char* why = whyNot(regionSize, youngBudget)) {
        return reject("mprSetGCStartupLimits", MPR_ERR_BAD_VALUE, why);
    }
    {
        const os::Locked locked(limitsLock);
        mpr::gc::StartupLimits& limits = mpr::gc::startupLimits;
        if (!limits.set) {
            limits = {true, regionSize != 0 ? static_cast<unsigned>(std::bit_width(regionSize)) - 1 : 0, youngBudget};
            return 0;
        }
    }
    return reject("mprSetGCStartupLimits", MPR_ERR_ALREADY_EXISTS, "they are set once in a process, and have been");
}
