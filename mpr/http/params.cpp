// SPDX-License-Identifier: MIT
/*
    params.cpp - Parameters of queries and forms. See params.hpp.

    Names stand in a hash until all have come, for an object looks for each name among all it has. What a client sends
    is copied once, and decoded in the copy.
 */
#include "mpr/http/params.hpp"

#include "mpr/barrier.h"
#include "mpr/buffer.h"
#include "mpr/encode.h"
#include "mpr/hash.h"
#include "mpr/http/grammar.hpp"
#include "mpr/http/references.hpp"
#include "mpr/http/uri.hpp"
#include "mpr/list.h"
#include "mpr/memory.h"
#include "mpr/string.h"

namespace mpr::http {

struct Params {
    MprHash* values; // by name: a text, or of several the text of an empty array
    MprHash* lists;  // of those, by name; nullptr: there are none
    int count;
};

namespace {

void manageParams(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, 2);
    }
}

/** The list of a name, which has a value already. */
MprList* listOf(Params* params, const char* name, const MprKey* entry) {
    if (!params->lists) {
        setRef(params, params->lists, mprCreateHash(0, MPR_HASH_STABLE));
    }
    auto* list = static_cast<MprList*>(mprLookupKey(params->lists, name));
    if (list) {
        return list;
    }
    list = mprCreateList(0, MPR_LIST_STABLE);
    const bool good = list && mprAddItem(list, entry->data) >= 0 && mprAddKey(params->lists, name, list) &&
                      mprAddKeyWithType(params->values, name, sclone("[]"), MPR_JSON_ARRAY);
    return good ? list : nullptr;
}

/** Names and values are blocks. */
int add(Params* params, const char* name, const char* value) {
    if (!name || !value) {
        return MPR_ERR_MEMORY;
    }
    if (params->count == maxParams) {
        return MPR_ERR_TOO_MANY;
    }
    ++params->count;
    if (const MprKey* entry = mprLookupKeyEntry(params->values, name)) {
        MprList* list = listOf(params, name, entry);
        return list && mprAddItem(list, value) >= 0 ? 0 : MPR_ERR_MEMORY;
    }
    return mprAddKeyWithType(params->values, name, value, MPR_JSON_VALUE | MPR_JSON_STRING) ? 0 : MPR_ERR_MEMORY;
}

bool hasZero(std::string_view text) {
    return text.find('\0') != all;
}

char* decodedText(std::string_view text) {
    return mprUriDecodeInSitu(newText(text));
}

/** Fill an array that stands for a name that came more than once. */
bool fill(MprJson* array, MprList* values) {
    const char* value;
    int next;
    for (MPR_ITERATE_ITEMS(values, value, next)) {
        if (mprWriteJson(array, "$", value, MPR_JSON_STRING) < 0) {
            return false;
        }
    }
    return true;
}

int compareNames(const void* one, const void* other, void*) {
    return scmp((*static_cast<MprJson* const*>(one))->name, (*static_cast<MprJson* const*>(other))->name);
}

bool putPair(MprBuf* text, const char* name, const MprJson* value) {
    const char* encodedName = mprUriEncode(name, MPR_ENCODE_URI_COMPONENT);
    const char* encoded = mprUriEncode(value->value ? value->value : "", MPR_ENCODE_URI_COMPONENT);
    return encodedName && encoded && (mprGetBufLength(text) == 0 || mprPutCharToBuf(text, '&') == 0) &&
           mprPutStringToBuf(text, encodedName) == slen(encodedName) && mprPutCharToBuf(text, '=') == 0 &&
           mprPutStringToBuf(text, encoded) == slen(encoded);
}

bool putPairs(MprBuf* text, const MprJson* param) {
    const char* name = param->name ? param->name : "";
    if (!(param->type & MPR_JSON_ARRAY)) {
        return putPair(text, name, param);
    }
    for (const MprJson* each = param->children; each; each = each->next) {
        if (!putPair(text, name, each)) {
            return false;
        }
    }
    return true;
}
} // namespace

Params* createParams() {
    auto* params = static_cast<Params*>(
        mprAllocManaged(sizeof(Params), manageParams, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER));
    if (params) {
        setRef(params, params->values, mprCreateHash(0, MPR_HASH_STABLE));
    }
    return params && params->values ? params : nullptr;
}

int addParam(Params* params, std::string_view name, std::string_view value) {
    return hasZero(name) || hasZero(value) ? MPR_ERR_BAD_FORMAT : add(params, newText(name), newText(value));
}

int addParams(Params* params, std::string_view text) {
    if (hasZero(text)) {
        return MPR_ERR_BAD_FORMAT;
    }
    while (!text.empty()) {
        std::string_view value = take(text, '&');
        if (value.empty()) {
            continue;
        }
        const std::string_view name = take(value, '=');
        if (const int error = add(params, decodedText(name), decodedText(value)); error < 0) {
            return error;
        }
    }
    return 0;
}

MprJson* treeOf(Params* params) {
    MprJson* tree = mprHashToJson(params->values);
    if (!params->lists) {
        return tree;
    }
    for (MprJson* param = tree ? tree->children : nullptr; param; param = param->next) {
        if ((param->type & MPR_JSON_ARRAY) &&
            !fill(param, static_cast<MprList*>(mprLookupKey(params->lists, param->name)))) {
            return nullptr;
        }
    }
    return tree;
}

const char* paramOf(MprJson* params, const char* name, bool* made) {
    MprJson* param = mprReadJsonObj(params, name);
    param = param || !params ? param : mprGetJsonObj(params, name);
    if (param && (param->type & MPR_JSON_ARRAY) && param->children && param->children->value) {
        param = param->children;
    }
    if (made) {
        *made = param && !param->value;
    }
    return !param ? nullptr : param->value ? param->value : mprJsonToString(param, 0);
}

bool addMissing(MprJson* into, MprJson* from) {
    bool whole = true;
    MprJson* next = nullptr;
    MprJson* child = from && (from->type & MPR_JSON_OBJ) ? from->children : nullptr;
    for (; child && whole; child = next) {
        next = child->next;
        if (child->name && !mprReadJsonObj(into, child->name)) {
            whole = mprWriteJsonObj(into, child->name, mprRemoveJsonChild(from, child)) != MPR_ERR_MEMORY;
        }
    }
    return whole;
}

char* paramsText(MprJson* params) {
    MprList* sorted = mprCreateList(0, MPR_LIST_STABLE);
    MprBuf* text = mprCreateBuf(0, 0);
    MprJson* param;
    int next;
    for (MPR_ITERATE_JSON(params, param, next)) {
        if (mprAddItem(sorted, param) < 0) {
            return nullptr;
        }
    }
    if (!text || !mprSortList(sorted, compareNames, nullptr)) {
        return nullptr;
    }
    for (MPR_ITERATE_ITEMS(sorted, param, next)) {
        if (!putPairs(text, param)) {
            return nullptr;
        }
    }
    return mprBufToString(text);
}

} // namespace mpr::http
