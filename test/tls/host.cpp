// SPDX-License-Identifier: MIT
/*
    test/tls/host.cpp - TLS in pages of a host. OpenSSL asks for memory by the functions that it was given before it first did;
    so each of these is a process of its own.
 */
#include "mpr/host.h"
#include "test/support/page_host.hpp"
#include "test/support/process.hpp"
#include "test/tls/pair.hpp"

using namespace test;

namespace {

/* Until the process ends, as OpenSSL's memory. */
PageHost &lastingHost() {
    static auto host = new PageHost;
    return *host;
}
} // namespace

TEST_CASE("child: TLS in pages of a host", "[.]") {
    PageHost &host = lastingHost();
    REQUIRE(mprCreate(0, nullptr, 0));
    {
        const House house;
        CHECK(mprGetSslMemory() > 0);
        MprSsl *ssl = house.makeServer();
        CHECK(mprPreloadSsl(ssl, 0) == 0);
        EVP_PKEY *key = EVP_EC_gen("P-256");
        CHECK(host.has(key)); // OpenSSL's own memory
        EVP_PKEY_free(key);
        mprRemoveRoot(ssl);
    }
    CHECK(mprDestroy());
    CHECK(host.faults() == "");
    CHECK(host.reserved() > 0);
    CHECK(host.reserved() < 32 * 1024 * 1024); // one heap, with its table
    CHECK(mprSetHost(nullptr) == MPR_ERR_BAD_STATE);
    mark("the end");
}

TEST_CASE("child: a host that refuses TLS", "[.]") {
    PageHost &host = lastingHost();
    REQUIRE(mprCreate(0, nullptr, 0));
    host.refuseBelow(MPR_CRITICAL_PROCESS);
    CHECK(mprLoadSsl() != 0);
    CHECK(mprGetSslMemory() == 0);
    host.refuseBelow(MPR_CRITICAL_TASK);
    CHECK(mprLoadSsl() == 0);
    const House house;
    for (long n = 0; n < 8; n++) {
        host.refuse(n, true);
        MprSsl *kept[40];
        for (MprSsl *&ssl : kept) { // a context each, until there is no memory
            ssl = mprCreateSsl(1);
            if (ssl) {
                mprAddRoot(ssl);
                mprSetSslCertFile(ssl, house.cert.c_str());
                mprSetSslKeyFile(ssl, house.key.c_str());
                mprPreloadSsl(ssl, 0);
            }
        }
        host.refuse(PageHost::never, false);
        for (MprSsl *ssl : kept) {
            if (ssl) {
                mprRemoveRoot(ssl);
            }
        }
        mprGC(MPR_GC_FORCE | MPR_GC_COMPLETE);
    }
    CHECK(mprPreloadSsl(house.makeServer(), 0) == 0);
    CHECK(mprVerifyHeap() == 0);
    CHECK(mprDestroy());
    CHECK(host.faults() == "");
    mark("the end");
}

TEST_CASE("OpenSSL's memory is the host's", "[tls][host]") {
    for (cchar *child : {"child: TLS in pages of a host", "child: a host that refuses TLS"}) {
        const Ended ended = runChild(child);
        INFO(ended.output);
        CHECK(ended.exited(0));
        CHECK(ended.wrote("the end"));
    }
}
