// The library exports what the toolkit's does: the same names at the same version nodes, and nothing else.
#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "schemas/api/api_ids.h"
#include "test/cudart/shell.h"

namespace {

// "kind name@@version" for each defined dynamic symbol.
std::set<std::string> exportsOf(const std::string& library) {
  const auto nm =
      rouse::test::shell(std::string(ROUSE_NM) + " -D --defined-only --with-symbol-versions '" + library + "'");
  REQUIRE(nm.status == 0);
  std::set<std::string> symbols;
  std::istringstream lines(nm.output);
  for (std::string address, kind, name; lines >> address >> kind >> name;) symbols.insert(kind + " " + name);
  return symbols;
}

std::set<std::string> minus(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> difference;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(difference, difference.begin()));
  return difference;
}

}  // namespace

TEST_CASE("libcudart exports the toolkit's names and version nodes, no more and no fewer", "[cudart][abi]") {
  const auto theirs = exportsOf(ROUSE_TOOLKIT_CUDART);
  const auto ours = exportsOf(ROUSE_CUDART);
  CHECK(theirs.size() > 400);
  CHECK(minus(theirs, ours) == std::set<std::string>{});
  CHECK(minus(ours, theirs) == std::set<std::string>{});
}

TEST_CASE("every exported name has a number", "[cudart][abi]") {
  std::set<std::string> described;
  for (const auto name : rouse::api::kApiNames) described.insert("T " + std::string(name) + "@@libcudart.so.13");
  CHECK(described.size() == rouse::api::kApiNameCount);
  auto exported = exportsOf(ROUSE_CUDART);
  exported.erase("A libcudart.so.13");  // the version node itself
  CHECK(described == exported);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
TEST_CASE("libcudart needs nothing but the C library", "[cudart][abi]") {
  const auto readelf = rouse::test::shell("readelf -d '" ROUSE_CUDART "'");
  REQUIRE(readelf.status == 0);
  std::istringstream lines(readelf.output);
  std::set<std::string> needed;
  for (std::string line; std::getline(lines, line);) {
    const auto open = line.find('['), close = line.find(']');
    if (line.find("(NEEDED)") != std::string::npos) needed.insert(line.substr(open + 1, close - open - 1));
    if (line.find("(SONAME)") != std::string::npos) CHECK(line.substr(open + 1, close - open - 1) == "libcudart.so.13");
  }
  CHECK(minus(needed, {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}) ==
        std::set<std::string>{});
}
#endif

// It has threads, and a session that lasts as long as the process.
TEST_CASE("libcudart stays when a program closes it", "[cudart][abi]") {
  void* const library = ::dlopen(ROUSE_CUDART, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  void* const function = ::dlsym(library, "cudaGetLastError");
  REQUIRE(::dlclose(library) == 0);
  void* const again = ::dlopen(ROUSE_CUDART, RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(again != nullptr);
  CHECK(::dlsym(again, "cudaGetLastError") == function);
}
