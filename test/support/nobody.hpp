// SPDX-License-Identifier: MIT
/*
    test/support/nobody.hpp - A user for whom a folder can be read-only.
 */
#pragma once

#include "test/catch.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <string>

namespace test {

/* Runs as nobody for a while if it is root, for whom nothing is read-only. */
class Nobody {
public:
    Nobody() : is(geteuid() != 0 || seteuid(user) == 0) {}
    ~Nobody() { REQUIRE((getuid() != 0 || seteuid(0) == 0)); }
    Nobody(const Nobody &) = delete;
    Nobody &operator=(const Nobody &) = delete;

    /* A file becomes that user's. */
    static void give(const std::string &path) {
        REQUIRE((chown(path.c_str(), geteuid() == 0 ? user : geteuid(), static_cast<gid_t>(-1)) == 0));
    }

    const bool is; /* Not where the system knows no such user, as in some containers */

private:
    static constexpr uid_t user = 65534;
};

} // namespace test
