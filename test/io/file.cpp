// SPDX-License-Identifier: MIT
/*
    test/io/file.cpp - Files: buffered and not, lines, positions, pipes, files of the program, errors, collection.
 */
#include "test/support/dying.hpp"
#include "test/support/folder.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/process.hpp"
#include "test/support/runtime.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include <cerrno>
#include <climits>
#include <string>
#include <thread>
#include <vector>

using namespace test;

namespace {

std::string str(cchar *text) {
    return text ? text : "(null)";
}

std::string all(MprFile *file, size_t step = 100) {
    std::string contents, part(step, '\0');
    ssize count;
    while ((count = mprReadFile(file, part.data(), static_cast<ssize>(step))) > 0) {
        contents.append(part, 0, static_cast<size_t>(count));
    }
    return count < 0 ? "error " + std::to_string(count) : contents;
}

bool isOpen(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

MprFile *openFile(const std::string &path, int mode, ssize buffer = -1) {
    MprFile *file = mprOpenFile(path.c_str(), mode, 0644);
    if (file && buffer >= 0) {
        REQUIRE(mprEnableFileBuffering(file, buffer, 0) == 0);
    }
    return file;
}

} // namespace

TEST_CASE("what is written is read, whatever the buffer", "[io][file]") {
    Runtime runtime;
    Folder folder;
    for (ssize buffer : {-1, 0, 1, 7, 4096, 100000}) {
        for (size_t step : {1, 6, 7, 8, 1000, 5000}) {
            std::string contents(slow() ? 5011 : 20011, '\0'); // more than the largest step
            fill(contents.data(), contents.size(), step);
            Root file(openFile(folder / "file", O_CREAT | O_TRUNC | O_RDWR, buffer));
            REQUIRE(file.as<MprFile>());
            for (size_t at = 0; at < contents.size(); at += step) {
                auto count = static_cast<ssize>(std::min(step, contents.size() - at));
                REQUIRE(mprWriteFile(file.as<MprFile>(), &contents[at], count) == count);
                REQUIRE(mprGetFilePosition(file.as<MprFile>()) == static_cast<MprOff>(at) + count);
            }
            REQUIRE(mprSeekFile(file.as<MprFile>(), SEEK_SET, 0) == 0);
            INFO("buffer " << buffer << ", step " << step);
            REQUIRE(all(file.as<MprFile>(), step) == contents);
            CHECK(mprReadFile(file.as<MprFile>(), contents.data(), 1) == 0);
            CHECK(mprCloseFile(file.as<MprFile>()) == 0);
            REQUIRE(folder.read("file") == contents);
        }
    }
}

TEST_CASE("random reads, writes and seeks agree with a string", "[io][file]") {
    Runtime runtime;
    Folder folder;
    Random random(1);
    for (ssize buffer : {-1, 16, 500}) {
        std::string model;
        size_t position = 0;
        Root root(openFile(folder / "file", O_CREAT | O_TRUNC | O_RDWR, buffer));
        auto file = root.as<MprFile>();
        for (int i = 0; i < 5000; i++) {
            size_t count = random.below(60);
            std::string part(count, '\0');
            switch (random.below(5)) {
            case 0:
                fill(part.data(), count, static_cast<uint64_t>(i));
                REQUIRE(mprWriteFile(file, part.data(), static_cast<ssize>(count)) == static_cast<ssize>(count));
                if (count > 0) {
                    model.resize(std::max(model.size(), position + count));
                    model.replace(position, count, part);
                    position += count;
                }
                break;
            case 1:
            case 2: {
                size_t expected = position < model.size() ? std::min(count, model.size() - position) : 0;
                REQUIRE(mprReadFile(file, part.data(), static_cast<ssize>(count)) == static_cast<ssize>(expected));
                REQUIRE(part.substr(0, expected) == (expected ? model.substr(position, expected) : ""));
                position += expected;
                break;
            }
            case 3: {
                int c = mprGetFileChar(file);
                REQUIRE(c == (position < model.size() ? static_cast<unsigned char>(model[position]) : -1));
                position += c >= 0;
                break;
            }
            default:
                position = random.below(model.size() + 20);
                switch (random.below(3)) {
                case 0:
                    REQUIRE(mprSeekFile(file, SEEK_SET, static_cast<MprOff>(position)) ==
                            static_cast<MprOff>(position));
                    break;
                case 1:
                    REQUIRE(mprSeekFile(file, SEEK_CUR, static_cast<MprOff>(position) - mprGetFilePosition(file)) ==
                            static_cast<MprOff>(position));
                    break;
                default:
                    REQUIRE(mprSeekFile(file, SEEK_END,
                                        static_cast<MprOff>(position) - static_cast<MprOff>(model.size())) ==
                            static_cast<MprOff>(position));
                }
            }
            REQUIRE(mprGetFilePosition(file) == static_cast<MprOff>(position));
        }
        REQUIRE(mprCloseFile(file) == 0);
        REQUIRE(folder.read("file") == model);
    }
}

TEST_CASE("lines, of any length, with NULs, with and without an end", "[io][file]") {
    Runtime runtime;
    Folder folder;
    std::string longer(10000, 'x');
    folder.write("file", std::string("one\n\nthr\0ee\r\n", 13) + longer + "\nlast");
    ssize buffer = GENERATE(-1, 1, 2, 5, 4096);
    Root root(openFile(folder / "file", O_RDONLY, buffer));
    auto file = root.as<MprFile>();
    ssize length = -1;
    CHECK(str(mprReadLine(file, 0, &length)) == "one");
    CHECK(length == 3);
    CHECK(str(mprReadLine(file, 0, &length)).empty());
    CHECK(length == 0);
    char *line = mprReadLine(file, 0, &length);
    REQUIRE(length == 7);
    CHECK(std::string(line, 7) == std::string("thr\0ee\r", 7));
    CHECK(str(mprReadLine(file, 0, nullptr)) == longer);
    CHECK(str(mprReadLine(file, 0, &length)) == "last");
    CHECK(length == 4);
    CHECK(!mprReadLine(file, 0, &length));
    CHECK(length == 0);
    CHECK(!mprReadLine(file, 0, &length));
    REQUIRE(mprSeekFile(file, SEEK_SET, 5) == 5);
    CHECK(str(mprReadLine(file, 3, &length)) == "thr");
}

TEST_CASE("a longest line cuts longer ones; one of exactly that length is whole", "[io][file]") {
    Runtime runtime;
    Folder folder;
    folder.write("file", "abc\nabcde\n\nab");
    ssize buffer = GENERATE(1, 3, 100);
    Root root(openFile(folder / "file", O_RDONLY, buffer));
    std::vector<std::string> lines;
    while (char *line = mprReadLine(root.as<MprFile>(), 3, nullptr)) {
        lines.push_back(line);
    }
    CHECK(lines == std::vector<std::string>{"abc", "abc", "de", "", "ab"});
}

TEST_CASE("characters are read, looked at and put", "[io][file]") {
    Runtime runtime;
    Folder folder;
    Root root(openFile(folder / "file", O_CREAT | O_RDWR));
    auto file = root.as<MprFile>();
    CHECK(mprPutFileChar(file, 'a') == 1);
    CHECK(mprPutFileString(file, "b\xff") == 2);
    CHECK(mprWriteFileFmt(file, "%d-%s", 12, "x") == 4);
    CHECK(mprWriteFileString(file, "") == 0);
    CHECK(folder.read("file") == "ab\xff"
                                 "12-x"); /* Not buffered */
    CHECK(mprPeekFileChar(file) == -1);
    CHECK(mprSeekFile(file, SEEK_SET, 0) == 0);
    CHECK(mprPeekFileChar(file) == 'a');
    CHECK(mprGetFileChar(file) == 'a');
    CHECK(mprGetFileChar(file) == 'b');
    CHECK(mprGetFileChar(file) == 0xff);
    CHECK(mprGetFilePosition(file) == 3);
    CHECK(mprPutFileChar(file, 'Z') == 1); /* Buffered since it was looked at */
    CHECK(folder.read("file") == "ab\xff"
                                 "12-x");
    CHECK(mprFlushFile(file) == 0);
    CHECK(folder.read("file") == "ab\xff"
                                 "Z2-x");
    CHECK(mprGetFileChar(file) == '2');
    CHECK(mprDisableFileBuffering(file) == 0);
    CHECK(mprGetFilePosition(file) == 5);
    CHECK(mprPutFileChar(file, '!') == 1);
    CHECK(folder.read("file") == "ab\xff"
                                 "Z2!x");
}

TEST_CASE("appending goes to the end, whoever wrote meanwhile", "[io][file]") {
    Runtime runtime;
    Folder folder;
    folder.write("file", "12345");
    Root one(openFile(folder / "file", O_WRONLY | O_APPEND)), two(openFile(folder / "file", O_RDWR | O_APPEND, 100));
    CHECK(mprWriteFileString(one.as<MprFile>(), "6") == 1);
    CHECK(mprGetFilePosition(one.as<MprFile>()) == 6);
    CHECK(mprReadFile(two.as<MprFile>(), nullptr, 1) == MPR_ERR_BAD_ARGS);
    char c;
    CHECK(mprReadFile(two.as<MprFile>(), &c, 1) == 1);
    CHECK(c == '1');
    CHECK(mprWriteFileString(two.as<MprFile>(), "7") == 1);
    CHECK(mprWriteFileString(one.as<MprFile>(), "8") == 1);
    CHECK(mprGetFilePosition(two.as<MprFile>()) == 8);
    CHECK(folder.read("file") == "12345687");
}

TEST_CASE("pipes: what is there is read, and what was read ahead stays", "[io][file]") {
    Runtime runtime;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    Root in(mprAttachFileFd(ends[0], "in", O_RDONLY)), out(mprAttachFileFd(ends[1], "out", O_WRONLY));
    REQUIRE(mprEnableFileBuffering(in.as<MprFile>(), 100, 0) == 0);
    CHECK(mprWriteFileString(out.as<MprFile>(), "line\nrest") == 9);
    CHECK(str(mprReadLine(in.as<MprFile>(), 0, nullptr)) == "line");
    char buffer[50];
    CHECK(mprReadFile(in.as<MprFile>(), buffer, 50) == 4); /* Does not wait for more */
    CHECK(mprSeekFile(in.as<MprFile>(), SEEK_SET, 0) == MPR_ERR_BAD_STATE);
    CHECK(mprWriteFileString(out.as<MprFile>(), "ab") == 2);
    CHECK(mprPeekFileChar(in.as<MprFile>()) == 'a');
    CHECK(mprDisableFileBuffering(in.as<MprFile>()) == MPR_ERR_BAD_STATE);
    CHECK(mprCloseFile(out.as<MprFile>()) == 0);
    CHECK(all(in.as<MprFile>()) == "ab");
    CHECK(!isOpen(ends[1]));
    CHECK(!mprAttachFileFd(-1, "none", O_RDONLY));
}

TEST_CASE("a waiting read lets collections happen, and its unrooted buffer and file live", "[io][file]") {
    Runtime runtime;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::atomic<bool> waiting{false};
    std::atomic<int> result{0};
    Mutator reader("reader", [&](Mutator &) {
        auto buffer = static_cast<char *>(mprAlloc(100));
        MprFile *file = mprAttachFileFd(ends[0], "in", O_RDONLY);
        waiting = true;
        ssize count = mprReadFile(file, buffer, 100);
        result = count == 5 && memcmp(buffer, "hello", 5) == 0 && mprIsValid(buffer) && mprIsValid(file) ? 1 : -1;
        mprCloseFile(file);
    });
    REQUIRE(until([&] { return waiting.load(); }));
    for (int i = 0; i < 5; i++) {
        collect();
        pause(2);
    }
    CHECK(result == 0);
    CHECK(write(ends[1], "hello", 5) == 5);
    reader.join();
    CHECK(result == 1);
    close(ends[1]);
}

TEST_CASE("a file that nobody references is flushed and closed", "[io][file]") {
    Runtime runtime;
    Folder folder;
    MprFile *file = openFile(folder / "file", O_CREAT | O_WRONLY, 1000);
    int fd = mprGetFileFd(file);
    mprWriteFileString(file, "kept");
    CHECK(folder.read("file").empty());
    CHECK(isOpen(fd));
    collect();
    CHECK(!mprIsValid(file));
    CHECK(!isOpen(fd));
    CHECK(folder.read("file") == "kept");
    file = openFile(folder / "file", O_WRONLY | O_APPEND, 1000);
    mprWriteFileString(file, ", too");
    CHECK(mprFree(file) == 0);
    CHECK(folder.read("file") == "kept, too");
    MprFile *full = openFile("/dev/full", O_WRONLY, 100);
    mprWriteFileString(full, "lost");
    collect();
    CHECK(Log::count("cannot be written") == 1);
}

TEST_CASE("files opened, refused and closed", "[io][file]") {
    Runtime runtime;
    Folder folder;
    CHECK(!openFile(folder / "none", O_RDONLY));
    CHECK(!openFile(folder / "no/file", O_CREAT | O_WRONLY));
    CHECK(!mprOpenFile(nullptr, O_RDONLY, 0));
    CHECK(!mprOpenFile("", O_RDONLY, 0));
    CHECK(!mprOpenFile(std::string(5000, 'x').c_str(), O_RDONLY, 0));
    Root root(openFile(folder / "file", O_CREAT | O_EXCL | O_WRONLY));
    auto file = root.as<MprFile>();
    REQUIRE(file);
    CHECK((fcntl(mprGetFileFd(file), F_GETFD) & FD_CLOEXEC));
    CHECK(!openFile(folder / "file", O_CREAT | O_EXCL | O_WRONLY));
    char c;
    CHECK(mprReadFile(file, &c, 1) == MPR_ERR_BAD_ARGS);
    CHECK(mprGetFileChar(file) == -1);
    CHECK(!mprReadLine(file, 0, nullptr));
    CHECK(mprEnableFileBuffering(file, -1, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprSeekFile(file, SEEK_SET, -1) == MPR_ERR_BAD_ARGS);
    CHECK(mprSeekFile(file, SEEK_CUR, INT64_MIN) == MPR_ERR_BAD_ARGS);
    CHECK(mprSeekFile(file, 99, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprCloseFile(file) == 0);
    CHECK(mprCloseFile(file) == MPR_ERR_BAD_STATE);
    CHECK(mprWriteFile(file, "x", 1) == MPR_ERR_BAD_ARGS);
    CHECK(mprFlushFile(file) == MPR_ERR_BAD_ARGS);
    CHECK(mprGetFilePosition(file) == MPR_ERR_BAD_ARGS);
    CHECK(mprGetFileFd(file) == -1);
    Root readOnly(openFile(folder / "file", O_RDONLY));
    CHECK(mprWriteFile(readOnly.as<MprFile>(), "x", 1) == MPR_ERR_BAD_ARGS);
    cchar *noFormat = nullptr;
    CHECK(mprWriteFileFmt(readOnly.as<MprFile>(), noFormat, 1) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteFileString(readOnly.as<MprFile>(), nullptr) == MPR_ERR_BAD_ARGS);
    Root directory(openFile(folder.root, O_RDONLY));
    CHECK(mprReadFile(directory.as<MprFile>(), &c, 1) == MPR_ERR_CANT_READ);
    CHECK(mprGetFileChar(directory.as<MprFile>()) == -1);
    CHECK(mprReadFile(nullptr, &c, 1) == MPR_ERR_BAD_ARGS);
    CHECK(mprWriteFile(nullptr, &c, 1) == MPR_ERR_BAD_ARGS);
    CHECK(mprCloseFile(nullptr) == MPR_ERR_BAD_STATE);
    CHECK(mprGetFileFd(nullptr) == -1);
    CHECK(mprGetFileChar(nullptr) == -1);
    Root full(openFile("/dev/full", O_WRONLY));
    CHECK(mprWriteFile(full.as<MprFile>(), "x", 1) == MPR_ERR_CANT_WRITE);
    REQUIRE(mprEnableFileBuffering(full.as<MprFile>(), 10, 0) == 0);
    CHECK(mprWriteFile(full.as<MprFile>(), "x", 1) == 1);
    CHECK(mprFlushFile(full.as<MprFile>()) == MPR_ERR_CANT_WRITE);
    CHECK(mprWriteFile(full.as<MprFile>(), "0123456789", 10) == MPR_ERR_CANT_WRITE);
    CHECK(mprCloseFile(full.as<MprFile>()) == MPR_ERR_CANT_WRITE);
}

TEST_CASE("standard output", "[io][file]") {
    Runtime runtime;
    MprFile *out = mprGetStdout();
    CHECK(out == mprGetStdout());
    CHECK(mprGetFileFd(out) == 1);
    int ends[2], kept = dup(1);
    REQUIRE(pipe(ends) == 0);
    fflush(stdout);
    dup2(ends[1], 1);
    ssize written = mprWriteFileFmt(out, "%s %d\n", "number", 5);
    dup2(kept, 1);
    close(ends[1]);
    close(kept);
    char text[20] = {};
    CHECK(read(ends[0], text, sizeof(text) - 1) == 9);
    close(ends[0]);
    CHECK(written == 9);
    CHECK(std::string(text) == "number 5\n");
    CHECK(mprCloseFile(out) == MPR_ERR_BAD_STATE);
    CHECK(mprEnableFileBuffering(out, 0, 0) == MPR_ERR_BAD_STATE);
    CHECK(mprGetFileChar(out) == -1);
}

TEST_CASE("files of the program are read like others", "[io][file]") {
    Runtime runtime;
    static const uchar page[] = "<html>\nhello\n";
    MprRomInode files[] = {
        {"/web", nullptr, 0, 0}, {"/web/index.html", page, sizeof(page) - 1, 1}, {nullptr, nullptr, 0, 0}};
    CHECK(!mprGetRomFiles());
    mprSetRomFileSystem(files);
    CHECK(mprGetRomFiles() == files);
    Root root(mprOpenFile("/web/index.html", O_RDONLY, 0));
    auto file = root.as<MprFile>();
    REQUIRE(file);
    CHECK(str(mprReadLine(file, 0, nullptr)) == "<html>");
    CHECK(all(file) == "hello\n");
    CHECK(mprSeekFile(file, SEEK_END, -6) == 7);
    CHECK(mprGetFileChar(file) == 'h');
    for (const MprOff far : {MprOff{1000}, MprOff{0xFFFFFF00}, MprOff{1} << 62}) {
        CHECK(mprSeekFile(file, SEEK_SET, far) == far);
        CHECK(mprGetFileChar(file) == -1);
    }
    CHECK(mprWriteFile(file, "x", 1) == MPR_ERR_BAD_ARGS);
    CHECK(mprGetFileFd(file) == -1);
    CHECK(mprCloseFile(file) == 0);
    CHECK(!mprOpenFile("/web/index.html", O_RDWR, 0));
    CHECK(!mprOpenFile("/web", O_RDONLY, 0));
    CHECK(mprLookupFileSystem("/web/index.html")->readOnly);
    CHECK(!mprLookupFileSystem("/web/none")->readOnly);
    CHECK(str(mprLookupFileSystem(nullptr)->root) == "/");
    mprSetRomFileSystem(nullptr);
}

TEST_CASE("without memory files are not opened, lines not read, and nothing leaks", "[io][file]") {
    Runtime runtime;
    Folder folder;
    folder.write("file", std::string(100000, 'x'));
    Root root(openFile(folder / "file", O_RDONLY));
    mprSetMemLimits(0, static_cast<ssize>(stats().heap), -1);
    while (mprAlloc(16)) {}
    int before = dup(0);
    close(before);
    CHECK(!openFile(folder / "file", O_RDONLY));
    CHECK(mprGetFileChar(root.as<MprFile>()) == -1);
    CHECK(!mprReadLine(root.as<MprFile>(), 0, nullptr));
    char c;
    CHECK(mprReadFile(root.as<MprFile>(), &c, 1) == 1);
    int after = dup(0);
    close(after);
    CHECK(before == after);
}

TEST_CASE("the number of descriptors is limited, up to what the system gives", "[io][file]") {
    Runtime runtime;
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    auto current = [] {
        rlimit now{};
        getrlimit(RLIMIT_NOFILE, &now);
        return now.rlim_cur;
    };
    mprSetFilesLimit(30);
    CHECK(current() == 30);
    std::vector<MprFile *> files;
    while (MprFile *file = openFile("/dev/null", O_RDONLY)) {
        mprHold(file);
        files.push_back(file);
        REQUIRE(files.size() < 30);
    }
    for (MprFile *file : files) {
        mprCloseFile(file);
        mprRelease(file);
    }
    mprSetFilesLimit(0);
    CHECK(current() == before.rlim_max);
    CHECK(runtime.log.size() == 0);
    if (before.rlim_max < INT_MAX) {
        mprSetFilesLimit(INT_MAX);
        CHECK(current() == before.rlim_max);
        CHECK(runtime.log.has("2147483647 descriptors are not to be had"));
    }
    setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("a file knows its path and its size", "[io][file]") {
    Runtime runtime("everyyield=1");
    Folder folder;
    const std::string path = folder / "file";
    Root file(openFile(path, O_CREAT | O_RDWR, 0));
    REQUIRE(file.as<MprFile>());
    collect();
    CHECK(str(file.as<MprFile>()->path) == path);
    CHECK(mprGetFileSize(file.as<MprFile>()) == 0);
    CHECK(mprFprintf(file.as<MprFile>(), "%s %d\n", "line", 1) == 7);
    CHECK(mprGetFileSize(file.as<MprFile>()) == 7); // from the buffer, too
    CHECK(mprFprintf(file.as<MprFile>(), nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(mprTruncateFile(path.c_str(), 4) == 0);
    CHECK(mprGetFileSize(file.as<MprFile>()) == 4);
    CHECK(folder.read("file") == "line");
    CHECK(mprTruncateFile(path.c_str(), 6) == 0);
    CHECK(folder.read("file") == std::string("line\0\0", 6));
    CHECK(mprTruncateFile(path.c_str(), -1) == MPR_ERR_BAD_ARGS);
    CHECK(mprTruncateFile((folder / "none").c_str(), 1) == MPR_ERR_CANT_OPEN);
    mprCloseFile(file.as<MprFile>());
    CHECK(mprGetFileSize(file.as<MprFile>()) == MPR_ERR_BAD_ARGS);
    CHECK(mprGetFileSize(nullptr) == MPR_ERR_BAD_ARGS);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    Root in(mprAttachFileFd(ends[0], "in", O_RDONLY));
    CHECK(str(in.as<MprFile>()->path) == "in");
    CHECK(mprGetFileSize(in.as<MprFile>()) == MPR_ERR_BAD_STATE);
    close(ends[1]);
    CHECK((str(mprGetStdout()->path) == "stdout" && mprGetFileFd(mprGetStderr()) == 2));
    CHECK(mprCloseFile(mprGetStderr()) == MPR_ERR_BAD_STATE);
}

TEST_CASE("standard input is read by lines and never closed", "[io][file]") {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const int before = dup(0);
    REQUIRE(dup2(ends[0], 0) == 0);
    REQUIRE(write(ends[1], "one\ntwo\n", 8) == 8);
    for (int i = 0; i < 2; i++) {
        Runtime runtime;
        CHECK(mprGetStdin() == mprGetStdin());
        if (i == 0) {
            CHECK(str(mprReadLine(mprGetStdin(), 0, nullptr)) == "one");
            collect();
            CHECK(str(mprReadLine(mprGetStdin(), 0, nullptr)) == "two");
        }
        CHECK(mprCloseFile(mprGetStdin()) == MPR_ERR_BAD_STATE);
    }
    CHECK(isOpen(0));
    dup2(before, 0);
    close(before);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("the log goes to a file of the program's", "[io][file][log]") {
    Runtime runtime("everyyield=1");
    Folder folder;
    mprSetLogHandler(nullptr);
    MprFile *file = openFile(folder.write("log", "first\n"), O_WRONLY, 0);
    Root root(file);
    mprSeekFile(file, SEEK_END, 0);
    mprWriteFileString(file, "mine\n");
    mprSetLogFile(file);
    CHECK(mprGetLogFile() == file);
    mprError("of the %s", "log");
    mprCloseFile(file);
    mprError("another");
    CHECK(folder.read("log") == "first\nmine\nerror: of the log\nerror: another\n");
    mprSetLogFile(file); // it is closed
    CHECK(folder.read("log").find("mprSetLogFile: the file is not open") != std::string::npos);
    CHECK(mprGetLogFile() == file);
    collect();
    CHECK(mprIsValid(mprGetLogFile()));
    mprSetLogFile(nullptr);
    CHECK(mprGetLogFile() == nullptr);
}

TEST_CASE("a file that is collected waits for no reader of a pipe", "[io][file]") {
    Runtime runtime;
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], "x", 1) == 1) {} // full
    fcntl(ends[1], F_SETFL, 0);
    const int reader = dup(ends[0]);
    MprFile *file = mprAttachFileFd(ends[1], "pipe", O_WRONLY);
    REQUIRE(mprEnableFileBuffering(file, 0, 0) == 0);
    REQUIRE(mprWriteFileString(file, "late") == 4);
    file = nullptr;
    collect();
    CHECK(Log::has("a file was collected with data that cannot be written"));
    close(ends[0]);
    close(reader);
}

TEST_CASE("a file that is collected writes what a pipe takes", "[io][file]") {
    Runtime runtime;
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    MprFile *file = mprAttachFileFd(ends[1], "pipe", O_WRONLY);
    const std::string text(3 * PIPE_BUF, 't'); // in more than one piece
    REQUIRE(mprEnableFileBuffering(file, 4 * PIPE_BUF, 0) == 0);
    REQUIRE(mprWriteFile(file, text.data(), static_cast<ssize>(text.size())) == static_cast<ssize>(text.size()));
    file = nullptr;
    collect();
    std::string read(text.size(), ' ');
    CHECK(::read(ends[0], read.data(), read.size()) == static_cast<ssize>(text.size()));
    CHECK(read == text);
    CHECK(Log::size() == 0);
    close(ends[0]);
}

TEST_CASE("managers may use a file that is dead, whether or not its own was called", "[io][file]") {
    Runtime runtime("poison=1");
    Folder folder;
    static std::atomic<ssize> written;
    written = 0;
    useWhileDying(
        [&] {
            MprFile *file = mprOpenFile((folder / "a").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
            REQUIRE(mprEnableFileBuffering(file, 0, 0) == 0);
            return file;
        },
        [](void *file) {
            const ssize count = mprWriteFileString(static_cast<MprFile *>(file), "abc");
            written += count > 0 ? count : 0;
        });
    MprPath info;
    CHECK(mprGetPathInfo((folder / "a").c_str(), &info) == 0);
    CHECK(info.size == written);
    CHECK(stats().misuses == 0);
}

TEST_CASE("child: writes where nobody reads any more", "[.]") {
    if (!getenv("MPR_TEST_CHILD")) {
        return;
    }
    mprCreate(0, nullptr, 0);
    int ends[2];
    if (pipe(ends) == 0) {
        MprFile *file = mprAttachFileFd(ends[1], "pipe", O_WRONLY);
        close(ends[0]);
        mark(mprWriteFile(file, "text", 4) < 0 && errno == EPIPE ? "the file has failed" : "the file was written");
        // A reader leaves while a write waits for it: the system tells of the bytes, and signals.
        int others[2];
        if (pipe(others) == 0) {
            std::thread reader([&] {
                std::vector<char> bytes(200'000);
                mark(read(others[0], bytes.data(), 1000) == 1000 ? "some was read" : "nothing was read");
                close(others[0]);
            });
            MprFile *cut = mprAttachFileFd(others[1], "pipe", O_WRONLY);
            mprHold(cut);
            const std::vector<char> lots(1'000'000);
            mark(mprWriteFile(cut, lots.data(), static_cast<ssize>(lots.size())) < static_cast<ssize>(lots.size())
                     ? "the rest has failed"
                     : "all was written");
            reader.join();
        }
        // Whole files: of a reader that leaves, too.
        const Folder folder;
        const std::string fifo = folder / "fifo", large = folder / "large";
        const std::string text(1'000'000, 'x');
        mark(mprWritePathContents(large.c_str(), text.data(), 1'000'000, 0) == 1'000'000 &&
                     mkfifo(fifo.c_str(), 0600) == 0
                 ? "there is a pipe"
                 : "there is none");
        for (const bool copies : {false, true}) {
            std::thread leaver([&] {
                char bytes[1000];
                const int end = open(fifo.c_str(), O_RDONLY);
                mark(read(end, bytes, sizeof(bytes)) > 0 ? "a piece was read" : "no piece was read");
                close(end);
            });
            const bool cut = copies ? mprCopyPath(large.c_str(), fifo.c_str(), 0) < 0
                                    : mprWritePathContents(fifo.c_str(), text.data(), 1'000'000, 0) < 0;
            leaver.join();
            mark(copies ? (cut ? "the copy has failed" : "all was copied")
                        : (cut ? "the contents have failed" : "all contents were written"));
        }
        dup2(ends[1], STDERR_FILENO);
        mprError("nobody reads this");
        mark("the log has failed");
        mprStartLogging("stderr:4", 0);
        mprError("nor this");
        mark("the log that was started has failed");
    }
}

TEST_CASE("a pipe that nobody reads any more is an error of the file or log, and ends no program", "[io][file]") {
    const Ended ended = runChild("child: writes where nobody reads any more");
    INFO(ended.output);
    CHECK(ended.wrote("the file has failed"));
    CHECK(ended.wrote("some was read"));
    CHECK(ended.wrote("the rest has failed"));
    CHECK(ended.wrote("there is a pipe"));
    CHECK(ended.wrote("the contents have failed"));
    CHECK(ended.wrote("the copy has failed"));
    CHECK(ended.wrote("the log has failed"));
    CHECK(ended.wrote("the log that was started has failed"));
    CHECK_FALSE(ended.killed(SIGPIPE));
}

TEST_CASE("structures of libuv are as large as libuv takes them for", "[io][file]") {
    CHECK(uv_req_size(UV_FS) == sizeof(uv_fs_t)); // it has an offset of the C library
    CHECK(uv_handle_size(UV_POLL) == sizeof(uv_poll_t));
    CHECK(uv_handle_size(UV_ASYNC) == sizeof(uv_async_t));
    CHECK(uv_loop_size() == sizeof(uv_loop_t));
}
