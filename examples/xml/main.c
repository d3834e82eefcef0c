/* SPDX-License-Identifier: MIT */
/*
    xml - A document read as events, and a mistake in one.

        cc main.c -lmpr
 */
#include <mpr.h>
#include <stdio.h>
#include <string.h>

/* Where a document comes from: here a string, elsewhere a file or socket. */
static ptrdiff_t readText(MprXml *xp, void *arg, char *buf, ptrdiff_t size) {
    const char **text = (const char **) arg;
    ptrdiff_t length = (ptrdiff_t) strlen(*text);

    (void) xp;
    length = length < size ? length : size;
    memcpy(buf, *text, (size_t) length);
    *text += length;
    return length;
}

static int show(MprXml *xp, int state, const char *tagName, const char *attName, const char *value) {
    switch (state) {
    case MPR_XML_NEW_ATT: printf("line %d: %s has %s %s\n", mprXmlGetLineNumber(xp), tagName, attName, value); break;
    case MPR_XML_ELT_DATA: printf("line %d: %s is %s\n", mprXmlGetLineNumber(xp), tagName, value); break;
    default: break;
    }
    return 0;
}

static int parse(MprXml *xp, const char *text) {
    int code;

    mprXmlSetInputStream(xp, readText, &text);
    if ((code = mprXmlParse(xp)) < 0) {
        printf("%s\n", mprXmlGetErrorMsg(xp));
    }
    return code;
}

int main(int argc, char **argv) {
    MprXml *xp;
    bool good;

    if (mprCreate(argc, argv, 0) == 0 || (xp = mprXmlOpen(0, 0)) == 0) {
        return 1;
    }
    mprAddRoot(xp);
    mprXmlSetParserHandler(xp, show);
    good = parse(xp, "<server>\n  <listen port='80'/>\n  <name>board &amp; more</name>\n</server>\n") == 0;
    good = parse(xp, "<server>\n  <listen>\n</server>\n") == MPR_ERR_BAD_SYNTAX && good;
    mprRemoveRoot(xp);
    return mprDestroy() && good ? 0 : 1;
}
