// SPDX-License-Identifier: MIT
/*
    test/fuzz/xml_corpus.cpp - For XML: small documents with something of all.
 */
#include "test/fuzz/corpus.hpp"

std::vector<std::string> fuzzTexts() {
    return {"<a/>",
            "<a b='1' c=\"&lt;\">x<b>y</b>z<c/></a>",
            "<?xml version='1.0' encoding='ISO-8859-1'?><a>\xfc</a>",
            "<a><!-- c --><?pi data?><![CDATA[<&>]]></a>",
            "<!DOCTYPE a [<!ENTITY e 'x<b/>'><!ATTLIST a k CDATA 'd'><!ELEMENT a (b|c)*>]><a>&e;&e;</a>",
            "<!DOCTYPE a [<!ENTITY % p 'x'><!ENTITY e SYSTEM 'f'>]><a>&e;</a>",
            "<!DOCTYPE a SYSTEM 'u'><a>&e;</a>",
            std::string("\xff\xfe<\0a\0/\0>\0", 10)};
}

std::vector<std::string> fuzzPieces() {
    return {"<a>",
            "</a>",
            "<b/>",
            "&amp;",
            "&#38;",
            "&e;",
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "<?",
            "?>",
            "<!ENTITY f '&e;'>",
            "%p;",
            "'",
            "\"",
            "=",
            " ",
            "\n",
            "\xc3",
            "[",
            "]>"};
}
