// SPDX-License-Identifier: MIT
/*
    ssl.hpp - MprSsl: what connections have in common, as a program says it, and the context that is made of it.
 */
#pragma once

#include <pthread.h>

#include "mpr/tls.h"
#include "mpr/tls/library.hpp"

namespace mpr::tls {

/** When a file was as it is: another of the same name, or one that was written, differs. */
struct Stamp {
    long long device, number, size, seconds, nanoseconds;
    bool operator==(const Stamp&) const = default;
};

/** What a connection needs besides a context's settings. Texts, there and here, are references. */
struct Wishes : Settings {
    char* hostname;
    MprMatchSsl match;
    MprTicks timeout;
    int logLevel;
    bool incomplete; // there was no memory for a setting: nothing is made of it
};

} // namespace mpr::tls

struct MprSsl : mpr::tls::Wishes {
    pthread_mutex_t lock; // guards the rest
    unsigned changes;     // of settings
    unsigned made;        // with how many of them the context was made
    mpr::tls::Context* context;
    bool finalized;
    mpr::tls::Stamp stamps[5]; // of the files
};

namespace mpr::tls {

/**
    The context, retained, made if there is none or settings have changed.
    @param look Also if a file has. When that fails, the one that there is stays. @return nullptr, with the reason.
 */
Context* use(MprSsl& ssl, bool look, Reason& reason);

/** What clients use that bring none; one for all of them. @return nullptr when memory is short. */
MprSsl* commonClient();

/** secure.cpp's. */
extern MprSocketProvider provider;
/** Name what stands behind secure sockets, for mprPrintMem. */
void nameSecure();

} // namespace mpr::tls
