#include "server/roused/config.h"

#include "sched/policy.h"
#include "server/roused/byte_size.h"
#include "server/roused/service_notify.h"
#include "test/control/daemon_fixture.h"

using namespace rouse;
using namespace rouse::daemon;
using rouse::test::Scratch;

namespace {

ConfigSources sourcesOf(const std::filesystem::path& file) {
  return {.file = file, .required = true, .environment = nullptr, .flags = {}};
}

std::vector<std::string> errorsOf(const ConfigSources& sources) {
  auto read = readConfig(sources);
  const auto* errors = std::get_if<ConfigErrors>(&read);
  return errors == nullptr ? std::vector<std::string>{} : errors->messages;
}

}  // namespace

TEST_CASE("sizes") {
  CHECK(parseByteSize("4096") == 4096);
  CHECK(parseByteSize("2GiB") == std::uint64_t{2} << 30);
  CHECK(parseByteSize("1.5 GiB") == std::uint64_t{3} << 29);
  CHECK(parseByteSize("512M") == std::uint64_t{512} << 20);
  CHECK(parseByteSize("7B") == 7);
  for (const char* bad : {"", "GiB", "-1", "2 parsecs", "2GB", "1e3", "nan", "9999999TiB", "2GiBs"}) {
    INFO(bad);
    CHECK_FALSE(parseByteSize(bad));
  }
  CHECK(formatByteSize(12) == "12 B");
  CHECK(formatByteSize(std::uint64_t{3} << 29) == "1.5 GiB");
  CHECK(formatByteSize(std::uint64_t{512} << 20) == "512 MiB");
}

TEST_CASE("every key is read, later sources win") {
  Scratch scratch;
  const auto file = scratch.write("rouse.toml", R"(
[daemon]
socket = "/tmp/a.sock"
socket_mode = "0600"
[devices]
kind = "cpu"
count = 2
memory = "1GiB"
rebalance = false
[functions]
anonymous = false
host_memory = 1048576
[executor]
discard_launches = true
)");
  scratch.write("rouse.d/20-b.toml", "[devices]\ncount = 4\n");
  scratch.write("rouse.d/10-a.toml", "[devices]\ncount = 3\nworkers = 1\n");
  scratch.write("rouse.d/ignored.txt", "nonsense");
  ConfigSources sources = sourcesOf(file);
  auto settings = std::get<Settings>(readConfig(sources));
  CHECK(settings.socket == "/tmp/a.sock");
  CHECK(settings.socketMode == 0600);
  CHECK(settings.kind == DeviceKind::cpu);
  CHECK(settings.count == 4);
  CHECK(settings.workers == 1);
  CHECK(settings.memory == std::uint64_t{1} << 30);
  CHECK_FALSE(settings.anonymous);
  CHECK_FALSE(settings.rebalance);
  CHECK(settings.hostMemory == 1048576);
  CHECK(settings.discardLaunches);

  sources.environment = [](const char* name) { return std::string_view(name) == "ROUSE_GPUS" ? "5" : nullptr; };
  CHECK(std::get<Settings>(readConfig(sources)).count == 5);
  sources.flags = {{"devices.count", "6"}};
  CHECK(std::get<Settings>(readConfig(sources)).count == 6);
}

TEST_CASE("errors name file, line and key, all of them") {
  Scratch scratch;
  const auto file = scratch.write("rouse.toml", R"([devices]
memry = "1GiB"
memory = "2 parsecs"
count = 17
kind = "gpu"
[functions]
gpus = 0
anonymous = "perhaps"
[daemon]
socket_mode = 660
log_level = "loud"
socket = 3
[extra]
x = 1
)");
  const auto errors = errorsOf(sourcesOf(file));
  const auto at = [&](int line) { return file.string() + ":" + std::to_string(line) + ": "; };
  const std::vector<std::string> expected = {
      at(2) + "unknown key 'devices.memry'",
      at(3) + "devices.memory: '2 parsecs' is not a size",
      at(4) + "devices.count: '17' is not a whole number from 0 to 16",
      at(5) + "devices.kind: 'gpu' is not one of cpu, cuda, auto",
      at(7) + "functions.gpus: '0' is not a whole number from 1 to 16",
      at(8) + "functions.anonymous: 'perhaps' is not true or false",
      at(10) + "daemon.socket_mode: '660' is not a file mode in quotes",
      at(11) + "daemon.log_level: 'loud' is not one of",
      at(12) + "daemon.socket: '3' is not text in quotes",
      at(13) + "unknown section or key 'extra'",
  };
  CHECK(errors.size() == expected.size());
  for (const std::string& start : expected) {
    INFO(start);
    CHECK(
        std::any_of(errors.begin(), errors.end(), [&](const std::string& error) { return error.starts_with(start); }));
  }
}

TEST_CASE("what a section's name is given to, and what no machine can have, is told with its place") {
  Scratch scratch;
  const auto file = scratch.path() / "rouse.toml";
  const auto only = [&](const std::string& text) {
    scratch.write("rouse.toml", text);
    const auto errors = errorsOf(sourcesOf(file));
    INFO(text);
    REQUIRE(errors.size() == 1);
    return errors[0];
  };
  const std::string at = file.string() + ":";
  CHECK(only("daemon = \"x\"\n") == at + "1: 'daemon' is a section: [daemon], with its keys below");
  CHECK_THAT(only("[extra]\n"), Catch::EndsWith("(sections are: daemon devices functions router scheduler executor)"));
  CHECK(only("[daemon]\n\"a\\u001b\\nb\" = 1\n").starts_with(at + "2: unknown key 'daemon.a??b'"));
  CHECK_THAT(only("[daemon]\nsocket = \"\"\n"), Catch::StartsWith(at + "2: daemon.socket: it must be a path"));
  const std::string tooLong = "/" + std::string(108, 's');
  CHECK_THAT(only("[daemon]\nsocket = \"" + tooLong + "\"\n"), Catch::StartsWith(at + "2: daemon.socket: the path of a socket has 107 bytes at most"));
  CHECK_THAT(only("[router]\nsocket = \"" + tooLong + "\"\n"), Catch::StartsWith(at + "2: router.socket: the path"));
  CHECK(only("[daemon]\nsocket = \"/tmp/a\"\n[router]\nsocket = \"/tmp/a\"\n") == at + "4: router.socket: daemon.socket is '/tmp/a', too");
  CHECK(only("[daemon]\nsocket_group = \"no such group\"\n") == at + "2: daemon.socket_group: there is no group 'no such group'");
  CHECK(only("[functions]\ndirectory = \"/no/such/folder\"\n") == at + "2: functions.directory: /no/such/folder: No such file or directory");
  CHECK(only("[functions]\ndirectory = \"" + file.string() + "\"\n") == at + "2: functions.directory: " + file.string() + ": Not a directory");
  scratch.write("rouse.d", "");
  CHECK(only("") == (scratch.path() / "rouse.d").string() + ": Not a directory");
}

TEST_CASE("broken syntax, missing files, bad environment and flags are errors") {
  Scratch scratch;
  const auto broken = scratch.write("rouse.toml", "[devices]\ncount = = 2\n");
  REQUIRE(errorsOf(sourcesOf(broken)).size() == 1);
  CHECK_THAT(errorsOf(sourcesOf(broken))[0], Catch::StartsWith(broken.string() + ":2: "));
  CHECK_THAT(errorsOf(sourcesOf(scratch.path() / "none.toml")).at(0),
             Catch::StartsWith((scratch.path() / "none.toml").string()));
  ConfigSources optional = sourcesOf(scratch.path() / "none.toml");
  optional.required = false;
  CHECK(errorsOf(optional).empty());
  optional.environment = [](const char* name) { return std::string_view(name) == "ROUSE_GPUS" ? "many" : nullptr; };
  CHECK_THAT(errorsOf(optional).at(0), Catch::StartsWith("ROUSE_GPUS: devices.count: 'many' is not"));
  optional.environment = nullptr;
  optional.flags = {{"devices.memory", "lots"}, {"devices.colour", "red"}};
  CHECK_THAT(errorsOf(optional).at(0), Catch::StartsWith("command line: devices.memory: 'lots' is not a size"));
  CHECK_THAT(errorsOf(optional).at(1), Catch::Contains("unknown key 'devices.colour'"));
}

TEST_CASE("what a reload may change") {
  Settings before, after;
  after.maxSessions = 7;
  after.logLevel = "debug";
  CHECK(changesThatNeedRestart(before, after).empty());
  after.count = 3;
  after.socket = "/elsewhere";
  CHECK(changesThatNeedRestart(before, after) == std::vector<std::string>{"daemon.socket", "devices.count"});
}

TEST_CASE("links are modelled of a kind or from a file, with the CPU device only") {
  Scratch scratch;
  const auto node = scratch.write("node.toml", "[[gpu]]\nlink = \"pcie3x16\"\n[[gpu]]\nlink_gb_per_s = 2.0\n");
  const auto broken = scratch.write("broken.toml", "[[gpu]]\nlink = \"isa\"\nspeed = 3\n");
  const auto with = [&](const std::string& devices) {
    return sourcesOf(scratch.write("rouse.toml", "[devices]\n" + devices));
  };
  const std::string file = (scratch.write("rouse.toml", "")).string();
  CHECK(std::get<Settings>(readConfig(with("kind = \"cpu\"\nlink = \"pcie4x8\"\n"))).link == "pcie4x8");
  CHECK(std::get<Settings>(readConfig(with("kind = \"cpu\"\ntopology = \"" + node.string() + "\"\n"))).topology == node.string());
  CHECK(errorsOf(with("link = \"\"\ntopology = \"\"\n")).empty());

  CHECK(errorsOf(with("kind = \"cpu\"\nlink = \"isa\"\n")) ==
        std::vector<std::string>{file + ":3: devices.link: 'isa' is not one of pcie3x4, pcie3x8, pcie3x16, pcie4x4, pcie4x8, pcie4x16, "
                                        "pcie5x4, pcie5x8, pcie5x16"});
  CHECK(errorsOf(with("link = \"pcie4x8\"\n")) ==
        std::vector<std::string>{file + ":2: devices.link: links are modelled with the CPU device only, and devices.kind is \"auto\": it must be \"cpu\""});
  CHECK(errorsOf(with("kind = \"cuda\"\ntopology = \"" + node.string() + "\"\n")) ==
        std::vector<std::string>{file + ":3: devices.topology: links are modelled with the CPU device only, and devices.kind is \"cuda\": it must be \"cpu\""});
  CHECK(errorsOf(with("kind = \"cpu\"\nlink = \"pcie4x8\"\ntopology = \"" + node.string() + "\"\n")) ==
        std::vector<std::string>{file + ":3: devices.link: devices.topology describes the links already: only one of the two can be"});
  CHECK(errorsOf(with("kind = \"cpu\"\ncount = 3\ntopology = \"" + node.string() + "\"\n")) ==
        std::vector<std::string>{file + ":3: devices.count: 3 GPUs, and " + node.string() + " describes 2"});
  // The one that is stronger than the file, and the one that was said where the other is a default.
  ConfigSources flagged = with("kind = \"cpu\"\ntopology = \"" + node.string() + "\"\n");
  flagged.flags = {{"devices.count", "3"}};
  CHECK(errorsOf(flagged) == std::vector<std::string>{"command line: devices.count: 3 GPUs, and " + node.string() + " describes 2"});
  std::string many;
  for (int i = 0; i < 17; ++i) many += "[[gpu]]\nlink = \"pcie3x16\"\n";
  const auto large = scratch.write("large.toml", many);
  const auto tooMany = errorsOf(with("kind = \"cpu\"\ntopology = \"" + large.string() + "\"\n"));
  REQUIRE(tooMany.size() == 1);
  CHECK_THAT(tooMany[0], Catch::StartsWith(file + ":3: devices.count: " + large.string() + " describes 17 GPUs"));
  const auto errors = errorsOf(with("kind = \"cpu\"\ntopology = \"" + broken.string() + "\"\n"));
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].starts_with(file + ":3: devices.topology: " + broken.string() + ":"));
  CHECK(errors[0].find("isa") != std::string::npos);
  CHECK(errors[0].find("speed") != std::string::npos);
}

TEST_CASE("the scheduler's parts are those that it has") {
  Scratch scratch;
  const auto with = [&](const std::string& text) { return sourcesOf(scratch.write("rouse.toml", "[scheduler]\n" + text)); };
  const std::vector<std::string> names = {"fifo", "edf", "lru", "random", "torpor", "rouse", "queue", "limits", "best"};
  for (const std::string& name : names) {
    INFO(name);
    CHECK(errorsOf(with("queueing = \"" + name + "\"\n")).empty() == sched::makePolicies({.queueing = name}).ok());
    CHECK(errorsOf(with("placement = \"" + name + "\"\n")).empty() == sched::makePolicies({.placement = name}).ok());
    CHECK(errorsOf(with("eviction = \"" + name + "\"\n")).empty() == sched::makePolicies({.eviction = name}).ok());
    CHECK(errorsOf(with("admission = \"" + name + "\"\n")).empty() == sched::makePolicies({.admission = name}).ok());
  }
  CHECK_THAT(errorsOf(with("eviction = \"best\"\n")).at(0), Catch::EndsWith("scheduler.eviction: 'best' is not one of policy, lru, torpor, rouse"));
}

TEST_CASE("addresses, times and user numbers") {
  Scratch scratch;
  const auto with = [&](const std::string& text) { return sourcesOf(scratch.write("rouse.toml", text)); };
  const auto read = readConfig(with(R"([router]
listen = "[::1]:8080"
admin = "127.0.0.1:9090"
header_timeout = "500ms"
max_header = 2048
max_connections = 100000
repository = "socket"
[functions]
users = "70000-70999"
)"));
  REQUIRE(std::holds_alternative<Settings>(read));
  const auto& settings = std::get<Settings>(read);
  CHECK((settings.routerListen == "[::1]:8080" && settings.routerAdmin == "127.0.0.1:9090"));
  CHECK((settings.routerHeaderTimeout == 500 && settings.routerMaxHeader == 2048 && settings.routerMaxConnections == 100000));
  CHECK(settings.routerRepository == "socket");
  CHECK(settings.functionsUsers == "70000-70999");
  const auto [line, message] = GENERATE(table<std::string, std::string>({
      {"[router]\nlisten = \"example.com:80\"", "router.listen: 'example.com:80' is not ADDRESS:PORT"},
      {"[router]\nlisten = 8080", "router.listen: '8080' is not ADDRESS:PORT"},
      {"[router]\nheader_timeout = \"0s\"", "router.header_timeout: '0s' is not a time"},
      {"[router]\nidle_timeout = 5", "router.idle_timeout: '5' is not a time"},
      {"[router]\nmax_header = 100", "router.max_header: '100' is not a whole number from 1024 to 1048576"},
      {"[router]\nrepository = \"everybody\"", "router.repository: 'everybody' is not one of off, index, socket, all"},
      {"[functions]\nusers = \"0-10\"", "functions.users: '0-10' is not a range"},
  }));
  const auto errors = errorsOf(with(line + "\n"));
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0], Catch::StartsWith((scratch.path() / "rouse.toml").string() + ":2: " + message));
}
