// SPDX-License-Identifier: MIT
/*
    test/stress/linear/linear.cpp - Parsers, builders and containers that are given n and then four times as much. It runs in callgrind,
    which counts instructions: test/stress/linear/check compares.
    The last takes quadratic time, and has to be named.
 */
#include "mpr.hpp"
#include "mpr.h"

#include <valgrind/callgrind.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

using std::string;

string repeated(const string &text, size_t times) {
    string all;
    for (size_t i = 0; i < times; i++) {
        all += text;
    }
    return all;
}

/* Texts that stay until the end of a case. */
cchar *name(size_t i) {
    return sfmt("name%zu", i);
}

void require(bool holds, cchar *what) {
    if (!holds) {
        fprintf(stderr, "linear: %s\n", what);
        exit(2);
    }
}

// ---- JSON -------------------------------------------------------------------------------------------------------

string objectOf(size_t n) {
    string text = "{";
    for (size_t i = 0; i < n; i++) {
        text += (i ? ",\"name" : "\"name") + std::to_string(i) + "\":\"value\"";
    }
    return text + "}";
}

void parseNames(size_t n) {
    require(mprGetJsonLength(mprParseJson(objectOf(n).c_str())) == static_cast<ssize>(n), "names");
}
void parseTwice(size_t n) {
    require(mprParseJson(("[" + objectOf(n) + "," + objectOf(n) + "]").c_str()), "twice");
}
void parseNested(size_t n) {
    const MprJsonRules rules = {0, static_cast<int>(n) + 1, 0};
    const string text = repeated("[", n) + repeated("]", n);
    require(mprParseJsonText(text.c_str(), -1, &rules, nullptr), "nested");
}
void parseString(size_t n) {
    require(mprParseJson(("\"" + repeated("\\u20acx", n) + "\"").c_str()), "string");
}
void parseComments(size_t n) {
    const MprJsonRules rules = {MPR_JSON_RELAXED, 0, 0};
    require(mprParseJsonText((repeated("/* * / */ // x\n", n) + "1").c_str(), -1, &rules, nullptr), "comments");
}
void writeNames(size_t n) {
    MprJson *object = mprCreateJson(MPR_JSON_OBJ);
    for (size_t i = 0; i < n; i++) {
        mprWriteJson(object, name(i), "1", MPR_JSON_STRING);
    }
    for (size_t i = 0; i < n; i++) {
        require(mprReadJson(object, name(i)), "written");
    }
    for (size_t i = 0; i < n; i++) {
        require(mprRemoveJsonChild(object, mprReadJsonObj(object, name(i * 7 % n))), "removed");
        mprWriteJson(object, name(i * 7 % n), "2", MPR_JSON_STRING);
    }
}
void setPaths(size_t n) {
    MprJson *object = mprCreateJson(MPR_JSON_OBJ);
    for (size_t i = 0; i < n; i++) {
        require(mprSetJson(object, sfmt("a.%s", name(i)), "1", 0) == 0, "set");
        require(mprGetJson(object, sfmt("a.%s", name(i))), "got");
    }
}
void setElements(size_t n) {
    MprJson *array = mprCreateJson(MPR_JSON_ARRAY);
    for (size_t i = 0; i < n; i++) {
        mprWriteJson(array, nullptr, "1", MPR_JSON_NUMBER);
    }
    for (size_t i = 0; i < n; i++) {
        require(mprSetJson(array, sfmt("[%zu]", i), "2", 0) == 0, "element");
        require(mprGetJson(array, sfmt("[%zu]", n - 1 - i)), "element");
    }
    for (size_t i = 0; i < n; i++) {
        require(mprRemoveJson(array, i % 2 ? "[0]" : "[-1]"), "taken");
    }
}
void blend(size_t n) {
    MprJson *one = mprParseJson(objectOf(n).c_str()), *other = mprParseJson(objectOf(2 * n).c_str());
    require(mprBlendJson(one, other, 0) == 0 && mprParseJsonInto(objectOf(n).c_str(), one), "blend");
}
void convert(size_t n) {
    MprHash *table = mprCreateHash(0, 0);
    for (size_t i = 0; i < n; i++) {
        mprAddKey(table, name(i), sclone("1"));
    }
    MprJson *tree = mprHashToJson(table);
    require(mprJsonToHash(tree) && mprJsonToString(tree, MPR_JSON_PRETTY) && mprCloneJson(tree), "convert");
}
void query(size_t n) {
    string text = "[";
    for (size_t i = 0; i < n; i++) {
        text += (i ? ",{\"a\":" : "{\"a\":") + std::to_string(i) + "}";
    }
    MprJson *tree = mprParseJson((text + "]").c_str());
    require(mprQueryJson(tree, "[a > 10]", nullptr, 0) && mprQueryJson(tree, "..a", nullptr, 0), "query");
}

// ---- XML --------------------------------------------------------------------------------------------------------

struct Pieces {
    string document;
    size_t size, at = 0;

    static ssize read(MprXml *, void *arg, char *buf, ssize size) {
        auto &self = *static_cast<Pieces *>(arg);
        const size_t count = std::min({self.size, static_cast<size_t>(size), self.document.size() - self.at});
        memcpy(buf, self.document.data() + self.at, count);
        self.at += count;
        return static_cast<ssize>(count);
    }
};

void parseXml(const string &document, size_t size) {
    Pieces pieces{document, size};
    MprXml *xml = mprXmlOpen(0, 1 << 26);
    mprXmlSetInputStream(xml, Pieces::read, &pieces);
    require(mprXmlParse(xml) == 0, mprXmlGetErrorMsg(xml));
}

template <size_t piece>
void comment(size_t n) {
    parseXml("<a><!--" + repeated("a>", n) + "--></a>", piece);
}
template <size_t piece>
void attributes(size_t n) {
    parseXml("<a b='" + repeated("c ", n) + "'/>", piece);
}
template <size_t piece>
void space(size_t n) {
    parseXml("<a " + repeated(" \n", n) + "/>", piece);
}
template <size_t piece>
void instruction(size_t n) {
    parseXml("<a><?b " + repeated("c>", n) + "?></a>", piece);
}
template <size_t piece>
void entity(size_t n) {
    parseXml("<!DOCTYPE a [<!ENTITY e '" + repeated("c>", n) + "'>]><a>&e;</a>", piece);
}
template <size_t piece>
void elements(size_t n) {
    parseXml("<a>" + repeated("<b c='d'>text &amp; more</b>", n / 10) + "</a>", piece);
}
template <size_t piece>
void nestedElements(size_t n) {
    parseXml(repeated("<a>", n / 2) + repeated("</a>", n / 2), piece);
}
template <size_t piece>
void data(size_t n) {
    parseXml("<a>" + repeated("b ", n) + "<![CDATA[" + repeated("c]", n) + "]]></a>", piece);
}

// ---- Texts and paths ----------------------------------------------------------------------------------------------

void encode(size_t n) {
    const string text = repeated("a b%<&'/", n);
    require(mprUriDecode(mprUriEncode(text.c_str(), MPR_ENCODE_URI_COMPONENT)) && mprEscapeHtml(text.c_str()) &&
                mprEscapeCmd(text.c_str(), 0) && mprEscapeSQL(text.c_str()),
            "encode");
}
void codes(size_t n) {
    const string text = repeated("abc", n);
    require(mprDecode64(mprEncode64(text.c_str())) && mprGetMD5(text.c_str()), "codes");
}
void paths(size_t n) {
    require(mprNormalizePath(repeated("a/../b/./", n).c_str()) && mprNormalizePath(repeated("a/", n).c_str()) &&
                mprNormalizePath((repeated("a/", n) + repeated("../", n)).c_str()),
            "paths");
    mprGetRelPath(("/" + repeated("a/", n)).c_str(), ("/" + repeated("b/", n)).c_str());
}
void matching(size_t n) {
    mprMatchPath(repeated("ab", n).c_str(), "*a*b*c");
    mprMatchPath(repeated("a/b/", n).c_str(), "**/c");
}
void templates(size_t n) {
    MprHash *table = mprCreateHash(0, 0);
    mprAddKey(table, "a", sclone("value"));
    require(stemplate(repeated("${a} $ {", n).c_str(), table), "template");
    require(stemplateJson(repeated("${a} ${", n).c_str(), mprParseJson("{\"a\":1}")), "template");
}
void words(size_t n) {
    const string text = repeated("word, ", n);
    char *last = nullptr, *copy = sclone(text.c_str());
    for (char *word = stok(copy, ", ", &last); word; word = stok(nullptr, ", ", &last)) {}
    copy = sclone(text.c_str());
    for (char *word = ssplit(copy, ", ", &last); word && *word; word = ssplit(last, ", ", &last)) {}
    copy = sclone(text.c_str());
    for (char *word = sptok(copy, ", ", &last); word; word = sptok(nullptr, ", ", &last)) {}
    require(stolist(text.c_str()) && mprCreateListFromWords(text.c_str()) && sreplace(text.c_str(), ",", ";;") &&
                strim(text.c_str(), ", ", MPR_TRIM_BOTH) && scamel(text.c_str()),
            "words");
}
void finding(size_t n) {
    const string text = repeated("aaab", n);
    require(!scontains(text.c_str(), "aaaa") && !scaselesscontains(text.c_str(), "AAAA"), "finding");
    require(!scontains(repeated("a", n).c_str(), (repeated("a", n / 2) + "b").c_str()), "finding");
}
void arguments(size_t n) {
    cchar **argv = nullptr;
    require(mprMakeArgv(repeated("word \"two words\" ", n).c_str(), &argv, 0) > 0, "arguments");
}
void times(size_t n) {
    MprTime time;
    require(mprParseTime(&time, (repeated(" (comment) ", n) + "2026-11-27").c_str(), 0, nullptr) == 0, "times");
    mprParseTime(&time, repeated("9", n).c_str(), 0, nullptr);
    mprParseTime(&time, repeated("1 day ", n).c_str(), 0, nullptr);
}
void formats(size_t n) {
    require(sfmt("%s %*d %.*f", repeated("x", n).c_str(), static_cast<int>(n), 1, static_cast<int>(n), 1.5), "formats");
}
void addresses(size_t n) {
    mprParseSocketAddress(("http://" + repeated("a.", n) + "/" + repeated("://", n)).c_str(), nullptr, nullptr, nullptr,
                          0);
    mprParseSocketAddress(repeated(":", n).c_str(), nullptr, nullptr, nullptr, 0);
}

// ---- Containers ---------------------------------------------------------------------------------------------------

void buffers(size_t n) {
    MprBuf *buf = mprCreateBuf(0, -1);
    for (size_t i = 0; i < n; i++) {
        mprPutCharToBuf(buf, 'a');
        mprPutStringToBuf(buf, "bc");
        mprPutToBuf(buf, "%d", 1);
    }
    while (mprGetCharFromBuf(buf) >= 0) {}
}
void inserted(size_t n) {
    MprBuf *buf = mprCreateBuf(0, -1);
    for (size_t i = 0; i < n; i++) {
        mprInsertCharToBuf(buf, 'a');
    }
}
void lists(size_t n) {
    MprList *list = mprCreateList(0, 0);
    for (size_t i = 0; i < n; i++) {
        mprAddItem(list, name(i * 7919 % n));
    }
    mprSortList(list, nullptr, nullptr);
    require(mprListToString(list, ",") && mprCloneList(list), "lists");
    while (mprPopItem(list)) {}
}
void sorted(size_t n) {
    MprList *list = mprCreateList(0, 0);
    for (size_t i = 0; i < n; i++) {
        mprAddItem(list, sclone(i < n / 2 ? "a" : "b"));
    }
    mprSortList(list, nullptr, nullptr);
    mprSortList(list, nullptr, nullptr);
}
void hashes(size_t n) {
    MprHash *table = mprCreateHash(0, 0);
    for (size_t i = 0; i < n; i++) {
        mprAddKey(table, name(i), table);
    }
    for (size_t i = 0; i < n; i++) {
        require(mprLookupKey(table, name(i)), "key");
    }
    require(mprCloneHash(table) && mprBlendHash(mprCreateHash(0, 0), table), "hashes");
    for (size_t i = 0; i < n; i++) {
        mprRemoveKey(table, name(i));
    }
}
void maps(size_t n) {
    auto *map = mpr::make<mpr::HashMap<uint64_t, MprHash>>();
    MprHash *value = mprCreateHash(0, 0);
    constexpr uint64_t inverse = 0xF1DE83E19937733Du; // of the multiplier of a well-known hash
    for (uint64_t i = 0; i < n; i++) {
        require(map->set(i, value) && map->set(i << 40, value) && map->set(i * inverse, value), "map");
    }
    for (uint64_t i = 0; i < n; i++) {
        map->remove(i);
    }
}
void caches(size_t n) {
    MprCache *cache = mprCreateCache(0);
    for (size_t i = 0; i < n; i++) {
        mprWriteCache(cache, name(i), "value", 0, static_cast<MprTicks>(i % 100) * 1000, 0, 0);
    }
    for (size_t i = 0; i < n; i++) {
        require(mprReadCache(cache, name(i), nullptr, nullptr), "item");
        mprRemoveCache(cache, name(i));
    }
}
void types(size_t n) {
    MprHash *table = mprCreateMimeTypes(nullptr);
    for (size_t i = 0; i < n; i++) {
        mprAddMime(table, name(i), sfmt("a/%s", name(i)));
        mprLookupMime(table, name(i));
    }
}

void quadratic(size_t n) {
    MprList *list = mprCreateList(0, 0);
    for (size_t i = 0; i < n; i++) {
        mprAddItem(list, name(i));
        mprLookupItem(list, list);
    }
}

struct Case {
    cchar *name;
    void (*run)(size_t n);
    size_t n;
};
constexpr Case cases[] = {
    {"json: names", parseNames, 1000},
    {"json: names twice", parseTwice, 500},
    {"json: nested", parseNested, 2000},
    {"json: string", parseString, 5000},
    {"json: comments", parseComments, 2000},
    {"json: written", writeNames, 500},
    {"json: paths", setPaths, 500},
    {"json: elements", setElements, 500},
    {"json: merged", blend, 300},
    {"json: converted", convert, 500},
    {"json: queried", query, 500},
    {"xml: comment", comment<4096>, 20000},
    {"xml: comment by 64", comment<64>, 20000},
    {"xml: comment by the byte", comment<1>, 5000},
    {"xml: attribute", attributes<4096>, 20000},
    {"xml: attribute by 64", attributes<64>, 20000},
    {"xml: attribute by the byte", attributes<1>, 5000},
    {"xml: space", space<4096>, 20000},
    {"xml: space by the byte", space<1>, 5000},
    {"xml: instruction by 64", instruction<64>, 20000},
    {"xml: instruction by the byte", instruction<1>, 5000},
    {"xml: entity by 64", entity<64>, 20000},
    {"xml: entity by the byte", entity<1>, 5000},
    {"xml: elements", elements<4096>, 5000},
    {"xml: elements by the byte", elements<1>, 5000},
    {"xml: nested", nestedElements<4096>, 2000},
    {"xml: nested by the byte", nestedElements<1>, 2000},
    {"xml: data", data<4096>, 10000},
    {"xml: data by the byte", data<1>, 5000},
    {"encode", encode, 1000},
    {"codes", codes, 5000},
    {"path", paths, 1000},
    {"glob", matching, 2000},
    {"template", templates, 1000},
    {"words", words, 1000},
    {"finding", finding, 5000},
    {"arguments", arguments, 1000},
    {"time", times, 1000},
    {"format", formats, 2000},
    {"address", addresses, 2000},
    {"buffer", buffers, 2000},
    {"buffer: inserted", inserted, 10000},
    {"list", lists, 500},
    {"list: sorted", sorted, 1000},
    {"hash", hashes, 500},
    {"map", maps, 4000},
    {"cache", caches, 300},
    {"mime", types, 500},
    {"planted: quadratic", quadratic, 1000},
};

void measure(const Case &each) {
    each.run(each.n / 4); // what is made once
    static string label;  // callgrind reads it later
    for (size_t times : {1, 4}) {
        label = string(each.name) + "@" + std::to_string(times);
        mprYield(0);
        CALLGRIND_ZERO_STATS;
        each.run(times * each.n);
        CALLGRIND_DUMP_STATS_AT(label.c_str());
    }
}
} // namespace

int main(int, char **argv) {
    mpr::Runtime runtime(1, argv);
    mprEnableGC(false); // a collection is no part's own
    for (const Case &each : cases) {
        measure(each);
    }
    return 0;
}
