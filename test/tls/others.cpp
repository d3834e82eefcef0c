// SPDX-License-Identifier: MIT
/*
    test/tls/others.cpp - mpr and other people's TLS: `openssl s_client`, `openssl s_server`, curl.
 */
#include "test/tls/pair.hpp"

#include <cstdio>

using namespace test;

namespace {

/* Take connections, one after the other, until told to stop; answer a line with itself. */
class Echo {
public:
    explicit Echo(MprSsl *ssl)
        : listener(Pair::listen()), ssl(ssl), thread("echo", [this](Mutator &self) {
              while (self.go()) {
                  if (mprWaitForSingleIO(listener->fd, MPR_READABLE, 10) > 0) {
                      serve();
                  }
              }
          }) {}

    MprSocket *listener;
    std::atomic<int> refused{0};
    std::atomic<bool> http{false};

private:
    void serve() {
        MprSocket *sp = mprAcceptSocket(listener);
        if (!sp) {
            return;
        }
        mprAddRoot(sp);
        mprSetSocketBlockingMode(sp, true);
        char buf[1000];
        ssize count = 0;
        if (mprUpgradeSocket(sp, ssl, nullptr) == 0 && (count = mprReadSocket(sp, buf, sizeof(buf))) > 0) {
            if (http) {
                mprWriteSocketString(sp, "HTTP/1.0 200 OK\r\n\r\nfrom ");
                mprWriteSocketString(sp, sp->protocol ? sp->protocol : "nothing agreed");
                mprWriteSocketString(sp, "\n");
            } else {
                mprWriteSocket(sp, buf, count);
            }
        } else {
            refused++;
        }
        mprCloseSocket(sp, true);
        mprRemoveRoot(sp);
    }

    MprSsl *ssl;
    Mutator thread;
};

struct Result {
    int status;
    std::string out, err;
};

Result run(const std::string &command) {
    MprCmd *cmd = rooted(mprCreateCmd(nullptr));
    const std::string line = "sh -c '" + command + "'";
    char *out = nullptr, *err = nullptr;
    const int status = mprRunCmd(cmd, line.c_str(), nullptr, "hello\n", &out, &err, -1, 0);
    Result result = {status, str(out), str(err)};
    mprRemoveRoot(cmd);
    return result;
}

} // namespace

TEST_CASE("openssl s_client talks to a server of ours", "[tls][others]") {
    Runtime runtime("", 0, 240);
    House house;
    Identity client;
    Identity::sign(client, {.name = "client", .hosts = ""}, &house.root);
    MprSsl *ssl = house.makeServer();
    mprSetSslCaFile(ssl, house.ca.c_str());
    mprVerifySslPeer(ssl, "optional");
    Echo echo(ssl);
    const std::string command = "openssl s_client -connect 127.0.0.1:" + std::to_string(echo.listener->port) +
                                " -quiet -verify_return_error -servername localhost ";
    const std::string trusting = command + "-CAfile " + house.ca + " -verify_hostname localhost ";
    for (const char *version : {"-tls1_2", "-tls1_3", "-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256"}) {
        const Result result = run(trusting + version);
        INFO(version << ": " << result.err);
        CHECK(result.out == "hello\n");
    }
    const Result known = run(trusting + "-cert " + house.files.certificates("c.pem", client) + " -key " +
                             house.files.key("c.key", client));
    CHECK(known.out == "hello\n");
    CHECK(echo.refused == 0);
    const Result doubting = run(command + "-CAfile " + house.files.certificates("other.pem", client));
    CHECK(doubting.out.empty());
    CHECK(doubting.err.find("verify") != std::string::npos);
    CHECK(run(trusting + "-tls1_1").out.empty());
    CHECK(until([&] { return echo.refused == 2; }));
}

TEST_CASE("curl talks to a server of ours", "[tls][others]") {
    Runtime runtime("", 0, 240);
    House house;
    MprSsl *ssl = house.makeServer();
    mprSetSslAlpn(ssl, "http/1.1");
    Echo echo(ssl);
    echo.http = true;
    const std::string port = std::to_string(echo.listener->port);
    const std::string command = "curl -sS --noproxy \"*\" --resolve localhost:" + port + ":127.0.0.1 ";
    const Result good = run(command + "--cacert " + house.ca + " https://localhost:" + port + "/");
    INFO(good.err);
    CHECK(good.status == 0);
    CHECK(good.out == "from http/1.1\n");
    const Result doubting = run(command + "https://localhost:" + port + "/");
    CHECK(doubting.status == 60); // its number for a certificate that is not trusted
}

TEST_CASE("a client of ours talks to openssl s_server", "[tls][others]") {
    Runtime runtime("", 0, 240);
    House house;
    MprSsl *ssl = house.makeClient();
    for (const char *options : {"-tls1_2", "-tls1_3", "-tls1_3 -num_tickets 0", "-tls1_2 -no_ticket", "-alpn h2"}) {
        INFO(options);
        const std::string command = "exec openssl s_server -accept 127.0.0.1:0 -naccept 1 -rev -cert " + house.cert +
                                    " -key " + house.key + " " + options + " 2>&1";
        FILE *server = popen(command.c_str(), "r");
        REQUIRE(server);
        int port = 0;
        char line[300];
        mprYield(MPR_YIELD_STICKY);
        while (port == 0 && fgets(line, sizeof(line), server)) {
            sscanf(line, "ACCEPT 127.0.0.1:%d", &port);
        }
        mprResetYield();
        REQUIRE(port != 0);
        mprSetSslAlpn(ssl, strstr(options, "alpn") ? "h2" : nullptr);
        MprSocket *sp = rooted(mprCreateSocket());
        REQUIRE(mprConnectSocket(sp, "127.0.0.1", port, MPR_SOCKET_BLOCK) == 0);
        CHECK(mprUpgradeSocket(sp, ssl, "localhost") == 0);
        CHECK(mprWriteSocketString(sp, "hello\n") == 6);
        char buf[10] = "";
        CHECK(Pair::readAll(sp, buf, 6) == 6);
        CHECK(std::string(buf) == "olleh\n");
        CHECK(str(sp->protocol) == (strstr(options, "alpn") ? "h2" : "(null)"));
        mprCloseSocket(sp, true);
        mprRemoveRoot(sp);
        mprYield(MPR_YIELD_STICKY);
        while (fgets(line, sizeof(line), server)) {}
        pclose(server);
        mprResetYield();
    }
}
