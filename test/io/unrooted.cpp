// SPDX-License-Identifier: MIT
/*
    test/io/unrooted.cpp - What a program keeps without a root over calls for files and paths: it stays, because they do not
    yield. Those that may wait for somebody else do.
 */
#include "test/support/folder.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/runtime.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

using namespace test;

namespace {

/* Blocks that only the stack knows, small and large, before a call and after it. Another thread collects when it can. */
template <class Call>
bool keeps(Call call) {
    mprYield(0);
    char *text = sclone("kept without a root");
    Node *node = makeNode(makeNode(), nullptr, 7);
    auto *large = static_cast<char *>(mprAlloc(100000));
    memset(large, 'x', 100000);
    pause(1); // by now a collection is wanted
    call();
    pause(1); // and a sweep may be under way
    // What was freed and is not poisoned may look as before: something else is to stand there.
    for (int i = 0; i < 100; i++) {
        memset(mprAlloc(20), 'y', 20);
    }
    return mprIsValid(text) && strcmp(text, "kept without a root") == 0 && mprIsValid(node) && node->value == 7 &&
           mprIsValid(node->next) && mprIsValid(large) && large[0] == 'x' && large[99999] == 'x';
}

} // namespace

TEST_CASE("unrooted blocks stay over calls for files and paths, though others collect", "[io][file][path]") {
    Runtime runtime("deadline=10000");
    Folder folder;
    const std::string one = folder / "one", two = folder / "two", dir = folder / "a/b/c";
    const std::string text(10000, 't');
    char buffer[1000];
    ssize length = 0;
    MprPath info;
    MprFile *file = nullptr;
    Mutator collecting("collecting", [](Mutator &self) {
        while (self.go()) {
            collect();
        }
    });
    CHECK(keeps([&] { CHECK(mprWritePathContents(one.c_str(), text.c_str(), -1, 0600) == 10000); }));
    CHECK(keeps([&] { CHECK(mprCopyPath(one.c_str(), two.c_str(), 0600) == 0); }));
    CHECK(keeps([&] { CHECK(text == mprReadPathContents(two.c_str(), &length)); }));
    CHECK(keeps([&] {
        file = mprOpenFile(one.c_str(), O_RDWR, 0);
        CHECK(file);
        mprAddRoot(file);
    }));
    CHECK(keeps([&] { CHECK(mprReadFile(file, buffer, 1000) == 1000); }));
    CHECK(keeps([&] { CHECK(mprReadLine(file, 5, nullptr) == std::string("ttttt")); }));
    CHECK(keeps([&] { CHECK(mprGetFileChar(file) == 't'); }));
    CHECK(keeps([&] { CHECK(mprSeekFile(file, SEEK_END, 0) == 10000); }));
    CHECK(keeps([&] { CHECK(mprWriteFile(file, buffer, 1000) == 1000); }));
    CHECK(keeps([&] { CHECK(mprWriteFileFmt(file, "%s", "text") == 4); }));
    CHECK(keeps([&] { CHECK(mprFlushFile(file) == 0); }));
    CHECK(keeps([&] { CHECK(mprGetFilePosition(file) == 11004); }));
    CHECK(keeps([&] { CHECK(mprDisableFileBuffering(file) == 0); }));
    CHECK(keeps([&] { CHECK(mprCloseFile(file) == 0); }));
    CHECK(keeps([&] { mprCloseFile(mprAttachFileFd(dup(0), "in", O_RDONLY)); }));
    CHECK(keeps([&] { CHECK(mprPathExists(one.c_str(), R_OK)); }));
    CHECK(keeps([&] { CHECK(mprGetPathInfo(one.c_str(), &info) == 0); }));
    CHECK(keeps([&] { CHECK(mprMakeDir(dir.c_str(), 0700, -1, -1, true) == 0); }));
    CHECK(keeps([&] { CHECK(mprGetListLength(mprGetPathFiles(folder.root.c_str(), MPR_PATH_DESCEND)) == 5); }));
    CHECK(keeps([&] { CHECK(mprGetListLength(mprGlobPathFiles(folder.root.c_str(), "**/c", 0)) == 1); }));
    CHECK(keeps([&] { CHECK(mprDeletePath(mprGetTempPath(dir.c_str())) == 0); }));
    CHECK(keeps([&] { CHECK(mprDeletePath(dir.c_str()) == 0); }));
    CHECK(keeps([&] { CHECK(mprGetCurrentPath()); }));
    CHECK(keeps([&] { CHECK(mprGetAbsPath("x")); }));
    CHECK(keeps([&] { CHECK(std::string(mprGetRelPath("/a/b", "/a/c")) == "../b"); }));
    CHECK(keeps([&] { CHECK(mprTransformPath("x", MPR_PATH_ABS)); }));
    CHECK(keeps([&] { CHECK(mprIsPathContained("x/y", "x")); }));
    CHECK(keeps([&] { CHECK(mprSamePath(one.c_str(), one.c_str()) == 1); }));
    // A yield would be seen.
    CHECK(until([] { return !keeps([] { mprSleep(1); }); }));
    mprRemoveRoot(file);
}

TEST_CASE("calls that wait for the other end of a pipe let collections pass", "[io][file][path]") {
    Runtime runtime("deadline=10000");
    Folder folder;
    const std::string fifo = folder / "fifo";
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    std::string (*const readers[])(cchar *, cchar *) = {
        [](cchar *from, cchar *) {
            MprFile *file = mprOpenFile(from, O_RDONLY, 0);
            char buffer[10] = {};
            return mprReadFile(file, buffer, 9) == 4 && mprCloseFile(file) == 0 ? std::string(buffer) : "";
        },
        [](cchar *from, cchar *) {
            char *text = mprReadPathContents(from, nullptr);
            return std::string(text ? text : "");
        },
        [](cchar *from, cchar *to) {
            char *text = mprCopyPath(from, to, 0600) == 0 ? mprReadPathContents(to, nullptr) : nullptr;
            return std::string(text ? text : "");
        },
    };
    for (auto *read : readers) {
        std::string result;
        std::atomic<bool> waits{false};
        Mutator reader("reader", [&](Mutator &) {
            waits = true;
            result = read(fifo.c_str(), (folder / "copy").c_str());
        });
        REQUIRE(until([&] { return waits.load(); }));
        collect();
        collect();
        int fd = -1;
        CHECK(until([&] { return (fd = open(fifo.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK)) >= 0; }));
        collect();
        CHECK(write(fd, "text", 4) == 4);
        close(fd);
        reader.join();
        CHECK(result == "text");
    }
    CHECK(stats().late == 0);
}
