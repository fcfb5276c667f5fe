#include "server/device/cuda/ptx_version.h"

#include <catch2/catch.hpp>

using rouse::cuda::lowerPtxVersion;

namespace {

std::string lowered(std::string text, int driver, std::string* before = nullptr) {
  const std::string was = lowerPtxVersion(text, driver);
  if (before != nullptr) *before = was;
  return text;
}

}  // namespace

TEST_CASE("PTX that is later than the driver says that it is of the driver's version") {
  std::string before;
  CHECK(lowered("// 9.9\n.version 9.1\n.target sm_90\n", 13000, &before) == "// 9.9\n.version 9.0\n.target sm_90\n");
  CHECK(before == "9.1");
  CHECK(lowered(".version\t10.12\n", 13020, &before) == ".version\t9.2\n");
  CHECK(before == "10.12");
}

TEST_CASE("PTX that the driver knows, and what is none, stays as it is") {
  std::string before = "x";
  for (const std::string text : {".version 9.0\n.target sm_90\n", ".version 8.9\n", ".version 7.7\n", ".version", ".version 9", ".version x.1", "", "nothing",
                                 ".version 99999999999.1"}) {
    INFO(text);
    CHECK(lowered(text, 13000, &before) == text);
    CHECK(before.empty());
  }
  // Of whose PTX nothing is known.
  CHECK(lowered(".version 11.0\n", 14000, &before) == ".version 11.0\n");
  CHECK(before.empty());
}
