#!/usr/bin/awk -f
# SPDX-License-Identifier: MIT
# doxygen.awk - How Doxygen is to read our headers, which are written to be read as they are. It keeps the numbers of lines.
#
#   - The first comment says what the file is, and what it declares is a group of that name: the list of modules is a list
#     of subjects.
#   - What a comment indents, an example or a table, stays as it stands. A percent sign is one.
#   - A comment behind a declaration belongs to it.

function indentOf(text) { match(text, /^ */); return RLENGTH }
function write(text) { if (held) print before; before = text; held = 1 }

FNR == 1 {
    group = FILENAME
    sub(/^.*include\//, "", group)
    groups = group !~ /^(mpr\.h(pp)?|mpr\/http\.h(pp)?)$/ # these include what others declare
    name = group
    gsub(/[^A-Za-z0-9]/, "_", name)
}

# The first comment.
!begun && /^\/\*$/ { begun = first = comment = 1; base = -1; write("/** @file"); next }
!comment && /^ *\/\*\*/ && !/\*\// { comment = 1; base = /\/\*\* *$/ ? -1 : indentOf($0) + 4 }
!comment && /^ *[A-Za-z#].*[^ ] *\/\* .* \*\/$/ { sub(/\/\* /, "/**< ") }

comment {
    ends = /\*\/ *$/
    text = $0
    if (first && title == "" && match(text, / - /)) {
        title = substr(text, RSTART + 3)
        if (!sub(/\.( .*)?$/, "", title)) sub(/[:;,][^:;,]*$/, "", title) # it goes on in the next line
    }
    blank = text ~ /^ *(\*\/)? *$/
    if (!blank && base < 0 && text !~ /\/\*/) base = indentOf(text)
    indented = !blank && base >= 0 && indentOf(text) >= base + 2 && text !~ /\/\*/
    if (!blank && !verbatim && indentOf(text) <= base + 1) list = text ~ /^ *(-|[0-9]+\.|@[a-z]+) /
    if (text ~ /^ *- /) list = 1
    if (indented && !list && !verbatim) { before = before " @verbatim"; verbatim = 1 }
    if (verbatim && ((!blank && !indented) || (blank && ends))) { before = before " @endverbatim"; verbatim = 0 }
    if (verbatim && ends) { sub(/ *\*\/ *$/, " @endverbatim */", text); verbatim = 0 }
    if (!verbatim && text !~ /@endverbatim/) gsub(/%[A-Za-z0-9@%]/, "\\\\&", text)
    if (ends) {
        comment = list = 0
        if (first && groups) text = text " /** @addtogroup " name " " group ": " title " */ /** @{ */"
        first = 0
    }
    write(text)
    next
}
{ write($0) }
END {
    if (held) print before
    if (groups) print "/** @} */"
}
