// SPDX-License-Identifier: MIT
/*
    fatal.cpp - A test program that a signal ends says where: what all of them are built on is tested here.
 */
#include "test/support/process.hpp"
#include "test/catch.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <cstdlib>

using namespace test;

TEST_CASE("a test that writes to a page it may not", "[.]") {
    void *const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("page %p\n", page);
    fflush(stdout);
    *static_cast<volatile char *>(page) = 1;
}

TEST_CASE("a test that is ended by abort", "[.]") {
    abort();
}

TEST_CASE("a fault is said with its address, what is mapped there, and the test", "[os][fatal]") {
    if (sanitized) {
        return; // which tell it in their own words
    }
    const Ended ended = runChild("a test that writes to a page it may not");
    CHECK(ended.killed(SIGSEGV));
    CHECK(ended.wrote("What is mapped:"));
    char *page = nullptr;
    REQUIRE(sscanf(ended.output.c_str() + ended.output.find("page 0x"), "page %p", reinterpret_cast<void **>(&page)) ==
            1);
    char line[64];
    snprintf(line, sizeof(line), "Signal %d, code %d, at %p by 0x", SIGSEGV, SEGV_ACCERR, static_cast<void *>(page));
    CHECK(ended.wrote(line));
    CHECK(ended.wrote(" r--p "));
    CHECK(ended.wrote("/test_os"));
    CHECK(ended.wrote("a test that writes to a page it may not\n"));
    CHECK(ended.wrote("fatal.cpp"));
}

TEST_CASE("abort is said with the test, and without an address", "[os][fatal]") {
    if (sanitized) {
        return;
    }
    const Ended ended = runChild("a test that is ended by abort");
    CHECK(ended.killed(SIGABRT));
    CHECK(ended.wrote("a test that is ended by abort\n"));
    CHECK_FALSE(ended.wrote("What is mapped:"));
}
