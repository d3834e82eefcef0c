// SPDX-License-Identifier: MIT
/*
    test/base/xml.cpp - XML: what a handler is told, mistakes with their lines, limits, and what strangers' documents
    try.
 */
#include "test/support/dying.hpp"
#include "test/support/every_yield.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"
#include "test/support/wrong_state.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

using namespace test;

namespace {

/* A document, handed out in pieces; and what was told of it. */
struct Reader {
    std::string document;
    size_t piece = 1 << 16;
    size_t at = 0;
    std::string told;
    int failAt = 0; /* at this state */
    bool yields = false;

    void start(MprXml *xml) {
        at = 0;
        told.clear();
        mprXmlSetParseArg(xml, this);
        mprXmlSetParserHandler(xml, handle);
        mprXmlSetInputStream(xml, read, this);
    }

    static ssize read(MprXml *, void *arg, char *buf, ssize size) {
        auto &self = *static_cast<Reader *>(arg);
        const size_t count = std::min({self.piece, static_cast<size_t>(size), self.document.size() - self.at});
        memcpy(buf, self.document.data() + self.at, count);
        self.at += count;
        if (self.yields) {
            mprYield(MPR_YIELD_DEFAULT);
        }
        return static_cast<ssize>(count);
    }

    static int handle(MprXml *xml, int state, cchar *tag, cchar *name, cchar *value) {
        auto &self = *static_cast<Reader *>(mprXmlGetParseArg(xml));
        static cchar *const names[] = {"",    "",     "",        "comment", "new", "",   "",
                                       "att", "solo", "defined", "data",    "end", "pi", "cdata"};
        self.told += std::string(names[state]) + "(" + tag;
        self.told += name ? std::string(",") + name : "";
        self.told += value ? std::string("=") + value : "";
        self.told += ")";
        if (self.yields) {
            mprYield(MPR_YIELD_DEFAULT);
        }
        return state == self.failAt ? -77 : 0;
    }
};

struct Result {
    int code;
    std::string message;
    int line;
    std::string told;
};

Result parse(const std::string &document, ssize maxSize = 0, size_t piece = 1 << 16) {
    Reader reader;
    reader.document = document;
    reader.piece = piece;
    Root xml(mprXmlOpen(0, maxSize));
    reader.start(xml.as<MprXml>());
    const int code = mprXmlParse(xml.as<MprXml>());
    return {code, mprXmlGetErrorMsg(xml.as<MprXml>()), mprXmlGetLineNumber(xml.as<MprXml>()), reader.told};
}

std::string told(const std::string &document) {
    const Result whole = parse(document), slow = parse(document, 0, 1);
    INFO(document << "\n" << whole.message);
    CHECK(whole.code == 0);
    CHECK(whole.message == "");
    CHECK(slow.told == whole.told);
    return whole.told;
}

std::string repeated(const std::string &text, int times) {
    std::string all;
    for (int i = 0; i < times; i++) {
        all += text;
    }
    return all;
}
} // namespace

TEST_CASE("a handler is told of elements, attributes and text", "[base][xml]") {
    Runtime runtime;
    CHECK(told("<a/>") == "new(a)solo(a)");
    CHECK(told("<a></a>") == "new(a)defined(a)end(a)");
    CHECK(told("<a>x</a>") == "new(a)defined(a)data(a=x)end(a)");
    CHECK(told("<a b='1' c=\"&lt;2&gt;\"/>") == "new(a)att(a,b=1)att(a,c=<2>)solo(a)");
    CHECK(told("<a>x<b>y</b>z<c/></a>") ==
          "new(a)defined(a)data(a=x)new(b)defined(b)data(b=y)end(b)data(a=z)new(c)solo(c)end(a)");
    CHECK(told("<a>\n  <b>1</b>\n  <b>2</b>\n</a>\n") ==
          "new(a)defined(a)new(b)defined(b)data(b=1)end(b)new(b)defined(b)data(b=2)end(b)end(a)");
    CHECK(told("<a>\n x &amp; y\nz &#x41;</a>") == "new(a)defined(a)data(a=\n x & y\nz A)end(a)");
    CHECK(told("<n:a xmlns:n='u'/>") == "new(n:a)att(n:a,xmlns:n=u)solo(n:a)");
    CHECK(told("<aa><bb><cc/></bb><dd/></aa>") ==
          "new(aa)defined(aa)new(bb)defined(bb)new(cc)solo(cc)end(bb)new(dd)solo(dd)end(aa)");
}

TEST_CASE("a handler is told of comments, instructions and CDATA", "[base][xml]") {
    Runtime runtime;
    CHECK(told("<?xml version='1.0'?><!-- c --><a><!--d-->x</a>") ==
          "comment(= c )new(a)defined(a)comment(a=d)data(a=x)end(a)");
    CHECK(told("<a><?do  this and that?><?so?></a>") == "new(a)defined(a)pi(a,do=do this and that)pi(a,so=so)end(a)");
    CHECK(told("<a>x<![CDATA[<&> ]]>y<![CDATA[]]></a>") ==
          "new(a)defined(a)data(a=x)cdata(a=<&> )data(a=y)cdata(a=)end(a)");
    CHECK(told("<!DOCTYPE a [<!ENTITY e 'x<b/><c>y</c>&lt;&#38;lt;'><!ATTLIST a k CDATA 'd'>]><a>&e;</a>") ==
          "new(a)att(a,k=d)defined(a)data(a=x)new(b)solo(b)new(c)defined(c)data(c=y)end(c)data(a=<<)end(a)");
}

TEST_CASE("what is told is UTF-8", "[base][xml]") {
    Runtime runtime;
    CHECK(told("<?xml version='1.0' encoding='ISO-8859-1'?><a>\xfc</a>") == "new(a)defined(a)data(a=\xc3\xbc)end(a)");
    CHECK(told(std::string("\xff\xfe<\0a\0/\0>\0", 10)) == "new(a)solo(a)");
    CHECK(told("\xef\xbb\xbf<a>\xe2\x82\xac</a>") == "new(a)defined(a)data(a=\xe2\x82\xac)end(a)");
}

TEST_CASE("a mistake is told with its line", "[base][xml]") {
    Runtime runtime;
    const struct {
        cchar *document, *message;
        int line;
    } rows[] = {{"", "line 1: no element found", 1},
                {"<a>\n<b>\n</a>", "line 3: mismatched tag", 3},
                {"<a>\n\n&", "line 3: unclosed token", 3},
                {"<a b='1' b='2'/>", "line 1: duplicate attribute", 1},
                {"<a/>\n<b/>", "line 2: junk after document element", 2},
                {"<a>\xff</a>", "line 1: not well-formed (invalid token)", 1},
                {"<a>", "line 1: no element found", 1},
                {"<a>&x;</a>", "line 1: undefined entity", 1}};
    for (const auto &row : rows) {
        const Result result = parse(row.document);
        INFO(row.document);
        CHECK(result.code == MPR_ERR_BAD_SYNTAX);
        CHECK(result.message == row.message);
        CHECK(result.line == row.line);
    }
}

TEST_CASE("a handler and a stream may give up", "[base][xml]") {
    Runtime runtime;
    Reader reader;
    reader.document = "<a>\n<b c='1'/></a>";
    Root xml(mprXmlOpen(0, 0));
    reader.start(xml.as<MprXml>());
    reader.failAt = MPR_XML_NEW_ATT;
    CHECK(mprXmlParse(xml.as<MprXml>()) == -77);
    CHECK(reader.told == "new(a)defined(a)new(b)att(b,c=1)");
    CHECK(std::string(mprXmlGetErrorMsg(xml.as<MprXml>())) == "line 2: the handler gave up");
    /* The parser is as good as new. */
    reader.start(xml.as<MprXml>());
    reader.failAt = 0;
    CHECK(mprXmlParse(xml.as<MprXml>()) == 0);
    CHECK(reader.told == "new(a)defined(a)new(b)att(b,c=1)solo(b)end(a)");
    CHECK(std::string(mprXmlGetErrorMsg(xml.as<MprXml>())) == "");
    for (ssize result : {-1, 1 << 30}) {
        static ssize answer;
        answer = result;
        mprXmlSetInputStream(
            xml.as<MprXml>(), [](MprXml *, void *, char *, ssize) { return answer; }, nullptr);
        CHECK(mprXmlParse(xml.as<MprXml>()) == MPR_ERR_CANT_READ);
        CHECK(std::string(mprXmlGetErrorMsg(xml.as<MprXml>())) == "line 1: the document cannot be read");
    }
    mprXmlSetInputStream(xml.as<MprXml>(), nullptr, nullptr);
    CHECK(mprXmlParse(xml.as<MprXml>()) == MPR_ERR_BAD_ARGS);
    reader.start(xml.as<MprXml>());
    mprXmlSetParserHandler(xml.as<MprXml>(), [](MprXml *self, int, cchar *, cchar *, cchar *) {
        mprXmlSetInputStream(self, nullptr, nullptr);
        return 0;
    });
    CHECK(mprXmlParse(xml.as<MprXml>()) == MPR_ERR_CANT_READ);
    CHECK(mprXmlParse(nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(std::string(mprXmlGetErrorMsg(nullptr)) == "");
    CHECK(mprXmlGetLineNumber(nullptr) == 0);
    CHECK(mprXmlGetParseArg(nullptr) == nullptr);
}

TEST_CASE("a parser is used once at a time", "[base][xml]") {
    Runtime runtime;
    Reader reader;
    reader.document = "<a/>";
    Root xml(mprXmlOpen(0, 0));
    reader.start(xml.as<MprXml>());
    static int result;
    mprXmlSetParserHandler(xml.as<MprXml>(), [](MprXml *self, int, cchar *, cchar *, cchar *) {
        result = mprXmlParse(self);
        return 0;
    });
    CHECK(mprXmlParse(xml.as<MprXml>()) == 0);
    CHECK(result == MPR_ERR_BUSY);
    mprXmlSetParserHandler(xml.as<MprXml>(), nullptr);
    reader.at = 0;
    CHECK(mprXmlParse(xml.as<MprXml>()) == 0);
}

/* A conversation: the next message comes when the one before has been answered. */
struct Talk {
    std::string document;
    std::vector<size_t> ends; /* of messages */
    size_t piece;
    size_t at = 0, answered = 0, late = 0;

    static ssize read(MprXml *, void *arg, char *buf, ssize size) {
        auto &self = *static_cast<Talk *>(arg);
        const auto come = std::upper_bound(self.ends.begin(), self.ends.end(), self.at) - self.ends.begin();
        self.late += self.answered < static_cast<size_t>(come);
        const size_t count = std::min({self.piece, static_cast<size_t>(size), self.document.size() - self.at});
        memcpy(buf, self.document.data() + self.at, count);
        self.at += count;
        return static_cast<ssize>(count);
    }
    static int handle(MprXml *xml, int state, cchar *, cchar *, cchar *) {
        static_cast<Talk *>(mprXmlGetParseArg(xml))->answered += state == MPR_XML_SOLO_ELT_DEFINED;
        return 0;
    }
};

TEST_CASE("an element whose end has come is told before more is asked for", "[base][xml]") {
    Runtime runtime;
    for (size_t length : {10, 500, 5000, 50000}) {
        for (size_t piece : {7, 64, 1000, 4096}) {
            Talk talk;
            talk.piece = std::max(piece, length / 8);
            talk.document = "<talk>";
            for (int i = 0; i < 20; i++) {
                talk.document += "<m a='" + std::string(length, 'x') + "'/>";
                talk.ends.push_back(talk.document.size());
            }
            talk.document += "</talk>";
            Root xml(mprXmlOpen(0, 0));
            mprXmlSetParseArg(xml.as<MprXml>(), &talk);
            mprXmlSetParserHandler(xml.as<MprXml>(), Talk::handle);
            mprXmlSetInputStream(xml.as<MprXml>(), Talk::read, &talk);
            INFO(length << " in pieces of " << talk.piece);
            CHECK(mprXmlParse(xml.as<MprXml>()) == 0);
            CHECK(talk.answered == 20);
            CHECK(talk.late == 0);
        }
    }
}

TEST_CASE("a long token is told alike whatever its pieces are", "[base][xml]") {
    Runtime runtime;
    const std::string fill = repeated("a>", 20000);
    for (const std::string &document :
         {"<a b='" + fill + "'/>", "<a><!--" + fill + "--></a>", "<a><?x " + fill + "?></a>",
          "<!DOCTYPE a [<!ENTITY e '" + fill + "'>]><a>&e;</a>", "<a><![CDATA[" + fill + "]]></a>"}) {
        const Result whole = parse(document);
        REQUIRE(whole.code == 0);
        for (size_t piece : {1, 63, 5000}) {
            const Result other = parse(document, 0, piece);
            CHECK(other.code == 0);
            CHECK(other.told == whole.told);
        }
    }
}

TEST_CASE("limits hold for texts, tags, names and depth", "[base][xml]") {
    Runtime runtime;
    const std::string fits(1000, 'x'), over(5000, 'x'), far(100000, 'x');
    CHECK(parse("<a>" + fits + "</a>", 1000).code == 0);
    const struct {
        std::string document;
        cchar *message;
    } rows[] = {
        {"<a>" + over + "</a>", "a text is longer than maxSize"},
        {"<a><![CDATA[" + over + "]]></a>", "a text is longer than maxSize"},
        {"<a b='" + far + "'/>", "a tag, comment or declaration is longer than maxSize"},
        {"<" + far + "/>", "a tag, comment or declaration is longer than maxSize"},
        {"<a><!--" + far + "--></a>", "a tag, comment or declaration is longer than maxSize"},
        {"<!DOCTYPE a [<!ENTITY e '" + far + "'>]><a/>", "a tag, comment or declaration is longer than maxSize"},
        {repeated("<a>", 600), "names of open elements take more than maxSize"}};
    for (const auto &row : rows) {
        const Result result = parse(row.document, 1000);
        INFO(row.document.substr(0, 30) << ": " << result.message);
        CHECK(result.code == MPR_ERR_WONT_FIT);
        CHECK(result.message.find(row.message) != std::string::npos);
    }
    const Result value =
        parse("<!DOCTYPE a [<!ENTITY e '" + fits.substr(0, 900) + "'>]><a b='" + repeated("&e;", 5) + "'/>", 1000);
    CHECK(value.code == MPR_ERR_WONT_FIT);
    CHECK(value.message == "line 1: a value is longer than maxSize");
    CHECK(value.told == "new(a)");
    CHECK(parse("<a>" + fits + "</a>", PTRDIFF_MAX).code == 0);
    const int depth = 200000;
    CHECK(parse(repeated("<a>", depth) + repeated("</a>", depth)).code == 0);
}

TEST_CASE("documents of strangers neither grow, nor recurse, nor load anything", "[base][xml]") {
    Runtime runtime;
    mprSetMemLimits(60 << 20, 64 << 20, -1);
    std::string laughs = "<!DOCTYPE a [<!ENTITY l0 'ha'>";
    for (int i = 1; i < 30; i++) {
        const std::string before = "&l" + std::to_string(i - 1) + ";";
        laughs += "<!ENTITY l" + std::to_string(i) + " '" + repeated(before, 10) + "'>";
    }
    Result result = parse(laughs + "]><a>&l29;</a>");
    CHECK(result.code == MPR_ERR_BAD_SYNTAX);
    CHECK(result.message == "line 1: refused, an entity that stands for others: \"l1\"");

    /* One large entity, many times: expat's own limit */
    const std::string large = "<!DOCTYPE a [<!ENTITY e '" + std::string(50000, 'x') + "'>]>";
    result = parse(large + "<a>" + repeated("<b>&e;</b>", 3000) + "</a>");
    CHECK(result.code == MPR_ERR_BAD_SYNTAX);
    CHECK(result.message.find("limit on input amplification factor") != std::string::npos);
    result = parse(large + "<a b='" + repeated("&e;", 3000) + "'/>");
    CHECK(result.code == MPR_ERR_BAD_SYNTAX);

    /* Attributes that each element has because a declaration says so: expat does not count them. */
    std::string declared = "<!DOCTYPE r [";
    constexpr int few = 20000;
    for (int i = 0; i < few; i++) {
        declared += "<!ATTLIST a a" + std::to_string(i) + " CDATA ''>";
    }
    result = parse(declared + "]><r>" + repeated("<a/>", 6 * few) + "</r>");
    CHECK(result.code == MPR_ERR_BAD_SYNTAX);
    CHECK(result.message.find("refused, too much of declared attributes: \"a") != std::string::npos);
    result = parse("<!DOCTYPE r [<!ATTLIST a b CDATA '" + std::string(900'000, 'x') + "'>]><r>" +
                   repeated("<a/>", 5000) + "</r>");
    CHECK(result.message == "line 1: refused, too much of declared attributes: \"b\"");
    CHECK(told("<!DOCTYPE r [<!ATTLIST a b CDATA 'x' c CDATA #IMPLIED>]><r><a c='1'/><a b='y'/></r>") ==
          "new(r)defined(r)new(a)att(a,c=1)att(a,b=x)solo(a)new(a)att(a,b=y)solo(a)end(r)");

    result = parse("<!DOCTYPE a [<!ENTITY % p '<!ENTITY e \"x\">'>%p;]><a>&e;</a>");
    CHECK(result.message == "line 1: refused, a parameter entity: \"p\"");
    result = parse("<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>");
    CHECK(result.message == "line 1: refused, an external entity: \"file:///etc/passwd\"");
    CHECK(result.code == MPR_ERR_BAD_SYNTAX);
    result = parse("<!DOCTYPE a SYSTEM 'http://192.0.2.1/a.dtd'><a>&e;</a>");
    CHECK(result.message == "line 1: an entity that is not declared: \"e\"");
    CHECK(told("<!DOCTYPE a SYSTEM 'http://192.0.2.1/a.dtd'><a/>") == "new(a)solo(a)");
}

TEST_CASE("a parser's memory is the runtime's, and is freed with it", "[base][xml]") {
    Runtime runtime;
    const auto blocks = [] {
        const MprMemStats now = stats();
        return now.blocksAllocated - now.blocksFreed;
    };
    collect();
    const auto before = blocks();
    auto *xml = mprXmlOpen(0, 0);
    REQUIRE(xml);
    CHECK(blocks() > before + 3);
    Reader reader;
    reader.document = "<a>" + std::string(100000, 'x') + "<b c='1'/></a>";
    reader.start(xml);
    CHECK(mprXmlParse(xml) == 0);
    collect();
    CHECK(blocks() == before);
}

TEST_CASE("short memory is told, and nothing is lost", "[base][xml]") {
    Runtime runtime;
    mprSetMemLimits(3 << 20, 4 << 20, -1);
    const Result result = parse("<a b='" + std::string(8000000, 'x') + "'/>", 16000000);
    CHECK(result.code == MPR_ERR_MEMORY);
    CHECK(result.message.find("memory") != std::string::npos);
}

TEST_CASE("handlers and streams yield", "[base][xml]") {
    Runtime runtime("everyyield=1");
    Reader reader;
    reader.document = "<a>x<b c='1'/></a>";
    reader.piece = 1;
    reader.yields = true;
    MprXml *xml = mprXmlOpen(0, 0);
    reader.start(xml);
    CHECK(mprXmlParse(xml) == 0);
    CHECK(reader.told == "new(a)defined(a)data(a=x)new(b)att(b,c=1)solo(b)end(a)");
    CHECK(mprIsValid(xml));
    collect();
    CHECK_FALSE(mprIsValid(xml));
}

namespace {
/* No parser: where a call is refused it is not looked at, and elsewhere these calls are not tried. */
MprXml *parser() {
    return reinterpret_cast<MprXml *>(things.node);
}

const Call table[] = {
    {"mprAllocMem", running, [] { mprXmlOpen(0, 0); }},
    {"mprXmlSetParserHandler", running, [] { mprXmlSetParserHandler(parser(), nullptr); }, true},
    {"mprXmlSetInputStream", running, [] { mprXmlSetInputStream(parser(), nullptr, nullptr); }, true},
    {"mprXmlSetParseArg", running, [] { mprXmlSetParseArg(parser(), nullptr); }, true},
    {"mprXmlGetParseArg", running, [] { mprXmlGetParseArg(parser()); }, true},
    {"mprXmlParse", running, [] { mprXmlParse(parser()); }, true},
    {"mprXmlGetErrorMsg", running, [] { mprXmlGetErrorMsg(parser()); }, true},
    {"mprXmlGetLineNumber", running, [] { mprXmlGetLineNumber(parser()); }, true},
};
} // namespace

TEST_CASE("a call for XML by a thread in the wrong state is named and does nothing", "[base][xml]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}

TEST_CASE("managers may use a parser that is dead, whether or not its own was called", "[base][xml]") {
    Runtime runtime("poison=1");
    static std::atomic<int> parsed, refused;
    refused = 0;
    for (int i = 0; i < 100 && refused == 0; i++) { // mostly at once: addresses decide who is finalized first
        parsed = 0;
        useWhileDying([] { return mprXmlOpen(0, 0); },
                      [](void *ptr) {
                          auto *xp = static_cast<MprXml *>(ptr);
                          mprXmlSetInputStream(
                              xp, [](MprXml *, void *, char *, ssize) -> ssize { return -1; }, nullptr);
                          const int result = mprXmlParse(xp);
                          parsed += result == MPR_ERR_CANT_READ;
                          refused += result == MPR_ERR_BAD_STATE && mprXmlGetLineNumber(xp) == 0;
                      });
        CHECK(parsed + refused == Dying::users);
    }
    CHECK(refused >= 1);
}
