// SPDX-License-Identifier: MIT
/*
    plain_file.hpp - Regular files, opened for reading by as few calls of the system as that takes, and told from others.
 */
#pragma once

#include <sys/stat.h>

#include "mpr/file.h"

namespace mpr::io {

/**
    Open what a path names if it is a regular file of the disk, and say what it is. Nobody is waited for, whatever is there.
    @param is Receives what was opened, a folder for instance. @param straight Receives whether no symbolic link was
    followed on the way: false where the system cannot tell.
    @return nullptr: it cannot be opened, or is none, then errno is EISDIR or EINVAL.
 */
MprFile* openPlainFile(const char* filename, struct stat& is, bool& straight);

/** Whether a call with a file may wait until somebody reads or writes at its other end. Disks have none. nullptr is fine. */
bool mayWait(const MprFile* ptr);

} // namespace mpr::io
