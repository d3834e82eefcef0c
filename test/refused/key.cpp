// SPDX-License-Identifier: MIT
/*
    key.cpp - A HashMap with keys that are more than their bytes.

    Refused: so K must be trivially copyable
 */
#include "mpr.hpp"

#include <string>

struct Node {};

mpr::HashMap<std::string, Node>* make() {
    return mpr::make<mpr::HashMap<std::string, Node>>();
}
