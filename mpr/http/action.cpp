// SPDX-License-Identifier: MIT
/*
    action.cpp - Actions: handlers that are one function, called when all of the request has come.
 */
#include "mpr/gc/census.hpp"
#include "mpr/http/route.hpp"
#include "mpr/http/stages.hpp"
#include "mpr/string.h"

namespace mpr::http {

namespace {

void runAction(HttpQueue* q) {
    Stream& stream = *own(q->stream);
    const HttpRoute* route = stream.rx->route;
    const HttpAction named = stream.in().action;
    if (const HttpAction action = route && route->action ? route->action : named) {
        action(&stream);
    } else {
        httpError(&stream, HTTP_CODE_NOT_FOUND, "there is no such action");
    }
}
} // namespace

bool defineActionHandler(Http& http) {
    HttpStage* stage = defineStage(http, "actionHandler", HTTP_STAGE_HANDLER);
    if (stage) {
        stage->ready = runAction;
    }
    setRef(&http, http.actionHandler, stage);
    return stage;
}

} // namespace mpr::http

void httpDefineAction(cchar* uri, HttpAction fun) {
    Http* http = uri ? httpCreate(HTTP_SERVER_SIDE) : nullptr;
    auto* action = http ? static_cast<mpr::http::Action*>(mprAlloc(sizeof(mpr::http::Action))) : nullptr;
    if (action && fun) {
        action->call = fun;
        mprAddKey(http->actions, uri, action);
    } else if (action) {
        mprRemoveKey(http->actions, uri);
    }
}
