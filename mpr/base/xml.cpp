// SPDX-License-Identifier: MIT
/*
    xml.cpp - XML as events, by expat. See mpr/xml.h.

    Events are told late by one: an element's tag has "ended" when the next event shows whether contents follow, and
    text is gathered until something else comes, since expat hands it out in pieces. What is gathered stands in
    permanent memory, as does all that expat makes.
 */
#include "mpr/xml.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <expat.h>
#include <utility>

#include "mpr/base/ascii.hpp"
#include "mpr/base/guard.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/format.h"
#include "mpr/gc/census.hpp"
#include "mpr/memory.h"

static_assert(XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 4,
              "expat 2.4 is the first that ends what grows without bounds");

/*
    Expat has it since 2.6, and distributions have it in older ones (CVE-2023-52425). It is weak, so the library that a
    program runs with decides, not the header that this is compiled with.
 */
// NOLINTNEXTLINE(readability-redundant-declaration): an older header has none
extern "C" XMLPARSEAPI(XML_Bool) XML_SetReparseDeferralEnabled(XML_Parser parser, XML_Bool enabled)
    __attribute__((weak));

namespace {

/** Bytes that grow, and end with a zero. */
struct Bytes {
    char* data;
    std::size_t length;
    std::size_t room;

    bool add(cchar* text, std::size_t count) {
        if (room - length <= count) {
            const std::size_t wanted = std::max(2 * room, length + count + 64);
            auto* more = static_cast<char*>(prealloc(data, wanted));
            if (!more) {
                return false;
            }
            data = more;
            room = wanted;
        }
        std::memcpy(data + length, text, count);
        length += count;
        data[length] = '\0';
        return true;
    }
    void release() {
        pfree(data);
        *this = {};
    }
};
} // namespace

struct MprXml {
    XML_Parser parser;
    MprXmlHandler handler;
    MprXmlInputStream stream;
    void* streamArg;
    void* parseArg;
    std::size_t chunk;
    std::size_t most;
    std::int64_t given;     // bytes, to expat
    std::int64_t readAgain; // bytes of unfinished tokens, by expat
    std::int64_t supplied;  // bytes of attributes that no tag has, but a declaration
    Bytes text;
    Bytes names;           // of the elements that are open, each with its zero
    std::size_t innermost; // where the last of them begins
    XML_Index tagAt;
    bool tagOpen; // it is not told yet that a tag has ended
    bool used;
    bool parsing;
    int error;
    int line;
    char message[200];
};

namespace {

constexpr XML_Memory_Handling_Suite memory = {palloc, prealloc, pfree};

/** @param name What is meant, or nullptr. */
void fail(MprXml& xml, int error, cchar* what, cchar* name = nullptr) {
    if (xml.error) {
        return;
    }
    xml.error = error;
    xml.line = static_cast<int>(XML_GetCurrentLineNumber(xml.parser));
    fmt(xml.message, sizeof(xml.message), name ? "line %d: %s \"%.80s\"" : "line %d: %s", xml.line, what, name);
    XML_StopParser(xml.parser, XML_FALSE); // refused outside of a call, where nobody needs it
}

MprXml& of(void* user) {
    return *static_cast<MprXml*>(user);
}

cchar* tagOf(const MprXml& xml) {
    return xml.names.length > 0 ? xml.names.data + xml.innermost : "";
}

void tell(MprXml& xml, int state, cchar* attribute = nullptr, cchar* value = nullptr) {
    const int result = xml.handler && !xml.error ? xml.handler(&xml, state, tagOf(xml), attribute, value) : 0;
    if (result < 0) {
        fail(xml, result, "the handler gave up");
    }
}

void gather(MprXml& xml, Bytes& bytes, cchar* more, std::size_t count) {
    if (xml.error) {
        return;
    }
    if (count > xml.most - bytes.length) {
        fail(xml, MPR_ERR_WONT_FIT,
             &bytes == &xml.names ? "names of open elements take more than maxSize" : "a text is longer than maxSize");
    } else if (!bytes.add(more, count)) {
        fail(xml, MPR_ERR_MEMORY, "memory is short");
    }
}

/** Tell of gathered text and forget it. */
void tellText(MprXml& xml, int state, cchar* attribute = nullptr) {
    tell(xml, state, attribute, xml.text.length > 0 ? xml.text.data : "");
    xml.text.length = 0;
}

/** Tell what is late, since something new comes. */
void catchUp(MprXml& xml) {
    if (xml.tagOpen) {
        xml.tagOpen = false;
        tell(xml, MPR_XML_ELT_DEFINED);
    }
    if (!std::all_of(xml.text.data, xml.text.data + xml.text.length, mpr::base::isBlank)) {
        tellText(xml, MPR_XML_ELT_DATA);
    }
    xml.text.length = 0;
}

void leave(MprXml& xml) {
    xml.names.length = xml.innermost;
    while (xml.innermost > 0 && (--xml.innermost == 0 || xml.names.data[xml.innermost - 1] != '\0')) {}
}

/** Each element has all attributes that its declaration says, for nothing. Expat counts what entities make of a document, not
    these: they have its limits. */
void supply(MprXml& xml, cchar* name, std::size_t length) {
    constexpr std::int64_t atLeast = 8 << 20, times = 100;
    xml.supplied += static_cast<std::int64_t>(sizeof(cchar*) + std::strlen(name) + length);
    if (xml.supplied > std::max(atLeast, times * xml.given)) {
        fail(xml, MPR_ERR_BAD_SYNTAX, "refused, too much of declared attributes:", name);
    }
}

// ---- What expat calls ---------------------------------------------------------------------------------------------

void XMLCALL begins(void* user, cchar* name, cchar** attributes) {
    MprXml& xml = of(user);
    catchUp(xml);
    const std::size_t at = xml.names.length;
    gather(xml, xml.names, name, std::strlen(name) + 1);
    if (xml.error) {
        return;
    }
    xml.innermost = at;
    tell(xml, MPR_XML_NEW_ELT);
    cchar** const declared = attributes + XML_GetSpecifiedAttributeCount(xml.parser);
    for (; *attributes && !xml.error; attributes += 2) {
        const std::size_t length = std::strlen(attributes[1]);
        if (length > xml.most) { // an entity in it may be long
            fail(xml, MPR_ERR_WONT_FIT, "a value is longer than maxSize");
        } else if (attributes >= declared) {
            supply(xml, attributes[0], length);
        }
        tell(xml, MPR_XML_NEW_ATT, attributes[0], attributes[1]);
    }
    xml.tagOpen = true;
    xml.tagAt = XML_GetCurrentByteIndex(xml.parser);
}

void XMLCALL ends(void* user, cchar*) {
    MprXml& xml = of(user);
    // An end without a tag of its own has no bytes. What comes from an entity has the place of its reference.
    const bool atOnce = XML_GetCurrentByteCount(xml.parser) == 0 || XML_GetCurrentByteIndex(xml.parser) == xml.tagAt;
    const bool solo = xml.tagOpen && xml.text.length == 0 && atOnce;
    if (!solo) {
        catchUp(xml);
    }
    xml.tagOpen = false;
    tell(xml, solo ? MPR_XML_SOLO_ELT_DEFINED : MPR_XML_END_ELT);
    if (!xml.error) {
        leave(xml);
    }
}

void XMLCALL textComes(void* user, cchar* text, int length) {
    gather(of(user), of(user).text, text, static_cast<std::size_t>(length));
}

void XMLCALL cdataBegins(void* user) {
    catchUp(of(user));
}

void XMLCALL cdataEnds(void* user) {
    tellText(of(user), MPR_XML_CDATA);
}

void XMLCALL commentComes(void* user, cchar* text) {
    catchUp(of(user));
    tell(of(user), MPR_XML_COMMENT, nullptr, text);
}

void XMLCALL instructionComes(void* user, cchar* target, cchar* data) {
    MprXml& xml = of(user);
    catchUp(xml);
    gather(xml, xml.text, target, std::strlen(target));
    if (*data != '\0') {
        gather(xml, xml.text, " ", 1);
        gather(xml, xml.text, data, std::strlen(data));
    }
    tellText(xml, MPR_XML_PI, target);
}

/** Whether a reference to one of the five entities that XML itself has begins here, or to a character. */
bool isHarmless(cchar* at, cchar* end) {
    for (cchar* name : {"&#", "&lt;", "&gt;", "&amp;", "&apos;", "&quot;"}) {
        const std::size_t length = std::strlen(name);
        if (static_cast<std::size_t>(end - at) >= length && std::memcmp(at, name, length) == 0) {
            return true;
        }
    }
    return false;
}

// Entities of entities multiply, and expat calls itself for each that stands in another (CVE-2024-8176).
void XMLCALL entityIsDeclared(void* user, cchar* name, int isParameter, cchar* value, int length, cchar*, cchar*,
                              cchar*, cchar*) {
    if (isParameter) {
        fail(of(user), MPR_ERR_BAD_SYNTAX, "refused, a parameter entity:", name);
        return;
    }
    cchar* const end = value ? value + length : value;
    for (cchar* at = value; at != end; ++at) {
        if (*at == '&' && !isHarmless(at, end)) {
            fail(of(user), MPR_ERR_BAD_SYNTAX, "refused, an entity that stands for others:", name);
            return;
        }
    }
}

int XMLCALL externalEntity(XML_Parser parser, cchar*, cchar*, cchar* system, cchar*) {
    fail(of(XML_GetUserData(parser)), MPR_ERR_BAD_SYNTAX, "refused, an external entity:", system ? system : "");
    return XML_STATUS_ERROR;
}

void XMLCALL entityIsSkipped(void* user, cchar* name, int) {
    fail(of(user), MPR_ERR_BAD_SYNTAX, "an entity that is not declared:", name);
}

// ---- One document -------------------------------------------------------------------------------------------------

void begin(MprXml& xml) {
    if (xml.used) {
        XML_ParserReset(xml.parser, nullptr);
    }
    xml.used = true;
    xml.given = xml.readAgain = xml.supplied = 0;
    xml.text.length = xml.names.length = xml.innermost = 0;
    xml.tagOpen = false;
    xml.error = xml.line = 0;
    xml.message[0] = '\0';
    XML_SetUserData(xml.parser, &xml);
    XML_SetElementHandler(xml.parser, begins, ends);
    XML_SetCharacterDataHandler(xml.parser, textComes);
    XML_SetCdataSectionHandler(xml.parser, cdataBegins, cdataEnds);
    XML_SetCommentHandler(xml.parser, commentComes);
    XML_SetProcessingInstructionHandler(xml.parser, instructionComes);
    XML_SetEntityDeclHandler(xml.parser, entityIsDeclared);
    XML_SetExternalEntityRefHandler(xml.parser, externalEntity);
    XML_SetSkippedEntityHandler(xml.parser, entityIsSkipped);
    if (XML_SetReparseDeferralEnabled) {
        XML_SetReparseDeferralEnabled(xml.parser,
                                      XML_FALSE); // it waits where a program may have to answer first: mayParse
    }
}

/** Bytes that expat has and could not use yet, of a token of which the end has not come. */
std::int64_t restOf(const MprXml& xml) {
    return xml.given - std::max<std::int64_t>(XML_GetCurrentByteIndex(xml.parser), 0);
}

/**
    Expat reads an unfinished token from its beginning again whenever more of it comes, so pieces are put together. Events
    come at the end of a tag, comment or the like, hence a piece without its last character can wait for the next. Others
    are parsed at once, since the next may come only when the program has answered this one, as long as the bytes that
    were read again are few beside all that were given; then they wait until the rest has grown by half.
 */
bool mayParse(const MprXml& xml, const char* piece, std::size_t length) {
    constexpr std::int64_t times = 4, atLeast = 64 * 1024;
    return xml.readAgain <= times * xml.given + atLeast && std::memchr(piece, '>', length);
}

/** Read until it is to be parsed. @return false when there is no more, or when it cannot be read. */
bool read(MprXml& xml, char* room, std::size_t size, std::size_t& length) {
    while (length < size) {
        const std::size_t wanted = std::min(xml.chunk, size - length);
        const ssize got = xml.stream ? xml.stream(&xml, xml.streamArg, room + length, static_cast<ssize>(wanted)) : -1;
        if (got < 0 || static_cast<std::size_t>(got) > wanted) {
            fail(xml, MPR_ERR_CANT_READ, "the document cannot be read");
            return false;
        }
        if (got == 0) {
            return false;
        }
        length += static_cast<std::size_t>(got);
        if (mayParse(xml, room + length - got, static_cast<std::size_t>(got))) {
            break;
        }
    }
    return true;
}

/** Read and parse some of the document. @return Whether there may be more. */
bool step(MprXml& xml) {
    const std::size_t size =
        std::max(xml.chunk, static_cast<std::size_t>(std::min<std::int64_t>(restOf(xml) / 2, INT_MAX / 4)));
    auto* room = static_cast<char*>(XML_GetBuffer(xml.parser, static_cast<int>(size)));
    if (!room) {
        fail(xml, MPR_ERR_MEMORY, "memory is short");
        return false;
    }
    std::size_t length = 0;
    const bool more = read(xml, room, size, length);
    if (xml.error) {
        return false;
    }
    xml.given += static_cast<std::int64_t>(length);
    if (XML_ParseBuffer(xml.parser, static_cast<int>(length), !more) == XML_STATUS_ERROR) {
        const XML_Error error = XML_GetErrorCode(xml.parser);
        fail(xml, error == XML_ERROR_NO_MEMORY ? MPR_ERR_MEMORY : MPR_ERR_BAD_SYNTAX, XML_ErrorString(error));
    }
    xml.readAgain += restOf(xml);
    if (restOf(xml) > static_cast<std::int64_t>(xml.most + xml.chunk)) {
        fail(xml, MPR_ERR_WONT_FIT, "a tag, comment or declaration is longer than maxSize");
    }
    return more;
}

void manageXml(void* ptr, int flags) {
    if (flags & MPR_MANAGE_FREE) {
        auto& xml = of(ptr);
        if (XML_Parser parser = std::exchange(xml.parser, nullptr)) { // managers of others may still use the block
            XML_ParserFree(parser);
        }
        xml.text.release();
        xml.names.release();
    }
}
const mpr::gc::ManagerName namedXml(manageXml, "MprXml");
} // namespace

MprXml* mprXmlOpen(ssize initialSize, ssize maxSize) {
    auto* xml = static_cast<MprXml*>(mprAllocManaged(sizeof(MprXml), manageXml, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO));
    if (!xml || !(xml->parser = XML_ParserCreate_MM(nullptr, &memory, nullptr))) {
        return nullptr;
    }
    xml->chunk = static_cast<std::size_t>(initialSize <= 0 ? 4096 : std::clamp<ssize>(initialSize, 256, 65536));
    xml->most = static_cast<std::size_t>(maxSize <= 0 ? 1 << 20 : std::min(maxSize, PTRDIFF_MAX / 4));
    return xml;
}

void mprXmlSetParserHandler(MprXml* xp, MprXmlHandler h) {
    if (mpr::base::mayUse(xp)) {
        xp->handler = h;
    }
}

void mprXmlSetInputStream(MprXml* xp, MprXmlInputStream fn, void* arg) {
    if (mpr::base::mayUse(xp)) {
        xp->stream = fn;
        xp->streamArg = arg;
    }
}

void mprXmlSetParseArg(MprXml* xp, void* parseArg) {
    if (mpr::base::mayUse(xp)) {
        xp->parseArg = parseArg;
    }
}

void* mprXmlGetParseArg(MprXml* xp) {
    return mpr::base::mayUse(xp) ? xp->parseArg : nullptr;
}

int mprXmlParse(MprXml* xp) {
    if (!mpr::base::mayUse(xp) || !xp->stream) {
        return MPR_ERR_BAD_ARGS;
    }
    if (!xp->parser) {
        return MPR_ERR_BAD_STATE; // finalized
    }
    if (xp->parsing) {
        return MPR_ERR_BUSY;
    }
    const mpr::base::Hold held(xp);
    begin(*xp);
    xp->parsing = true;
    while (step(*xp) && !xp->error) {}
    xp->parsing = false;
    xp->text.release();
    xp->names.release();
    return xp->error;
}

cchar* mprXmlGetErrorMsg(MprXml* xp) {
    return mpr::base::mayUse(xp) ? xp->message : "";
}

int mprXmlGetLineNumber(MprXml* xp) {
    if (!mpr::base::mayUse(xp) || !xp->parser) {
        return 0;
    }
    return xp->error ? xp->line : static_cast<int>(XML_GetCurrentLineNumber(xp->parser));
}
