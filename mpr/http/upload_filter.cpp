// SPDX-License-Identifier: MIT
/*
    upload_filter.cpp - "uploadFilter": files of a form written to temporary files, other fields made parameters. See
    mpr/http/upload.h.

    The body goes no further: what the handler gets is its end. One file is open at a time. Temporary files are removed
    when the request is over, whatever became of it; where the runtime ends before, by the manager of their entry.
 */
#include <unistd.h>

#include <cstring>

#include "mpr/barrier.h"
#include "mpr/buffer.h"
#include "mpr/gc/census.hpp"
#include "mpr/http/grammar.hpp"
#include "mpr/http/multipart.hpp"
#include "mpr/http/params.hpp"
#include "mpr/http/references.hpp"
#include "mpr/http/stages.hpp"
#include "mpr/http/stream.hpp"
#include "mpr/http/upload.h"
#include "mpr/list.h"
#include "mpr/path.h"
#include "mpr/string.h"

namespace mpr::http {

namespace {

/** An item of rx->files. */
struct UploadFile : HttpUploadFile {
    char* path; // of the temporary file as long as it is there; permanent memory, as the manager needs it
};

void removeFile(UploadFile& file) {
    if (file.path) {
        unlink(file.path);
        pfree(file.path);
        file.path = nullptr;
    }
}

/** Of a form that comes. A managed block, the queue's data. */
struct Upload {
    MprFile* file;    // references: what is being written, or
    MprBuf* value;    // what a field has so far
    UploadFile* part; // that file
    Params* fields;
    MprOff fieldBytes; // of all fields' names and values
    bool failed;
    Multipart parser;
};

void manageUpload(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, 4);
    }
}
static_assert(offsetof(Upload, fields) == 3 * sizeof(void*));
const gc::ManagerName named(manageUpload, "mpr::http::Upload");

void manageUploadFile(void* ptr, int flags) {
    if (flags & MPR_MANAGE_MARK) {
        mprMarkRefs(ptr, 4);
    } else if (flags & MPR_MANAGE_FREE) {
        removeFile(*static_cast<UploadFile*>(ptr));
    }
}
static_assert(offsetof(HttpUploadFile, contentType) == 3 * sizeof(void*));
const gc::ManagerName namedFile(manageUploadFile, "HttpUploadFile");

Upload* uploadOf(const HttpQueue* q) {
    return static_cast<Upload*>(q->queueData);
}

/** The request has failed. What comes is dropped. */
template <typename... Args>
bool fail(HttpQueue* q, void (*error)(HttpStream*, int, const char*, ...), int status, Args... args) {
    uploadOf(q)->failed = true;
    error(q->stream, status, args...);
    return false;
}

bool failForMemory(HttpQueue* q) {
    uploadOf(q)->failed = true;
    httpMemoryError(q->stream);
    return false;
}

// ---- Files ------------------------------------------------------------------------------------------------------

UploadFile* makeFile(const Multipart& part) {
    auto* file = static_cast<UploadFile*>(
        mprAllocManaged(sizeof(UploadFile), manageUploadFile, MPR_ALLOC_MANAGER | MPR_ALLOC_ZERO | MPR_ALLOC_BARRIER));
    if (!file) {
        return nullptr;
    }
    file->name = sclone(part.name());
    file->clientFilename = sclone(part.filename());
    file->contentType = *part.type() != '\0' ? sclone(part.type()) : nullptr;
    return file->name && file->clientFilename ? file : nullptr;
}

/** The list of files, made with the first. */
MprList* filesOf(HttpStream* stream) {
    HttpRx* rx = stream->rx;
    if (!rx->files) {
        setRef(&own(stream)->in(), rx->files, mprCreateList(0, MPR_LIST_STABLE));
    }
    return rx->files;
}

/** Make the temporary file. */
MprFile* openFile(UploadFile* file) {
    setRef(file, file->filename, mprGetTempPath(nullptr));
    const std::size_t size = file->filename ? std::strlen(file->filename) + 1 : 0;
    file->path = size ? static_cast<char*>(palloc(size)) : nullptr;
    if (!file->path) {
        mprDeletePath(file->filename);
        return nullptr;
    }
    std::memcpy(file->path, file->filename, size);
    return mprOpenFile(file->filename, O_WRONLY | O_TRUNC, 0600);
}

bool beginFile(HttpQueue* q, Upload* upload) {
    UploadFile* file = makeFile(upload->parser);
    MprList* files = filesOf(q->stream);
    if (!file || !files || mprAddItem(files, file) < 0) {
        return failForMemory(q);
    }
    setRef(upload, upload->part, file);
    setRef(upload, upload->file, openFile(file));
    return upload->file || fail(q, httpError, HTTP_CODE_INTERNAL_SERVER_ERROR, "a temporary file cannot be made");
}

bool writeFile(HttpQueue* q, Upload* upload, std::string_view data) {
    const MprOff most = q->stream->limits->uploadSize;
    upload->part->size += static_cast<MprOff>(data.size());
    if (upload->part->size > most) {
        return fail(q, httpLimitError, HTTP_CODE_REQUEST_TOO_LARGE, "the file has more than %lld bytes", most);
    }
    const auto size = static_cast<ssize>(data.size());
    return mprWriteFile(upload->file, data.data(), size) == size ||
           fail(q, httpError, HTTP_CODE_INSUFFICIENT_STORAGE, "a temporary file cannot be written");
}

bool endFile(HttpQueue* q, Upload* upload) {
    const int code = mprCloseFile(upload->file);
    setRef(upload, upload->file, nullptr);
    return code == 0 || fail(q, httpError, HTTP_CODE_INSUFFICIENT_STORAGE, "a temporary file cannot be written");
}

// ---- Fields -----------------------------------------------------------------------------------------------------

bool countField(HttpQueue* q, Upload* upload, std::size_t size) {
    const MprOff most = q->stream->limits->rxFormSize;
    upload->fieldBytes += static_cast<MprOff>(size);
    return upload->fieldBytes <= most ||
           fail(q, httpLimitError, HTTP_CODE_REQUEST_TOO_LARGE, "the form has more than %lld bytes", most);
}

bool beginField(HttpQueue* q, Upload* upload) {
    setRef(upload, upload->value, mprCreateBuf(0, 0));
    return upload->value ? countField(q, upload, std::strlen(upload->parser.name())) : failForMemory(q);
}

bool appendField(HttpQueue* q, Upload* upload, std::string_view data) {
    const auto size = static_cast<ssize>(data.size());
    return countField(q, upload, data.size()) &&
           (mprPutBlockToBuf(upload->value, data.data(), size) == size || failForMemory(q));
}

bool endField(HttpQueue* q, Upload* upload) {
    const MprBuf* value = upload->value;
    const std::string_view text(value->start, static_cast<std::size_t>(value->end - value->start));
    const int code = addParam(upload->fields, upload->parser.name(), text);
    setRef(upload, upload->value, nullptr);
    if (code == MPR_ERR_TOO_MANY) {
        return fail(q, httpLimitError, HTTP_CODE_REQUEST_TOO_LARGE, "the form has more than %d fields", maxParams);
    }
    if (code == MPR_ERR_BAD_FORMAT) {
        return fail(q, httpError, HTTP_CODE_BAD_REQUEST, "%s", zeroInParam);
    }
    return code == 0 || failForMemory(q);
}

// ---- Parts ------------------------------------------------------------------------------------------------------

/** Files count as fields do: nobody sends thousands of them. */
bool beginPart(HttpQueue* q, Upload* upload) {
    if (!upload->parser.isFile()) {
        return beginField(q, upload);
    }
    if (mprGetListLength(q->stream->rx->files) >= maxParams) {
        return fail(q, httpLimitError, HTTP_CODE_REQUEST_TOO_LARGE, "the form has more than %d files", maxParams);
    }
    return beginFile(q, upload);
}

bool takePart(HttpQueue* q, Upload* upload, Multipart::Event event) {
    switch (event) {
    case Multipart::Event::part: return beginPart(q, upload);
    case Multipart::Event::data:
        return upload->file ? writeFile(q, upload, upload->parser.data())
                            : appendField(q, upload, upload->parser.data());
    case Multipart::Event::end: return upload->file ? endFile(q, upload) : endField(q, upload);
    case Multipart::Event::malformed:
        return fail(q, httpBadRequestError, HTTP_CODE_BAD_REQUEST, "the form is malformed: %s", upload->parser.why());
    default: return true;
    }
}

void take(HttpQueue* q, Upload* upload, std::string_view input) {
    Multipart::Event event = Multipart::Event::done;
    do {
        event = upload->parser.next(input);
    } while (takePart(q, upload, event) && event != Multipart::Event::more);
    upload->parser.forget();
}

void takeEnd(HttpQueue* q, Upload* upload, HttpPacket* end) {
    if (!upload->parser.isDone()) {
        fail(q, httpBadRequestError, HTTP_CODE_BAD_REQUEST, "the form has no end");
        return;
    }
    MprJson* params = httpGetParams(q->stream);
    MprJson* fields = params ? treeOf(upload->fields) : nullptr;
    if (!fields || !addMissing(params, fields)) {
        failForMemory(q);
        return;
    }
    httpPutPacketToNext(q, end);
}

void incoming(HttpQueue* q, HttpPacket* packet) {
    Upload* upload = uploadOf(q);
    if (upload->failed) {
        return;
    }
    if (const ssize size = httpGetPacketContents(packet); size > 0) {
        take(q, upload, {httpGetPacketStart(packet), static_cast<std::size_t>(size)});
    }
    if (!upload->failed && isEnd(packet)) { // who was told of a failure may have yielded
        takeEnd(q, upload, packet);
    }
}

int match(HttpStream* stream, HttpRoute*, int) {
    return stream->rx->upload ? HTTP_ROUTE_OK : HTTP_ROUTE_REJECT;
}

int open(HttpQueue* q) {
    auto* upload = base::makeReferring<Upload>(manageUpload);
    Params* fields = upload ? createParams() : nullptr;
    if (!fields) {
        httpMemoryError(q->stream);
        return MPR_ERR_MEMORY;
    }
    new (&upload->parser) Multipart();
    upload->fields = fields;
    setRef(q, q->queueData, upload);
    if (!upload->parser.begin(viewOf(q->stream->rx->mimeType))) {
        fail(q, httpBadRequestError, HTTP_CODE_BAD_REQUEST, "the form is malformed: %s", upload->parser.why());
        return MPR_ERR_BAD_FORMAT;
    }
    return 0;
}

void close(HttpQueue* q) {
    if (Upload* upload = uploadOf(q); upload && upload->file) {
        mprCloseFile(upload->file);
        setRef(upload, upload->file, nullptr);
    }
    HttpUploadFile* file;
    int next;
    for (MPR_ITERATE_ITEMS(q->stream->rx->files, file, next)) {
        removeFile(*static_cast<UploadFile*>(file));
    }
}
} // namespace

bool defineUploadFilter(Http& http) {
    HttpStage* stage = defineStage(http, "uploadFilter", HTTP_STAGE_FILTER | HTTP_STAGE_RX);
    if (stage) {
        stage->match = match;
        stage->open = open;
        stage->close = close;
        stage->incoming = incoming;
    }
    return stage;
}

} // namespace mpr::http
