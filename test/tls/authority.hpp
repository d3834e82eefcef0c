// SPDX-License-Identifier: MIT
/*
    test/tls/authority.hpp - Certificates, right and wrong ones, made when a test wants them: OpenSSL's own functions,
    so that nothing depends on the day or on files that grow old.
 */
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <string>
#include <utility>

#include "test/support/folder.hpp"

namespace test {

/* What a certificate is to say. */
struct Wish {
    std::string name;
    std::string hosts = "DNS:localhost, IP:127.0.0.1"; /* as in a configuration of OpenSSL; "": none */
    long from = -3600;                                 /* seconds from now */
    long to = 3600;
    bool authority = false;
    const char *usage = nullptr; /* extended key usage: "clientAuth" */
};

/* A certificate and its key. */
class Identity {
public:
    Identity() : key(EVP_EC_gen("P-256")), certificate(X509_new()) {}
    ~Identity() {
        X509_free(certificate);
        EVP_PKEY_free(key);
    }
    Identity(const Identity &) = delete;
    Identity &operator=(const Identity &) = delete;

    /* Signed by an issuer, or by itself. */
    static void sign(Identity &subject, const Wish &wish, const Identity *issuer) {
        static long serial = 1;
        const Identity &by = issuer ? *issuer : subject;
        X509 *certificate = subject.certificate;
        X509_set_version(certificate, 2);
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
        X509_gmtime_adj(X509_getm_notBefore(certificate), wish.from);
        X509_gmtime_adj(X509_getm_notAfter(certificate), wish.to);
        X509_set_pubkey(certificate, subject.key);
        X509_NAME *name = X509_get_subject_name(certificate);
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char *>(wish.name.c_str()), -1, -1, 0);
        X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, reinterpret_cast<const unsigned char *>("Test"), -1, -1,
                                   0);
        X509_set_issuer_name(certificate, X509_get_subject_name(by.certificate));
        X509V3_CTX context;
        X509V3_set_ctx(&context, by.certificate, certificate, nullptr, nullptr, 0);
        extend(certificate, context, NID_basic_constraints, wish.authority ? "critical,CA:TRUE" : "CA:FALSE");
        extend(certificate, context, NID_subject_key_identifier, "hash");
        if (issuer) {
            extend(certificate, context, NID_authority_key_identifier, "keyid");
        }
        if (wish.authority) {
            extend(certificate, context, NID_key_usage, "critical,keyCertSign,cRLSign");
        } else if (!wish.hosts.empty()) {
            extend(certificate, context, NID_subject_alt_name, wish.hosts.c_str());
        }
        if (wish.usage) {
            extend(certificate, context, NID_ext_key_usage, wish.usage);
        }
        X509_sign(certificate, by.key, EVP_sha256());
    }

    EVP_PKEY *key;
    X509 *certificate;

private:
    static void extend(X509 *certificate, X509V3_CTX &context, int nid, const char *value) {
        X509_EXTENSION *extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
        X509_add_ext(certificate, extension, -1);
        X509_EXTENSION_free(extension);
    }
};

/* Files of a test, in a folder that goes with it. */
class Files {
public:
    /* A file of certificates. */
    template <typename... More>
    std::string certificates(const std::string &name, const Identity &first, const More &...more) const {
        std::string text = pem(first);
        ((text += pem(more)), ...);
        return folder.write(name, text);
    }
    std::string key(const std::string &name, const Identity &identity, const char *password = nullptr) const {
        BIO *bio = BIO_new(BIO_s_mem());
        PEM_write_bio_PrivateKey(bio, identity.key, password ? EVP_aes_128_cbc() : nullptr, nullptr, 0, nullptr,
                                 const_cast<char *>(password));
        return folder.write(name, take(bio));
    }
    /* A list of what an issuer has taken back. @param subject nullptr: nothing. */
    std::string revoked(const std::string &name, const Identity &issuer, const Identity *subject) const {
        X509_CRL *list = X509_CRL_new();
        ASN1_TIME *now = X509_gmtime_adj(nullptr, -60), *later = X509_gmtime_adj(nullptr, 3600);
        X509_CRL_set_version(list, 1);
        X509_CRL_set_issuer_name(list, X509_get_subject_name(issuer.certificate));
        X509_CRL_set1_lastUpdate(list, now);
        X509_CRL_set1_nextUpdate(list, later);
        if (subject) {
            X509_REVOKED *entry = X509_REVOKED_new();
            X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(subject->certificate));
            X509_REVOKED_set_revocationDate(entry, now);
            X509_CRL_add0_revoked(list, entry);
        }
        X509_CRL_sort(list);
        X509_CRL_sign(list, issuer.key, EVP_sha256());
        BIO *bio = BIO_new(BIO_s_mem());
        PEM_write_bio_X509_CRL(bio, list);
        ASN1_TIME_free(now);
        ASN1_TIME_free(later);
        X509_CRL_free(list);
        return folder.write(name, take(bio));
    }

    Folder folder;

private:
    static std::string pem(const Identity &identity) {
        BIO *bio = BIO_new(BIO_s_mem());
        PEM_write_bio_X509(bio, identity.certificate);
        return take(bio);
    }
    static std::string take(BIO *bio) {
        char *data = nullptr;
        const long length = BIO_get_mem_data(bio, &data);
        std::string text(data, static_cast<size_t>(length));
        BIO_free(bio);
        return text;
    }
};

} // namespace test
