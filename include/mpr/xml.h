/* SPDX-License-Identifier: MIT */
/*
    mpr/xml.h - XML read as events, by expat: a document is read from a stream, and a handler is called for what is in
    it.

    XML 1.0 in UTF-8, UTF-16, ISO 8859-1 or ASCII, as the document says; what handlers get is UTF-8. Names are as
    written, with their namespace's prefix.

    Documents may come from strangers. Nothing outside of them is loaded. An entity may stand for text and elements, not
    for other entities. Parameter entities are refused. Expat stops a document that grows a hundredfold (from 8 MB on).
    Elements nest as deep as their names fit in maxSize, and no call recurses with them.

    Threads: attached threads that run; one thread uses a parser at a time. Memory is the runtime's, expat's too, and
    goes with the parser.

    A library that was built with MPR_XML=OFF has none of this, and needs no expat.
 */
#ifndef MPR_XML_H
#define MPR_XML_H

#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

/* What a handler is called for. Numbers are those of other MPRs; those without a comment are never handed out. */
#define MPR_XML_ERR (-1)
#define MPR_XML_EOF (-2)
#define MPR_XML_BEGIN 1
#define MPR_XML_AFTER_LS 2
#define MPR_XML_COMMENT 3 /* A comment: value */
#define MPR_XML_NEW_ELT 4 /* An element begins: tagName */
#define MPR_XML_ATT_NAME 5
#define MPR_XML_ATT_EQ 6
#define MPR_XML_NEW_ATT 7          /* One of its attributes: tagName, attName, value */
#define MPR_XML_SOLO_ELT_DEFINED 8 /* Its tag ended with a slash: the element has no contents and has ended: tagName */
#define MPR_XML_ELT_DEFINED 9      /* Its tag has ended, contents follow: tagName */
#define MPR_XML_ELT_DATA \
    10                     /* Text within it: tagName, value. All of it up to the next tag; not called if it is blank */
#define MPR_XML_END_ELT 11 /* The element has ended: tagName */
#define MPR_XML_PI 12      /* A processing instruction: attName is its target, value all of it */
#define MPR_XML_CDATA 13   /* A section of CDATA: tagName, value */

/** A parser. A managed block, opaque. */
typedef struct MprXml MprXml;

/**
    Learn of what is in a document.
    @param state One of the events above. @param tagName The innermost element; "" outside of all.
    @param attName NULL unless the event has one. @param value NULL unless the event has one.
    @return 0; below 0: give up, and mprXmlParse returns this.
    @remarks Texts are not managed, and good until the handler returns. It may yield: the parser stays.
 */
typedef int (*MprXmlHandler)(MprXml *xp, int state, const char *tagName, const char *attName, const char *value);

/**
    Read more of a document.
    @param arg As given to mprXmlSetInputStream. @param buf,size Where to, and at most how much.
    @return Bytes read; 0 at the end; below 0: it cannot be read. May yield.
 */
typedef ptrdiff_t (*MprXmlInputStream)(MprXml *xp, void *arg, char *buf, ptrdiff_t size);

/**
    Make a parser.
    @param initialSize Bytes asked of the stream at once, from 256 to 65,536; 0 or less: 4,096.
    @param maxSize Bytes that a name, a tag, a value, a text, or the names of all elements that are open may take; 0 or
    less: 1 MiB.
    @return NULL when memory is short.
 */
MPR_EXPORT MprXml *mprXmlOpen(ptrdiff_t initialSize, ptrdiff_t maxSize);

/** Set the handler. NULL: none; documents are only checked. */
MPR_EXPORT void mprXmlSetParserHandler(MprXml *xp, MprXmlHandler h);
/** Set the procedure from which documents are read. @param arg For fn. The program retains it. */
MPR_EXPORT void mprXmlSetInputStream(MprXml *xp, MprXmlInputStream fn, void *arg);
/** A pointer of the program's, for the handler. The program retains it. */
MPR_EXPORT void mprXmlSetParseArg(MprXml *xp, void *parseArg);
MPR_EXPORT void *mprXmlGetParseArg(MprXml *xp);

/**
    Read a document to its end. May be called again, for the next one.
    @return 0. MPR_ERR_BAD_SYNTAX; MPR_ERR_WONT_FIT for what is longer than maxSize; MPR_ERR_CANT_READ; MPR_ERR_MEMORY;
    what the handler returned; mprXmlGetErrorMsg tells more. MPR_ERR_BAD_ARGS for NULL and without a stream,
    MPR_ERR_BUSY within a call of the handler or stream.
    @remarks Yields when the handler or the stream does. The parser is retained meanwhile, nothing else.
 */
MPR_EXPORT int mprXmlParse(MprXml *xp);

/**
    @return Why the last call of mprXmlParse failed, "line 3: mismatched tag", good until the next call; "" when it did
    not.
 */
MPR_EXPORT const char *mprXmlGetErrorMsg(MprXml *xp);
/**
    @return The line of the event, within a handler; of the mistake, after one; else the last one. From 1; 0 for NULL.
 */
MPR_EXPORT int mprXmlGetLineNumber(MprXml *xp);

MPR_EXTERN_C_END
#endif /* MPR_XML_H */
