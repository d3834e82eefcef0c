// SPDX-License-Identifier: MIT
/*
    test/support/few_addresses.hpp - A system that refuses memory.
 */
#pragma once

#include "test/catch.hpp"

#include "mpr.h"

#include <sys/resource.h>

#include <fstream>

namespace test {

/*
    Until destroyed the process may map so many bytes more, and no more. Sanitizers cannot live so, emulators do not keep to it.
    malloc is refused, too: checks come later.
 */
class FewAddresses {
public:
    explicit FewAddresses(size_t more) {
        size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        getrlimit(RLIMIT_AS, &before_);
        rlimit limit = before_;
        limit.rlim_cur = static_cast<rlim_t>(pages * static_cast<size_t>(mprGetPageSize()) + more);
        REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    }
    ~FewAddresses() { setrlimit(RLIMIT_AS, &before_); }

private:
    rlimit before_;
};

} // namespace test
