// SPDX-License-Identifier: MIT
/*
    json_convert.cpp - JSON to and from hash tables, to environments of commands, and into texts with places for values.
*/
#include "mpr/base/ascii.hpp"
#include "mpr/base/json.hpp"
#include "mpr/base/sink.hpp"
#include "mpr/base/string_template.hpp"
#include "mpr/hash.h"
#include "mpr/list.h"

using namespace mpr::base;
using namespace mpr::base::json;

namespace {

/** Add an entry for each child. @return table; nullptr when memory is short. */
MprHash* addTo(MprHash* table, MprJson* json) {
    int index = 0;
    for (MprJson* child = json->children; child; child = child->next, ++index) {
        char digits[12];
        const char* key = child->name ? child->name : itosbuf(digits, sizeof(digits), index, 10);
        const char* value = child->value ? child->value : mprJsonToString(child, 0);
        if (!value || !mprAddKeyWithType(table, key, value, child->type)) {
            return nullptr;
        }
    }
    return table;
}

/** The node of an entry. */
MprJson* nodeOf(const MprKey* entry) {
    auto* text = static_cast<const char*>(entry->data);
    MprJson* tree = text && (entry->type & (MPR_JSON_OBJ | MPR_JSON_ARRAY)) != 0 ? mprParseJson(text) : nullptr;
    const int kind = entry->type & MPR_JSON_DATA_TYPE;
    return tree ? tree : makeValue(text, kind || !text ? kind : MPR_JSON_STRING);
}

/** Put one of the names of a variable, behind those that are there. @param index What stands for no name. */
void putName(Sink& out, const char*& between, const char* name, int index) {
    char digits[12];
    name = name ? name : itosbuf(digits, sizeof(digits), index, 10);
    out.put(between, std::strlen(between));
    for (between = "_"; *name != '\0'; ++name) {
        const char c = upper(*name);
        out.put(isDigit(c) || (c >= 'A' && c <= 'Z') ? c : '_');
    }
}

bool addVariables(MprList* list, const char* prefix, MprJson* json) {
    Walk walk(json);
    Stack<int, 32> indices;
    for (bool more = true; more; more = walk.next()) {
        if (walk.entered()) {
            if (!indices.push(0)) {
                return false;
            }
        } else if (walk.level() > 0) {
            indices.pop(walk.left());
            ++indices.top();
        }
        MprJson* at = walk.at();
        if (!at->value) {
            continue;
        }
        StringSink out;
        const char* between = "";
        if (prefix && *prefix != '\0') {
            putName(out, between, prefix, 0);
        }
        for (std::size_t i = 1; i <= indices.size(); ++i) {
            putName(out, between, (i < indices.size() ? walk.around(i) : at)->name, indices[i - 1]);
        }
        if (out.length() == 0) {
            continue; // a variable has a name
        }
        out.put('=');
        out.put(at->value, std::strlen(at->value));
        const char* text = out.finish();
        if (!text || mprAddItem(list, text) < 0) {
            return false;
        }
    }
    return !walk.failed();
}
} // namespace

MprHash* mprJsonToHash(MprJson* json) {
    MprHash* table = mayUse(json) ? mprCreateHash(json->length, 0) : nullptr;
    return table ? addTo(table, json) : nullptr;
}

MprJson* mprHashToJson(MprHash* hash) {
    MprJson* json = mayUse(hash) ? makeNode(MPR_JSON_OBJ) : nullptr;
    MprKey* entry;
    for (MPR_ITERATE_KEYS(json ? hash : nullptr, entry)) {
        const char* name = sclone(entry->key);
        MprJson* node = name ? nodeOf(entry) : nullptr;
        if (!node) {
            return nullptr;
        }
        node->name = name;
        append(json, node);
    }
    return json;
}

MprList* mprJsonToEnv(MprJson* json, cchar* prefix, MprList* list) {
    if (!mayUse(json)) {
        return nullptr;
    }
    list = list ? list : mprCreateList(0, 0);
    return list && addVariables(list, prefix, json) ? list : nullptr;
}

MprHash* mprDeserializeInto(cchar* str, MprHash* hash) {
    MprJson* json = mayUse(hash) ? mprParseJson(str) : nullptr;
    return json && isObject(json) ? addTo(hash, json) : nullptr;
}

MprHash* mprDeserialize(cchar* str) {
    MprJson* json = mprParseJson(str);
    return json && isObject(json) ? mprJsonToHash(json) : nullptr;
}

char* mprSerialize(MprHash* hash, int flags) {
    MprJson* json = mprHashToJson(hash);
    return json ? mprJsonToString(json, flags) : nullptr;
}

char* stemplateJson(cchar* str, MprJson* tokens) {
    return expand(
        str, [](void* tree, cchar* key) { return *key ? mprGetJson(static_cast<MprJson*>(tree), key) : nullptr; },
        tokens);
}
