// SPDX-License-Identifier: MIT
/*
    digest_password.cpp - Hashes of passwords by the system's crypt library. See mpr/digest.h.

    A file of its own: who links the archive and asks for no hash needs no libcrypt.
 */
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#if MPR_HAVE_CRYPT
#include <crypt.h>
#endif

#include "mpr/app.h"
#include "mpr/base/digest.hpp"
#include "mpr/base/retain.hpp"
#include "mpr/base/string.hpp"
#include "mpr/collect.h"
#include "mpr/digest.h"
#include "mpr/gc/guard.hpp"
#include "mpr/log.h"
#include "mpr/memory.h"
#include "mpr/string.h"

using namespace mpr::base;

namespace {

constexpr std::size_t longestPassword = 72; // of bcrypt
constexpr std::size_t longestText = 512;    // of libcrypt: passwords, and hashes of any method
constexpr int leastSalt = 16;               // letters: 95 bits
constexpr int leastCost = 10, mostCost = 16;
constexpr std::size_t saltBytes = 16;

constexpr char letters[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"; // of bcrypt's own Base64

/** What a hash is made of and from, and the hash: wiped at the end. */
struct Secret {
    char password[longestText];
    char setting[longestText]; // method, cost and salt; or a whole hash, whose beginning they are
    char hash[longestText];

    Secret() : password(), setting(), hash() {}
    ~Secret() { wipe(this, sizeof(*this)); }
    Secret(const Secret&) = delete;
    Secret& operator=(const Secret&) = delete;
};

bool copied(cchar* text, char (&to)[longestText]) {
    const std::size_t length = boundedLength(text, longestText);
    std::memcpy(to, text, std::min(length, longestText - 1));
    return length < longestText;
}

bool mayHash(cchar* function) {
    return mpr::gc::admitYielding(function) && mpr::gc::admitRunning(function);
}

#if MPR_HAVE_CRYPT

/**
    Whether a hash takes no longer than the usual one. Programs written to the older API do not expect a yield here: they
    keep what they have cut out of a request over the check of its password.
 */
bool isUsual(cchar* setting) {
    const bool bcrypt = std::strncmp(setting, "$2", 2) == 0 && setting[2] != '\0' && setting[3] == '$';
    return bcrypt && std::strtol(setting + 4, nullptr, 10) <= leastCost;
}

/** Compute secret.hash, slowly. @return nullptr; or why there is none. */
cchar* compute(Secret& secret) {
    auto* data = static_cast<crypt_data*>(palloc(sizeof(crypt_data)));
    if (!data) {
        return "memory is short";
    }
    std::memset(data, 0, sizeof(*data));
    const bool yields = !isUsual(secret.setting);
    if (yields) {
        mprYield(MPR_YIELD_STICKY);
    }
    cchar* hash = crypt_r(secret.password, secret.setting, data);
    if (yields) {
        mprResetYield();
    }
    const bool made = hash && hash[0] != '*' && copied(hash, secret.hash); // by convention no hash begins so
    wipe(data, sizeof(*data));
    pfree(data);
    return made ? nullptr : "the system's crypt library does not know this form of hash";
}

#else

cchar* compute(Secret&) {
    return "this library was built without libcrypt";
}

#endif

/** The power of two for a number of rounds. */
int costOf(int rounds) {
    int cost = leastCost;
    while (cost < mostCost && 1 << cost < rounds) {
        ++cost;
    }
    return cost;
}

/** "$2b$10$" and the salt: 128 bits, six a letter, the first ones first. */
void writeSetting(cchar* salt, int rounds, char* to) {
    unsigned char digest[digest::longest];
    digest::compute(digest::sha256, salt, std::strlen(salt), digest);
    digest[saltBytes] = 0; // the last letter has four bits too many
    const int cost = costOf(rounds);
    std::memcpy(to, "$2b$", 4);
    to[4] = static_cast<char>('0' + cost / 10);
    to[5] = static_cast<char>('0' + cost % 10);
    to[6] = '$';
    for (std::size_t bit = 0; bit < 8 * saltBytes; bit += 6) {
        const unsigned word = digest[bit / 8] * 256u + digest[bit / 8 + 1];
        to[7 + bit / 6] = letters[word >> (10 - bit % 8) & 63];
    }
    wipe(digest, sizeof(digest));
}

char* hashed(cchar* function, cchar* password, cchar* salt, int rounds) {
    if (!password || !salt || boundedLength(password, longestPassword + 1) > longestPassword) {
        mprError("%s: %s", function, !password ? "no password" : !salt ? "no salt" : "a password longer than 72 bytes");
        return nullptr;
    }
    const Hold keptPassword(password), keptSalt(salt);
    Secret secret;
    copied(password, secret.password);
    writeSetting(salt, rounds, secret.setting);
    if (cchar* why = compute(secret)) {
        mprError("%s: %s", function, why);
        return nullptr;
    }
    return newString(secret.hash, std::strlen(secret.hash));
}

/** @return nullptr when it is the one; or why not, "" when it is just another. */
cchar* differs(cchar* password, cchar* hash) {
    Secret secret;
    if (!copied(password, secret.password) || !copied(hash, secret.setting)) {
        return "the password or hash is too long";
    }
    if (hash[0] != '$') {
        return std::strncmp(hash, "BF1:", 4) == 0 ? "the hash was made by an older MPR: the password has to be set anew"
                                                  : "the hash has not the form of crypt(5)";
    }
    if (hash[1] == '2' && std::strlen(secret.password) > longestPassword) {
        return "the password is longer than the 72 bytes that bcrypt looks at";
    }
    cchar* why = compute(secret);
    return why ? why : smatchsec(secret.hash, secret.setting) ? nullptr : "";
}
} // namespace

char* mprMakePassword(cchar* password, int saltLength, int rounds) {
    if (!mayHash("mprMakePassword")) {
        return nullptr;
    }
    return hashed("mprMakePassword", password, mprMakeSalt(std::max(saltLength, leastSalt)), rounds);
}

char* mprCryptPassword(cchar* password, cchar* salt, int rounds) {
    return mayHash("mprCryptPassword") ? hashed("mprCryptPassword", password, salt, rounds) : nullptr;
}

bool mprCheckPassword(cchar* plainTextPassword, cchar* passwordHash) {
    if (!mayHash("mprCheckPassword") || !plainTextPassword || !passwordHash) {
        return false;
    }
    const Hold keptPassword(plainTextPassword), keptHash(passwordHash);
    cchar* why = differs(plainTextPassword, passwordHash);
    if (why && *why) {
        mprLog("digest", 2, "mprCheckPassword: %s", why);
    }
    return !why;
}

char* mprMakeSalt(ssize size) {
    return mprGetRandomString(size);
}
