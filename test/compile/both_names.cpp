// SPDX-License-Identifier: MIT
/*
    both_names.cpp - A C++ program that wants the short names, too, includes mpr.h, and may do so after mpr.hpp. To compile is
    the test.
 */
#include "mpr.hpp"
#include "mpr.h"

ssize bothAreThere(cchar* text, MprList* list);
ssize bothAreThere(cchar* text, MprList* list) {
    mpr::Root<char> copy = sclone(text);
    const char* item = nullptr;
    int next = 0;
    ssize length = slen(copy.get());
    for (ITERATE_ITEMS(list, item, next)) {
        length += print("%s", item);
    }
    return length;
}
