/* SPDX-License-Identifier: MIT */
/*
    test/compat/xml.c - XML as programs for the MPR read it: a configuration from a file, and a tree built from events.
    The same text is valid C11 and C++20.

    Rooms: io

    Exits with 0 when all went well; else the failed condition is printed.
 */
#include "mpr.h"
#include "expect.h"

#include <string.h>

typedef struct Config {
    MprBuf *text;
    int depth;
    int elements;
    cchar *port;
} Config;

static void manageConfig(Config *config, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMark(config->text);
        mprMark(config->port);
    }
}

static int handler(MprXml *xp, int state, cchar *tagName, cchar *attName, cchar *value) {
    Config *config = (Config *) mprXmlGetParseArg(xp);

    switch (state) {
    case MPR_XML_COMMENT:
    case MPR_XML_PI: break;
    case MPR_XML_NEW_ELT:
        config->elements++;
        config->depth++;
        break;
    case MPR_XML_NEW_ATT:
        if (smatch(tagName, "listen") && smatch(attName, "port")) {
            config->port = sclone(value);
        }
        break;
    case MPR_XML_SOLO_ELT_DEFINED: config->depth--; break;
    case MPR_XML_ELT_DEFINED: break;
    case MPR_XML_ELT_DATA:
    case MPR_XML_CDATA:
        mprPutStringToBuf(config->text, value);
        mprPutStringToBuf(config->text, ";");
        break;
    case MPR_XML_END_ELT: config->depth--; break;
    default: return MPR_ERR_BAD_STATE;
    }
    return 0;
}

static ssize readFile(MprXml *xp, void *arg, char *buf, ssize size) {
    (void) xp;
    return mprReadFile((MprFile *) arg, buf, size);
}

static int parseFile(MprXml *xp, cchar *path) {
    MprFile *file;
    int code;

    if ((file = mprOpenFile(path, O_RDONLY, 0)) == 0) {
        return MPR_ERR_CANT_OPEN;
    }
    mprAddRoot(file);
    mprXmlSetInputStream(xp, readFile, file);
    code = mprXmlParse(xp);
    mprRemoveRoot(file);
    mprCloseFile(file);
    return code;
}

int main(int argc, char **argv) {
    Config *config;
    MprXml *xp;
    char *path;

    if (mprCreate(argc, argv, 0) == 0) {
        return 1;
    }
    config = mprAllocObj(Config, manageConfig);
    mprAddRoot(config);
    config->text = mprCreateBuf(0, 0);
    path = mprGetTempPath(NULL);
    mprAddRoot(path);
    EXPECT(mprWritePathContents(path,
                                "<?xml version=\"1.0\"?>\n<!-- a server -->\n<server>\n    <listen port=\"8080\"/>\n"
                                "    <name>a &amp; b</name>\n    <page><![CDATA[<p>]]></page>\n</server>\n",
                                -1, 0644) > 0);
    xp = mprXmlOpen(4096, 65536);
    EXPECT(xp != 0);
    mprAddRoot(xp);
    mprXmlSetParseArg(xp, config);
    mprXmlSetParserHandler(xp, handler);
    EXPECT(parseFile(xp, path) == 0);
    EXPECT(smatch(mprXmlGetErrorMsg(xp), ""));
    EXPECT(config->elements == 4 && config->depth == 0);
    EXPECT(smatch(config->port, "8080"));
    mprAddNullToBuf(config->text);
    EXPECT(smatch(mprGetBufStart(config->text), "a & b;<p>;"));

    EXPECT(mprWritePathContents(path, "<server>\n    <listen>\n</server>\n", -1, 0644) > 0);
    EXPECT(parseFile(xp, path) < 0);
    EXPECT(mprXmlGetLineNumber(xp) == 3);
    EXPECT(scontains(mprXmlGetErrorMsg(xp), "mismatched tag"));
    EXPECT(mprDeletePath(path) == 0);
    EXPECT(mprDestroy());
    return verdict();
}
