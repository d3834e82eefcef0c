/* SPDX-License-Identifier: MIT */
/*
    test/support/few_descriptors.hpp - A process that has run out of descriptors.
 */
#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace test {

/* No descriptors beyond so many more. */
class FewDescriptors {
public:
    explicit FewDescriptors(int more) {
        getrlimit(RLIMIT_NOFILE, &before);
        const int next = dup(0);
        close(next);
        rlimit few = before;
        few.rlim_cur = static_cast<rlim_t>(next + more);
        setrlimit(RLIMIT_NOFILE, &few);
    }
    ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before); }

private:
    rlimit before;
};

} // namespace test
