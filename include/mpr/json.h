/* SPDX-License-Identifier: MIT */
/*
    mpr/json.h - JSON: texts parsed into trees, trees read and changed by paths, merged, and printed. RFC 8259 (2017).

    A tree is made of nodes: objects, arrays and simple values. Each node is a managed block that retains its children
    and its siblings, and its name and value, which are managed strings. So a node, a name or a value that a program
    keeps stays, like any block, and the rest of the tree may go.

    Values are texts. A number is kept as it was written, digit by digit. In names and values U+0000 stands as the two
    bytes C0 80, so that a C string can contain it; its escape is that of JSON, a backslash and u0000.

    Threads: attached threads that run only; others are refused and named (mpr/runtime.h). One thread uses a tree at a
    time, or several read it. Calls here yield only where their description says so.

    Cost: up to 32 children are looked at one by one. For more, the first call that looks for a name or an index makes a
    table, of one to three pointers a child, which the object or array retains. Then reading, writing and removing a
    property takes constant time whatever the names are, and so does reading and writing an element. Removing one that is
    neither the last nor among the first 32 makes the next look at others take time in proportion to the array. Parsing
    and merging take time in proportion to the sizes. No call recurses, so no text and no tree, however deep, overflows
    a stack. The depth of texts is limited as well (MprJsonRules).

    A library that was built with MPR_JSON=OFF, for a small board, has none of this.

    When memory is short a call that makes something returns NULL or MPR_ERR_MEMORY, and trees are as they were unless
    the description says otherwise.
 */
#ifndef MPR_JSON_H
#define MPR_JSON_H

#include "mpr/format.h"
#include "mpr/types.h"

MPR_EXTERN_C_BEGIN

struct MprBuf;
struct MprHash;
struct MprList;

/* Types of nodes: one of these, */
#define MPR_JSON_OBJ 0x1
#define MPR_JSON_ARRAY 0x2
#define MPR_JSON_VALUE 0x4
/* and with MPR_JSON_VALUE one of these. The numbers are those of other MPRs. */
#define MPR_JSON_FALSE 0x8
#define MPR_JSON_NULL 0x10
#define MPR_JSON_NUMBER 0x20
#define MPR_JSON_REGEXP 0x40 /* Printed as a string */
#define MPR_JSON_STRING 0x80
#define MPR_JSON_TRUE 0x100
#define MPR_JSON_UNDEFINED 0x200 /* Printed as null */
#define MPR_JSON_OBJ_TYPE 0x7
#define MPR_JSON_DATA_TYPE 0xFF8

/* Flags of printing. */
#define MPR_JSON_PRETTY 0x1       /* A line for each value, indented by four blanks a level */
#define MPR_JSON_QUOTES 0x2       /* Names always in quotes: relaxed rules leave them out where they can */
#define MPR_JSON_STRINGS 0x4      /* Every simple value as a string */
#define MPR_JSON_ENCODE_TYPES 0x8 /* Accepted for source compatibility */

/* Flags of mprBlendJson. */
#define MPR_JSON_COMBINE 0x1   /* Names in the source have prefixes: + append, = overwrite, - remove, ? create */
#define MPR_JSON_OVERWRITE 0x2 /* Without a prefix: replace what exists, objects as a whole */
#define MPR_JSON_APPEND 0x4    /* Without a prefix: append to arrays and strings that exist */
#define MPR_JSON_REPLACE 0x8   /* Without a prefix: take out what the source has */
#define MPR_JSON_CREATE 0x10   /* Without a prefix: add only what does not exist */

/* Accepted for source compatibility. */
#define MPR_JSON_TOP 0x20
#define MPR_JSON_DUPLICATE 0x40

/* Flags of MprJsonRules. */
#define MPR_JSON_RELAXED 0x1

/** A node. Fields are for reading; the calls below write them, and tell the collector. */
typedef struct MprJson {
    const char *name;         /* Of a property, kept in the arrays that queries return; else NULL */
    const char *value;        /* Of a simple value: its text, without quotes and escapes. NULL for objects and arrays */
    struct MprJson *children; /* The first; NULL: none */
    struct MprJson *next;     /* Sibling; NULL for the last */
    struct MprJson *prev;     /* Sibling; of the first child it is the last. NULL for what stands alone */
    int type;                 /* MPR_JSON_OBJ, MPR_JSON_ARRAY, or MPR_JSON_VALUE and a kind of value */
    int length;               /* Children */
} MprJson;

/** What texts a parser takes. */
typedef struct MprJsonRules {
    /**
        0: RFC 8259 and nothing else. MPR_JSON_RELAXED: also comments, to the end of a line after two slashes, or as in
        C; names without quotes if they consist of letters, digits, _ $ - . and characters that are not ASCII; strings
        in ' and `, the latter over several lines; a comma behind the last value; `undefined`; a byte order mark.
     */
    int flags;
    int maxDepth;        /* Objects and arrays inside one another; 0 or less: 512 */
    ptrdiff_t maxLength; /* Bytes of a text; 0 or less: any */
} MprJsonRules;

/* ---- Make ------------------------------------------------------------------------------------------------------- */

/** @param type MPR_JSON_OBJ, MPR_JSON_ARRAY, or MPR_JSON_VALUE and a kind. 0: an object. @return A node that stands
    alone. */
MPR_EXPORT MprJson *mprCreateJson(int type);
/**
    Make a simple value.
    @param value Its text, copied. NULL: the text of the type, or null if type is 0.
    @param type A kind, MPR_JSON_STRING for instance, with or without MPR_JSON_VALUE. 0: decided by the text, which is a
    number, true, false, null, undefined, or else a string. A text that is no number of JSON is a string even if a
    number is asked for.
 */
MPR_EXPORT MprJson *mprCreateJsonValue(const char *value, int type);
/** Copy a node and everything below it. The copy has the same name, and stands alone. @return NULL for NULL, or when
    memory is short. */
MPR_EXPORT MprJson *mprCloneJson(MprJson *obj);

/* ---- Parse ------------------------------------------------------------------------------------------------------ */

/**
    Set the rules of all calls that take none, for the process.
    @param rules Copied; NULL: strict, 512 deep, of any length. A program of the older API that reads its own files sets
    MPR_JSON_RELAXED once. Any thread, before others parse.
 */
MPR_EXPORT void mprSetJsonRules(const MprJsonRules *rules);

/**
    Parse a text.
    @param str Any value of JSON. If a name stands twice in an object the last value counts, in the place of the first.
    @return The tree; NULL for NULL, for a text that is not JSON, or when memory is short. The reason is logged at
    level 2, with the tag "json": texts often come from strangers. mprParseJsonText hands it to the program.
 */
MPR_EXPORT MprJson *mprParseJson(const char *str);
/**
    Parse a text of which the length is known, by rules of its own.
    @param text Need not end in a zero. @param length Bytes; a zero among them is a mistake; -1: up to the zero.
    @param rules NULL: those of mprSetJsonRules.
    @param errorMsg NULL, or set to NULL, and to a new string that says in which line and column (characters, from 1)
    the mistake stands and what it is. It stays NULL when memory is short.
 */
MPR_EXPORT MprJson *mprParseJsonText(const char *text, ptrdiff_t length, const MprJsonRules *rules,
                                     const char **errorMsg);
/**
    Parse a text into an object or array that exists.
    @param obj Gets the properties, each in place of one of the same name, or the elements, behind its own.
    @return obj; NULL as mprParseJson, and when the text is not of the kind of obj: then obj is as it was.
 */
MPR_EXPORT MprJson *mprParseJsonInto(const char *str, MprJson *obj);

struct MprJsonCallback;

/** The state of a parser, for callbacks. */
typedef struct MprJsonParser {
    void *data; /* As given to mprParseJsonEx */
    const struct MprJsonCallback *callback;
    int line;   /* Where a mistake was found, from 1; 0: none yet */
    int column; /* Characters, from 1 */
} MprJsonParser;

/** How a tree is built. Without a member the parser does its default. None may yield. */
typedef struct MprJsonCallback {
    /** Called at the start and end of an object or array. @param name Its name; NULL in arrays. @return Below 0: give
        up. */
    int (*checkBlock)(struct MprJsonParser *parser, const char *name, bool leave);
    /** Make an object or array. @param type MPR_JSON_OBJ or MPR_JSON_ARRAY. @return NULL: give up. */
    MprJson *(*createObj)(struct MprJsonParser *parser, int type);
    /** Accepted for source compatibility; never called. */
    bool (*match)(struct MprJsonParser *parser, const char *str, const char *pattern);
    /** Learn of the mistake. @param msg With line and column. */
    void (*parseError)(struct MprJsonParser *parser, const char *msg);
    /** Put a child, complete, into an object or array. @param name NULL in arrays. @return Below 0: give up. */
    int (*setValue)(struct MprJsonParser *parser, MprJson *obj, const char *name, MprJson *child);
} MprJsonCallback;

/**
    Parse a text with callbacks.
    @param callback NULL: none. @param data For callbacks; not marked. @param obj NULL, or what the text's own object or
    array is put into. With setValue this happens during parsing, so that part of it is there after a mistake.
    @param errorMsg As mprParseJsonText.
 */
MPR_EXPORT MprJson *mprParseJsonEx(const char *str, MprJsonCallback *callback, void *data, MprJson *obj,
                                   const char **errorMsg);
/** For callbacks: say what is wrong. The parser stops; the first message counts. */
MPR_EXPORT void mprSetJsonError(MprJsonParser *jp, const char *fmt, ...) MPR_PRINTF(2, 3);

/* ---- Print ------------------------------------------------------------------------------------------------------ */

/**
    Print a tree.
    @param flags MPR_JSON_PRETTY, MPR_JSON_QUOTES, MPR_JSON_STRINGS.
    @return A new string, which the rules of mprSetJsonRules take; with MPR_JSON_QUOTES any parser of JSON. NULL for
    NULL.
    @remarks Bytes of names and values that are not UTF-8 are printed as U+FFFD.
 */
MPR_EXPORT char *mprJsonToString(MprJson *obj, int flags);
/** Put a name into a buffer, without a colon, as mprJsonToString does. */
MPR_EXPORT void mprFormatJsonName(struct MprBuf *buf, const char *name, int flags);
/** Put a string into a buffer, in quotes. NULL gives null. */
MPR_EXPORT void mprFormatJsonString(struct MprBuf *buf, const char *value);
/** Put a simple value into a buffer. @param type Its kind. @param flags MPR_JSON_STRINGS. */
MPR_EXPORT void mprFormatJsonValue(struct MprBuf *buf, int type, const char *value, int flags);
/** Log a line, formatted, and then the tree, pretty, line by line, with the tag "json". @param fmt NULL: no first
    line. */
MPR_EXPORT void mprLogJson(int level, MprJson *obj, const char *fmt, ...) MPR_PRINTF(3, 4);

/* ---- Load and save ---------------------------------------------------------------------------------------------- */

/**
    Parse a file. Yields if path is no file of the disk but a pipe, say.
    @return NULL when it cannot be read or is not JSON; the log says why, and where.
 */
MPR_EXPORT MprJson *mprLoadJson(const char *path);
/**
    Replace a file, whole or not at all: the text is written to another file in the same folder, flushed to the disk,
    and renamed. So the file has either the old text or the new one, even after a crash of the system. It keeps its
    permissions and, as far as the process may give it to them, its owner and group; a new file gets 0644 less the umask.
    Symbolic links stay, and the file that they lead to is replaced, or made. Anything but a file on disk, such as a pipe,
    is written directly; that yields.
    @param flags As for mprJsonToString. A pretty text ends with a newline.
    @return 0; MPR_ERR_BAD_ARGS; MPR_ERR_MEMORY; MPR_ERR_CANT_CREATE, MPR_ERR_CANT_WRITE: the old file is there.
 */
MPR_EXPORT int mprSaveJson(MprJson *obj, const char *path, int flags);

/* ---- One level -------------------------------------------------------------------------------------------------- */

/** Children of a node; 0 for NULL. */
MPR_EXPORT ptrdiff_t mprGetJsonLength(MprJson *obj);
/**
    The text of a property.
    @param name A name, no path. In an array: an index, in decimal.
    @return The value itself; NULL when there is none, or it is an object or array.
 */
MPR_EXPORT const char *mprReadJson(MprJson *obj, const char *name);
/** The node of a property, whatever its kind: the node itself. NULL when there is none. */
MPR_EXPORT MprJson *mprReadJsonObj(MprJson *obj, const char *name);
/** The first child that is a simple value with this text. */
MPR_EXPORT MprJson *mprReadJsonValue(MprJson *obj, const char *value);
/**
    Set a property, or an element.
    @param key A name. In an array: an index, in decimal, at most the length; NULL or "$": behind the last.
    @param value,type As mprCreateJsonValue.
    @return 0; MPR_ERR_BAD_ARGS: no object or array, or no such index; MPR_ERR_MEMORY.
 */
MPR_EXPORT int mprWriteJson(MprJson *obj, const char *key, const char *value, int type);
/**
    Set a property, or an element, to a node.
    @param value A node. It is used itself if it stands alone. A node that is a child already, or contains obj, is
    copied.
 */
MPR_EXPORT int mprWriteJsonObj(MprJson *obj, const char *key, MprJson *value);
/** Take out a child. Not in a loop of ITERATE_JSON. @return child, which stands alone now; NULL when it is not a child
    of obj. */
MPR_EXPORT MprJson *mprRemoveJsonChild(MprJson *obj, MprJson *child);

/* ---- Paths ------------------------------------------------------------------------------------------------------ */

/**
    Get or set what a path names. Paths:

        user.name  user['name']     a property; quotes where a name contains . [ ] or blanks
        users[2]  users.2           an element, from 0; users[-1] is the last
        users[2:4]  users[-4:-1]    elements from the first index to the second, both included
        users.*  users[*]           all children
        users[name == 'john']       children with such a property: ==  !=  <  <=  >  >=  ~ contains  !~ contains not
        users[phone ~ ^206]         ~ with ^: begins with. Quotes may be left out
        colors[@ != 'red']          children that are themselves such values
        users[$]                    when setting: a new element
        users..name                 at any level below, the first included

    Two numbers are compared as numbers, other texts as strings.

    @param key A path. @param value NULL: get. Else set to this value. @param type When setting: as mprCreateJsonValue.
    @return Get: a new array of copies of all that the path names, perhaps empty. Set: obj, or NULL when the path names
    nothing that can be set. Names on the way that do not exist are made, as arrays if an index or $ follows, and stay
    even if what follows cannot be set. NULL also for a malformed path, which is logged at level 2, and when memory is
    short.
 */
MPR_EXPORT MprJson *mprQueryJson(MprJson *obj, const char *key, const char *value, int type);
/**
    Get the text of what a path names.
    @return The value itself of one simple value; of an object or array a new string with its JSON; of several, that of
    an array of them; NULL when there is none.
 */
MPR_EXPORT const char *mprGetJson(MprJson *obj, const char *key);
/** Get what a path names: the node itself; an array of copies if there are several; NULL when there is none. */
MPR_EXPORT MprJson *mprGetJsonObj(MprJson *obj, const char *key);
/** Set what a path names. @return 0; MPR_ERR_CANT_FIND: nothing that can be set; MPR_ERR_BAD_ARGS; MPR_ERR_MEMORY. */
MPR_EXPORT int mprSetJson(MprJson *obj, const char *key, const char *value, int type);
/**
    Set what a path names to a node, which is handled as by mprWriteJsonObj. If the path names several, the others get
    copies. @return As mprSetJson.
 */
MPR_EXPORT int mprSetJsonObj(MprJson *obj, const char *key, MprJson *value);
/** Take out what a path names. @return A new array of the nodes taken out, perhaps empty; NULL as mprQueryJson. */
MPR_EXPORT MprJson *mprRemoveJson(MprJson *obj, const char *key);

/* ---- Merge and convert ------------------------------------------------------------------------------------------ */

/**
    Merge src into dest, by copies. Properties missing in dest are added. Of those that it has, objects are merged and
    everything else is replaced, unless flags or, with MPR_JSON_COMBINE, a prefix of the name in src say otherwise:

        + append       to strings, after a blank, and to arrays; objects are merged so
        = overwrite    as a whole
        - remove       the text from strings (blanks stay), equal values from arrays; objects are merged so
        ? create       only what is not there

    A flag holds below, too, until there is another prefix.
    @return 0; MPR_ERR_BAD_ARGS without a dest; MPR_ERR_BAD_TYPE when one is an object and the other is not, or so for
    arrays; MPR_ERR_MEMORY: part may have been merged. A src of NULL is empty.
 */
MPR_EXPORT int mprBlendJson(MprJson *dest, MprJson *src, int flags);
/**
    A table with an entry for each child: keys are names, or indices in decimal, values are texts, and of objects and
    arrays their JSON. The type of an entry is that of the node.
    @return NULL for NULL, or when memory is short.
 */
MPR_EXPORT struct MprHash *mprJsonToHash(MprJson *json);
/** An object with a property for each entry, whose values are strings. Types of entries are heeded; 0 is a string. */
MPR_EXPORT MprJson *mprHashToJson(struct MprHash *hash);
/**
    A list of "NAME=value" for the environment of a command: for each simple value the names on the way, joined by _.
    @param prefix The first of the names; NULL: none. @param list Where to add; NULL: a new one. @return list, or NULL.
    @remarks Letters are made capital, and what is no letter or digit becomes _.
 */
MPR_EXPORT struct MprList *mprJsonToEnv(MprJson *json, const char *prefix, struct MprList *list);
/** Parse a text that is an object, and convert it as mprJsonToHash does. @return NULL for any other text. */
MPR_EXPORT struct MprHash *mprDeserialize(const char *str);
/** Parse a text that is an object, and add its entries to a table as mprJsonToHash does. @return hash, or NULL. */
MPR_EXPORT struct MprHash *mprDeserializeInto(const char *str, struct MprHash *hash);
/** Convert a table as mprHashToJson does, and print it. @param flags As for mprJsonToString. */
MPR_EXPORT char *mprSerialize(struct MprHash *hash, int flags);

MPR_EXTERN_C_END

/**
    The head of a loop over children: for (MPR_ITERATE_JSON(obj, child, index)) { ... }
    @param obj NULL has none. @param child An MprJson pointer. @param index An int variable.
 */
#define MPR_ITERATE_JSON(obj, child, index) \
    index = 0, child = (obj) ? (obj)->children : 0; \
    child; \
    child = child->next, index++

#endif /* MPR_JSON_H */

/* Short names: see mpr/types.h. */
#if !defined(MPR_NO_SHORT_NAMES) && !defined(MPR_JSON_SHORT_NAMES)
#define MPR_JSON_SHORT_NAMES

#define ITERATE_JSON(obj, child, index) MPR_ITERATE_JSON(obj, child, index)

MPR_EXTERN_C_BEGIN

/** A copy of str with each ${path} replaced by what mprGetJson gives; where that is nothing, ${path} stays. A path
    there contains neither } nor ${. NULL gives NULL. */
MPR_EXPORT char *stemplateJson(cchar *str, struct MprJson *tokens);

MPR_EXTERN_C_END

#endif /* MPR_JSON_SHORT_NAMES */
