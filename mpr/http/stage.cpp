// SPDX-License-Identifier: MIT
/*
    stage.cpp - Stages: the C API of mpr/http/stage.h.
 */
#include "mpr/gc/census.hpp"
#include "mpr/collect.h"
#include "mpr/http/service.hpp"
#include "mpr/http/stages.hpp"
#include "mpr/string.h"

using namespace mpr::http;

namespace {

/** Programs set its members while they set up, by plain assignment: it is a plain block, of which there are few. */
void manageStage(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        auto* stage = static_cast<HttpStage*>(ptr);
        mprMark(stage->name);
        mprMark(stage->stageData);
    }
}
const mpr::gc::ManagerName namedStage(manageStage, "HttpStage");
} // namespace

HttpStage* mpr::http::defineStage(Http& http, const char* name, int flags) {
    if (auto* found = static_cast<HttpStage*>(mprLookupKey(http.stages, name))) {
        return found;
    }
    auto* stage = static_cast<HttpStage*>(
        mprAllocManaged(sizeof(HttpStage), manageStage, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_NO_FREE));
    if (!stage || !(stage->name = sclone(name)) || !mprAddKey(http.stages, name, stage)) {
        return nullptr;
    }
    stage->flags = flags | ((flags & (HTTP_STAGE_TX | HTTP_STAGE_RX)) ? 0 : HTTP_STAGE_TX | HTTP_STAGE_RX);
    return stage;
}

HttpStage* httpCreateStage(cchar* name, int flags, MprModule*) {
    Http* http = name ? httpCreate(HTTP_SERVER_SIDE) : nullptr;
    return http ? defineStage(*http, name, flags) : nullptr;
}

HttpStage* httpCreateHandler(cchar* name, MprModule* module) {
    return httpCreateStage(name, HTTP_STAGE_HANDLER, module);
}

HttpStage* httpCreateFilter(cchar* name, MprModule* module) {
    return httpCreateStage(name, HTTP_STAGE_FILTER, module);
}

HttpStage* httpCreateConnector(cchar* name, MprModule* module) {
    return httpCreateStage(name, HTTP_STAGE_CONNECTOR, module);
}

HttpStage* httpLookupStage(cchar* name) {
    Http* http = service();
    return http && name ? static_cast<HttpStage*>(mprLookupKey(http->stages, name)) : nullptr;
}
