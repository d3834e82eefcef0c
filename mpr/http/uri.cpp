// SPDX-License-Identifier: MIT
/*
    uri.cpp - HttpUri: the C API of mpr/http/uri.h over the text's parts.
 */
#include "mpr/http/references.hpp"
#include "mpr/http/uri.hpp"

#include <cstdio>

#include "mpr/barrier.h"
#include "mpr/http.h"
#include "mpr/http/grammar.hpp"
#include "mpr/memory.h"

using namespace mpr::http;

namespace {

using Field = char* HttpUri::*;

void manageUri(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, offsetof(HttpUri, port) / sizeof(void*));
    }
}
static_assert(offsetof(HttpUri, scheme) == 0 && offsetof(HttpUri, port) == 6 * sizeof(void*));

HttpUri* newUri() {
    constexpr int flags = MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER | MPR_ALLOC_NO_FREE;
    return static_cast<HttpUri*>(mprAllocManaged(sizeof(HttpUri), manageUri, flags));
}

/** Set a field to a copy of a part; one that is missing stays NULL. @return Whether there was memory. */
bool set(HttpUri* uri, Field field, std::string_view part) {
    char* copy = part.data() ? newText(part) : nullptr;
    if (copy) {
        setRef(uri, uri->*field, copy);
    }
    return copy || !part.data();
}

bool setPath(HttpUri* uri, std::string_view path) {
    const std::string_view ext = extensionOf(path);
    setRef(uri, uri->ext, nullptr);
    return set(uri, &HttpUri::path, path) && (ext.empty() || set(uri, &HttpUri::ext, ext));
}

bool setScheme(HttpUri* uri, std::string_view scheme) {
    char* copy = scheme.data() ? newText(scheme) : nullptr;
    if (!copy) {
        return !scheme.data();
    }
    for (char* c = copy; *c != '\0'; ++c) {
        *c = lower(*c);
    }
    setRef(uri, uri->scheme, copy);
    const std::string_view known = copy;
    uri->secure = known == "https" || known == "wss";
    return true;
}

int portOf(const HttpUri* uri) {
    return uri->port ? uri->port : uri->secure ? 443 : 80;
}

/** A view of a part, nullptr where it is missing. */
std::string_view partOf(const char* text) {
    return viewOf(text);
}

/** Add what is missing. @return Whether there was memory. */
bool complete(HttpUri* uri, const HttpUri* other, int flags) {
    bool good = true;
    if (flags & HTTP_COMPLETE_URI) {
        good = uri->scheme || setScheme(uri, other && other->scheme ? partOf(other->scheme) : "http");
        if (!uri->host) {
            uri->port = uri->port ? uri->port : other ? other->port : 0;
            good = good && set(uri, &HttpUri::host, other && other->host ? partOf(other->host) : "localhost");
        }
        uri->port = portOf(uri);
    }
    if (flags & (HTTP_COMPLETE_URI | HTTP_COMPLETE_URI_PATH) && !uri->path) {
        good = good && setPath(uri, other && other->path ? partOf(other->path) : "/");
    }
    return good;
}

HttpUri* make(const UriParts& parts, bool valid, int flags) {
    HttpUri* uri = newUri();
    if (!uri || !valid) {
        return uri;
    }
    uri->valid = true;
    uri->port = parts.port;
    const bool good = setScheme(uri, parts.scheme) && set(uri, &HttpUri::host, parts.host) &&
                      (!parts.path.data() || setPath(uri, parts.path)) && set(uri, &HttpUri::query, parts.query) &&
                      set(uri, &HttpUri::reference, parts.reference) && complete(uri, nullptr, flags);
    return good ? uri : nullptr;
}

UriParts partsOf(const HttpUri* uri) {
    return {partOf(uri->scheme), partOf(uri->host),      partOf(uri->path),
            partOf(uri->query),  partOf(uri->reference), uri->port};
}

/** Text that is put together in a block of known size. */
class Joined {
public:
    explicit Joined(std::size_t size) : text_(static_cast<char*>(mprAlloc(size + 1))) {}

    void put(std::string_view part) {
        if (text_ && !part.empty()) {
            std::memcpy(text_ + size_, part.data(), part.size());
            size_ += part.size();
        }
    }

    void normalize() {
        bool left = false;
        size_ = text_ ? normalizePath(text_, size_, left) : 0;
    }

    std::string_view view() const { return {text_, size_}; }

    char* finish() {
        if (text_) {
            text_[size_] = '\0';
        }
        return text_;
    }

private:
    char* text_;
    std::size_t size_ = 0;
};

/** A path below another: the slash between them is one. */
char* below(std::string_view base, std::string_view path) {
    Joined joined(base.size() + path.size() + 1);
    joined.put(base);
    joined.put("/");
    joined.put(path);
    joined.normalize();
    return joined.finish();
}

/** A path from where a document is: RFC 3986, 5.2.3. */
char* beside(const HttpUri* base, std::string_view path) {
    const std::string_view document = partOf(base->path);
    const std::size_t slash = document.rfind('/');
    const std::string_view folder = slash == all ? std::string_view() : cut(document, 0, slash + 1);
    Joined joined(folder.size() + path.size() + 1);
    joined.put(folder.empty() && base->host ? "/" : folder);
    joined.put(path);
    joined.normalize();
    return joined.finish();
}

/** Of resolving, where the target has no authority. */
bool resolvePath(UriParts& parts, const HttpUri* base, const HttpUri* target) {
    const std::string_view path = partOf(target->path);
    if (path.empty()) {
        parts.path = partOf(base->path);
        parts.query = target->query ? partOf(target->query) : partOf(base->query);
        return true;
    }
    const char* merged = path.front() == '/' ? httpNormalizeUriPath(target->path) : beside(base, path);
    parts.path = partOf(merged);
    parts.query = partOf(target->query);
    return merged != nullptr;
}

bool isUsable(const HttpUri* uri) {
    return uri && uri->valid;
}
} // namespace

namespace mpr::http {

HttpUri* readUri(const char* text) {
    HttpUri* uri = httpCreateUri(text, 0);
    if (!uri || uri->valid) {
        return uri;
    }
    const std::string_view from = text;
    std::size_t size = from.size();
    for (std::size_t i = 0; i < from.size(); ++i) {
        size += isUriChar(from, i) ? 0 : 2;
    }
    Joined escaped(size);
    for (std::size_t i = 0; i < from.size(); ++i) {
        char digits[4];
        if (isUriChar(from, i)) {
            escaped.put(cut(from, i, 1));
        } else {
            std::snprintf(digits, sizeof(digits), "%%%02X", static_cast<unsigned char>(from[i]));
            escaped.put(digits);
        }
    }
    const char* whole = escaped.finish();
    return whole ? httpCreateUri(whole, 0) : nullptr;
}

char* newText(std::string_view text) {
    auto* copy = static_cast<char*>(mprAlloc(text.size() + 1));
    if (copy) {
        std::memcpy(copy, text.empty() ? "" : text.data(), text.size());
        copy[text.size()] = '\0';
    }
    return copy;
}

} // namespace mpr::http

HttpUri* httpCreateUri(cchar* uri, int flags) {
    UriParts parts;
    const bool valid = parseUri(viewOf(uri), parts);
    return make(parts, valid, flags);
}

HttpUri* httpCreateUriFromParts(cchar* scheme, cchar* host, int port, cchar* path, cchar* reference, cchar* query,
                                int flags) {
    UriParts parts;
    bool valid = !host || parseHost(viewOf(host), parts);
    parts.scheme = partOf(scheme);
    parts.port = port ? port : parts.port;
    parts.path = partOf(path);
    parts.query = partOf(query);
    parts.reference = partOf(reference);
    valid = valid && isUri(parts);
    return make(parts, valid, flags);
}

HttpUri* httpCloneUri(HttpUri* base, int flags) {
    return base ? make(partsOf(base), base->valid, flags) : nullptr;
}

HttpUri* httpCompleteUri(HttpUri* uri, HttpUri* other) {
    return isUsable(uri) && complete(uri, isUsable(other) ? other : nullptr, HTTP_COMPLETE_URI) ? uri : nullptr;
}

HttpUri* httpJoinUri(HttpUri* base, int argc, HttpUri** others) {
    UriParts parts;
    if (base) {
        parts = partsOf(base);
    }
    bool good = !base || base->valid;
    for (int i = 0; good && others && i < argc; ++i) {
        const HttpUri* other = others[i];
        if (!other) {
            continue;
        }
        const char* path = other->path ? below(parts.path, partOf(other->path)) : nullptr;
        good = other->valid && (path || !other->path);
        parts.path = path ? partOf(path) : parts.path;
        parts.query = other->query ? partOf(other->query) : parts.query;
        parts.reference = other->reference ? partOf(other->reference) : parts.reference;
    }
    return good ? httpNormalizeUri(make(parts, true, HTTP_COMPLETE_URI_PATH)) : nullptr;
}

HttpUri* httpResolveUri(HttpStream* stream, HttpUri* base, HttpUri* target) {
    base = base ? base : stream ? stream->rx->parsedUri : nullptr;
    if (!isUsable(target) || (base && !base->valid)) {
        return nullptr;
    }
    UriParts parts = partsOf(target);
    if (base && !target->scheme) {
        parts.scheme = partOf(base->scheme);
        if (!target->host) {
            parts.host = partOf(base->host);
            parts.port = base->port;
            if (!resolvePath(parts, base, target)) {
                return nullptr;
            }
        }
    }
    return httpNormalizeUri(make(parts, true, 0));
}

HttpUri* httpNormalizeUri(HttpUri* uri) {
    if (!isUsable(uri) || !uri->path) {
        return uri;
    }
    const char* path = httpNormalizeUriPath(uri->path);
    return path && setPath(uri, partOf(path)) ? uri : nullptr;
}

char* httpNormalizeUriPath(cchar* uri) {
    if (!uri) {
        return nullptr;
    }
    Joined path(std::strlen(uri));
    path.put(uri);
    path.normalize();
    return path.finish();
}

char* httpValidateUriPath(cchar* uri) {
    char* path = uri ? newText(uri) : nullptr;
    const std::ptrdiff_t size = path ? validatePath(path, std::strlen(path)) : -1;
    if (size < 0) {
        return nullptr;
    }
    path[size] = '\0';
    return path;
}

char* httpUriToString(HttpUri* uri, int flags) {
    HttpUri* whole = uri && flags ? httpCloneUri(uri, flags) : uri;
    return isUsable(whole)
               ? httpFormatUri(whole->scheme, whole->host, whole->port, whole->path, whole->reference, whole->query, 0)
               : nullptr;
}

char* httpFormatUri(cchar* scheme, cchar* host, int port, cchar* path, cchar* ref, cchar* query, int flags) {
    if (flags) {
        HttpUri* uri = httpCreateUriFromParts(scheme, host, port, path, ref, query, flags);
        return uri ? httpUriToString(uri, 0) : nullptr;
    }
    const std::string_view parts[] = {viewOf(scheme), viewOf(host), viewOf(path), viewOf(ref), viewOf(query)};
    std::size_t size = sizeof("://[]:4294967295/./?#");
    for (const std::string_view part : parts) {
        size += part.size();
    }
    const bool secure = parts[0] == "https" || parts[0] == "wss";
    Joined text(size);
    if (scheme) {
        text.put(parts[0]);
        text.put(":");
    }
    text.put(host || (scheme && port > 0) ? "//" : "");
    const bool brackets = parts[1].find(':') != all;
    text.put(brackets ? "[" : "");
    text.put(parts[1]);
    text.put(brackets ? "]" : "");
    if (port > 0 && (!scheme || port != (secure ? 443 : 80))) {
        char digits[16];
        std::snprintf(digits, sizeof(digits), ":%d", port);
        text.put(digits);
    }
    const bool authority = host || port > 0;
    text.put(authority && path && *path != '/' ? "/" : "");
    text.put(!authority && begins(parts[2], "//") ? "/." : ""); // else what follows would be read as a host
    text.put(parts[2]);
    text.put(query ? "?" : "");
    text.put(parts[4]);
    text.put(ref ? "#" : "");
    text.put(parts[3]);
    return text.finish();
}

char* httpGetPathExt(cchar* path) {
    const std::string_view ext = extensionOf(viewOf(path));
    return ext.empty() ? nullptr : newText(ext);
}
