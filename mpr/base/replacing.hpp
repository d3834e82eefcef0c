// SPDX-License-Identifier: MIT
/*
    replacing.hpp - What a file takes over from the one whose place it will take.
 */
#pragma once

#include <sys/stat.h>
#include <unistd.h>

namespace mpr::base {

/**
    Give a file owner, group and permissions of another, as far as the process may: one that may not give it to the
    group gives the group no more than everybody has.
    @return Whether it has permissions; errno is set.
 */
inline bool takeOver(int file, const struct stat& from) {
    constexpr auto same = static_cast<uid_t>(-1);
    mode_t mode = from.st_mode & 07777;
    if (fchown(file, from.st_uid, from.st_gid) != 0) {
        mode &= 0777; // not in another's name
        if (fchown(file, same, from.st_gid) != 0) {
            mode &= 0707 | (mode & 07) << 3;
        }
    }
    return fchmod(file, mode) == 0;
}

} // namespace mpr::base
