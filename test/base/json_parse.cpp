// SPDX-License-Identifier: MIT
/*
    test/base/json_parse.cpp - Texts of JSON: what is taken, what is refused and where, limits, relaxed forms,
    callbacks, and the public test-suite.
 */
#include "test/base/json_suite.hpp"
#include "test/support/json.hpp"

#include <string>

using namespace test;

namespace {

/* Rules set for a test case. */
class Rules {
public:
    explicit Rules(const MprJsonRules &rules) { mprSetJsonRules(&rules); }
    ~Rules() { mprSetJsonRules(nullptr); }
    Rules(const Rules &) = delete;
    Rules &operator=(const Rules &) = delete;
};

std::string repeated(std::string_view piece, int times) {
    std::string all;
    for (int i = 0; i < times; i++) {
        all += piece;
    }
    return all;
}

std::string nested(int depth) {
    return repeated("[", depth) + repeated("]", depth);
}

/* A text at the end of a page behind which nothing is mapped would do; a block of exact size serves sanitizers. */
std::string mistakeAtEnd(std::string_view text) {
    char *exact = static_cast<char *>(malloc(text.size() ? text.size() : 1));
    memcpy(exact, text.data(), text.size());
    std::string said = mistake({exact, text.size()});
    free(exact);
    return said;
}

} // namespace

TEST_CASE("the public test-suite: what must be taken is, what must be refused is", "[base][json]") {
    Runtime runtime;
    int taken = 0, refused = 0, left = 0;
    for (const SuiteText &entry : suite) {
        INFO(entry.name);
        const std::string said = mistakeAtEnd(entry.text);
        if (entry.name[0] == 'y') {
            CHECK(said == "");
            taken += said.empty();
        } else if (entry.name[0] == 'n') {
            CHECK(said.find("line ") == 0);
            refused += !said.empty();
        } else {
            left++;
        }
    }
    CHECK(mistake(repeated("[", 100000)).find("deeper") != std::string::npos);
    CHECK(mistake(repeated("[{\"\":", 50000)).find("deeper") != std::string::npos);
    CHECK(taken == 95);
    CHECK(refused == 186);
    CHECK(left == 35);
}

TEST_CASE("what the test-suite leaves open: numbers of any size are kept, and nothing that is not UTF-8 is taken",
          "[base][json]") {
    Runtime runtime;
    for (const SuiteText &entry : suite) {
        const std::string_view name = entry.name;
        if (name[0] == 'i') {
            INFO(name);
            const bool taken = name.find("i_number") == 0 || name == "i_structure_500_nested_arrays";
            CHECK((mistakeAtEnd(entry.text) == "") == taken);
        }
    }
    CHECK(printed(parsed("[123456789012345678901234567890.10, -0, 1E400, 1e-0]")) ==
          "[123456789012345678901234567890.10,-0,1E400,1e-0]");
}

TEST_CASE("texts that are taken are printed and taken again, and are the same", "[base][json]") {
    Runtime runtime;
    for (const SuiteText &entry : suite) {
        if (entry.name[0] == 'y') {
            INFO(entry.name);
            for (int flags : {MPR_JSON_QUOTES, MPR_JSON_QUOTES | MPR_JSON_PRETTY}) {
                MprJson *tree = parsed(entry.text);
                CHECK(isSound(tree));
                const std::string once = printed(tree, flags);
                CHECK(printed(parsed(once), flags) == once);
            }
        }
    }
}

TEST_CASE("each mistake is told with line and column", "[base][json]") {
    Runtime runtime;
    const struct {
        std::string_view text;
        cchar *said;
    } rows[] = {
        {"", "line 1, column 1: expected a value; the text ends here"},
        {" \n ", "line 2, column 2: expected a value; the text ends here"},
        {"[1,\n  x]", "line 2, column 3: expected a value"},
        {"{\"a\" 1}", "line 1, column 6: expected a colon behind a name"},
        {"{a: 1}", "line 1, column 2: expected a name in double quotes"},
        {"{\"a\": 1 \"b\"}", "line 1, column 9: expected a comma or }"},
        {"[1 2]", "line 1, column 4: expected a comma or ]"},
        {"[1", "line 1, column 3: expected a comma or ]; the text ends here"},
        {"[1,]", "line 1, column 4: expected a value"},
        {"{\"a\":1,}", "line 1, column 8: expected a name in double quotes"},
        {"[1] []", "line 1, column 5: something follows the value"},
        {"[01]", "line 1, column 2: not a number of JSON"},
        {"[-]", "line 1, column 2: not a number of JSON"},
        {"[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\x01\"]", "line 1, column 6: a control character in a string"},
        {"[\"abc", "line 1, column 6: a string has no end; the text ends here"},
        {"[\"\\x\"]", "line 1, column 3: no such escape"},
        {"[\"\\'\"]", "line 1, column 3: no such escape"},
        {"[\"\\u12g4\"]", "line 1, column 3: \\u wants four hexadecimal digits"},
        {"[\"\\ud800\"]", "line 1, column 3: half of a surrogate pair"},
        {"[\"\\udc00\\ud800\"]", "line 1, column 3: half of a surrogate pair"},
        {"[\"ab\xff\"]", "line 1, column 5: not UTF-8"},
        {"[\"\xc0\x80\"]", "line 1, column 3: not UTF-8"},
        {"\xef\xbb\xbf{}", "line 1, column 1: expected a value"},
        {"undefined", "line 1, column 1: expected a value"},
        {"// x\n1", "line 1, column 1: expected a value"},
    };
    for (const auto &row : rows) {
        INFO(row.text);
        CHECK(mistakeAtEnd(row.text) == row.said);
    }
}

TEST_CASE("a comment has to end, before and behind the value", "[base][json]") {
    Runtime runtime;
    for (std::string_view text : {"{} /*", "{} /* x", "{} /* x *", "/*", "[1, /* x ]", "{} /*/"}) {
        INFO(text);
        CHECK(mistake(text, relaxed).find("a comment has no end") != std::string::npos);
    }
    CHECK(mistake("/**/ {} /***/ // x", relaxed) == "");
}

TEST_CASE("a zero within a text is a mistake, and ends one without a length", "[base][json]") {
    Runtime runtime;
    CHECK(mistake(std::string_view("[1]\0", 4)) == "line 1, column 4: something follows the value");
    CHECK(mistake(std::string_view("[\"a\0\"]", 6)) == "line 1, column 4: a control character in a string");
    CHECK(mprParseJsonText("[1]\0x", -1, nullptr, nullptr));
    CHECK(!mprParseJsonText("[1]", -2, nullptr, nullptr));
    CHECK(!mprParseJsonText(nullptr, 0, nullptr, nullptr));
    CHECK(!mprParseJson(nullptr));
}

TEST_CASE("strings are decoded", "[base][json]") {
    Runtime runtime;
    const struct {
        std::string_view text;
        std::string_view value;
    } rows[] = {
        {R"("")", ""},
        {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
        {R"("\u0041\u00e4\u20AC\ud83d\ude00")", "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {R"("a\u0000b")", "a\xc0\x80"
                          "b"},
        {"\"\x7f\xc2\x80\xf4\x8f\xbf\xbf\"", "\x7f\xc2\x80\xf4\x8f\xbf\xbf"},
        {R"("seven 7, eight 8: long enough to be looked at by words, with \\ inside and at its end\\")",
         "seven 7, eight 8: long enough to be looked at by words, with \\ inside and at its end\\"},
    };
    for (const auto &row : rows) {
        MprJson *node = parsed(row.text);
        CHECK(node->value == row.value);
        CHECK(node->type == (MPR_JSON_VALUE | MPR_JSON_STRING));
        CHECK(parsed(printed(node))->value == row.value);
        MprJson *named = parsed("{" + std::string(row.text) + ":1}");
        CHECK(named->children->name == row.value);
        // At each place in a word.
        for (size_t before = 0; before < 9; before++) {
            const std::string fill(before, 'x');
            const std::string inside(row.text.substr(1));
            CHECK(parsed("\"" + fill + inside)->value == fill + std::string(row.value));
        }
    }
}

TEST_CASE("of a name that stands twice the last value counts, in the place of the first", "[base][json]") {
    Runtime runtime;
    CHECK(printed(parsed(R"({"a":1,"b":2,"a":{"c":3}})")) == R"({"a":{"c":3},"b":2})");
    CHECK(printed(parsed(R"({"a":[1,2],"a":[]})")) == R"({"a":[]})");
    CHECK(printed(parsed(R"({"a":{"x":1},"\u0061":"y"})")) == R"({"a":"y"})");
    CHECK(printed(parsed(R"({"a":1,"o":{"a":2,"b":3},"b":4})")) == R"({"a":1,"o":{"a":2,"b":3},"b":4})");

    // Few and many names, each twice.
    for (int count : {5, 31, 32, 33, 34, 70, 1000}) {
        INFO(count);
        std::string text = "{", expected = "{";
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < count; i++) {
                text +=
                    (text.size() > 1 ? ",\"n" : "\"n") + std::to_string(i) + "\":" + std::to_string(round * 10000 + i);
            }
        }
        for (int i = 0; i < count; i++) {
            expected += (i ? ",\"n" : "\"n") + std::to_string(i) + "\":" + std::to_string(10000 + i);
        }
        MprJson *tree = parsed(text + "}");
        CHECK(isSound(tree));
        CHECK(printed(tree) == expected + "}");
    }
}

TEST_CASE("an object of very many names is parsed in a time that grows with them alone", "[base][json]") {
    Runtime runtime;
    std::string text = "{";
    for (int i = 0; i < 200000; i++) { // 20 G comparisons, if each were looked for among all
        text += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
    }
    MprJson *tree = parsed(text + "}");
    CHECK(tree->length == 200000);
    mpr::Root<MprJson> kept = tree;
    REQUIRE(mprParseJsonInto((text + "}").c_str(), tree) == tree);
    CHECK(tree->length == 200000);
    CHECK(mprBlendJson(tree, parsed(text + "}"), 0) == 0);
    CHECK(tree->length == 200000);
    for (int flags : {0, MPR_JSON_OVERWRITE, MPR_JSON_COMBINE}) { // into what has none of the names
        mpr::Root<MprJson> other = parsed("{}");
        CHECK(mprBlendJson(other.get(), tree, flags) == 0);
        CHECK(other->length == 200000);
    }
    const auto make = [](MprJsonParser *, int type) { return mprCreateJson(type); };
    for (MprJsonCallback callback : {MprJsonCallback{}, MprJsonCallback{nullptr, make, nullptr, nullptr, nullptr}}) {
        mpr::Root<MprJson> other = parsed("{}");
        REQUIRE(mprParseJsonEx((text + "}").c_str(), &callback, nullptr, other.get(), nullptr));
        REQUIRE(mprParseJsonEx((text + "}").c_str(), &callback, nullptr, other.get(), nullptr));
        CHECK(other->length == 200000);
        CHECK(isSound(other.get()));
    }
}

TEST_CASE("a parser with callbacks puts many properties where they belong", "[base][json]") {
    Runtime runtime;
    std::string first = "{", second, both = "{";
    for (int i = 0; i < 100; i++) {
        const std::string name = std::string(i ? "," : "") + "\"n" + std::to_string(i) + "\":";
        first += name + "[]";
        second += ",\"n" + std::to_string(i) + "\":{}";
        both += name + "{}";
    }
    // The object is another's child; a callback takes a property out as it goes.
    MprJsonCallback callback{};
    MprJson *whole = parsed(R"({"into":{}})");
    mpr::Root<MprJson> kept = whole;
    MprJson *into = whole->children;
    REQUIRE(mprParseJsonEx((first + "}").c_str(), &callback, into, into, nullptr) == into);
    callback.checkBlock = [](MprJsonParser *parser, cchar *name, bool leave) {
        auto *object = static_cast<MprJson *>(parser->data);
        if (leave && name && str(name) == "n50") {
            mprRemoveJsonChild(object, mprReadJsonObj(object, "x"));
        }
        return 0;
    };
    REQUIRE(mprParseJsonEx(("{\"x\":1" + second + ",\"y\":2}").c_str(), &callback, into, into, nullptr) == into);
    CHECK(isSound(whole));
    CHECK(printed(into) == both + ",\"y\":2}");
}

TEST_CASE("depth and length have limits", "[base][json]") {
    Runtime runtime;
    CHECK(mistake(nested(512)) == "");
    CHECK(mistake(nested(513)) == "line 1, column 513: deeper than the rules allow");
    CHECK(mistake(nested(3), {0, 3, 0}) == "");
    CHECK(mistake(nested(4), {0, 3, 0}) == "line 1, column 4: deeper than the rules allow");
    CHECK(mistake("{\"a\":[{}]}", {0, 2, 0}) == "line 1, column 7: deeper than the rules allow");
    CHECK(mistake("[1]", {0, 0, 3}) == "");
    CHECK(mistake("[12]", {0, 0, 3}) == "line 1, column 1: longer than the rules allow");
    Rules rules({0, 2, 20});
    CHECK(mprParseJson("[[]]"));
    CHECK(!mprParseJson("[[[]]]"));
    CHECK(!mprParseJson("[                       ]"));
}

TEST_CASE("nothing recurses: a tree a million deep is parsed, kept, copied, printed and searched", "[base][json]") {
    Runtime runtime;
    const int depth = 1000000;
    const MprJsonRules deep = {0, depth, 0};
    mpr::Root<MprJson> tree = parsed(nested(depth), deep);
    collect();
    mpr::Root<MprJson> copy = mprCloneJson(tree);
    collect();
    CHECK(printed(copy) == nested(depth));
    CHECK(mprQueryJson(tree, "..name", nullptr, 0)->length == 0);
    CHECK(mprSetJson(tree, "[0]", "1", 0) == 0);
    CHECK(mprBlendJson(tree, copy, MPR_JSON_APPEND) == 0);
    CHECK(mprJsonToEnv(copy, "X", nullptr)->length == 0);

    // And objects, made by hand.
    MprJson *at = mprCreateJson(MPR_JSON_OBJ);
    mpr::Root<MprJson> top = at;
    for (int i = 0; i < depth / 10; i++) {
        REQUIRE(mprWriteJsonObj(at, "a", mprCreateJson(MPR_JSON_OBJ)) == 0);
        at = mprReadJsonObj(at, "a");
    }
    mpr::Root<MprJson> other = mprCloneJson(top);
    CHECK(mprWriteJson(at, "end", "1", 0) == 0);
    CHECK(mprBlendJson(other, top, MPR_JSON_COMBINE) == 0);
    CHECK(printed(other) == printed(top));
}

TEST_CASE("relaxed forms are taken where the rules say so, and only there", "[base][json]") {
    Runtime runtime;
    const struct {
        std::string_view text;
        cchar *tree;
    } rows[] = {
        {"// first\n{ /* a */ \"a\" /**/ : // b\n 1 /* c */ } // end", R"({"a":1})"},
        {"{a: 1, $b_2-c.d: 2, \xc3\xa4: 3, 4: 4}", "{\"a\":1,\"$b_2-c.d\":2,\"\xc3\xa4\":3,\"4\":4}"},
        {"['it\\'s', '\"', '']", R"(["it's","\"",""])"},
        {"{'a b': 'c'}", R"({"a b":"c"})"},
        {"[`two\nlines, \\`quoted\\``]", R"(["two\nlines, `quoted`"])"},
        {"[1, 2, ]", "[1,2]"},
        {"{a: 1, }", R"({"a":1})"},
        {"[[1,],{b:[],},]", R"([[1],{"b":[]}])"},
        {"[undefined]", "[null]"},
        {"\xef\xbb\xbf[]", "[]"},
    };
    for (const auto &row : rows) {
        INFO(row.text);
        CHECK(printed(parsed(row.text, relaxed)) == row.tree);
        CHECK(mistake(row.text) != "");
    }
    for (std::string_view text :
         {"[,]", "[1,,]", "{,}", "{:1}", "[a]", "[/*]", "[1/]", "['a\"]", "{a b:1}", "[+1]", "[.5]", "[0x1]",
          "{a\xff: 1}", "['\n']", "/* only */", "[`\xff`]", "{\"a\":1,/*", "[1 // ]"}) {
        INFO(text);
        CHECK(mistake(text, relaxed) != "");
    }
    Rules rules(relaxed);
    CHECK(mprParseJson("{a:1,} // relaxed for all"));
}

TEST_CASE("mistakes of strangers are logged on request", "[base][json]") {
    Runtime runtime;
    CHECK(!mprParseJson("[1,\n!]"));
    CHECK(!Log::has("column"));
    mprSetLogLevel(2);
    CHECK(!mprParseJson("[1,\n!]"));
    CHECK(Log::has("json: mprParseJson: line 2, column 1: expected a value"));
    mprSetLogLevel(0);
}

TEST_CASE("a text is parsed into a tree that exists, or leaves it as it is", "[base][json]") {
    Runtime runtime;
    MprJson *obj = parsed(R"({"a":1,"b":[1]})");
    CHECK(mprParseJsonInto(R"({"c":3,"b":{"x":1}})", obj) == obj);
    CHECK(printed(obj) == R"({"a":1,"b":{"x":1},"c":3})");
    CHECK(isSound(obj));
    CHECK(!mprParseJsonInto(R"({"d":4,)", obj));
    CHECK(!mprParseJsonInto("[1]", obj));
    CHECK(!mprParseJsonInto("1", obj));
    CHECK(!mprParseJsonInto("{}", nullptr));
    CHECK(!mprParseJsonInto("{}", mprCreateJsonValue("x", 0)));
    CHECK(printed(obj) == R"({"a":1,"b":{"x":1},"c":3})");
    MprJson *array = parsed("[1]"), *empty = mprCreateJson(MPR_JSON_OBJ);
    CHECK(mprParseJsonInto("[2,3]", array) == array);
    CHECK(printed(array) == "[1,2,3]");
    CHECK(mprParseJsonInto(R"({"a":{"b":1}})", empty) == empty);
    CHECK(printed(empty) == R"({"a":{"b":1}})");
    CHECK(isSound(empty));
}

namespace {

/* What callbacks saw. */
struct Seen {
    std::string blocks, values, error;
    cchar *refuseBlock = nullptr, *refuseValue = nullptr;
};

Seen *seen(MprJsonParser *parser) {
    return static_cast<Seen *>(parser->data);
}

int checkBlock(MprJsonParser *parser, cchar *name, bool leave) {
    seen(parser)->blocks += (leave ? "-" : "+") + str(name) + " ";
    return seen(parser)->refuseBlock && smatch(name, seen(parser)->refuseBlock) ? -1 : 0;
}
MprJson *createObj(MprJsonParser *, int type) {
    return mprCreateJson(type);
}
int setValue(MprJsonParser *parser, MprJson *obj, cchar *name, MprJson *child) {
    seen(parser)->values += str(name) + "=" + str(child->value) + " ";
    if (seen(parser)->refuseValue && smatch(name, seen(parser)->refuseValue)) {
        mprSetJsonError(parser, "%s is not wanted", name);
        mprSetJsonError(parser, "and nothing else is said");
        return -1;
    }
    return mprWriteJsonObj(obj, name, child);
}
void parseError(MprJsonParser *parser, cchar *msg) {
    seen(parser)->error = msg + std::string(" ") + std::to_string(parser->line) + ":" + std::to_string(parser->column);
}

} // namespace

TEST_CASE("callbacks build the tree, and may refuse", "[base][json]") {
    Runtime runtime;
    cchar *text = R"({"a":{"b":[1,2]},"c":true})";
    MprJsonCallback callback = {checkBlock, createObj, nullptr, parseError, setValue};
    cchar *message = "unset";
    {
        Seen s;
        MprJson *tree = mprParseJsonEx(text, &callback, &s, nullptr, &message);
        REQUIRE(tree);
        CHECK(printed(tree) == text);
        CHECK(isSound(tree));
        CHECK(s.blocks == "+(null) +a +b -b -a -(null) ");
        CHECK(s.values == "(null)=1 (null)=2 b=(null) a=(null) c=true ");
        CHECK(!message);
    }
    {
        Seen s;
        s.refuseBlock = "b";
        CHECK(!mprParseJsonEx(text, &callback, &s, nullptr, &message));
        CHECK(str(message) == "line 1, column 11: refused by the program");
        CHECK(s.error == "line 1, column 11: refused by the program 1:11");
    }
    {
        Seen s;
        s.refuseValue = "b";
        CHECK(!mprParseJsonEx(text, &callback, &s, nullptr, &message));
        CHECK(str(message) == "line 1, column 16: b is not wanted");
    }
    {
        Seen s;
        MprJson *into = parsed(R"({"z":0})");
        CHECK(mprParseJsonEx(text, &callback, &s, into, nullptr) == into);
        CHECK(printed(into) == R"({"z":0,"a":{"b":[1,2]},"c":true})");
    }
    MprJsonCallback none = {};
    CHECK(printed(mprParseJsonEx(text, &none, nullptr, nullptr, nullptr)) == text);
    MprJson *into = parsed(R"({"z":0})");
    CHECK(mprParseJsonEx(text, nullptr, nullptr, into, nullptr) == into);
    CHECK(into->length == 3);
    CHECK(!mprParseJsonEx("[]", nullptr, nullptr, into, nullptr));
    CHECK(!mprParseJsonEx("[", nullptr, nullptr, nullptr, nullptr));
    mprSetJsonError(nullptr, "nothing happens");

    // A value of the other kind, which has no place for what comes: whatever it is, brackets go in pairs.
    MprJson *array = parsed("[0]");
    for (cchar *other : {R"({"0":1})", R"({"0":1])", R"({"0":1,2])", "{}"}) {
        INFO(other);
        CHECK(!mprParseJsonEx(other, &none, nullptr, array, &message));
        CHECK(str(message) == "line 1, column 1: it is to be put into a value of another kind");
    }
    CHECK(printed(array) == "[0]");
    CHECK(!mprParseJsonEx("[]", &none, nullptr, mprCreateJsonValue("x", 0), nullptr));
    callback.createObj = [](MprJsonParser *, int) { return mprCreateJson(MPR_JSON_ARRAY); };
    callback.setValue = nullptr;
    callback.checkBlock = nullptr;
    callback.parseError = nullptr;
    CHECK(!mprParseJsonEx(R"({"a":1})", &callback, nullptr, nullptr, nullptr));
    MprJsonCallback sets{};
    static std::string put;
    put.clear();
    sets.setValue = [](MprJsonParser *, MprJson *, cchar *name, MprJson *child) {
        put += str(name) + "=" + str(child->value) + " ";
        return 0;
    };
    MprJson *object = parsed("{}");
    CHECK(mprParseJsonEx("[1,2]", &sets, nullptr, object, nullptr) == object);
    CHECK(put == "(null)=1 (null)=2 ");
    CHECK(!mprParseJsonEx("[1}", &sets, nullptr, object, &message));
    CHECK(str(message) == "line 1, column 3: expected a comma or ]");
}
