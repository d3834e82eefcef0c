// SPDX-License-Identifier: MIT
/*
    test/io/json_file.cpp - JSON loaded from files, and saved whole or not at all.
 */
#include "test/support/folder.hpp"
#include "test/support/json.hpp"
#include "test/support/wrong_state.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

using namespace test;

namespace {

std::string contents(const std::string &path) {
    std::ifstream file(path);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
}

void write(const std::string &path, const std::string &text) {
    std::ofstream(path) << text;
}

int modeOf(const std::string &path) {
    struct stat info = {};
    return stat(path.c_str(), &info) == 0 ? static_cast<int>(info.st_mode & 07777) : -1;
}

int entries(const std::string &folder) {
    int count = 0;
    for ([[maybe_unused]] auto &entry : std::filesystem::directory_iterator(folder)) {
        count++;
    }
    return count;
}

} // namespace

TEST_CASE("what is saved is loaded", "[io][json]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder.root + "/a.json";
    MprJson *tree = parsed(R"({"a":[1,{"b":"x"}],"c":null})");
    CHECK(mprSaveJson(tree, path.c_str(), 0) == 0);
    CHECK(contents(path) == R"({"a":[1,{"b":"x"}],"c":null})");
    CHECK(printed(mprLoadJson(path.c_str())) == printed(tree));
    CHECK(mprSaveJson(tree, path.c_str(), MPR_JSON_PRETTY) == 0);
    CHECK(contents(path) == printed(tree, MPR_JSON_PRETTY) + "\n");
    CHECK(printed(mprLoadJson(path.c_str())) == printed(tree));
    CHECK(entries(folder.root) == 1);
    CHECK(runtime.log.size() == 0);
}

TEST_CASE("what cannot be loaded is named, with line and column", "[io][json]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder.root + "/a.json";
    write(path, "{\n  \"a\": 1,\n}\n");
    CHECK(!mprLoadJson(path.c_str()));
    CHECK(Log::has("\"" + path + "\": line 3, column 1: expected a name in double quotes"));
    write(path, std::string("[1]\0", 4));
    CHECK(!mprLoadJson(path.c_str()));
    CHECK(Log::has("something follows the value"));
    CHECK(!mprLoadJson((path + "x").c_str()));
    CHECK(Log::has("\"" + path + "x\": cannot be read"));
    CHECK(!mprLoadJson(folder.root.c_str()));
    CHECK(!mprLoadJson(""));
    CHECK(!mprLoadJson(nullptr));
    write(path, "{a: 1,}");
    mprSetJsonRules(&relaxed);
    CHECK(printed(mprLoadJson(path.c_str())) == R"({"a":1})");
    mprSetJsonRules(nullptr);
}

TEST_CASE("a file keeps its permissions, and one that is made has what the umask leaves", "[io][json]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder.root + "/a.json";
    const mode_t before = umask(027);
    CHECK(mprSaveJson(parsed("[1]"), path.c_str(), 0) == 0);
    umask(before);
    CHECK(modeOf(path) == 0640);
    for (mode_t mode : {0600, 0664, 0444}) {
        chmod(path.c_str(), mode);
        CHECK(mprSaveJson(parsed("[2]"), path.c_str(), 0) == 0);
        CHECK(modeOf(path) == static_cast<int>(mode));
        CHECK(contents(path) == "[2]");
    }
    // Of a time that 32 bits cannot say
    const timespec far[2] = {{0, UTIME_OMIT}, {static_cast<time_t>(INT64_C(2'300'000'000)), 0}};
    chmod(path.c_str(), 0600);
    REQUIRE(utimensat(AT_FDCWD, path.c_str(), far, 0) == 0);
    CHECK(mprSaveJson(parsed("[3]"), path.c_str(), 0) == 0);
    CHECK(modeOf(path) == 0600);
    // A name as long as a file system takes: the new file's is no longer while it is written.
    const std::string longest = folder.root + "/" + std::string(255, 'n');
    CHECK(mprSaveJson(parsed("[4]"), longest.c_str(), 0) == 0);
    CHECK(contents(longest) == "[4]");
    CHECK(entries(folder.root) == 2);
}

TEST_CASE("a symbolic link stays, and its file is replaced", "[io][json]") {
    Runtime runtime;
    Folder folder;
    std::filesystem::create_directory(folder.root + "/sub");
    const std::string path = folder.root + "/sub/a.json", alias = folder.root + "/link.json";
    write(path, "[0]");
    std::filesystem::create_symlink("sub/a.json", alias);
    CHECK(mprSaveJson(parsed("[1]"), alias.c_str(), 0) == 0);
    CHECK(std::filesystem::is_symlink(alias));
    CHECK(contents(path) == "[1]");
    CHECK(entries(folder.root + "/sub") == 1);
}

TEST_CASE("links that lead nowhere yet stay, and links in a circle are refused", "[io][json]") {
    Runtime runtime;
    Folder folder;
    std::filesystem::create_directory(folder.root + "/sub");
    const std::string path = folder.root + "/sub/b.json", alias = folder.root + "/link.json";
    std::filesystem::create_symlink("sub/a.json", alias);
    std::filesystem::create_symlink(path, folder.root + "/sub/a.json");
    CHECK(mprSaveJson(parsed("[1]"), alias.c_str(), 0) == 0);
    CHECK(std::filesystem::is_symlink(alias));
    CHECK(std::filesystem::is_symlink(folder.root + "/sub/a.json"));
    CHECK(contents(path) == "[1]");
    CHECK_FALSE(std::filesystem::is_symlink(path));

    std::filesystem::create_symlink("two.json", folder.root + "/one.json");
    std::filesystem::create_symlink("one.json", folder.root + "/two.json");
    CHECK(mprSaveJson(parsed("[1]"), (folder.root + "/one.json").c_str(), 0) == MPR_ERR_CANT_CREATE);
    CHECK(std::filesystem::is_symlink(folder.root + "/one.json"));
    std::filesystem::create_symlink(std::string(200, '/') + "nowhere/a.json", folder.root + "/far.json");
    CHECK(mprSaveJson(parsed("[1]"), (folder.root + "/far.json").c_str(), 0) == MPR_ERR_CANT_CREATE);
    CHECK(entries(folder.root) == 5);
}

TEST_CASE("a file keeps its owner and group where the process may give it to them", "[io][json]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder.root + "/a.json";
    write(path, "[0]");
    const bool may = geteuid() == 0;
    REQUIRE(chown(path.c_str(), may ? 1234 : geteuid(), may ? 2345 : getegid()) == 0);
    REQUIRE(chmod(path.c_str(), 0660) == 0);
    CHECK(mprSaveJson(parsed("[1]"), path.c_str(), 0) == 0);
    struct stat info;
    REQUIRE(stat(path.c_str(), &info) == 0);
    CHECK(info.st_uid == (may ? 1234 : geteuid()));
    CHECK(info.st_gid == (may ? 2345 : getegid()));
    CHECK((info.st_mode & 07777) == 0660);
}

TEST_CASE("what cannot be saved leaves the old file, and nothing else", "[io][json]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder.root + "/a.json";
    write(path, "[0]");
    CHECK(mprSaveJson(nullptr, path.c_str(), 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprSaveJson(parsed("1"), nullptr, 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprSaveJson(parsed("1"), "", 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprSaveJson(parsed("1"), std::string(5000, 'x').c_str(), 0) == MPR_ERR_BAD_ARGS);
    CHECK(mprSaveJson(parsed("1"), (folder.root + "/none/a.json").c_str(), 0) == MPR_ERR_CANT_CREATE);
    CHECK(mprSaveJson(parsed("1"), folder.root.c_str(), 0) < 0);

    // No room: a file may have four bytes.
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, few;
    getrlimit(RLIMIT_FSIZE, &before);
    few = before;
    few.rlim_cur = 4;
    setrlimit(RLIMIT_FSIZE, &few);
    const int error = mprSaveJson(parsed("[1,2,3,4]"), path.c_str(), 0);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(error == MPR_ERR_CANT_WRITE);
    CHECK(contents(path) == "[0]");
    CHECK(entries(folder.root) == 1);
}

TEST_CASE("whoever reads while others save sees one text or the other", "[io][json]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder.root + "/a.json";
    const std::string small = "[1]", large = "[\"" + std::string(100000, 'x') + "\"]";
    write(path, small);
    std::atomic<bool> done{false};
    int torn = 0;
    std::thread reader([&] {
        while (!done) {
            const std::string seen = contents(path);
            torn += seen != small && seen != large;
        }
    });
    mpr::Root<MprJson> one = parsed(small), other = parsed(large);
    for (int i = 0; i < 100; i++) {
        CHECK(mprSaveJson(i % 2 ? one : other, path.c_str(), 0) == 0);
    }
    done = true;
    reader.join();
    CHECK(torn == 0);
}

TEST_CASE("what is no file of the disk is read and written directly, and yields", "[io][json]") {
    Runtime runtime;
    Folder folder;
    const std::string path = folder.root + "/pipe";
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    std::string got;
    std::thread reader([&] { got = contents(path); });
    mpr::Root<MprJson> tree = parsed("[1,2]");
    CHECK(mprSaveJson(tree, path.c_str(), 0) == 0);
    reader.join();
    CHECK(got == "[1,2]");
    std::thread writer([&] { write(path, "[3]"); });
    char *unrooted = sclone(path.c_str());
    CHECK(printed(mprLoadJson(unrooted)) == "[3]");
    writer.join();
}

namespace {
const Call table[] = {
    {"mprAlloc", running, [] { mprLoadJson("/nowhere/x"); }},
    {"mprJsonToString", running, [] { mprSaveJson(reinterpret_cast<MprJson *>(things.node), "/nowhere/x", 0); }, true},
};
} // namespace

TEST_CASE("loading and saving by a thread in the wrong state is named and does nothing", "[io][json]") {
    const State state = GENERATE(from_range(std::begin(states), std::end(states)));
    for (const Call &call : table) {
        tryCall(call, state);
    }
}
