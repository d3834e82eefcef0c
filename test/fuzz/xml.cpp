// SPDX-License-Identifier: MIT
/*
    test/fuzz/xml.cpp - Any bytes as a document of XML. Built with libFuzzer by clang (fuzz_xml), and with a driver that
    mutates a corpus (test/fuzz/corpus.cpp) for the tests.

    Events are those of a tree, and the same whether the document comes at once or byte by byte; a mistake has a
    message.
 */
#include "mpr.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

void expect(bool good, const char *what) {
    if (!good) {
        fprintf(stderr, "fuzz: %s\n", what);
        abort();
    }
}

struct Document {
    const uint8_t *data;
    size_t size, piece, at;
    std::vector<std::string> open;
    bool inTag;
    std::string told;
};

ssize read(MprXml *, void *arg, char *buf, ssize size) {
    auto &document = *static_cast<Document *>(arg);
    size_t count = document.size - document.at;
    count = count < document.piece ? count : document.piece;
    count = count < static_cast<size_t>(size) ? count : static_cast<size_t>(size);
    memcpy(buf, document.data + document.at, count);
    document.at += count;
    return static_cast<ssize>(count);
}

int handle(MprXml *xml, int state, cchar *tag, cchar *name, cchar *value) {
    auto &document = *static_cast<Document *>(mprXmlGetParseArg(xml));
    document.told += std::to_string(state) + tag + "," + (name ? name : "") + "," + (value ? value : "") + ";";
    if (state == MPR_XML_NEW_ELT) {
        expect(!document.inTag, "an element within a tag");
        document.open.emplace_back(tag);
        document.inTag = true;
    }
    expect(document.open.empty() ? !*tag : document.open.back() == tag, "another element");
    const bool ofTag = state == MPR_XML_NEW_ELT || state == MPR_XML_NEW_ATT || state == MPR_XML_SOLO_ELT_DEFINED ||
                       state == MPR_XML_ELT_DEFINED;
    expect(ofTag == document.inTag, "an event in a wrong place");
    if (state == MPR_XML_SOLO_ELT_DEFINED || state == MPR_XML_ELT_DEFINED) {
        document.inTag = false;
    }
    if (state == MPR_XML_SOLO_ELT_DEFINED || state == MPR_XML_END_ELT) {
        document.open.pop_back();
    }
    return 0;
}

int parse(MprXml *xml, Document &document) {
    mprXmlSetParserHandler(xml, handle);
    mprXmlSetInputStream(xml, read, &document);
    mprXmlSetParseArg(xml, &document);
    const int code = mprXmlParse(xml);
    expect((code == 0) == (*mprXmlGetErrorMsg(xml) == '\0'), "a mistake without a message");
    expect(code != 0 || (document.open.empty() && !document.inTag), "taken, and an element is open");
    return code;
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Mpr *const mpr = mprCreate(0, nullptr, 0);
    static MprRootRef root;
    if (!mpr || size > 1 << 16) {
        return mpr ? 0 : -1;
    }
    if (!root.ptr) {
        mprLinkRootRef(&root);
        root.ptr = mprXmlOpen(256, 1 << 14);
    }
    auto *xml = static_cast<MprXml *>(root.ptr);
    Document whole = {data, size, size, 0, {}, false, {}}, slow = {data, size, 1, 0, {}, false, {}};
    const int code = parse(xml, whole);
    expect((parse(xml, slow) == 0) == (code == 0), "taken in one way only");
    expect(code != 0 || whole.told == slow.told, "told in two ways");
    mprYield(MPR_YIELD_DEFAULT);
    return 0;
}
