// SPDX-License-Identifier: MIT
/*
    test/io/path_files.cpp - Paths and the file system.
 */
#include "test/support/folder.hpp"
#include "test/support/mutator.hpp"
#include "test/support/node.hpp"
#include "test/support/pattern.hpp"
#include "test/support/runtime.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

using namespace test;

namespace {

std::string str(cchar *text) {
    return text ? text : "(null)";
}

char *managed(const std::string &s) {
    return static_cast<char *>(mprMemdup(s.c_str(), s.size() + 1));
}

std::string names(MprList *files, const std::string &root = "") {
    std::string all;
    MprDirEntry *entry;
    int next;
    for (ITERATE_ITEMS(files, entry, next)) {
        std::string name = entry->name;
        if (!root.empty()) {
            REQUIRE(name.substr(0, root.size() + 1) == root + "/");
            name = name.substr(root.size() + 1);
        }
        all += (all.empty() ? "" : " ") + name + (entry->isDir ? "/" : "") + (entry->isLink ? "@" : "");
    }
    return all;
}

std::string strings(MprList *files) {
    char *all = mprListToString(files, " ");
    return str(all);
}

/* The current directory for a while. */
class Inside {
public:
    explicit Inside(const std::string &dir) : before(std::filesystem::current_path()) {
        std::filesystem::current_path(dir);
    }
    ~Inside() { std::filesystem::current_path(before); }

private:
    std::filesystem::path before;
};

} // namespace

TEST_CASE("paths by way of the current directory", "[io][path]") {
    Runtime runtime;
    Folder folder;
    Inside inside(folder.root);
    CHECK(str(mprGetCurrentPath()) == folder.root);
    CHECK(str(mprGetAbsPath("a/../b")) == folder / "b");
    CHECK(str(mprGetAbsPath("/x/./y")) == "/x/y");
    CHECK(str(mprGetAbsPath("")) == folder.root);
    CHECK(str(mprGetAbsPath(nullptr)) == folder.root);
    CHECK(str(mprTransformPath("a/../b", MPR_PATH_ABS)) == folder / "b");
    CHECK(str(mprTransformPath((folder / "b/c").c_str(), MPR_PATH_REL)) == "b/c");
    CHECK(str(mprTransformPath("a/../b", 0)) == "b");

    constexpr cchar *ways[][3] = {
        {"/a/c", "/a/b", "../c"}, {"/a/b", "/a/b", "."},
        {"/a", "/a/b", ".."},     {"/a/b", "/a", "b"},
        {"/", "/a/b", "../.."},   {"/x/y", "/", "x/y"},
        {"/ab", "/a", "../ab"},   {"/a", "/ab", "../a"},
        {"/", "/", "."},          {"/a/b/c", "/a/x/y/z", "../../../b/c"},
        {"b", "c/d", "../../b"},  {"b", nullptr, "b"},
    };
    for (auto &way : ways) {
        INFO(way[0] << " from " << (way[1] ? way[1] : "here"));
        CHECK(str(mprGetRelPath(way[0], way[1])) == way[2]);
    }
    CHECK(mprIsPathContained("a/b", "a"));
    CHECK(mprIsPathContained("a", "a"));
    CHECK(mprIsPathContained("a", "/"));
    CHECK(mprIsPathContained("a", nullptr));
    CHECK(!mprIsPathContained("ab", "a"));
    CHECK(!mprIsPathContained("a/../b", "a"));
    CHECK(!mprIsPathContained("/etc/passwd", "."));
    std::string longer(5000, 'x');
    CHECK(!mprGetAbsPath(longer.c_str()));
    CHECK(!mprGetRelPath(longer.c_str(), "a"));
}

TEST_CASE("existence and information", "[io][path]") {
    Runtime runtime;
    Folder folder;
    std::string file = folder.write("file", "12345"), link = folder / "link", dangling = folder / "dangling";
    REQUIRE(symlink("file", link.c_str()) == 0);
    REQUIRE(symlink("nowhere", dangling.c_str()) == 0);
    chmod(file.c_str(), 0640);
    CHECK(mprPathExists(file.c_str(), F_OK));
    CHECK(mprPathExists(file.c_str(), R_OK));
    CHECK(!mprPathExists(file.c_str(), X_OK));
    CHECK(mprPathExists(link.c_str(), F_OK));
    CHECK(!mprPathExists(dangling.c_str(), F_OK));
    CHECK(!mprPathExists(nullptr, F_OK));
    CHECK(!mprPathExists("", F_OK));
    MprPath info;
    REQUIRE(mprGetPathInfo(file.c_str(), &info) == 0);
    struct stat expected;
    stat(file.c_str(), &expected);
    CHECK(info.valid);
    CHECK(info.exists);
    CHECK(info.isReg);
    CHECK(!info.isDir);
    CHECK(!info.isLink);
    CHECK(info.size == 5);
    CHECK(info.perms == 0640);
    CHECK(info.mtime == expected.st_mtime);
    CHECK(info.atime == expected.st_atime);
    CHECK(info.ctime == expected.st_ctime);
    CHECK(info.inode == static_cast<int64>(expected.st_ino));
    CHECK(info.owner == static_cast<int>(expected.st_uid));
    CHECK(info.group == static_cast<int>(expected.st_gid));
    REQUIRE(mprGetPathInfo(link.c_str(), &info) == 0);
    CHECK(info.isLink);
    CHECK(info.isReg);
    CHECK(info.size == 5);
    REQUIRE(mprGetPathInfo(dangling.c_str(), &info) == 0);
    CHECK(info.isLink);
    CHECK(!info.isReg);
    REQUIRE(mprGetPathInfo(folder.root.c_str(), &info) == 0);
    CHECK(info.isDir);
    CHECK(mprGetPathInfo((folder / "none").c_str(), &info) == MPR_ERR_CANT_ACCESS);
    CHECK(!info.valid);
    CHECK(!info.isDir);
    CHECK(mprGetPathInfo(nullptr, &info) == MPR_ERR_BAD_ARGS);
    CHECK(mprGetPathInfo(file.c_str(), nullptr) == MPR_ERR_BAD_ARGS);
    CHECK(mprSamePath(file.c_str(), link.c_str()) == 1);
    CHECK(mprSamePath(file.c_str(), folder.root.c_str()) == 0);
    CHECK(mprSamePath("/no/such/./x", "/no/such/x") == 1);
    CHECK(mprSamePath("/no/such/x", "/no/such/y") == 0);
    CHECK(mprSamePath(nullptr, "x") == 0);
}

TEST_CASE("directories are made and paths deleted", "[io][path]") {
    Runtime runtime;
    Folder folder;
    CHECK(mprMakeDir((folder / "a").c_str(), 0750, -1, -1, false) == 0);
    CHECK(mprMakeDir((folder / "a").c_str(), 0750, -1, -1, false) == 0);
    CHECK(mprMakeDir((folder / "b/c/d").c_str(), 0755, -1, -1, false) == MPR_ERR_CANT_CREATE);
    CHECK(mprMakeDir((folder / "b/c/d/").c_str(), 0755, static_cast<int>(geteuid()), -1, true) == 0);
    CHECK(std::filesystem::is_directory(folder / "b/c/d"));
    folder.write("file", "");
    CHECK(mprMakeDir((folder / "file").c_str(), 0755, -1, -1, false) == MPR_ERR_CANT_CREATE);
    CHECK(mprMakeDir((folder / "file/x").c_str(), 0755, -1, -1, true) == MPR_ERR_CANT_CREATE);
    CHECK(mprMakeDir(nullptr, 0755, -1, -1, true) == MPR_ERR_BAD_ARGS);
    CHECK(mprMakeDir("", 0755, -1, -1, true) == MPR_ERR_BAD_ARGS);
    CHECK(mprDeletePath((folder / "b").c_str()) == MPR_ERR_CANT_DELETE);
    CHECK(mprDeletePath((folder / "b/c/d").c_str()) == 0);
    CHECK(mprDeletePath((folder / "file").c_str()) == 0);
    CHECK(mprDeletePath((folder / "file").c_str()) == MPR_ERR_CANT_ACCESS);
    CHECK(mprDeletePath(nullptr) == MPR_ERR_CANT_ACCESS);
    REQUIRE(symlink("b", (folder / "link").c_str()) == 0);
    CHECK(mprDeletePath((folder / "link").c_str()) == 0);
    CHECK(std::filesystem::is_directory(folder / "b/c"));
}

TEST_CASE("contents are read, written and copied whole", "[io][path]") {
    Runtime runtime;
    Folder folder;
    for (size_t size : {0, 1, 4095, 4096, 4097, 3000000}) {
        std::string contents(size, '\0');
        fill(contents.data(), size, size);
        std::string path = folder / "file";
        REQUIRE(mprWritePathContents(path.c_str(), contents.data(), static_cast<ssize>(size), 0600) ==
                static_cast<ssize>(size));
        REQUIRE(folder.read("file") == contents);
        ssize length = -1;
        char *text = mprReadPathContents(path.c_str(), &length);
        REQUIRE(text);
        CHECK(length == static_cast<ssize>(size));
        CHECK(std::string(text, size) == contents);
        CHECK(text[size] == '\0');
        REQUIRE(mprCopyPath(path.c_str(), (folder / "copy").c_str(), 0644) == 0);
        CHECK(folder.read("copy") == contents);
    }
    CHECK((std::filesystem::status(folder / "file").permissions() & std::filesystem::perms::mask) ==
          static_cast<std::filesystem::perms>(0600));
    CHECK((std::filesystem::status(folder / "copy").permissions() & std::filesystem::perms::mask) ==
          static_cast<std::filesystem::perms>(0644));
    CHECK(mprWritePathContents((folder / "text").c_str(), "hello", -1, 0) == 5);
    CHECK(folder.read("text") == "hello");
    CHECK(str(mprReadPathContents((folder / "text").c_str(), nullptr)) == "hello");
    std::string name; // of a file that the system says has no bytes
    std::getline(std::ifstream("/proc/self/comm"), name);
    CHECK(str(mprReadPathContents("/proc/self/comm", nullptr)) == name + "\n");
    CHECK(mprWritePathContents((folder / "no/file").c_str(), "x", 1, 0) == MPR_ERR_CANT_OPEN);
    CHECK(mprWritePathContents("/dev/full", "x", 1, 0) == MPR_ERR_CANT_WRITE);
    CHECK(mprWritePathContents(nullptr, "x", 1, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprWritePathContents("x", nullptr, 1, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprWritePathContents("x", "x", -2, 0) == MPR_ERR_BAD_ARGS);
    ssize length = 7;
    CHECK(!mprReadPathContents((folder / "none").c_str(), &length));
    CHECK(length == 0);
    CHECK(!mprReadPathContents(folder.root.c_str(), nullptr));
    CHECK(!mprReadPathContents(nullptr, nullptr));
    CHECK(mprCopyPath((folder / "none").c_str(), (folder / "x").c_str(), 0644) == MPR_ERR_CANT_OPEN);
    CHECK(mprCopyPath((folder / "text").c_str(), (folder / "no/x").c_str(), 0644) == MPR_ERR_CANT_CREATE);
    CHECK(mprCopyPath(nullptr, nullptr, 0644) == MPR_ERR_CANT_OPEN);
}

TEST_CASE("a copy has its permissions before it has contents", "[io][path]") {
    Runtime runtime;
    Folder folder;
    const std::string fifo = folder / "fifo", copy = folder / "copy";
    const mode_t before = umask(0);
    REQUIRE(mkfifo(fifo.c_str(), 0666) == 0);
    for (bool exists : {false, true}) {
        if (exists) {
            REQUIRE(chmod(copy.c_str(), 0666) == 0);
        }
        std::atomic<int> result{-1};
        Mutator copying("copying", [&](Mutator &) { result = mprCopyPath(fifo.c_str(), copy.c_str(), 0640); });
        int fd = -1;
        CHECK(until([&] { return (fd = open(fifo.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK)) >= 0; }));
        struct stat found;
        CHECK(until([&] { return stat(copy.c_str(), &found) == 0 && found.st_size == 0; }));
        CHECK((exists || (found.st_mode & 0777 & ~0640u) == 0)); // at no time more
        CHECK(until([&] { return stat(copy.c_str(), &found) == 0 && (found.st_mode & 0777) == 0640; }));
        CHECK(write(fd, "secret", 6) == 6);
        close(fd);
        copying.join();
        CHECK(result == 0);
        CHECK(folder.read("copy") == "secret");
    }
    umask(before);
}

TEST_CASE("a copy that fails leaves nothing, and a file is not copied to itself", "[io][path]") {
    Runtime runtime;
    Folder folder;
    const std::string text(20000, 't'), file = folder.write("file", text), copy = folder / "copy";
    rlimit limit;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const auto ignored = signal(SIGXFSZ, SIG_IGN);
    rlimit few = limit;
    few.rlim_cur = 10000;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &few) == 0);
    CHECK(mprCopyPath(file.c_str(), copy.c_str(), 0600) == MPR_ERR_CANT_CREATE);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    signal(SIGXFSZ, ignored);
    CHECK_FALSE(std::filesystem::exists(copy));
    CHECK(mprCopyPath(file.c_str(), "/dev/full", 0600) == MPR_ERR_CANT_CREATE);
    CHECK(mprCopyPath(file.c_str(), "/dev/null", 0600) == 0);
    CHECK(std::filesystem::is_character_file("/dev/null"));
    std::filesystem::create_symlink(file, folder / "link");
    for (const std::string &other : {file, folder / "link"}) {
        CHECK(mprCopyPath(file.c_str(), other.c_str(), 0600) == 0);
        CHECK(folder.read("file") == text);
    }
    CHECK(mprCopyPath(folder.root.c_str(), copy.c_str(), 0600) == MPR_ERR_CANT_OPEN);
    CHECK_FALSE(std::filesystem::exists(copy));
}

TEST_CASE("temporary files have names of their own", "[io][path]") {
    Runtime runtime;
    Folder folder;
    std::string one = str(mprGetTempPath(folder.root.c_str())), two = str(mprGetTempPath(folder.root.c_str()));
    CHECK(one != two);
    CHECK(std::filesystem::is_regular_file(one));
    CHECK(one.substr(0, folder.root.size() + 1) == folder.root + "/");
    CHECK(!mprGetTempPath((folder / "none").c_str()));
    char *other = mprGetTempPath(nullptr);
    REQUIRE(other);
    CHECK(mprDeletePath(other) == 0);
}

TEST_CASE("directories are listed in the order of names", "[io][path]") {
    Runtime runtime;
    Folder folder;
    folder.write("b.c", "12");
    folder.write("a.c", "1");
    folder.write(".hidden", "");
    folder.write("dir/z", "");
    folder.write("dir/sub/y", "");
    folder.write("dir/.git/x", "");
    REQUIRE(symlink("dir", (folder / "link").c_str()) == 0);
    auto list = [&](int flags) { return mprGetPathFiles(folder.root.c_str(), flags); };
    CHECK(names(list(0), folder.root) == "a.c b.c dir/ link/@");
    CHECK(names(list(MPR_PATH_RELATIVE)) == "a.c b.c dir/ link/@");
    CHECK(names(list(MPR_PATH_RELATIVE | MPR_PATH_INC_HIDDEN)) == ".hidden a.c b.c dir/ link/@");
    CHECK(names(list(MPR_PATH_RELATIVE | MPR_PATH_NO_DIRS)) == "a.c b.c");
    CHECK(names(list(MPR_PATH_RELATIVE | MPR_PATH_DESCEND)) == "a.c b.c dir/ dir/sub/ dir/sub/y dir/z link/@");
    CHECK(names(list(MPR_PATH_DESCEND), folder.root) == "a.c b.c dir/ dir/sub/ dir/sub/y dir/z link/@");
    CHECK(names(list(MPR_PATH_RELATIVE | MPR_PATH_DESCEND | MPR_PATH_DEPTH_FIRST)) ==
          "a.c b.c dir/sub/y dir/sub/ dir/z dir/ link/@");
    CHECK(names(list(MPR_PATH_RELATIVE | MPR_PATH_DESCEND | MPR_PATH_NO_DIRS | MPR_PATH_INC_HIDDEN)) ==
          ".hidden a.c b.c dir/.git/x dir/sub/y dir/z");
    auto entry = static_cast<MprDirEntry *>(mprGetItem(list(0), 1));
    CHECK(entry->size == 2);
    CHECK(std::llabs(entry->lastModified - time(nullptr)) < 100);
    Folder empty;
    MprList *none = mprGetPathFiles(empty.root.c_str(), MPR_PATH_DESCEND);
    REQUIRE(none);
    CHECK(mprGetListLength(none) == 0);
    CHECK(!mprGetPathFiles((folder / "none").c_str(), 0));
    CHECK(!mprGetPathFiles((folder / "a.c").c_str(), 0));
    CHECK(!mprGetPathFiles(nullptr, 0));
}

TEST_CASE("files are found by patterns", "[io][path]") {
    Runtime runtime;
    Folder folder;
    for (cchar *name : {"a.c", "a.h", "b.c", "src/c.c", "src/deep/d.c", "src/deep/e.h", ".x.c"}) {
        folder.write(name, "");
    }
    auto glob = [&](cchar *patterns, int flags = 0) {
        return strings(mprGlobPathFiles(folder.root.c_str(), patterns, MPR_PATH_RELATIVE | flags));
    };
    CHECK(glob("*.c") == "a.c b.c");
    CHECK(glob("*.c", MPR_PATH_INC_HIDDEN) == ".x.c a.c b.c");
    CHECK(glob("**/*.c") == "a.c b.c src/c.c src/deep/d.c");
    CHECK(glob("**/*.c,**/*.h,!**/deep/**") == "a.c a.h b.c src/c.c");
    CHECK(glob("src/*") == "src/c.c src/deep");
    CHECK(glob("src/*", MPR_PATH_NO_DIRS) == "src/c.c");
    CHECK(glob("none").empty());
    CHECK(strings(mprGlobPathFiles(folder.root.c_str(), "a.?", 0)) == folder / "a.c" + " " + (folder / "a.h"));
    CHECK(!mprGlobPathFiles(folder.root.c_str(), "", 0));
    CHECK(!mprGlobPathFiles(folder.root.c_str(), nullptr, 0));
    CHECK(!mprGlobPathFiles(nullptr, "*", 0));
}

TEST_CASE("a deep tree takes no deep stack", "[io][path]") {
    Runtime runtime;
    Folder folder;
    std::string path;
    for (int i = 0; i < 900; i++) {
        path += "d/";
    }
    folder.write(path + "leaf", "");
    MprList *files = mprGetPathFiles(folder.root.c_str(), MPR_PATH_DESCEND | MPR_PATH_RELATIVE | MPR_PATH_DEPTH_FIRST);
    REQUIRE(mprGetListLength(files) == 901);
    CHECK(str(static_cast<MprDirEntry *>(mprGetFirstItem(files))->name) == path + "leaf");
}

TEST_CASE("unrooted paths and contents survive the yields inside", "[io][path]") {
    Runtime runtime("young=64k");
    Folder folder;
    Mutator collector("collector", [&](Mutator &self) {
        while (self.go()) {
            collect();
        }
    });
    for (int i = 0; i < 100; i++) {
        std::string contents = "contents " + std::to_string(i);
        ssize written = mprWritePathContents(managed(folder / "file"), managed(contents), -1, 0);
        REQUIRE(written == static_cast<ssize>(contents.size()));
        REQUIRE(str(mprReadPathContents(managed(folder / "file"), nullptr)) == contents);
        REQUIRE(mprPathExists(managed(folder / "file"), R_OK));
        REQUIRE(str(mprGetRelPath(managed("/a/b"), managed("/a/c"))) == "../b");
        REQUIRE(mprIsPathContained(managed("x/y"), managed("x")));
        REQUIRE(mprCopyPath(managed(folder / "file"), managed(folder / "copy"), 0) == 0);
        MprList *files = mprGetPathFiles(managed(folder.root), MPR_PATH_RELATIVE | MPR_PATH_DESCEND);
        REQUIRE(names(files) == "copy file");
        char *temporary = mprGetTempPath(managed(folder.root));
        REQUIRE(mprDeletePath(temporary) == 0);
    }
    collector.end();
    CHECK(stats().misuses == 0);
}

TEST_CASE("links are made and read, and directories told from files", "[io][path]") {
    Runtime runtime;
    const Folder folder;
    const std::string file = folder.write("file", "text"), soft = folder / "soft", hard = folder / "hard";
    CHECK(mprMakeLink(file.c_str(), soft.c_str(), false) == 0);
    CHECK(mprMakeLink(file.c_str(), hard.c_str(), true) == 0);
    CHECK(mprMakeLink(file.c_str(), hard.c_str(), true) == MPR_ERR_CANT_CREATE);
    CHECK(mprMakeLink(file.c_str(), "", false) == MPR_ERR_BAD_ARGS);
    CHECK(str(mprGetPathLink(soft.c_str())) == file);
    CHECK((mprGetPathLink(hard.c_str()) == nullptr && mprGetPathLink(nullptr) == nullptr));
    CHECK(mprSamePath(hard.c_str(), soft.c_str()) == 1);
    CHECK(mprMakeLink(folder.root.c_str(), (folder / "up").c_str(), false) == 0);
    CHECK((mprIsPathDir(folder.root.c_str()) && mprIsPathDir((folder / "up").c_str())));
    CHECK_FALSE((mprIsPathDir(file.c_str()) || mprIsPathDir(soft.c_str()) || mprIsPathDir("/none")));
    CHECK_FALSE(mprIsPathDir(nullptr));
    CHECK((mprMatchPath("a/b.c", "a/*.c") && mprMatchPath("a/b/c.d", "**/c.?") && !mprMatchPath("a/b.c", "*.c")));
    CHECK_FALSE((mprMatchPath(nullptr, "*") || mprMatchPath("a", nullptr)));
    CHECK((mprMatchPath("!a,b", "!a,?") && !mprMatchPath("a", "b,a")));
}

TEST_CASE("files are looked for in folders", "[io][path]") {
    Runtime runtime;
    const Folder folder;
    const std::string one = folder.write("one/file", "1"), two = folder.write("two/file", "2");
    folder.write("two/run", "#!/bin/sh");
    mprMakeDir((folder / "one/run").c_str(), 0755, -1, -1, false);
    const std::string first = folder / "none:" + (folder / "one"), second = folder / "two";
    CHECK(str(mprSearchPath("file", 0, first.c_str(), nullptr)) == one);
    CHECK(str(mprSearchPath("file", 0, second.c_str(), first.c_str(), nullptr)) == two);
    CHECK(str(mprSearchPath("../two/file", 0, first.c_str(), second.c_str(), nullptr)) == two);
    CHECK(mprSearchPath("two", 0, first.c_str(), second.c_str(), nullptr) == nullptr);
    CHECK(str(mprSearchPath("run", MPR_SEARCH_DIR, second.c_str(), first.c_str(), nullptr)) == (folder / "one/run"));
    CHECK(str(mprSearchPath("run", 0, first.c_str(), second.c_str(), nullptr)) == (folder / "two/run"));
    CHECK(mprSearchPath("run", MPR_SEARCH_EXE, second.c_str(), nullptr) == nullptr);
    chmod((folder / "two/run").c_str(), 0755);
    CHECK(str(mprSearchPath("run", MPR_SEARCH_EXE, second.c_str(), nullptr)) == (folder / "two/run"));
    CHECK(str(mprSearchPath(one.c_str(), 0, second.c_str(), nullptr)) == one);
    CHECK(mprSearchPath((folder / "file").c_str(), 0, first.c_str(), nullptr) == nullptr);
    CHECK((mprSearchPath("file", 0, nullptr) == nullptr && mprSearchPath("", 0, "/", nullptr) == nullptr));
    CHECK(mprSearchPath(nullptr, 0, "/", nullptr) == nullptr);
}
