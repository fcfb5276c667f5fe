// librouse-redirect.so under the dynamic linker itself: a program whose DT_RPATH leads to another libcudart.so.13.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "test/cudart/shell.h"

namespace {

namespace fs = std::filesystem;

std::vector<std::string> run(const std::string& environment, const std::string& arguments = "") {
  const auto result = rouse::test::shell("env LD_LIBRARY_PATH=" ROUSE_LIBRARIES " " + environment + " " ROUSE_PROGRAM " " + arguments);
  REQUIRE(result.status == 0);
  std::vector<std::string> lines;
  std::istringstream output(result.output);
  for (std::string line; std::getline(output, line);) lines.push_back(line);
  return lines;
}

const std::string kAudit = "LD_AUDIT=" ROUSE_REDIRECT;
const fs::path kRuntime = fs::path(ROUSE_LIBRARIES) / "libcudart.so.13";

}  // namespace

TEST_CASE("a DT_RPATH comes before LD_LIBRARY_PATH, and the redirection before both", "[redirect]") {
  const auto without = run("");
  CHECK(fs::equivalent(without.at(0), ROUSE_DECOY));
  CHECK(without.at(1) == "12345");
  const auto with = run(kAudit);
  CHECK(fs::equivalent(with.at(0), kRuntime));
  CHECK(with.at(1) == "0");
}

TEST_CASE("a library that is opened by its full path is the pool's, and others stay what they are", "[redirect]") {
  const fs::path copy = fs::temp_directory_path() / ("rouse-redirect-" + std::to_string(::getpid()));
  fs::create_directories(copy);
  fs::copy(ROUSE_DECOY, copy / "libcufoo.so.1", fs::copy_options::overwrite_existing);
  const auto lines = run(kAudit, std::string(ROUSE_DECOY) + " libm.so.6 " + (copy / "libcufoo.so.1").string() + " /nonexistent/libcudart.so.13 libcunothing.so");
  fs::remove_all(copy);
  REQUIRE(lines.size() == 7);
  CHECK(fs::equivalent(lines[2], kRuntime));
  CHECK(fs::path(lines[3]).filename() == "libm.so.6");
  CHECK(lines[4] == (copy / "libcufoo.so.1").string());
  CHECK(fs::equivalent(lines[5], kRuntime));
  CHECK(lines[6] == "not found");
}
