// SPDX-License-Identifier: MIT
/*
    path.cpp - The part of paths that is text.
 */
#include "mpr/path.h"

#include <cstdarg>
#include <cstring>
#include <string_view>

#include "mpr/base/part.hpp"
#include "mpr/base/string.hpp"
#include "mpr/memory.h"

namespace {

using mpr::base::part;
using std::string_view;

constexpr char separator = '/';

char* clone(string_view text) {
    return mpr::base::newString(text.data(), text.size());
}

char* concatenate(string_view one, string_view two, string_view three) {
    char* text = mpr::base::newString(one.size() + two.size() + three.size());
    if (char* at = text) {
        for (const string_view piece : {one, two, three}) {
            std::memcpy(at, piece.data(), piece.size());
            at += piece.size();
        }
    }
    return text;
}

bool isEmpty(const char* path) {
    return !path || *path == '\0';
}

/** The dot before the extension, or npos. */
std::size_t extensionDot(string_view path) {
    const std::size_t dot = path.rfind('.');
    return dot != string_view::npos && path.find(separator, dot) == string_view::npos ? dot : string_view::npos;
}

string_view withoutExtension(string_view path) {
    return part(path, 0, extensionDot(path));
}

/** An extension is given with or without its dot. */
string_view bare(const char* extension) {
    string_view text = extension ? extension : "";
    if (!text.empty() && text.front() == '.') {
        text.remove_prefix(1);
    }
    return text;
}

/** Normalises one or more paths, each as seen from what came before, into a buffer that is large enough. */
class Normalizer {
public:
    explicit Normalizer(char* out) : out_(out) {}

    void add(string_view path) {
        if (!path.empty() && path.front() == separator) {
            out_[0] = separator;
            length_ = fixed_ = 1;
        }
        while (!path.empty()) {
            const std::size_t end = path.find(separator);
            addPart(part(path, 0, end));
            path.remove_prefix(end == string_view::npos ? path.size() : end + 1);
        }
    }

    char* finish() {
        if (length_ == 0) {
            out_[length_++] = '.';
        }
        out_[length_] = '\0';
        return out_;
    }

private:
    void addPart(string_view name) {
        if (name.empty() || name == ".") {
            return;
        }
        if (name == "..") {
            if (length_ > fixed_) {
                while (length_ > fixed_ && out_[length_ - 1] != separator) {
                    --length_;
                }
                length_ -= length_ > fixed_; // the separator before it
                return;
            }
            if (fixed_ == 1 && out_[0] == separator) {
                return; // above the root is the root
            }
            append(name);
            fixed_ = length_;
            return;
        }
        append(name);
    }

    void append(string_view name) {
        if (length_ > 0 && out_[length_ - 1] != separator) {
            out_[length_++] = separator;
        }
        std::memcpy(out_ + length_, name.data(), name.size());
        length_ += name.size();
    }

    char* out_;
    std::size_t length_ = 0;
    std::size_t fixed_ = 0; // what ".." cannot remove: the root, or a leading ".."
};

char* join(string_view base, string_view path) {
    auto* text = static_cast<char*>(mprAlloc(base.size() + path.size() + 3));
    if (!text) {
        return nullptr;
    }
    Normalizer normalizer(text);
    normalizer.add(base);
    normalizer.add(path);
    return normalizer.finish();
}

/** What stands before the last separator. */
string_view directory(string_view path) {
    const std::size_t last = path.rfind(separator);
    return last == string_view::npos ? string_view(".") : part(path, 0, last > 0 ? last : 1);
}
} // namespace

bool mprIsPathAbs(cchar* path) {
    return path && *path == separator;
}

bool mprIsPathRel(cchar* path) {
    return path && *path != separator;
}

char* mprNormalizePath(cchar* path) {
    return join(path ? path : "", "");
}

cchar* mprGetPathBaseRef(cchar* path) {
    cchar* const last = path ? std::strrchr(path, separator) : nullptr;
    return last && !(last == path && last[1] == '\0') ? last + 1 : path;
}

char* mprGetPathBase(cchar* path) {
    return path ? clone(mprGetPathBaseRef(path)) : nullptr;
}

char* mprGetPathFirstDir(cchar* path) {
    return path ? clone(mprIsPathAbs(path) ? "/" : part(path, 0, string_view(path).find(separator))) : nullptr;
}

char* mprTrimPathDrive(cchar* path) {
    return path ? clone(path) : nullptr;
}

char* mprTrimPathComponents(cchar* path, int count) {
    if (!path) {
        return nullptr;
    }
    string_view text = path;
    for (; count > 0 && !text.empty(); --count) {
        const std::size_t end = text.find(separator);
        text.remove_prefix(end == string_view::npos ? text.size() : end + 1);
    }
    for (; count < 0 && !text.empty(); ++count) {
        const std::size_t last = text.rfind(separator);
        text = part(text, 0, last == string_view::npos ? 0 : last);
    }
    return clone(text);
}

bool mprIsAbsPathContained(cchar* path, cchar* dir) {
    if (!mprIsPathAbs(path) || !mprIsPathAbs(dir)) {
        return false;
    }
    cchar* const whole = mprNormalizePath(path);
    cchar* const folder = mprNormalizePath(dir);
    if (!whole || !folder) {
        return false;
    }
    const std::size_t length = std::strlen(folder);
    const bool root = length == 1;
    return std::strncmp(whole, folder, length) == 0 && (root || whole[length] == '\0' || whole[length] == separator);
}

int mprSamePathCount(cchar* path1, cchar* path2, ssize len) {
    return path1 && path2 && len >= 0 && std::strncmp(path1, path2, static_cast<std::size_t>(len)) == 0 ? 1 : 0;
}

cchar* mprGetPathSeparators(cchar*) {
    return "/";
}

bool mprIsPathSeparator(cchar*, cchar c) {
    return c == separator;
}

char* mprGetPathDir(cchar* path) {
    return path ? clone(directory(path)) : nullptr;
}

char* mprGetPathParent(cchar* path) {
    return join(path ? path : "", "..");
}

char* mprGetPathExt(cchar* path) {
    const string_view text = path ? path : "";
    const std::size_t dot = extensionDot(text);
    return dot == string_view::npos ? nullptr : clone(part(text, dot + 1));
}

char* mprTrimPathExt(cchar* path) {
    return path ? clone(withoutExtension(path)) : nullptr;
}

char* mprJoinPathExt(cchar* path, cchar* ext) {
    if (!path) {
        return nullptr;
    }
    const bool has = extensionDot(path) != string_view::npos;
    return has || bare(ext).empty() ? clone(path) : concatenate(path, ".", bare(ext));
}

char* mprReplacePathExt(cchar* path, cchar* ext) {
    if (!path) {
        return nullptr;
    }
    const string_view stem = withoutExtension(path);
    return bare(ext).empty() ? clone(stem) : concatenate(stem, ".", bare(ext));
}

char* mprJoinPath(cchar* base, cchar* path) {
    return join(base ? base : "", path ? path : "");
}

char* mprJoinPaths(cchar* base, ...) {
    std::size_t length = base ? std::strlen(base) : 0;
    va_list paths;
    va_list again;
    va_start(paths, base);
    va_copy(again, paths);
    while (const char* path = va_arg(paths, const char*)) {
        length += std::strlen(path) + 1;
    }
    va_end(paths);
    auto* text = static_cast<char*>(mprAlloc(length + 3));
    if (text) {
        Normalizer normalizer(text);
        normalizer.add(base ? base : "");
        while (const char* path = va_arg(again, const char*)) {
            normalizer.add(path);
        }
        normalizer.finish();
    }
    va_end(again);
    return text;
}

char* mprResolvePath(cchar* base, cchar* path) {
    if (isEmpty(path)) {
        return join(base ? base : "", "");
    }
    return join(isEmpty(base) ? string_view() : directory(base), path);
}

void mprMapSeparators(char* path, int separatorWanted) {
    for (; path && *path != '\0'; ++path) {
        if (*path == '/' || *path == '\\') {
            *path = static_cast<char>(separatorWanted);
        }
    }
}

char* mprGetNativePath(cchar* path) {
    return mprNormalizePath(path);
}

char* mprGetPortablePath(cchar* path) {
    return mprNormalizePath(path);
}
