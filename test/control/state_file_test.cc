#include "server/roused/state_file.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>

#include "server/roused/process_handle.h"

using namespace rouse;
using namespace rouse::daemon;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/rouse-state-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string file() const { return path / "state"; }
  fs::path path;
};

SavedState something() {
  SavedState state{.daemon = {100, 7}, .nextSession = 512, .executors = {{101, 8}, {102, 9}}, .functions = {}, .onGpus = {"f"}, .tokens = {}};
  state.functions.push_back({.name = "f", .process = {103, 10}, .token = "0123", .uid = 60001, .terms = "abc", .starts = 4, .losses = 1});
  state.tokens.push_back({"4567", 1000, {.name = "na\"me\n", .gpus = 2, .gpuMemory = 3, .hostMemory = 4, .isolated = true, .check = 5}});
  return state;
}

std::string text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string refusal(const std::string& path) {
  const auto read = readState(path);
  return read ? "" : read.error().message;
}

}  // namespace

TEST_CASE("what a daemon leaves is what the next one finds") {
  const Folder folder;
  REQUIRE(writeState(folder.file(), something()).ok());
  const auto read = readState(folder.file());
  REQUIRE(read.ok());
  CHECK(*read == something());
  struct stat status {};
  REQUIRE(::stat(folder.file().c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
  // In the place of the one before, whatever became of an attempt.
  std::ofstream(folder.file() + ".new") << "half";
  REQUIRE(writeState(folder.file(), SavedState{.daemon = {2, 0}, .nextSession = 5, .executors = {}, .functions = {}, .onGpus = {}, .tokens = {}}).ok());
  CHECK(readState(folder.file())->nextSession == 5);
}

TEST_CASE("nothing is found where there is no file, or one of before the last boot") {
  const Folder folder;
  CHECK(*readState(folder.file()) == SavedState{});
  REQUIRE(writeState(folder.file(), something()).ok());
  std::string changed = text(folder.file());
  const std::size_t boot = changed.find("\"boot\":\"") + 8;
  changed.replace(boot, 1, changed[boot] == '0' ? "1" : "0");
  std::ofstream(folder.file()) << changed;
  CHECK(*readState(folder.file()) == SavedState{});
}

TEST_CASE("a state file that is not as it should be is not used") {
  const Folder folder;
  REQUIRE(writeState(folder.file(), something()).ok());
  const std::string good = text(folder.file());
  SECTION("others may read it") {
    REQUIRE(::chmod(folder.file().c_str(), 0640) == 0);
    CHECK(refusal(folder.file()).find("others may read or write it") != std::string::npos);
  }
  SECTION("another user's") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(folder.file().c_str(), 65534, 65534) == 0);
    CHECK(refusal(folder.file()).find("belongs to user 65534") != std::string::npos);
  }
  SECTION("a link, or no file") {
    const std::string link = folder.path / "link";
    fs::create_symlink(folder.file(), link);
    CHECK(!refusal(link).empty());
    CHECK(!refusal(folder.path).empty());
    REQUIRE(::mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
    CHECK(refusal(folder.path / "pipe").find("no regular file") != std::string::npos);
  }
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string changed = good;
    const std::size_t at = changed.find(what);
    REQUIRE(at != std::string::npos);
    changed.replace(at, what.size(), instead);
    std::ofstream(folder.file()) << changed;
    return refusal(folder.file());
  };
  SECTION("values out of range, of another type, or missing") {
    CHECK(with("\"next_session\":512", "\"next_session\":0").find("next_session") != std::string::npos);
    CHECK(with("\"next_session\":512", "\"next_session\":\"512\"").find("next_session") != std::string::npos);
    CHECK(with("\"next_session\":512", "\"next\":512").find("next_session is missing") != std::string::npos);
    CHECK(with("\"pid\":101", "\"pid\":1").find("pid") != std::string::npos);
    CHECK(with("\"pid\":103", "\"pid\":-1").find("pid") != std::string::npos);
    CHECK(with("\"uid\":60001", "\"uid\":4294967295").find("uid") != std::string::npos);
    CHECK(with("\"token\":\"0123\"", "\"token\":{}").find("token") != std::string::npos);
    CHECK(with("\"on_gpus\":[\"f\"]", "\"on_gpus\":[7]").find("on_gpus") != std::string::npos);
    CHECK(with("\"version\":1", "\"version\":2").find("another version") != std::string::npos);
  }
  SECTION("cut anywhere") {
    for (std::size_t length = 0; length < good.size(); ++length) {
      std::ofstream(folder.file()) << good.substr(0, length);
      CHECK(!refusal(folder.file()).empty());
    }
  }
  SECTION("any byte changed: refused, or read without harm") {
    std::mt19937 chance(1);
    for (int i = 0; i < 2000; ++i) {
      std::string changed = good;
      changed[chance() % changed.size()] = static_cast<char>(chance());
      std::ofstream(folder.file()) << changed;
      (void)readState(folder.file());
    }
  }
}

TEST_CASE("a process is known by when it was started, too") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto start = startOfProcess(child);
  REQUIRE(start.has_value());
  CHECK(*start >= startOfProcess(::getpid()).value());
  CHECK(openProcess(child, *start).get() >= 0);
  CHECK(openProcess(child, *start + 1).get() < 0);
  signalProcess(openProcess(child, *start), SIGKILL);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  // It has ended, though nobody has waited for it.
  CHECK(!startOfProcess(child));
  ::waitpid(child, nullptr, 0);
  CHECK(openProcess(child, *start).get() < 0);
  CHECK(!startOfProcess(0));
  CHECK(!startOfProcess(-1));
}
