// SPDX-License-Identifier: MIT
/*
    spawn.hpp - How the program of a child process is found, and how the process begins: by posix_spawn.

    This knows nothing of commands: see command.hpp.
 */
#pragma once

#include <sys/types.h>

namespace mpr::io {

inline constexpr int channels = 3; // of a child: its input, output and errors

/** The program of a child, and how the child begins. */
struct Start {
    const char* path;
    char** arguments; // with room for one more
    int count;
    char** environment;   // nullptr: ours
    const char* folder;   // in which it runs; nullptr: ours
    int childs[channels]; // descriptors above 2. -1: the child has ours, and as its input /dev/null
    bool ownSession;
    bool ownGroup;
};

/**
    Find a program.
    @param search Folders, as in PATH; nullptr: those of PATH. @param folder Where the child will be; nullptr: where we are.
    @param name With a "/" it is a path. @param path At least PATH_MAX bytes. @return 0 or MPR_ERR_*, of which the log tells.
 */
int findProgram(const char* search, const char* folder, const char* name, char* path);
/** Our environment with what is in envp instead and besides. @return Pointers in permanent memory, to be freed; nullptr:
    memory is short. */
char** mixEnvironment(const char** envp);
/** Start a process, in which no signal is blocked or ignored. @return 0 or the system's error. */
int spawn(pid_t& pid, const Start& start);
/** Name in the log what kept a process from starting. The system gives one error for several causes. */
void sayWhy(const Start& start, int error);

} // namespace mpr::io
