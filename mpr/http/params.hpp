// SPDX-License-Identifier: MIT
/*
    params.hpp - Parameters: names and values of queries and forms, as a tree of JSON.

    A name is a property of an object, as it was sent: points and brackets mean nothing. Its value is a string; of a
    name that came more than once it is an array of them, in their order. (URL Standard, 5,
    application/x-www-form-urlencoded.)
 */
#pragma once

#include <string_view>

#include "mpr/json.h"

namespace mpr::http {

/** How many names and values a request may have: the tree is searched name by name. */
constexpr int maxParams = 1000;

/** Why a request with MPR_ERR_BAD_FORMAT fails. */
inline constexpr char zeroInParam[] = "a parameter has a zero byte";

/** Parameters as they come in, of which a tree is made in the end: each takes constant time. A managed block. */
struct Params;

Params* createParams();
/** Add a name and a value. @return 0; MPR_ERR_TOO_MANY; MPR_ERR_MEMORY; MPR_ERR_BAD_FORMAT: a zero is in one, behind which
    nobody would look. */
int addParam(Params* params, std::string_view name, std::string_view value);
/** Add those of a text, name=value&name=value, encoded. @return As addParam. */
int addParams(Params* params, std::string_view text);
/** An object with all of them. @return nullptr when memory is short. */
MprJson* treeOf(Params* params);

/** Put the properties of a tree into another, in which those that are there stay: what a route and the program say of a request
    counts before what its client does. @return false when memory is short. */
bool addMissing(MprJson* into, MprJson* from);

/** The text of a parameter: of an array the first, of other values their JSON. @param name A name, or else a path
    (mprGetJson). @param made Receives whether the text was made, and nothing keeps it. @return nullptr: there is none. */
const char* paramOf(MprJson* params, const char* name, bool* made = nullptr);

/** Names and values, encoded, in the order of names. @return A managed string; nullptr when memory is short. */
char* paramsText(MprJson* params);

} // namespace mpr::http
