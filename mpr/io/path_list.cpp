// SPDX-License-Identifier: MIT
/*
    path_list.cpp - Directories listed, and files found by patterns.

    A tree is walked without recursion: entries still to come stand on a list used as a stack, a directory before those in
    it. Nothing here yields, so nothing is rooted.
 */
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>

#include "mpr/barrier.h"
#include "mpr/base/references.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/io/glob.hpp"
#include "mpr/io/waiting.hpp"
#include "mpr/path.h"

using mpr::base::referring;
using mpr::io::PathCopy;
using mpr::io::Request;

namespace {

using std::string_view;

/** An entry of the walk; its name is relative to where that began. */
struct Found : MprDirEntry {
    bool expanded; // what is in it stands on the stack above it
};

void manageEntry(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRef(&static_cast<MprDirEntry*>(ptr)->name);
    }
}
const mpr::gc::ManagerName namedDirEntry(manageEntry, "MprDirEntry");

char* concatenate(string_view dir, string_view name) {
    const std::size_t slash = !dir.empty() && dir.back() != '/';
    auto* path = static_cast<char*>(mprAlloc(dir.size() + slash + name.size() + 1));
    if (path) {
        std::memcpy(path, dir.data(), dir.size());
        path[dir.size()] = '/';
        std::memcpy(path + dir.size() + slash, name.data(), name.size());
        path[dir.size() + slash + name.size()] = '\0';
    }
    return path;
}

class Walk {
public:
    Walk(const PathCopy& root, int flags) : root_(root), flags_(flags) {}

    /** @param visit Called with each entry; @return false to end the walk. @return MPR_ERR_* */
    template <class Visit>
    int run(Visit visit) {
        MprList* waiting = mprCreateList(0, MPR_LIST_STABLE);
        if (!waiting || !root_.valid()) {
            return waiting ? MPR_ERR_BAD_ARGS : MPR_ERR_MEMORY;
        }
        int error = expand(waiting, "");
        while (error == 0) {
            auto* entry = static_cast<Found*>(mprPopItem(waiting));
            if (!entry) {
                return 0;
            }
            const bool enters = entry->isDir && !entry->isLink && !entry->expanded && (flags_ & MPR_PATH_DESCEND);
            const bool late = enters && (flags_ & MPR_PATH_DEPTH_FIRST);
            if (!late && !(entry->isDir && (flags_ & MPR_PATH_NO_DIRS)) && !visit(entry)) {
                return MPR_ERR_MEMORY;
            }
            if (late) {
                entry->expanded = true;
                error = mprPushItem(waiting, entry) < 0 ? MPR_ERR_MEMORY : 0;
            }
            if (enters && error == 0) {
                error = expand(waiting, entry->name);
                error = error == MPR_ERR_CANT_ACCESS ? 0 : error; // what cannot be read is left out
            }
        }
        return error;
    }

private:
    /** Put what is in a directory on the stack, so that the first by name is on top. */
    int expand(MprList* waiting, const char* relative) {
        const bool isRoot = !*relative;
        const char* full = isRoot ? root_.text() : concatenate(root_.text(), relative);
        if (!full) {
            return MPR_ERR_MEMORY;
        }
        const PathCopy dir(full);
        const PathCopy below(isRoot ? "." : relative);
        Request scan;
        if (!dir.valid() || scan(uv_fs_scandir, dir.text(), 0) < 0) {
            return MPR_ERR_CANT_ACCESS;
        }
        const int bottom = mprGetListLength(waiting);
        uv_dirent_t entry;
        while (uv_fs_scandir_next(&scan.get(), &entry) == 0) {
            if (entry.name[0] == '.' && !(flags_ & MPR_PATH_INC_HIDDEN)) {
                continue;
            }
            const int error = push(waiting, dir, isRoot ? "" : below.text(), entry.name);
            if (error == MPR_ERR_MEMORY) {
                return error;
            }
        }
        for (int low = bottom, high = mprGetListLength(waiting) - 1; low < high; ++low, --high) {
            void* first = mprGetItem(waiting, low);
            mprSetItem(waiting, high, mprSetItem(waiting, low, mprGetItem(waiting, high)));
            mprSetItem(waiting, high, first);
        }
        return 0;
    }

    int push(MprList* waiting, const PathCopy& dir, const char* relative, const char* name) {
        const char* full = concatenate(dir.text(), name);
        if (!full) {
            return MPR_ERR_MEMORY;
        }
        const PathCopy path(full);
        Request request;
        if (!path.valid() || request(uv_fs_lstat, path.text()) < 0) {
            return MPR_ERR_CANT_ACCESS; // gone meanwhile
        }
        const bool isLink = (request->statbuf.st_mode & S_IFMT) == S_IFLNK;
        const uv_stat_t own = request->statbuf;
        const bool target = isLink && request(uv_fs_stat, path.text()) == 0;
        const uv_stat_t& stat = target ? request->statbuf : own;
        auto* entry = mpr::base::makeReferring<Found>(manageEntry);
        if (!entry || !(entry->name = concatenate(relative, name))) {
            return MPR_ERR_MEMORY;
        }
        entry->lastModified = mpr::io::secondsOf(stat.st_mtim);
        entry->size = static_cast<MprOff>(stat.st_size);
        entry->isDir = (stat.st_mode & S_IFMT) == S_IFDIR;
        entry->isLink = isLink;
        return mprPushItem(waiting, entry) < 0 ? MPR_ERR_MEMORY : 0;
    }

    const PathCopy& root_;
    int flags_;
};
} // namespace

MprList* mprGetPathFiles(cchar* dir, int flags) {
    const PathCopy root(dir);
    MprList* files = mprCreateList(0, 0);
    if (!files) {
        return nullptr;
    }
    const int error = Walk(root, flags).run([&](MprDirEntry* entry) {
        if (!(flags & MPR_PATH_RELATIVE)) {
            char* path = concatenate(root.text(), entry->name);
            if (!path) {
                return false;
            }
            // A walk that enters the directory needs its relative name once more: the list gets an entry of its own.
            auto* own = static_cast<MprDirEntry*>(mprAllocManaged(sizeof(MprDirEntry), manageEntry, referring));
            if (!own) {
                return false;
            }
            *own = *entry;
            own->name = path;
            entry = own;
        }
        return mprAddItem(files, entry) >= 0;
    });
    return error == 0 ? files : nullptr;
}

MprList* mprGlobPathFiles(cchar* path, cchar* patterns, int flags) {
    const PathCopy root(path);
    const PathCopy wanted(patterns);
    MprList* files = mprCreateList(0, 0);
    if (!files || !wanted.valid()) {
        return nullptr;
    }
    flags &= ~MPR_PATH_DESCEND;
    if (mpr::io::patternsDescend(wanted.text())) {
        flags |= MPR_PATH_DESCEND;
    }
    const int error = Walk(root, flags).run([&](MprDirEntry* entry) {
        if (!mpr::io::matchesPatterns(wanted.text(), entry->name)) {
            return true;
        }
        char* name = flags & MPR_PATH_RELATIVE ? entry->name : concatenate(root.text(), entry->name);
        return name && mprAddItem(files, name) >= 0;
    });
    return error == 0 ? files : nullptr;
}
