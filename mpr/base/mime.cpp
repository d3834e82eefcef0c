// SPDX-License-Identifier: MIT
/*
    mime.cpp - Tables of MIME types, and those that the library knows. See mpr/mime.h.

    The types are text in the form of a file, so that a program that asks for a type and has no table needs no
    memory. Types are those of IANA's registry, for the extensions that servers commonly serve.
 */
#include "mpr/mime.h"

#include <cstring>
#include <string_view>

#include "mpr/app.h"
#include "mpr/barrier.h"
#include "mpr/base/ascii.hpp"
#include "mpr/base/guard.hpp"
#include "mpr/base/mime.hpp"
#include "mpr/base/references.hpp"
#include "mpr/base/string.hpp"
#include "mpr/gc/census.hpp"
#include "mpr/hash.h"
#include "mpr/log.h"
#include "mpr/memory.h"
#include "mpr/string.h"

using namespace mpr::base;
using std::string_view;

namespace {

// A type ends with a zero, since it is handed out as a string; its extensions with a newline.
constexpr char known[] = "application/epub+zip\0epub\n"
                         "application/gzip\0gz tgz\n"
                         "application/java-archive\0jar\n"
                         "application/json\0json map\n"
                         "application/ld+json\0jsonld\n"
                         "application/manifest+json\0webmanifest\n"
                         "application/msword\0doc\n"
                         "application/octet-stream\0bin dmg exe img iso dll o so\n"
                         "application/ogg\0ogx\n"
                         "application/pdf\0pdf\n"
                         "application/postscript\0ai eps ps\n"
                         "application/rtf\0rtf\n"
                         "application/vnd.android.package-archive\0apk\n"
                         "application/vnd.debian.binary-package\0deb\n"
                         "application/vnd.ms-excel\0xls\n"
                         "application/vnd.ms-fontobject\0eot\n"
                         "application/vnd.ms-powerpoint\0ppt\n"
                         "application/vnd.oasis.opendocument.presentation\0odp\n"
                         "application/vnd.oasis.opendocument.spreadsheet\0ods\n"
                         "application/vnd.oasis.opendocument.text\0odt\n"
                         "application/vnd.openxmlformats-officedocument.presentationml.presentation\0pptx\n"
                         "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet\0xlsx\n"
                         "application/vnd.openxmlformats-officedocument.wordprocessingml.document\0docx\n"
                         "application/wasm\0wasm\n"
                         "application/x-7z-compressed\0007z\n"
                         "application/x-bzip2\0bz2\n"
                         "application/x-httpd-php\0php\n"
                         "application/x-rpm\0rpm\n"
                         "application/x-sh\0sh\n"
                         "application/x-tar\0tar\n"
                         "application/x-x509-ca-cert\0crt der pem\n"
                         "application/x-xz\0xz\n"
                         "application/xhtml+xml\0xhtml xht\n"
                         "application/xml\0xml xsd xsl\n"
                         "application/yaml\0yaml yml\n"
                         "application/zip\0zip\n"
                         "application/zstd\0zst\n"
                         "audio/aac\0aac\n"
                         "audio/flac\0flac\n"
                         "audio/midi\0mid midi kar\n"
                         "audio/mp4\0m4a\n"
                         "audio/mpeg\0mp3\n"
                         "audio/ogg\0oga ogg opus\n"
                         "audio/wav\0wav\n"
                         "audio/webm\0weba\n"
                         "font/collection\0ttc\n"
                         "font/otf\0otf\n"
                         "font/ttf\0ttf\n"
                         "font/woff\0woff\n"
                         "font/woff2\0woff2\n"
                         "image/apng\0apng\n"
                         "image/avif\0avif\n"
                         "image/bmp\0bmp\n"
                         "image/gif\0gif\n"
                         "image/heic\0heic\n"
                         "image/jpeg\0jpg jpeg jpe\n"
                         "image/jxl\0jxl\n"
                         "image/png\0png\n"
                         "image/svg+xml\0svg svgz\n"
                         "image/tiff\0tif tiff\n"
                         "image/vnd.microsoft.icon\0ico cur\n"
                         "image/webp\0webp\n"
                         "message/rfc822\0eml\n"
                         "text/calendar\0ics\n"
                         "text/css\0css\n"
                         "text/csv\0csv\n"
                         "text/html\0html htm shtml\n"
                         "text/javascript\0js mjs\n"
                         "text/markdown\0md markdown\n"
                         "text/plain\0txt text log conf ini c h\n"
                         "text/tab-separated-values\0tsv\n"
                         "text/vcard\0vcf\n"
                         "text/vtt\0vtt\n"
                         "video/3gpp\0003gp\n"
                         "video/mp2t\0ts\n"
                         "video/mp4\0mp4 m4v\n"
                         "video/mpeg\0mpeg mpg mpe\n"
                         "video/ogg\0ogv\n"
                         "video/quicktime\0mov qt\n"
                         "video/webm\0webm\n"
                         "video/x-matroska\0mkv\n"
                         "video/x-msvideo\0avi\n";

void manageMime(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* mime = static_cast<MprMime*>(ptr);
        mprMarkRef(&mime->type);
        mprMarkRef(&mime->program);
    }
}
const mpr::gc::ManagerName namedMime(manageMime, "MprMime");

/** The word that begins behind blanks; the text behind it. Empty at the end of the line. */
string_view takeWord(cchar*& at, cchar* end) {
    while (at != end && isBlank(*at)) {
        ++at;
    }
    cchar* const begin = at;
    while (at != end && !isBlank(*at)) {
        ++at;
    }
    return {begin, static_cast<std::size_t>(at - begin)};
}

/** What follows the last point; a name without one is an extension itself, if it is no path. nullptr: there is none. */
cchar* extensionOf(cchar* path) {
    if (!path) {
        return nullptr;
    }
    cchar* point = std::strrchr(path, '.');
    cchar* slash = std::strrchr(path, '/');
    if (!slash) {
        return point ? point + 1 : path;
    }
    return point && point > slash ? point + 1 : nullptr;
}

/** @param type A managed string. */
MprMime* add(MprHash* table, cchar* extension, char* type) {
    auto* mime = type ? makeReferring<MprMime>(manageMime) : nullptr;
    if (!mime) {
        return nullptr;
    }
    setRef(mime, mime->type, type);
    return mprAddKey(table, extension, mime) ? mime : nullptr;
}

/** The extensions of a type, up to the end of the line. */
bool addExtensions(MprHash* table, string_view type, cchar* at, cchar* end) {
    char* name = nullptr; // one for all of them
    for (string_view word; !(word = takeWord(at, end)).empty();) {
        name = name ? name : newString(type.data(), type.size());
        char* const extension = newString(word.data(), word.size());
        if (!extension || !add(table, extension + (extension[0] == '.' ? 1 : 0), name)) {
            return false;
        }
    }
    return true;
}

/** The type that the library knows for an extension. */
cchar* lookUpKnown(cchar* extension) {
    for (cchar* type = known; *type != '\0';) {
        cchar* at = type + std::strlen(type) + 1;
        cchar* const end = std::strchr(at, '\n');
        for (string_view word; !(word = takeWord(at, end)).empty();) {
            if (same(word, extension)) {
                return type;
            }
        }
        type = end + 1;
    }
    return nullptr;
}

bool hasType(const MprKey* entry, cchar* type) {
    return same(static_cast<const MprMime*>(entry->data)->type, type);
}
} // namespace

namespace mpr::base {

MprHash* makeMimeTypes() {
    MprHash* const table = mprCreateHash(150, MPR_HASH_CASELESS);
    for (cchar* type = known; table && *type != '\0';) {
        const string_view name(type);
        cchar* const at = type + name.size() + 1;
        cchar* const end = std::strchr(at, '\n');
        if (!addExtensions(table, name, at, end)) {
            return nullptr;
        }
        type = end + 1;
    }
    return table;
}

bool addMimeTypes(MprHash* table, cchar* text, cchar* name) {
    for (int line = 1; *text != '\0'; ++line) {
        cchar* const next = std::strchr(text, '\n');
        cchar* const whole = next ? next : text + std::strlen(text);
        const void* comment = std::memchr(text, '#', static_cast<std::size_t>(whole - text));
        cchar* const end = comment ? static_cast<cchar*>(comment) : whole;
        const string_view type = takeWord(text, end);
        if (!type.empty() && type.find('/') == string_view::npos) {
            mprError("mprCreateMimeTypes: %s:%d: \"%.*s\" is no MIME type", name, line,
                     static_cast<int>(type.size() < 80 ? type.size() : 80), type.data());
        } else if (!addExtensions(table, type, text, end)) {
            return false;
        }
        text = next ? next + 1 : whole;
    }
    return true;
}

} // namespace mpr::base

MprMime* mprAddMime(MprHash* table, cchar* ext, cchar* mimeType) {
    if (!mayUse(table) || !ext || !mimeType || *mimeType == '\0') {
        return nullptr;
    }
    ext += *ext == '.' ? 1 : 0;
    return *ext != '\0' ? add(table, ext, sclone(mimeType)) : nullptr;
}

cchar* mprLookupMime(MprHash* table, cchar* ext) {
    cchar* const extension = extensionOf(ext);
    if (!mayUse(extension)) {
        return nullptr;
    }
    table = table ? table : MPR->mimeTypes;
    if (!table) {
        return lookUpKnown(extension);
    }
    auto* mime = static_cast<MprMime*>(mprLookupKey(table, extension));
    return mime ? mime->type : nullptr;
}

int mprSetMimeProgram(MprHash* table, cchar* mimeType, cchar* program) {
    if (!mayUse(table) || !mimeType) {
        return MPR_ERR_BAD_ARGS;
    }
    char* const copy = program ? sclone(program) : nullptr;
    if (program && !copy) {
        return MPR_ERR_MEMORY;
    }
    int result = MPR_ERR_CANT_FIND;
    MprKey* entry = nullptr;
    for (MPR_ITERATE_KEYS(table, entry)) {
        if (hasType(entry, mimeType)) {
            auto* mime = static_cast<MprMime*>(const_cast<void*>(entry->data));
            setRef(mime, mime->program, copy);
            result = 0;
        }
    }
    return result;
}

cchar* mprGetMimeProgram(MprHash* table, cchar* mimeType) {
    if (!mayUse(table) || !mimeType) {
        return nullptr;
    }
    MprKey* entry = nullptr;
    for (MPR_ITERATE_KEYS(table, entry)) {
        cchar* const program = static_cast<const MprMime*>(entry->data)->program;
        if (program && hasType(entry, mimeType)) {
            return program;
        }
    }
    return nullptr;
}
