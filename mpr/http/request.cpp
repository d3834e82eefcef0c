// SPDX-License-Identifier: MIT
/*
    request.cpp - What a client has sent: headers and body of the C API of mpr/http/request.h.

    Headers are found in the head's lines; the table of them, rx->headers, is made before a program sees the request.
 */
#include <algorithm>
#include <cstring>

#include "mpr/http/grammar.hpp"
#include "mpr/http/head.hpp"
#include "mpr/http/net_input.hpp"
#include "mpr/http/packet.hpp"
#include "mpr/string.h"
#include "mpr/time.h"

namespace mpr::http {

namespace {

/** A text of the request's members is all lines of its header, as the table has them. */
void joinText(Rx& rx, std::string_view name, const char* all) {
    static constexpr struct {
        std::string_view name;
        char* HttpRx::*field;
    } lists[] = {{"Accept", &HttpRx::accept},
                 {"Accept-Encoding", &HttpRx::acceptEncoding},
                 {"Accept-Language", &HttpRx::acceptLanguage},
                 {"Connection", &HttpRx::connection},
                 {"Cookie", &HttpRx::cookie},
                 {"Pragma", &HttpRx::pragma}};
    for (const auto& list : lists) {
        if (same(name, list.name)) {
            setRef(&rx, rx.*list.field, const_cast<char*>(all));
        }
    }
}
} // namespace

bool makeHeaders(Rx& rx) {
    MprHash* headers =
        mprCreateHash(rx.lineCount, MPR_HASH_CASELESS | MPR_HASH_STABLE | MPR_HASH_UNIQUE | MPR_HASH_STATIC_KEYS);
    if (!headers) {
        return false;
    }
    for (int i = 0; i < rx.lineCount; ++i) {
        const HeaderLine& line = rx.lines[i];
        const char* name = rx.head + line.name;
        const char* value = snclone(rx.head + line.value, static_cast<ssize>(line.valueLength));
        if (value && mprAddKey(headers, name, value)) {
            continue;
        }
        const auto* before = static_cast<const char*>(mprLookupKey(headers, name));
        const char* between = same(name, "Cookie") ? "; " : ", ";
        const char* both = before && value ? sjoin(before, between, value, nullptr) : nullptr;
        if (!both || mprRemoveKey(headers, name) != 0 || !mprAddKey(headers, name, both)) {
            return false; // a header less may mean something else
        }
        joinText(rx, name, both);
    }
    setRef(&rx, rx.headers, headers);
    return true;
}

} // namespace mpr::http

using namespace mpr::http;

// ---- Headers ----------------------------------------------------------------------------------------------------

cchar* httpGetHeader(HttpStream* stream, cchar* key) {
    if (!stream || !key) {
        return nullptr;
    }
    const Rx& rx = own(stream)->in();
    if (rx.headers) {
        return static_cast<cchar*>(mprLookupKey(rx.headers, key));
    }
    return header(*own(stream), key).data();
}

MprHash* httpGetHeaderHash(HttpStream* stream) {
    return stream && (stream->rx->headers || makeHeaders(own(stream)->in())) ? stream->rx->headers : nullptr;
}

char* httpGetHeaders(HttpStream* stream) {
    MprBuf* buf = stream ? mprCreateBuf(0, 0) : nullptr;
    MprHash* headers = httpGetHeaderHash(stream);
    MprKey* kp = nullptr;
    while (buf && (kp = mprGetNextKey(headers, kp))) {
        mprPutToBuf(buf, "%s: %s\n", kp->key, static_cast<const char*>(kp->data));
    }
    return mprBufToString(buf);
}

MprOff httpGetContentLength(HttpStream* stream) {
    return stream ? stream->rx->length : -1;
}

cchar* httpGetQueryString(HttpStream* stream) {
    const char* mark = stream && stream->rx->uri ? std::strchr(stream->rx->uri, '?') : nullptr;
    return mark ? mark + 1 : "";
}

// ---- The body ---------------------------------------------------------------------------------------------------

bool httpIsEof(struct HttpStream* stream) {
    if (!stream || own(stream)->gone || stream->error || stream->tx->finalizedInput || stream->net->failed) {
        return true;
    }
    return hasBody(*own(stream)) && httpGetReadCount(stream) == 0;
}

ssize httpGetReadCount(HttpStream* stream) {
    return stream && stream->readq ? stream->readq->count : 0;
}

ssize httpRead(HttpStream* stream, char* buffer, ssize size) {
    HttpQueue* q = stream && buffer ? stream->readq : nullptr;
    ssize total = 0;
    const auto isEndHeld = [q] { return q->first->flags & heldPacket && q->first->flags & HTTP_PACKET_END; };
    while (q && q->first && total < size && !isEndHeld()) { // which the handler is to be given
        HttpPacket* packet = httpGetPacket(q);
        const ssize count = std::min(size - total, httpGetPacketContents(packet));
        if (count > 0) {
            std::memcpy(buffer + total, packet->content->start, static_cast<std::size_t>(count));
            mprAdjustBufStart(packet->content, count);
            total += count;
        }
        if (httpGetPacketContents(packet) > 0) {
            httpPutBackPacket(q, packet);
        }
    }
    return total;
}

ssize httpReadBlock(HttpStream* stream, char* buffer, ssize size, MprTicks timeout, int flags) {
    if (!stream || !buffer) {
        return MPR_ERR_BAD_ARGS;
    }
    ssize count = httpRead(stream, buffer, size);
    if (count > 0 || httpIsEof(stream) || !(flags & HTTP_BLOCK)) {
        return count;
    }
    const Waiting waiting(*own(stream));
    sayContinue(*own(stream));
    const MprTicks begun = mprGetTicks();
    timeout = timeout < 0 ? own(stream)->inactivityTimeout : timeout;
    for (;;) {
        const MprTicks left = timeout - (mprGetTicks() - begun);
        pump(*stream->net); // which may have some of it already
        count = httpRead(stream, buffer, size);
        if (count > 0 || httpIsEof(stream)) {
            return count;
        }
        if (left <= 0 || mprWaitForEvent(stream->dispatcher, left, -1) < 0) {
            return 0;
        }
    }
}

char* httpReadString(HttpStream* stream) {
    const ssize length = httpGetReadCount(stream);
    auto* text = stream ? static_cast<char*>(mprAlloc(static_cast<std::size_t>(length) + 1)) : nullptr;
    if (text) {
        text[httpRead(stream, text, length)] = '\0';
    }
    return text;
}

cchar* httpGetBodyInput(HttpStream* stream) {
    HttpQueue* q = stream ? stream->readq : nullptr;
    if (!q || !q->first) {
        return "";
    }
    for (HttpPacket* each = q->first; each; each = each->next) {
        each->flags &= ~HTTP_PACKET_SOLO; // which is for stages
    }
    httpJoinPackets(q, -1);
    if (mayJoinNext(q->first)) { // a part would be taken for all
        httpMemoryError(stream);
        return "";
    }
    return q->first->content ? httpGetPacketString(q->first) : "";
}

// ---- The rest ---------------------------------------------------------------------------------------------------

int httpGetStatus(HttpStream* stream) {
    return stream ? stream->tx->status : 0;
}

cchar* httpGetStatusMessage(HttpStream* stream) {
    return stream ? httpLookupStatus(stream->tx->status) : "";
}

int httpSetUri(HttpStream* stream, cchar* uri) {
    HttpUri* parsed = stream && uri ? httpCreateUri(uri, 0) : nullptr;
    if (!parsed || !parsed->valid) {
        return MPR_ERR_BAD_ARGS;
    }
    const char* path = uri[0] == '/' ? uri : parsed->path ? parsed->path : "/";
    char* decoded = pathOf(path);
    if (!decoded) {
        return MPR_ERR_BAD_ARGS;
    }
    Rx* rx = &own(stream)->in();
    forgetPrefix(*rx);
    const char* query = parsed->query;
    setRef(rx, rx->uri, query ? sjoin(parsed->path ? parsed->path : "/", "?", query, nullptr) : sclone(path));
    setRef(rx, rx->parsedUri, parsed);
    setRef(rx, rx->pathInfo, decoded);
    setRef(stream->tx, stream->tx->ext, httpGetPathExt(decoded));
    return 0;
}

void httpSetMethod(HttpStream* stream, cchar* method) {
    if (stream && method) {
        setRef(stream->rx, stream->rx->method, supper(method));
    }
}

void httpTrimExtraPath(HttpStream* stream) {
    char* path = stream ? stream->rx->pathInfo : nullptr;
    char* point = path ? schr(path, '.') : nullptr;
    char* slash = point ? schr(point, '/') : nullptr;
    if (slash) {
        setRef(stream->rx, stream->rx->extraPath, sclone(slash));
        setRef(stream->rx, stream->rx->pathInfo, snclone(path, slash - path));
        setRef(stream->tx, stream->tx->ext, httpGetPathExt(stream->rx->pathInfo));
    }
}
