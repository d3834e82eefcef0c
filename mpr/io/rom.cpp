// SPDX-License-Identifier: MIT
/*
    rom.cpp - Read-only files linked into the program, and which file system a path belongs to.
 */
#include "mpr/io/rom.hpp"

#include <atomic>
#include <cstring>

namespace {
std::atomic<MprRomInode*> table{nullptr};
MprFileSystem disk = {"/", "/", "\n", true, false, false};
MprFileSystem program = {"/", "/", "\n", true, false, true};
} // namespace

namespace mpr::io {

const MprRomInode* findRomFile(const char* path) {
    const MprRomInode* inode = table.load(std::memory_order_acquire);
    for (inode = inode ? inode : mprGetRomFiles(); inode && inode->path; ++inode) {
        if (inode->data && std::strcmp(inode->path, path) == 0) {
            return inode;
        }
    }
    return nullptr;
}

} // namespace mpr::io

void mprSetRomFileSystem(MprRomInode* inodes) {
    table.store(inodes, std::memory_order_release);
}

/** Weak: a program that has its files in a table defines this function itself. */
[[gnu::weak]] MprRomInode* mprGetRomFiles(void) {
    return table.load(std::memory_order_acquire);
}

MprFileSystem* mprLookupFileSystem(cchar* path) {
    return path && mpr::io::findRomFile(path) ? &program : &disk;
}
