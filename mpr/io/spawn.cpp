// SPDX-License-Identifier: MIT
/*
    spawn.cpp - See spawn.hpp.
 */
#include "mpr/io/spawn.hpp"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "mpr/base/part.hpp"
#include "mpr/command.h"
#include "mpr/memory.h"
#include "mpr/os/log.hpp"
#include "mpr/os/os.hpp"
#include "mpr/path.h"
#include "mpr/string.h"

namespace mpr::io {

using base::part;
using std::string_view;

namespace {

/** The child will be elsewhere. @param path As findProgram's. @return false when that is too long. */
bool makeAbsolute(char* path) {
    const char* absolute = mprGetAbsPath(path);
    return absolute && scopy(path, PATH_MAX, absolute) >= 0;
}

/** @return false when the path would be too long. */
bool join(char* path, string_view folder, string_view name) {
    if (folder.size() + name.size() + 2 > PATH_MAX) {
        return false;
    }
    char* end = std::copy(folder.begin(), folder.end(), path);
    if (!folder.empty()) {
        *end++ = '/';
    }
    *std::copy(name.begin(), name.end(), end) = '\0';
    return true;
}

/** Whether a program stands at a path. A folder, which may be entered, is none. @return 0 or MPR_ERR_*. */
int lookAt(const char* path) {
    struct stat info;
    if (stat(path, &info) != 0) {
        return MPR_ERR_CANT_FIND;
    }
    return S_ISREG(info.st_mode) && access(path, X_OK) == 0 ? 0 : MPR_ERR_CANT_ACCESS;
}

/** Look for a program in folders, of which an empty one is the current (POSIX, PATH). @return 0 or MPR_ERR_*. */
int findInFolders(string_view folders, const char* name, char* path) {
    int result = MPR_ERR_CANT_FIND;
    for (bool more = true; more && result != 0;) {
        const std::size_t colon = folders.find(':');
        const string_view folder = part(folders, 0, colon);
        more = colon != string_view::npos;
        folders.remove_prefix(more ? colon + 1 : folders.size());
        const int found = join(path, folder.empty() ? "." : folder, name) ? lookAt(path) : MPR_ERR_CANT_FIND;
        result = found == MPR_ERR_CANT_FIND ? result : found;
    }
    return result;
}
} // namespace

int findProgram(const char* search, const char* workingFolder, const char* name, char* path) {
    const char* folders = search ? search : os::environment("PATH");
    const bool given = std::strchr(name, '/') != nullptr;
    int result = given ? (join(path, "", name) ? lookAt(path) : MPR_ERR_CANT_FIND)
                       : findInFolders(folders ? folders : "/bin:/usr/bin", name, path);
    if (result == 0 && workingFolder && path[0] != '/' && !makeAbsolute(path)) {
        result = MPR_ERR_CANT_FIND;
    }
    if (result != 0) {
        os::Message message;
        os::log(os::Level::error, message << "mprStartCmd: program \"" << string_view(name) << "\" "
                                          << (result == MPR_ERR_CANT_FIND ? "not found" : "may not be executed"));
    }
    return result;
}

namespace {

bool sameName(const char* one, const char* two) {
    while (*one == *two && *one && *one != '=') {
        ++one;
        ++two;
    }
    return *one == '=' && *two == '=';
}
} // namespace

char** mixEnvironment(const char** envp) {
    std::size_t count = 1;
    for (char** each = environ; each && *each; ++each) {
        ++count;
    }
    for (const char** each = envp; *each; ++each) {
        ++count;
    }
    auto** mixed = static_cast<char**>(palloc(count * sizeof(char*)));
    char** end = mixed;
    for (char** ours = environ; mixed && ours && *ours; ++ours) {
        bool replaced = false;
        for (const char** each = envp; *each && !replaced; ++each) {
            replaced = sameName(*ours, *each);
        }
        if (!replaced) {
            *end++ = *ours;
        }
    }
    for (const char** each = envp; mixed && *each; ++each) {
        *end++ = const_cast<char*>(*each);
    }
    if (mixed) {
        *end = nullptr;
    }
    return mixed;
}

namespace {

/** What posix_spawn is to do, and what is to be given back after it. */
class SpawnPlan {
public:
    SpawnPlan() : error_(posix_spawnattr_init(&attributes_)) {
        if (error_ == 0 && (error_ = posix_spawn_file_actions_init(&actions_)) != 0) {
            posix_spawnattr_destroy(&attributes_);
        }
        made_ = error_ == 0;
    }
    ~SpawnPlan() {
        if (made_) {
            posix_spawn_file_actions_destroy(&actions_);
            posix_spawnattr_destroy(&attributes_);
        }
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;

    /** No signal is blocked or ignored in the child. */
    void setTraits(bool ownSession, bool ownGroup) {
        if (!made_) {
            return;
        }
        sigset_t all;
        sigset_t none;
        sigfillset(&all);
        sigemptyset(&none);
        const int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (ownSession ? POSIX_SPAWN_SETSID : 0) |
                          (ownGroup && !ownSession ? POSIX_SPAWN_SETPGROUP : 0);
        note(posix_spawnattr_setflags(&attributes_, static_cast<short>(flags)));
        note(posix_spawnattr_setsigdefault(&attributes_, &all));
        note(posix_spawnattr_setsigmask(&attributes_, &none));
    }
    /**
        Give the child a descriptor, which is above 2. @param given -1: what we have at that place; nothing for its input.
        What is closed on execution there is no standard output, but something of ours that was opened after that was closed.
     */
    void setChannel(int channel, int given) {
        if (!made_) {
            return;
        }
        const int flags = channel == MPR_CMD_STDIN ? -1 : fcntl(channel, F_GETFD);
        if (given >= 0) {
            note(posix_spawn_file_actions_adddup2(&actions_, given, channel));
        } else if (flags < 0 || (flags & FD_CLOEXEC)) {
            note(posix_spawn_file_actions_addopen(&actions_, channel, "/dev/null",
                                                  channel == MPR_CMD_STDIN ? O_RDONLY : O_WRONLY, 0));
        }
    }
    void setFolder(const char* folder) {
        if (made_ && folder) {
            note(posix_spawn_file_actions_addchdir_np(&actions_, folder));
        }
    }
    /** @return 0 or the system's error. */
    int spawn(pid_t& pid, const Start& start) {
        if (error_ != 0) {
            return error_;
        }
        char** arguments = start.arguments;
        char** all = start.environment ? start.environment : environ;
        int result = posix_spawn(&pid, start.path, &actions_, &attributes_, arguments, all);
        if (result == ENOEXEC) { // a script that does not say of what
            std::copy_backward(arguments + 1, arguments + start.count + 1, arguments + start.count + 2);
            arguments[0] = const_cast<char*>("sh");
            arguments[1] = const_cast<char*>(start.path);
            result = posix_spawn(&pid, "/bin/sh", &actions_, &attributes_, arguments, all);
        }
        return result;
    }

private:
    void note(int error) { error_ = error_ != 0 ? error_ : error; }

    posix_spawnattr_t attributes_;
    posix_spawn_file_actions_t actions_;
    int error_;
    bool made_ = false;
};
} // namespace

int spawn(pid_t& pid, const Start& start) {
    SpawnPlan plan;
    plan.setTraits(start.ownSession, start.ownGroup);
    plan.setFolder(start.folder);
    for (int channel = 0; channel < channels; ++channel) {
        plan.setChannel(channel, start.childs[channel]);
    }
    return plan.spawn(pid, start);
}

void sayWhy(const Start& start, int error) {
    os::Message message;
    message << "mprStartCmd: \"" << string_view(start.path) << "\": ";
    const bool inFolder = start.folder && access(start.folder, X_OK) != 0;
    if (inFolder) {
        message << "its working folder \"" << string_view(start.folder) << "\": ";
    } else if (error == ENOENT && access(start.path, F_OK) == 0) {
        message << "the interpreter that its first line names, or its loader: ";
    }
    os::log(os::Level::error, message << strerror(error));
}

} // namespace mpr::io
