// SPDX-License-Identifier: MIT
/*
    own_names.cpp - A C++ program whose names are those that C programs know from mpr.h: mpr.hpp declares none of them. To
    compile is the test.
 */
#include "mpr.hpp"

namespace fmt {
inline int print() {
    return 1;
}
} // namespace fmt
namespace sfmt {}
struct Socket {
    int value = fmt::print();
};
enum class lock { open, shut };
enum class ssize { small };
using cchar = Socket;
using int64 = Socket;
using print = Socket;
int slen();
double stoi(const Socket& socket);

int slen() {
    mpr::Root<int> root = mpr::make<int>(int64().value);
    return root ? *root : static_cast<int>(lock::shut);
}
