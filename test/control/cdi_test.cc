#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "server/roused/cdi.h"

using namespace rouse;
using namespace rouse::daemon;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/rouse-cdi-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

// Letters, digits and some marks between; it begins with a letter and ends with no mark.
bool isName(const std::string& text, const std::string& marks) {
  if (text.empty() || !std::isalpha(static_cast<unsigned char>(text.front())) || !std::isalnum(static_cast<unsigned char>(text.back()))) return false;
  return std::all_of(text.begin(), text.end(), [&](unsigned char c) { return std::isalnum(c) || marks.find(static_cast<char>(c)) != std::string::npos; });
}

std::set<std::string> keys(const json& object) {
  std::set<std::string> all;
  for (const auto& [key, value] : object.items()) all.insert(key);
  return all;
}

// The rules of the specification, version 0.4.0, for what has variables and mounts only: which keys there are, and what names look like.
void checkSpec(const json& spec) {
  CHECK(keys(spec) == std::set<std::string>{"cdiVersion", "kind", "devices"});
  CHECK(spec["cdiVersion"] == "0.4.0");
  const std::string kind = spec["kind"];
  const auto slash = kind.find('/');
  REQUIRE(slash != std::string::npos);
  CHECK(isName(kind.substr(0, slash), "-_."));
  CHECK(isName(kind.substr(slash + 1), "-_"));  // dots are from 0.6.0 on
  REQUIRE_FALSE(spec["devices"].empty());
  std::set<std::string> names;
  for (const json& device : spec["devices"]) {
    CHECK(keys(device) == std::set<std::string>{"name", "containerEdits"});
    CHECK(isName(device["name"], "-_.:"));  // a digit in front is from 0.5.0 on
    CHECK(names.insert(device["name"]).second);
    const json& edits = device["containerEdits"];
    CHECK(keys(edits) == std::set<std::string>{"env", "mounts"});
    REQUIRE_FALSE(edits["env"].empty());
    for (const std::string variable : edits["env"]) CHECK(variable.find('=') > 0);
    REQUIRE_FALSE(edits["mounts"].empty());
    for (const json& mount : edits["mounts"]) {
      CHECK(keys(mount) == std::set<std::string>{"hostPath", "containerPath", "options"});  // "type" is what 0.4.0 has added; a bind mount needs none
      for (const char* key : {"hostPath", "containerPath"}) CHECK(fs::path(mount[key].get<std::string>()).is_absolute());
      CHECK(mount["options"].is_array());
    }
  }
}

}  // namespace

TEST_CASE("CDI: client libraries and the socket's folder are mounted, and variables lead there") {
  const Folder folder;
  std::ofstream(folder.path / "librouse-redirect.so").flush();
  auto text = cdiSpec("/run/rouse/rouse.sock", folder.path);
  REQUIRE(text.ok());
  const json spec = json::parse(*text);
  checkSpec(spec);
  CHECK(spec["kind"] == "rouse.dev/gpu");
  CHECK(spec["devices"][0]["name"] == "all");
  const json& edits = spec["devices"][0]["containerEdits"];
  CHECK(edits["mounts"][0]["hostPath"] == folder.path.string());
  CHECK(edits["mounts"][1]["hostPath"] == "/run/rouse");
  for (const json& mount : edits["mounts"]) {
    CHECK(mount["hostPath"] == mount["containerPath"]);
    CHECK(mount["options"][0] == "ro");
  }
  CHECK(edits["env"] == json{"LD_AUDIT=" + folder.path.string() + "/librouse-redirect.so", "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384",
                             "ROUSE_SOCKET=/run/rouse/rouse.sock"});
}

TEST_CASE("CDI: without the auditor there is the search path") {
  auto text = cdiSpec("/run/rouse/rouse.sock", "/nonexistent/lib/rouse");
  REQUIRE(text.ok());
  const json spec = json::parse(*text);
  checkSpec(spec);
  CHECK(spec["devices"][0]["containerEdits"]["env"] == json{"LD_LIBRARY_PATH=/nonexistent/lib/rouse", "ROUSE_SOCKET=/run/rouse/rouse.sock"});
}

TEST_CASE("CDI: what would mount all of a folder that is others', too, is refused, and so are paths that lead nowhere elsewhere") {
  for (const char* socket : {"/run/rouse.sock", "/tmp/x.sock", "/rouse.sock", "/run/rouse/../rouse.sock"}) {
    auto refused = cdiSpec(socket, "/usr/lib/rouse");
    REQUIRE_FALSE(refused.ok());
    CHECK_THAT(refused.error().message, Catch::Contains(socket) && Catch::Contains("daemon.socket"));
  }
  CHECK_FALSE(cdiSpec("rouse.sock", "/usr/lib/rouse").ok());
  CHECK_FALSE(cdiSpec("/run/rouse/rouse.sock", "lib/rouse").ok());
}

TEST_CASE("CDI: the file is there whole, for everybody, and in the place of an older one") {
  const Folder folder;
  const std::string file = folder.path / "cdi/rouse.json";
  const mode_t before = ::umask(077);
  REQUIRE(writeCdi(file, "old\n").ok());
  REQUIRE(writeCdi(file, "new\n").ok());
  ::umask(before);
  std::ifstream stream(file);
  CHECK(std::string(std::istreambuf_iterator<char>(stream), {}) == "new\n");
  CHECK((fs::status(file).permissions() & fs::perms::mask) == fs::perms(0644));
  CHECK(std::distance(fs::directory_iterator(folder.path / "cdi"), fs::directory_iterator()) == 1);
  Status failed = writeCdi("/proc/nowhere/rouse.json", "");
  REQUIRE_FALSE(failed.ok());
  CHECK_THAT(failed.error().message, Catch::Contains("/proc/nowhere"));
}
