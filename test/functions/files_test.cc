#include "server/functions/files.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <set>

#include "server/functions/users.h"
#include "server/roused/duration.h"

using namespace rouse::functions;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/rouse-functions-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return path / name;
  }
  fs::path path;
};

}  // namespace

TEST_CASE("a function's file says everything, or the defaults do") {
  const Folder folder;
  const auto read = readFunctionFile(folder.write("resnet-50.toml", R"(
command = ["/usr/bin/python3", "serve.py"]
directory = "/srv/resnet"
socket = "/run/resnet.sock"
user = "nobody"
deadline = "200ms"
percentile = 99.5
class = "strict"
timeout = "1m"
queue_timeout = "5s"
concurrency = 4
queue_limit = 0
max_body = "1MiB"
retry = true
gpus = 2
gpu_memory = "2GiB"
host_memory = 4096
pin = true
isolation = "shared"
memory = "8GiB"
cpus = 1.5
processes = 64
health_path = ""
health_interval = "500ms"
health_timeout = "1s"
health_failures = 5
start_timeout = "2m"
stop_timeout = "3s"
[environment]
MODEL = "resnet50"
)"));
  REQUIRE(std::holds_alternative<FunctionSpec>(read));
  const FunctionSpec& spec = std::get<FunctionSpec>(read);
  FunctionSpec expected;
  expected.name = "resnet-50";
  expected.command = {"/usr/bin/python3", "serve.py"};
  expected.environment = {{"MODEL", "resnet50"}};
  expected.directory = "/srv/resnet";
  expected.socket = "/run/resnet.sock";
  expected.user = "nobody";
  expected.deadline = 200ms;
  expected.percentile = 99.5;
  expected.strict = true;
  expected.timeout = 1min;
  expected.queueTimeout = 5s;
  expected.concurrency = 4;
  expected.queueLimit = 0;
  expected.maxBody = 1 << 20;
  expected.retry = true;
  expected.gpus = 2;
  expected.gpuMemory = std::uint64_t{2} << 30;
  expected.hostMemory = 4096;
  expected.pin = true;
  expected.memory = std::uint64_t{8} << 30;
  expected.cpus = 1.5;
  expected.processes = 64;
  expected.healthPath = "";
  expected.healthInterval = 500ms;
  expected.healthFailures = 5;
  expected.startTimeout = 2min;
  expected.stopTimeout = 3s;
  CHECK(spec == expected);

  FunctionSpec least;
  least.name = "f";
  least.command = {"/bin/f"};
  CHECK(std::get<FunctionSpec>(readFunctionFile(folder.write("f.toml", "command = [\"/bin/f\"]"))) == least);
}

TEST_CASE("a function may be isolated") {
  const Folder folder;
  CHECK(std::get<FunctionSpec>(readFunctionFile(folder.write("f.toml", "command = [\"/bin/f\"]\nisolation = \"isolated\""))).isolated);
}

TEST_CASE("every error names file, line and key") {
  const Folder folder;
  const auto [line, message] = GENERATE(table<std::string, std::string>({
      {"command = \"x\"", "command: 'x' is not a list of texts"},
      {"command = []", "command: this is not a list"},
      {"command = [1]", "command: 1 is not text in quotes"},
      {"command = [\"python3\"]", "command: 'python3' is not an absolute path"},
      {"deadline = 5", "deadline: 5 is not a time of at least 1ms"},
      {"deadline = \"5\"", "deadline: '5' is not a time"},
      {"deadline = \"0s\"", "deadline: '0s' is not a time of at least 1ms"},
      {"percentile = 100", "percentile: 100 is not a number from 1"},
      {"percentile = \"x\"", "percentile: 'x' is not a number"},
      {"class = \"gold\"", "class: 'gold' is not one of strict, best-effort"},
      {"pin = true\nisolation = \"isolated\"", "pin: an isolated function cannot be pinned yet"},
      {"isolation = \"none\"", "isolation: 'none' is not one of shared, isolated"},
      {"concurrency = 0", "concurrency: 0 is not a whole number from 1 to 1024"},
      {"concurrency = -1", "concurrency: -1 is not"},
      {"queue_limit = 1.5", "queue_limit: this is not a whole number"},
      {"gpu_memory = \"many\"", "gpu_memory: 'many' is not a size"},
      {"memory = -1", "memory: -1 is not a size"},
      {"retry = \"yes\"", "retry: 'yes' is not true or false"},
      {"pin = 1", "pin: 1 is not true or false"},
      {"directory = \"srv\"", "directory: 'srv' is not an absolute path"},
      {"health_path = \"x\"", "health_path: 'x' is not a path"},
      {"health_path = \"/a b\"", "health_path: '/a b' is not a path"},
      {"environment = 5", "environment: 5 is not a table"},
      {"environment = {A = 5}", "environment: A: 5 is not text"},
      {"environment = {ROUSE_TOKEN = \"x\"}", "environment: ROUSE_TOKEN is set by roused"},
      {"environment = {\"A=B\" = \"x\"}", "environment: 'A=B' is not a variable's name"},
      {"user = \"no such user\"", "user: there is no user 'no such user'"},
      {"user = \"root\"", "user: 'root' is root, as whom no function runs"},
      {"user = 5", "user: 5 is not text in quotes"},
      {"replicas = 3", "unknown key 'replicas' (keys are: command"},
      {"what is this", ""},
      {"deadline = \"1s", ""},
  }));
  INFO(line);
  const bool command = line.starts_with("command");
  const fs::path file =
      folder.write("f.toml", std::string(command ? "# no command\n" : "command = [\"/bin/f\"]\n") + line + "\n");
  const auto read = readFunctionFile(file);
  REQUIRE(std::holds_alternative<FileErrors>(read));
  CHECK_THAT(std::get<FileErrors>(read).at(0), Catch::StartsWith(file.string() + ":2: " + message));
}

TEST_CASE("several errors are all told; a command is needed; names are checked") {
  const Folder folder;
  const auto errors = std::get<FileErrors>(readFunctionFile(folder.write("a b.toml", "pin = 1\nretry = 1\n")));
  REQUIRE(errors.size() == 4);
  CHECK_THAT(errors[0], Catch::Contains("the file's name is the function's"));
  CHECK_THAT(errors[3], Catch::Contains(":1: command: is missing"));
  CHECK(readFunctionFiles(folder.path / "none").specs.empty());
  folder.write("good.toml", "command = [\"/bin/f\"]");
  folder.write("ignored.txt", "");
  const FunctionFiles files = readFunctionFiles(folder.path);
  REQUIRE(files.specs.size() == 1);
  CHECK(files.specs[0].name == "good");
  REQUIRE(files.broken.size() == 1);
  CHECK(files.broken[0].name == "a b");
}

TEST_CASE("what is no file is not opened, and a folder that cannot be read is not one without functions") {
  const Folder folder;
  const auto only = [&](const std::string& name) {
    const auto read = readFunctionFile(folder.path / name);
    REQUIRE(std::holds_alternative<FileErrors>(read));
    REQUIRE(std::get<FileErrors>(read).size() == 1);
    return std::get<FileErrors>(read)[0];
  };
  // Opening a pipe would wait for somebody who writes to it.
  REQUIRE(::mkfifo((folder.path / "pipe.toml").c_str(), 0600) == 0);
  CHECK(only("pipe.toml") == (folder.path / "pipe.toml").string() + ": is not a file");
  fs::create_directory(folder.path / "folder.toml");
  CHECK(only("folder.toml") == (folder.path / "folder.toml").string() + ": is not a file");
  fs::create_symlink("/no/such/file", folder.path / "link.toml");
  CHECK(only("link.toml") == (folder.path / "link.toml").string() + ": No such file or directory");
  folder.write("a\n\033b.toml", "command = [\"/bin/f\"]");
  CHECK_THAT(only("a\n\033b.toml"), Catch::StartsWith((folder.path / "a??b.toml").string() + ": the file's name"));
  folder.write("long.toml", "command = [\"/bin/f\"]\nsocket = \"/" + std::string(107, 's') + "\"");
  CHECK_THAT(only("long.toml"), Catch::EndsWith(" is not a path of at most 107 bytes, as sockets have"));
  const FunctionFiles files = readFunctionFiles(folder.path / "long.toml");
  CHECK(files.unread == (folder.path / "long.toml").string() + ": Not a directory");
  CHECK(readFunctionFiles(folder.path).unread.empty());
}

TEST_CASE("which changes need another process") {
  FunctionSpec before, after;
  after.deadline = 5s;
  after.concurrency = 7;
  after.retry = true;
  after.healthInterval = 5s;
  CHECK_FALSE(needsRestart(before, after));
  after.memory = 1;
  CHECK(needsRestart(before, after));
  after = before;
  after.environment["A"] = "b";
  CHECK(needsRestart(before, after));
}

TEST_CASE("times") {
  using rouse::daemon::parseDuration;
  CHECK(parseDuration("200ms") == 200ms);
  CHECK(parseDuration("1.5s") == 1500ms);
  CHECK(parseDuration("2 m") == 2min);
  CHECK(parseDuration("1h") == 1h);
  for (const char* bad : {"", "5", "s", "-1s", "1d", "1e3s", "200h", "nan s", "1ss"}) CHECK_FALSE(parseDuration(bad));
}

TEST_CASE("user numbers: each function its own, the same again if it can be") {
  using rouse::daemon::parseUserRange;
  for (const char* bad : {"", "5", "0-5", "5-4", "1-x", "1-2000000", "1-2-3", "4294967290-4294967295"})
    CHECK_FALSE(parseUserRange(bad));
  const auto range = parseUserRange("1000-1003");
  REQUIRE(range);
  UserNumbers numbers(*range), others(*range);
  std::set<uid_t> taken;
  for (const char* name : {"a", "b", "c", "d"}) {
    const auto uid = numbers.take(name);
    REQUIRE(uid);
    CHECK((*uid >= 1000 && *uid <= 1003));
    taken.insert(*uid);
    CHECK(numbers.take(name) == uid);
  }
  CHECK(taken.size() == 4);
  CHECK_FALSE(numbers.take("e"));
  CHECK(others.take("a") == numbers.take("a"));
  numbers.giveBack("b");
  CHECK(numbers.take("e"));
  CHECK_FALSE(findUser("root"));
  CHECK_FALSE(findUser("no such user"));
}
