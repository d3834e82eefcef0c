// SPDX-License-Identifier: MIT
/*
    request_params.cpp - Parameters, cookies and conditions of a request: the parts of this room applied to a stream.

    Parameters are made when they are first asked for: of the query, and of the body once all of it has come. Those
    that the program or a route's pattern has set stand in the same tree, and count before those of the same name that
    come later.
 */
#include <algorithm>
#include <climits>
#include <cstring>

#include "mpr/http/conditional.hpp"
#include "mpr/http/cookie.hpp"
#include "mpr/http/date.hpp"
#include "mpr/http/params.hpp"
#include "mpr/http/stream.hpp"
#include "mpr/json.h"
#include "mpr/log.h"
#include "mpr/string.h"
#include "mpr/time.h"

namespace mpr::http {

namespace {

/** Have a text that was made for the program live as long as the request; equal ones are one. @return nullptr: there is none, or
    the request has failed. */
const char* keep(HttpStream* stream, const char* text) {
    Rx& rx = own(stream)->in();
    if (text && !rx.texts) {
        setRef(&rx, rx.texts, mprCreateHash(0, MPR_HASH_STABLE | MPR_HASH_STATIC_KEYS));
    }
    const MprKey* key = text ? mprLookupKeyEntry(rx.texts, text) : nullptr;
    if (text && !key && !(key = mprAddKey(rx.texts, text, text))) {
        httpMemoryError(stream);
    }
    return key ? key->key : nullptr;
}

/** @return nullptr: the request has failed. */
MprJson* treeOfText(HttpStream* stream, std::string_view text) {
    Params* params = createParams();
    const int code = params ? addParams(params, text) : MPR_ERR_MEMORY;
    MprJson* tree = code == 0 ? treeOf(params) : nullptr;
    if (code == MPR_ERR_TOO_MANY) {
        httpLimitError(stream, HTTP_CODE_BAD_REQUEST, "the request has more than %d parameters", maxParams);
    } else if (code == MPR_ERR_BAD_FORMAT) {
        httpError(stream, HTTP_CODE_BAD_REQUEST, "%s", zeroInParam);
    } else if (!tree) {
        httpMemoryError(stream);
    }
    return tree;
}

void addQuery(HttpStream& stream, Rx& rx) {
    rx.paramsMade = true;
    const char* query = httpGetQueryString(&stream);
    MprJson* tree = *query ? treeOfText(&stream, query) : nullptr;
    bool whole = true;
    if (!rx.params) {
        setRef(&rx, rx.params, tree ? tree : mprCreateJson(MPR_JSON_OBJ));
        whole = rx.params;
    } else {
        whole = addMissing(rx.params, tree);
    }
    if (!whole) {
        httpMemoryError(&stream);
    }
}

/** What is no JSON has no parameters: that is for the program to say. @return nullptr also when the request has failed. */
MprJson* treeOfJson(HttpStream* stream, std::string_view text) {
    MprJsonRules rules{};
    const char* mistake = nullptr;
    MprJson* tree = mprParseJsonText(text.data(), static_cast<ssize>(text.size()), &rules, &mistake);
    if (!tree && !mistake) {
        httpMemoryError(stream);
    }
    return tree;
}

/** A form, or JSON, that has come as a whole. It can still be read as the body. */
void addBody(HttpStream& stream, Rx& rx) {
    rx.formMade = true;
    const char* text = httpGetBodyInput(&stream); // with what stands behind a zero
    HttpPacket* first = stream.readq ? stream.readq->first : nullptr;
    const bool isIn = first && first->content && text == first->content->start;
    const std::string_view body(text, static_cast<std::size_t>(isIn ? httpGetPacketContents(first) : slen(text)));
    MprJson* tree = rx.json ? treeOfJson(&stream, body) : treeOfText(&stream, body);
    if (!addMissing(rx.params, tree)) {
        httpMemoryError(&stream);
    }
}

MprJson* paramsOf(HttpStream* stream) {
    if (!stream) {
        return nullptr;
    }
    Rx& rx = own(stream)->in();
    if (!rx.paramsMade) {
        addQuery(*stream, rx);
    }
    if (rx.params && (rx.form || rx.json) && hasBody(*own(stream)) && !rx.formMade) {
        addBody(*stream, rx);
    }
    return rx.params;
}

/** For what a route sets before anything is known of the query. */
MprJson* setParams(HttpStream* stream) {
    if (stream && !stream->rx->params) {
        setRef(stream->rx, stream->rx->params, mprCreateJson(MPR_JSON_OBJ));
    }
    return stream ? stream->rx->params : nullptr;
}
} // namespace

} // namespace mpr::http

using namespace mpr::http;

// ---- Parameters -------------------------------------------------------------------------------------------------

MprJson* httpGetParams(HttpStream* stream) {
    return paramsOf(stream);
}

cchar* httpGetParam(HttpStream* stream, cchar* var, cchar* defaultValue) {
    MprJson* params = var ? paramsOf(stream) : nullptr;
    bool made = false;
    const char* value = params ? paramOf(params, var, &made) : nullptr;
    return !value ? defaultValue : made ? keep(stream, value) : value;
}

int httpGetIntParam(HttpStream* stream, cchar* var, int defaultValue) {
    const char* value = httpGetParam(stream, var, nullptr);
    return value ? static_cast<int>(std::clamp<int64>(stoi(value), INT_MIN, INT_MAX)) : defaultValue;
}

void httpSetParam(HttpStream* stream, cchar* var, cchar* value) {
    if (MprJson* params = var ? setParams(stream) : nullptr) {
        mprWriteJson(params, var, value ? value : "", MPR_JSON_STRING);
    }
}

void httpSetIntParam(HttpStream* stream, cchar* var, int value) {
    httpSetParam(stream, var, itos(value));
}

int httpTestParam(HttpStream* stream, cchar* var) {
    return httpGetParam(stream, var, nullptr) != nullptr;
}

bool httpMatchParam(HttpStream* stream, cchar* var, cchar* expected) {
    return smatch(httpGetParam(stream, var, nullptr), expected);
}

void httpRemoveParam(HttpStream* stream, cchar* var) {
    MprJson* params = var ? paramsOf(stream) : nullptr;
    if (MprJson* child = params ? mprReadJsonObj(params, var) : nullptr) {
        mprRemoveJsonChild(params, child);
    }
}

cchar* httpGetParamsString(HttpStream* stream) {
    MprJson* params = paramsOf(stream);
    const char* text = params ? keep(stream, paramsText(params)) : nullptr;
    return text ? text : "";
}

// ---- Cookies ----------------------------------------------------------------------------------------------------

cchar* httpGetCookies(HttpStream* stream) {
    return httpGetHeader(stream, "cookie");
}

cchar* httpGetCookie(HttpStream* stream, cchar* name) {
    const char* all = name ? httpGetCookies(stream) : nullptr;
    const std::string_view value = all ? findCookie(all, name) : std::string_view();
    return value.data() ? keep(stream, snclone(value.data(), static_cast<ssize>(value.size()))) : nullptr;
}

void httpSetCookie(HttpStream* stream, cchar* name, cchar* value, cchar* path, cchar* domain, MprTicks lifespan,
                   int flags) {
    if (!stream || !name || !value || (stream->tx->flags & HTTP_TX_HEADERS_CREATED)) {
        return;
    }
    const char* fault = nullptr;
    char* text = formatCookie(name, value, {path, domain, lifespan, flags}, mprGetTime(), fault);
    if (!text) {
        mprLog("error http", 0, "the cookie is not set: %s", fault ? fault : "memory is short");
        return;
    }
    if (!stream->tx->cookies) {
        setRef(stream->tx, stream->tx->cookies, mprCreateHash(0, MPR_HASH_STABLE));
    }
    mprAddKey(stream->tx->cookies, name, text);
}

void httpRemoveCookie(HttpStream* stream, cchar* name) {
    httpSetCookie(stream, name, "", nullptr, nullptr, -1, 0);
}

// ---- Conditions -------------------------------------------------------------------------------------------------

bool httpContentNotModified(HttpStream* stream) {
    return stream && evaluate(conditionsOf(stream), representationOf(stream)) == Outcome::notModified;
}

bool httpMatchEtag(HttpStream* stream, char* requestedEtag) {
    if (!stream || !requestedEtag) {
        return false;
    }
    const Conditions conditions = conditionsOf(stream);
    if (conditions.ifMatch.data()) {
        return listHas(conditions.ifMatch, requestedEtag, true);
    }
    return !conditions.ifNoneMatch.data() || !listHas(conditions.ifNoneMatch, requestedEtag, false);
}

bool httpMatchModified(HttpStream* stream, MprTime time) {
    if (!stream) {
        return false;
    }
    const Conditions conditions = conditionsOf(stream);
    MprTime since = 0;
    if (conditions.ifModifiedSince.data() && parseDate(conditions.ifModifiedSince, mprGetTime(), since)) {
        return time / 1000 > since / 1000;
    }
    if (conditions.ifUnmodifiedSince.data() && parseDate(conditions.ifUnmodifiedSince, mprGetTime(), since)) {
        return time / 1000 <= since / 1000;
    }
    return true;
}
