// SPDX-License-Identifier: MIT
/*
    test/tls/misuse.cpp - What threads in the wrong state call of TLS is named, and does nothing. NULL is no mistake.
 */
#include "test/support/wrong_state.hpp"

using namespace test;

namespace {

const Call table[] = {
    // mpr/tls.h
    {"mprAllocMem", running, [] { mprCreateSsl(1); }},
    {"mprAllocMem", running, [] { mprCloneSsl(nullptr); }},
};
} // namespace

TEST_CASE("a call of TLS by a thread in the wrong state is named and does nothing", "[tls][misuse]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}

TEST_CASE("settings of nothing, and of nothing's connections, are nothing", "[tls][misuse]") {
    Runtime runtime;
    for (auto set : {mprSetSslCertFile, mprSetSslKeyFile, mprSetSslCaFile, mprSetSslCaPath, mprSetSslRevoke,
                     mprSetSslHostname, mprSetSslCiphers, mprAddSslCiphers, mprSetSslAlpn}) {
        set(nullptr, "text");
    }
    for (auto set : {mprVerifySslIssuer, mprVerifySslAltNames, mprSetSslTicket, mprSetSslRenegotiate}) {
        set(nullptr, true);
    }
    for (auto set : {mprSetSslProtocols, mprSetSslLogLevel, mprVerifySslDepth}) {
        set(nullptr, MPR_PROTO_ALL);
    }
    mprVerifySslPeer(nullptr, "none");
    mprSetSslMatch(nullptr, nullptr);
    mprSetSslHandshakeTimeout(nullptr, 1);
    mprSetSocketError(nullptr, "none");
    CHECK(mprPreloadSsl(nullptr, 0) == MPR_ERR_BAD_ARGS);
    MprSocket *sp = mprCreateSocket();
    char buf[1];
    CHECK(mprReadSocketDirect(sp, buf, 1) == MPR_ERR_BAD_HANDLE);
    CHECK(mprWriteSocketDirect(sp, buf, 1) == MPR_ERR_BAD_HANDLE);
    CHECK_FALSE(mprIsSocketSecure(sp));
    CHECK_FALSE(mprSocketHandshaking(sp));
    CHECK_FALSE(mprSocketHasBuffered(sp));
    CHECK_FALSE(mprGetSocketState(sp));
    mprSetSocketError(sp, "%d %s", 1, "reason");
    CHECK(std::string(sp->errorMsg) == "1 reason");
    CHECK(Log::size() == 0);
}
