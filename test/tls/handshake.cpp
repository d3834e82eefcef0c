// SPDX-License-Identifier: MIT
/*
    test/tls/handshake.cpp - Connections that come about, and those that must not: certificates that are wrong in each way,
    clients' certificates, versions, ciphers, ALPN, names, sessions.
 */
#include "test/tls/pair.hpp"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <thread>
#include <utility>

using namespace test;

namespace {

/* What the client says about a server with a certificate. @return "" when it is content. */
std::string complaint(const House &house, MprSsl *client, const std::string &cert, const std::string &key,
                      cchar *host = "localhost") {
    Pair pair;
    if (pair.shake(house.makeServer(cert, key), client, host)) {
        CHECK_FALSE(pair.client->errorMsg);
        return "";
    }
    CHECK(pair.client->errorMsg);
    return str(pair.client->errorMsg);
}

/* What a client says of a server with a certificate that the test's authority issues. */
std::string complaint(const House &house, const Wish &wish, cchar *host = "localhost") {
    Identity identity;
    Identity::sign(identity, wish, &house.root);
    return complaint(house, house.makeClient(), house.files.certificates("c.pem", identity),
                     house.files.key("c.key", identity), host);
}

bool contains(const std::string &text, const std::string &part) {
    INFO(text << " should contain " << part);
    CHECK(text.find(part) != std::string::npos);
    return text.find(part) != std::string::npos;
}

struct Fact {
    std::string protocol;
    bool resumed;
};

/* Connect anew. @return What the client knows. */
Fact connectAgain(MprSsl *server, MprSsl *client, cchar *host = "localhost", MprSocket *listener = nullptr) {
    Pair pair(listener ? listener : Pair::listen());
    REQUIRE(pair.shake(server, client, host));
    const std::string state = str(mprGetSocketState(pair.client));
    CHECK((state.find("TLSv1.2") == std::string::npos || str(pair.client->session).size() == 64));
    return {state, state.find("\"resumed\":true") != std::string::npos};
}

} // namespace

TEST_CASE("a client and a server agree, bytes pass both ways, and the end is told", "[tls]") {
    Runtime runtime;
    House house;
    Pair pair;
    MprSsl *client = house.makeClient();
    CHECK(mprHasSecureSockets());
    CHECK_FALSE(mprIsSocketSecure(pair.client));
    REQUIRE(pair.shake(house.makeServer(), client));
    for (MprSocket *sp : {pair.client, pair.server}) {
        CHECK(mprIsSocketSecure(sp));
        CHECK_FALSE(mprSocketHandshaking(sp));
        CHECK_FALSE(mprSocketHasBuffered(sp));
        CHECK(str(sp->cipher).substr(0, 4) == "TLS_");
        CHECK_FALSE(sp->protocol);
    }
    CHECK(pair.client->ssl == client);
    CHECK(str(pair.client->peerName) == "server");
    CHECK(str(pair.client->peerCert) == "CN = server, O = Test");
    CHECK(str(pair.client->peerCertIssuer) == "CN = Root, O = Test");
    CHECK_FALSE(pair.server->peerCert);
    CHECK(str(mprGetSocketState(pair.client)).find("{\"protocol\":\"TLSv1.3\",\"cipher\":\"TLS_") == 0);
    CHECK(mprUpgradeSocket(pair.client, client, nullptr) == MPR_ERR_BAD_STATE);
    CHECK_FALSE(mprCloneSocket(pair.client));

    char buf[10];
    mprCloseSocket(pair.server, true);
    CHECK(Pair::readNext(pair.client, buf, sizeof(buf)) == MPR_ERR);
    CHECK(mprIsSocketEof(pair.client));
    CHECK_FALSE(pair.client->errorMsg);
    CHECK_FALSE(mprIsSocketSecure(pair.server));
    CHECK(mprReadSocket(pair.server, buf, sizeof(buf)) == MPR_ERR_BAD_HANDLE);
}

TEST_CASE("a certificate that is wrong is refused, and errorMsg says how", "[tls]") {
    Runtime runtime;
    House house;
    CHECK(complaint(house, {.name = "good"}) == "");
    CHECK(complaint(house, {.name = "good"}, "127.0.0.1") == "");
    CHECK(complaint(house, {.name = "good"}, nullptr) == ""); // the host given to mprConnectSocket
    CHECK(complaint(house, {.name = "good", .hosts = "DNS:*.board.local"}, "one.board.local.") == "");
    contains(complaint(house, {.name = "old", .from = -7200, .to = -3600}), "expired: certificate of CN = old");
    contains(complaint(house, {.name = "new", .from = 3600, .to = 7200}), "not yet valid");
    contains(complaint(house, {.name = "localhost", .hosts = "DNS:other.local"}), "hostname mismatch");
    contains(complaint(house, {.name = "deep", .hosts = "DNS:*.local"}, "a.b.local"), "hostname mismatch");
    contains(complaint(house, {.name = "part", .hosts = "DNS:b*.local"}, "board.local"), "hostname mismatch");
    contains(complaint(house, {.name = "address", .hosts = "IP:127.0.0.2"}, nullptr), "IP address mismatch");
    contains(complaint(house, {.name = "client", .usage = "clientAuth"}), "purpose");
    contains(complaint(house, {.name = "localhost", .hosts = ""}), "hostname mismatch");
    for (cchar *none : {".local", "*.local", "*", ".", "a*.local"}) {
        INFO(none);
        contains(complaint(house, {.name = "below", .hosts = "DNS:a.local"}, none), "not the name of a host");
    }
}

TEST_CASE("the issuers of a certificate are checked through the whole chain", "[tls]") {
    Runtime runtime;
    House house;
    Identity self, stranger, strange, middle, leaf, outsider;
    Identity::sign(self, {.name = "self"}, nullptr);
    Identity::sign(stranger, {.name = "Stranger", .authority = true}, nullptr);
    Identity::sign(strange, {.name = "strange"}, &stranger);
    Identity::sign(middle, {.name = "Middle", .authority = true}, &house.root);
    Identity::sign(leaf, {.name = "leaf"}, &middle);
    Identity::sign(outsider, {.name = "outsider"}, &house.server); // which is no authority
    const Files &files = house.files;
    const std::string selfCert = files.certificates("self.pem", self), selfKey = files.key("self.key", self);
    const std::string strangeCert = files.certificates("strange.pem", strange, stranger);
    const std::string strangeKey = files.key("strange.key", strange), leafKey = files.key("leaf.key", leaf);
    const std::string chain = files.certificates("chain.pem", leaf, middle);

    contains(complaint(house, house.makeClient(), selfCert, selfKey), "self-signed certificate");
    contains(complaint(house, house.makeClient(), strangeCert, strangeKey),
             "self-signed certificate in certificate chain");
    contains(complaint(house, house.makeClient(), files.certificates("alone.pem", strange), strangeKey),
             "unable to get local issuer certificate");
    contains(complaint(house, house.makeClient(), files.certificates("short.pem", leaf), leafKey),
             "unable to get local issuer certificate");
    contains(complaint(house, house.makeClient(), files.certificates("outsider.pem", outsider, house.server),
                       files.key("outsider.key", outsider)),
             "invalid CA certificate");
    CHECK(complaint(house, house.makeClient(), chain, leafKey) == "");

    MprSsl *client = house.makeClient(); // may be set anew
    mprVerifySslDepth(client, 0);
    contains(complaint(house, client, chain, leafKey), "chain too long");
    mprVerifySslDepth(client, 1);
    CHECK(complaint(house, client, chain, leafKey) == "");
    mprSetSslCaFile(client, files.certificates("pinned.pem", middle).c_str()); // need not be the last of the chain
    CHECK(complaint(house, client, chain, leafKey) == "");

    MprSsl *system = rooted(mprCreateSsl(0)); // trusts others
    CHECK(complaint(house, system, chain, leafKey) != "");
    contains(complaint(house, nullptr, chain, leafKey), "unable to get local issuer certificate");
}

TEST_CASE("what is looked at can be less, and no less than that", "[tls]") {
    Runtime runtime;
    House house;
    Identity self, old;
    Identity::sign(self, {.name = "self"}, nullptr);
    Identity::sign(old, {.name = "old", .from = -7200, .to = -3600}, nullptr);
    const std::string cert = house.files.certificates("self.pem", self), key = house.files.key("self.key", self);
    const std::string oldCert = house.files.certificates("old.pem", old), oldKey = house.files.key("old.key", old);
    MprSsl *client = house.makeClient();
    mprVerifySslIssuer(client, false);
    CHECK(complaint(house, client, cert, key) == "");
    contains(complaint(house, client, cert, key, "other.local"), "hostname mismatch");
    contains(complaint(house, client, oldCert, oldKey), "expired");
    Identity older;
    Identity::sign(older, {.name = "localhost", .hosts = ""}, &house.root);
    const std::string olderCert = house.files.certificates("older.pem", older);
    const std::string olderKey = house.files.key("older.key", older);
    contains(complaint(house, client, olderCert, olderKey), "hostname mismatch");
    mprVerifySslAltNames(client, false);
    CHECK(complaint(house, client, olderCert, olderKey) == "");
    contains(complaint(house, client, olderCert, olderKey, "other.local"), "hostname mismatch");
    mprVerifySslAltNames(client, true);
    mprVerifySslPeer(client, "optional"); // the same
    contains(complaint(house, client, oldCert, oldKey), "expired");
    mprVerifySslPeer(client, "nobody");
    CHECK(runtime.log.has("mprVerifySslPeer: \"nobody\""));
    mprVerifySslPeer(client, nullptr);
    contains(complaint(house, client, oldCert, oldKey), "expired");
    mprVerifySslPeer(client, "none");
    CHECK(complaint(house, client, oldCert, oldKey, "other.local") == "");
    mprVerifySslPeer(client, "require");
    mprVerifySslIssuer(client, true);
    contains(complaint(house, client, cert, key), "self-signed");
}

TEST_CASE("a certificate that was taken back is refused", "[tls]") {
    Runtime runtime;
    House house;
    Identity other, stranger;
    Identity::sign(other, {.name = "other"}, &house.root);
    Identity::sign(stranger, {.name = "Stranger", .authority = true}, nullptr);
    const std::string cert = house.files.certificates("other.pem", other), key = house.files.key("other.key", other);
    MprSsl *client = house.makeClient();
    mprSetSslRevoke(client, house.files.revoked("revoked.pem", house.root, &other).c_str());
    contains(complaint(house, client, cert, key), "certificate revoked: certificate of CN = other");
    CHECK(complaint(house, client, house.cert, house.key) == "");
    mprSetSslRevoke(client, house.files.revoked("foreign.pem", stranger, nullptr).c_str());
    contains(complaint(house, client, cert, key), "unable to get certificate CRL"); // nobody knows
    mprSetSslRevoke(client, nullptr);
    CHECK(complaint(house, client, cert, key) == "");
}

TEST_CASE("a server looks at clients' certificates when told to", "[tls]") {
    Runtime runtime;
    House house;
    Identity good, stranger;
    Identity::sign(good, {.name = "good client", .hosts = "", .usage = "clientAuth"}, &house.root);
    Identity::sign(stranger, {.name = "stranger", .hosts = ""}, nullptr);
    const auto client = [&house](const Identity *identity) {
        MprSsl *ssl = house.makeClient();
        if (identity) {
            mprSetSslCertFile(ssl, house.files.certificates("client.pem", *identity).c_str());
            mprSetSslKeyFile(ssl, house.files.key("client.key", *identity).c_str());
        }
        return ssl;
    };
    const struct {
        cchar *mode;
        const Identity *identity;
        cchar *complaint; // of the server
    } cases[] = {
        {"none", nullptr, nullptr},
        {"none", &stranger, nullptr},
        {"optional", nullptr, nullptr},
        {"optional", &good, nullptr},
        {"optional", &stranger, "self-signed certificate"},
        {"require", nullptr, "peer did not return a certificate"},
        {"require", &good, nullptr},
        {"require", &stranger, "self-signed certificate"},
    };
    for (const int protocol : {MPR_PROTO_TLSV1_2, MPR_PROTO_TLSV1_3}) {
        for (const auto &each : cases) {
            INFO(protocol << " " << each.mode << " " << (each.identity ? "with" : "without") << " a certificate");
            MprSsl *server = house.makeServer();
            mprSetSslCaFile(server, house.ca.c_str());
            mprVerifySslPeer(server, each.mode);
            mprSetSslProtocols(server, protocol);
            Pair pair;
            CHECK(pair.shake(server, client(each.identity)) == !each.complaint);
            if (each.complaint) {
                contains(str(pair.server->errorMsg), each.complaint);
                char buf[1];
                CHECK(Pair::readNext(pair.client, buf, 1) < 0);
                contains(str(pair.client->errorMsg), "alert"); // the client is told, too
            }
            const bool shown = !each.complaint && each.identity && strcmp(each.mode, "none") != 0;
            CHECK(str(pair.server->peerName) == (shown ? "good client" : "(null)"));
        }
    }
    MprSsl *careless = house.makeServer();
    mprVerifySslPeer(careless, "require");
    CHECK(mprPreloadSsl(careless, 0) == MPR_ERR_CANT_LOAD); // it trusts nobody
    CHECK(runtime.log.has("mprSetSslCaFile"));
}

TEST_CASE("versions and ciphers are those that were set", "[tls]") {
    Runtime runtime;
    House house;
    MprSsl *server = house.makeServer(), *client = house.makeClient();
    mprSetSslProtocols(client, MPR_PROTO_TLSV1_2);
    CHECK(connectAgain(server, client).protocol.find("\"TLSv1.2\"") != std::string::npos);
    mprSetSslProtocols(client, MPR_PROTO_TLSV1_3);
    CHECK(connectAgain(server, client).protocol.find("\"TLSv1.3\"") != std::string::npos);
    mprSetSslProtocols(client, 0x4);
    CHECK(runtime.log.has("mprSetSslProtocols: 0x4"));
    mprSetSslProtocols(server, MPR_PROTO_TLSV1_2);
    {
        Pair pair;
        CHECK_FALSE(pair.shake(server, client));
        contains(str(pair.server->errorMsg), "unsupported protocol");
        contains(str(pair.client->errorMsg), "alert");
    }
    mprSetSslProtocols(server, MPR_PROTO_ALL);
    mprSetSslProtocols(client, MPR_PROTO_ALL);
    mprSetSslCiphers(client, "TLS_AES_128_GCM_SHA256");
    CHECK(connectAgain(server, client).protocol.find("\"TLS_AES_128_GCM_SHA256\"") != std::string::npos);
    mprAddSslCiphers(client, "ECDHE-ECDSA-AES256-GCM-SHA384, ECDHE-ECDSA-AES128-GCM-SHA256");
    mprSetSslProtocols(client, MPR_PROTO_TLSV1_2);
    CHECK(connectAgain(server, client).protocol.find("\"ECDHE-ECDSA-AES256-GCM-SHA384\"") != std::string::npos);
    mprSetSslCiphers(client, "ROT13");
    CHECK(mprPreloadSsl(client, 0) == MPR_ERR_CANT_LOAD);
    CHECK(runtime.log.has("no such ciphers: ROT13"));
    mprSetSslCiphers(client, nullptr);
    CHECK(mprPreloadSsl(client, 0) == 0);
}

TEST_CASE("what RFC 9325 advises against is refused until it is named", "[tls]") {
    Runtime runtime;
    House house;
    // The certificate is of elliptic curves: what is left of it are other kinds of encryption.
    for (cchar *cipher : {"ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-CCM8"}) {
        INFO(cipher);
        MprSsl *server = house.makeServer(), *client = house.makeClient();
        mprSetSslProtocols(server, MPR_PROTO_TLSV1_2);
        mprSetSslCiphers(client, cipher);
        {
            Pair pair;
            CHECK_FALSE(pair.shake(server, client));
            contains(str(pair.server->errorMsg), "no shared cipher");
        }
        mprSetSslCiphers(server, cipher);
        CHECK(connectAgain(server, client).protocol.find(cipher) != std::string::npos);
    }
}

TEST_CASE("both ends know what is talked inside", "[tls]") {
    Runtime runtime;
    House house;
    MprSsl *server = house.makeServer(), *client = house.makeClient();
    mprSetSslAlpn(server, "h2, http/1.1");
    mprSetSslAlpn(client, "http/1.1,h2");
    {
        Pair pair;
        REQUIRE(pair.shake(server, client));
        CHECK(str(pair.client->protocol) == "h2");
        CHECK(str(pair.server->protocol) == "h2");
    }
    mprSetSslAlpn(client, "gopher");
    {
        Pair pair;
        CHECK_FALSE(pair.shake(server, client));
        contains(str(pair.client->errorMsg), "no application protocol");
    }
    mprSetSslAlpn(client, nullptr);
    CHECK_FALSE(connectAgain(server, client).resumed);
    mprSetSslAlpn(client, std::string(256, 'x').c_str());
    CHECK(mprPreloadSsl(client, 0) == MPR_ERR_CANT_LOAD);
    CHECK(runtime.log.has("mprSetSslAlpn"));
}

namespace {
MprSsl *second;
std::string asked;

MprSsl *match(MprSocket *sp, cchar *host) {
    asked = host;
    return sp && strcmp(host, "second.local") == 0 ? second : nullptr;
}

/* A server that is second.local, too, with settings of its own for it. */
MprSsl *makeServerOfTwo(House &house) {
    Identity other;
    Identity::sign(other, {.name = "second", .hosts = "DNS:second.local"}, &house.root);
    second = House::makeServer(house.files.certificates("second.pem", other), house.files.key("second.key", other));
    MprSsl *server = house.makeServer();
    mprSetSslMatch(server, match);
    return server;
}

/* A client of OpenSSL's own, which may go on with a session wherever it likes. */
class FreeClient {
public:
    explicit FreeClient(int protocol) : ctx(SSL_CTX_new(TLS_client_method())) {
        const int version = protocol == MPR_PROTO_TLSV1_2 ? TLS1_2_VERSION : TLS1_3_VERSION;
        SSL_CTX_set_min_proto_version(ctx, version);
        SSL_CTX_set_max_proto_version(ctx, version);
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_set_app_data(ctx, this);
        SSL_CTX_sess_set_new_cb(ctx, [](SSL *ssl, SSL_SESSION *session) {
            auto *self = static_cast<FreeClient *>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
            SSL_SESSION_free(std::exchange(self->kept, session));
            return 1;
        });
    }
    ~FreeClient() {
        SSL_SESSION_free(kept);
        SSL_CTX_free(ctx);
    }
    FreeClient(const FreeClient &) = delete;
    FreeClient &operator=(const FreeClient &) = delete;

    struct Seen {
        bool served, resumed;
    };
    /* Ask the server for a host and for bytes, with the last session if there is one. */
    Seen ask(MprSsl *server, cchar *host) {
        Pair pair;
        REQUIRE(mprUpgradeSocket(pair.server, server, nullptr) == 0);
        Seen seen{false, false};
        std::thread client([&, fd = mprGetSocketHandle(pair.client)] {
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
            SSL *ssl = SSL_new(ctx);
            SSL_set_tlsext_host_name(ssl, host);
            if (kept) {
                SSL_set_session(ssl, kept);
            }
            SSL_set_fd(ssl, fd);
            char bytes[5];
            seen.served = SSL_connect(ssl) == 1 && SSL_write(ssl, "bytes", 5) == 5 && SSL_read(ssl, bytes, 5) == 5;
            seen.resumed = SSL_session_reused(ssl) == 1;
            SSL_shutdown(ssl);
            SSL_free(ssl);
            shutdown(fd, SHUT_RDWR);
        });
        char bytes[8];
        if (Pair::readAll(pair.server, bytes, 5) == 5) {
            mprWriteSocket(pair.server, "bytes", 5);
            while (Pair::readNext(pair.server, bytes, sizeof(bytes)) > 0) {}
        }
        mprCloseSocket(pair.server, true);
        client.join();
        return seen;
    }

private:
    SSL_CTX *ctx;
    SSL_SESSION *kept = nullptr;
};
} // namespace

TEST_CASE("a server of several names has a certificate for each", "[tls]") {
    Runtime runtime;
    House house;
    MprSsl *server = makeServerOfTwo(house), *client = house.makeClient();
    MprSocket *listener = Pair::listen();
    for (int round = 0; round < 2; round++) { // the second time with a session
        Pair pair(listener);
        REQUIRE(pair.shake(server, client, "second.local"));
        CHECK(str(pair.client->peerName) == "second");
        CHECK(asked == "second.local");
        CHECK(str(mprGetSocketState(pair.server)).find("\"host\":\"second.local\"") != std::string::npos);
    }
    {
        Pair pair;
        mprSetSslHostname(client, "localhost");
        REQUIRE(pair.shake(server, client));
        CHECK(str(pair.client->peerName) == "server");
        CHECK(asked == "localhost");
    }
    asked = "nobody";
    {
        Pair pair;
        REQUIRE(pair.shake(server, client, "127.0.0.1")); // addresses are no names
        CHECK(asked == "nobody");
    }
    Pair pair;
    mprVerifySslPeer(client, "none"); // who believes anybody asks all the same
    REQUIRE(pair.shake(server, client, "other.local"));
    CHECK(asked == "other.local");
}

TEST_CASE("what the host wants that a client asks for holds, whatever session the client has", "[tls]") {
    Runtime runtime;
    House house;
    Identity other;
    Identity::sign(other, {.name = "second", .hosts = "DNS:second.local"}, &house.root);
    const std::string certificate = house.files.certificates("second.pem", other);
    const std::string key = house.files.key("second.key", other),
                      trusted = house.files.certificates("ca.pem", house.root);
    for (const int protocol : {MPR_PROTO_TLSV1_2, MPR_PROTO_TLSV1_3}) {
        INFO(protocol);
        MprSsl *server = house.makeServer();
        second = House::makeServer(certificate, key);
        mprVerifySslPeer(second, "require");
        mprSetSslCaFile(second, trusted.c_str());
        mprSetSslMatch(server, match);
        FreeClient client(protocol);
        CHECK_FALSE(client.ask(server, "second.local").served); // it has no certificate
        CHECK_FALSE(client.ask(server, "Second.LOCAL").served);
        CHECK(client.ask(server, "localhost").served);
        const FreeClient::Seen again = client.ask(server, "localhost");
        CHECK(again.served);
        CHECK(again.resumed);
        CHECK_FALSE(client.ask(server, "second.local").served); // with the session of the other host
    }
}

namespace {

/* A text, with its length before it. */
std::string sized(const std::string &text) {
    return std::string{static_cast<char>(text.size() >> 8), static_cast<char>(text.size())} + text;
}

/* A record that is a ClientHello of TLS 1.3 (RFC 8446, 4.1.2), which asks for a host. @param shares It has a key for X25519. */
std::string helloFor(const std::string &host, bool shares) {
    const std::string zero(1, '\0'), x25519("\0\x1d", 2);
    const auto extension = [&](char kind, const std::string &text) { return zero + kind + sized(text); };
    const std::string key = sized('\x09' + std::string(31, '\0'));
    const std::string extensions = extension(0, sized(zero + sized(host))) + extension(10, sized(x25519)) +
                                   extension(13, sized("\x04\x03\x08\x04")) + extension(43, "\x02\x03\x04") +
                                   extension(51, sized(shares ? x25519 + key : ""));
    const std::string body = "\x03\x03" + std::string(32, 'r') + '\x20' + std::string(32, 's') + sized("\x13\x01") +
                             '\x01' + zero + sized(extensions);
    return "\x16\x03\x03" + sized('\x01' + zero + sized(body));
}
} // namespace

TEST_CASE("a second hello of a handshake may not ask for another host", "[tls]") {
    Runtime runtime;
    House house;
    MprSsl *server = makeServerOfTwo(house);
    const auto say = [](const Pair &pair, const std::string &bytes) {
        const int fd = mprGetSocketHandle(pair.client);
        char answer[4096];
        ssize count = send(fd, bytes.data(), bytes.size(), 0);
        while ((count = recv(fd, answer, sizeof(answer), MSG_DONTWAIT)) <= 0) {
            char none;
            mprReadSocket(pair.server, &none, 1);
        }
        return std::string(answer, static_cast<size_t>(count));
    };
    for (const char *first : {"localhost", "second.local"}) {
        for (const char *then : {"localhost", "second.local"}) {
            INFO(first << " " << then);
            Pair pair;
            REQUIRE(mprUpgradeSocket(pair.server, server, nullptr) == 0);
            CHECK(say(pair, helloFor(first, false))[0] == 22); // it wants a key
            const std::string answer = say(pair, std::string("\x14\x03\x03\0\x01\x01", 6) + helloFor(then, true));
            CHECK(answer[0] == (str(first) == then ? 22 : 21)); // a handshake, or an alert:
            CHECK((answer[0] == 22 || answer[6] == SSL_AD_ILLEGAL_PARAMETER));
        }
    }
}

TEST_CASE("a host has its own protocols and ciphers, and is not served by another's rules", "[tls]") {
    Runtime runtime;
    House house;
    MprSsl *server = makeServerOfTwo(house), *client = house.makeClient();
    mprSetSslProtocols(second, MPR_PROTO_TLSV1_3);
    mprSetSslCiphers(second, "TLS_CHACHA20_POLY1305_SHA256");
    {
        Pair pair;
        REQUIRE(pair.shake(server, client, "second.local"));
        CHECK(str(pair.client->cipher).find("TLS_CHACHA20_POLY1305_SHA256") != std::string::npos);
    }
    mprSetSslProtocols(client, MPR_PROTO_TLSV1_2);
    {
        Pair pair;
        CHECK_FALSE(pair.shake(server, client, "second.local"));
    }
    mprSetSslProtocols(client, MPR_PROTO_TLSV1_3);
    const bool client2 = GENERATE(false, true); // no server's settings, or files that are not there
    second = client2 ? house.makeClient() : House::makeServer("/none.pem", "/none.key");
    {
        Pair pair;
        CHECK_FALSE(pair.shake(server, client, "second.local"));
        CHECK(runtime.log.has("for host second.local"));
    }
    Pair pair;
    CHECK(pair.shake(server, client, "localhost"));
}

TEST_CASE("clients go on with sessions, of the same settings and host only", "[tls]") {
    Runtime runtime;
    House house;
    MprSocket *listener = Pair::listen();
    cchar *local = "localhost";
    for (const int protocol : {MPR_PROTO_TLSV1_2, MPR_PROTO_TLSV1_3}) {
        for (const bool tickets : {true, false}) {
            INFO(protocol << (tickets ? ", tickets" : ", no tickets"));
            MprSsl *server = house.makeServer(), *client = house.makeClient();
            mprSetSslProtocols(server, protocol);
            mprSetSslTicket(server, tickets);
            CHECK_FALSE(connectAgain(server, client, local, listener).resumed);
            const std::string state = connectAgain(server, client, local, listener).protocol;
            contains(state, "\"resumed\":true");
            contains(state, "\"peer\":\"CN = server, O = Test\"");
            CHECK_FALSE(connectAgain(server, client, "127.0.0.1", listener).resumed);
            CHECK_FALSE(connectAgain(server, house.makeClient(), local, listener).resumed);
            MprSsl *otherServer = house.makeServer();
            CHECK_FALSE(connectAgain(otherServer, client, local, listener).resumed);
            CHECK_FALSE(connectAgain(server, client, local, listener).resumed); // what it has now is the other's
            CHECK(connectAgain(server, client, local, listener).resumed);
            CHECK_FALSE(connectAgain(server, client, local).resumed); // another port, another service
            mprSetSslAlpn(client, "h2");
            CHECK_FALSE(connectAgain(server, client, local, listener).resumed); // set anew
        }
    }
}

TEST_CASE("files that cannot be used are named, with the reason", "[tls]") {
    Runtime runtime;
    House house;
    const std::string missing = house.files.folder / "missing.pem";
    const std::string garbage = house.files.folder.write("garbage.pem", "no certificate\n");
    const std::string broken =
        house.files.folder.write("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    const std::string secret = house.files.key("secret.key", house.server, "password");
    const std::string another = house.files.key("another.key", house.root);
    using Setter = void (*)(MprSsl *, cchar *);
    const struct {
        Setter set;
        std::string file, reason;
    } cases[] = {
        {mprSetSslCertFile, missing, "certificate file " + missing + ": No such file or directory"},
        {mprSetSslCertFile, garbage, "certificate file " + garbage + ": there is none in it in PEM form"},
        {mprSetSslCertFile, broken, "certificate file " + broken + ": "},
        {mprSetSslKeyFile, missing, "key file " + missing + ": No such file or directory"},
        {mprSetSslKeyFile, another, "key file " + another + ": not the key of the certificate in " + house.cert},
        {mprSetSslKeyFile, secret, "key file " + secret + ": "},
        {mprSetSslKeyFile, house.cert, "key file " + house.cert + ": "},
        {mprSetSslCaFile, missing, "trusted certificates " + missing + ": No such file or directory"},
        {mprSetSslCaFile, garbage, "trusted certificates " + garbage + ": "},
        {mprSetSslCaPath, missing, "trusted certificates " + missing + ": No such file or directory"},
        {mprSetSslCaPath, house.ca, "trusted certificates " + house.ca + ": not a folder"},
        {mprSetSslRevoke, missing, "revoked certificates " + missing + ": No such file or directory"},
        {mprSetSslRevoke, house.ca, "revoked certificates " + house.ca + ": "},
    };
    for (const auto &each : cases) {
        INFO(each.reason);
        MprSsl *server = house.makeServer();
        each.set(server, each.file.c_str());
        runtime.log.clear();
        CHECK(mprPreloadSsl(server, 0) == MPR_ERR_CANT_LOAD);
        INFO(runtime.log.text());
        CHECK(runtime.log.has("mprPreloadSsl: "));
        CHECK(runtime.log.has(each.reason));
        Pair pair;
        CHECK(mprUpgradeSocket(pair.server, server, nullptr) == MPR_ERR_CANT_LOAD);
        contains(str(pair.server->errorMsg), each.reason);
    }
    Pair pair;
    CHECK(mprUpgradeSocket(pair.server, rooted(mprCreateSsl(1)), nullptr) == MPR_ERR_CANT_LOAD);
    contains(str(pair.server->errorMsg), "mprSetSslCertFile");
    CHECK(mprPreloadSsl(nullptr, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprUpgradeSocket(nullptr, nullptr, nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(mprUpgradeSocket(pair.listener, house.makeServer(), nullptr) == MPR_ERR_BAD_STATE);
    CHECK(mprUpgradeSocket(mprCreateSocket(), house.makeClient(), nullptr) == MPR_ERR_BAD_STATE);
}

TEST_CASE("a key may stand in the file of its certificate, and trust in a folder", "[tls]") {
    Runtime runtime;
    House house;
    MprSsl *server = rooted(mprCreateSsl(1)), *client = rooted(mprCreateSsl(0));
    const std::string both = house.files.folder.write("both.pem", house.files.folder.read("server.pem") +
                                                                      house.files.folder.read("server.key"));
    char name[32];
    snprintf(name, sizeof(name), "trusted/%08lx.0", X509_subject_name_hash(house.root.certificate));
    house.files.folder.write(name, house.files.folder.read("ca.pem"));
    mprSetSslCertFile(server, both.c_str());
    mprSetSslCaPath(client, (house.files.folder / "trusted").c_str());
    CHECK_FALSE(connectAgain(server, client).resumed);
}

TEST_CASE("a certificate is renewed without a restart", "[tls]") {
    Runtime runtime;
    House house;
    MprSsl *server = house.makeServer(), *client = house.makeClient();
    REQUIRE(mprPreloadSsl(server, 0) == 0);
    Pair before;
    REQUIRE(before.shake(server, client));
    const auto install = [&house](cchar *name) {
        Identity renewed;
        Identity::sign(renewed, {.name = name}, &house.root);
        house.files.certificates("next.pem", renewed);
        std::filesystem::rename(house.files.folder / "next.pem", house.cert);
        house.files.key("next.key", renewed);
        std::filesystem::rename(house.files.folder / "next.key", house.key);
    };
    const auto peerOf = [&](MprSsl *ssl) {
        Pair pair;
        REQUIRE(pair.shake(server, ssl));
        return str(pair.client->peerName);
    };
    install("renewed");
    CHECK(peerOf(house.makeClient()) == "server"); // nobody has looked yet
    CHECK(mprPreloadSsl(server, 0) == 0);
    CHECK(peerOf(client) == "renewed"); // it does not go on with a session of the one before
    house.files.folder.write("server.pem", "half of a");
    CHECK(mprPreloadSsl(server, 0) == MPR_ERR_CANT_LOAD);
    CHECK(peerOf(house.makeClient()) == "renewed"); // the service goes on
    install("once more");
    CHECK(mprPreloadSsl(server, 0) == 0);
    MprSsl *clone = rooted(mprCloneSsl(client));
    CHECK(peerOf(clone) == "once more");
    CHECK(Pair::passes(before.client, before.server));
    CHECK(str(before.client->peerName) == "server");
}
