#include "server/device/cuda/locked_memory.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <limits>

using namespace rouse::cuda;
using Catch::Contains;

TEST_CASE("the limit is blamed where it binds, and only there") {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  CHECK_THAT(adviceOnPinning(1 << 20, {65536, true}), Contains("65536 bytes, less than that") && Contains("ulimit -l"));
  CHECK_THAT(adviceOnPinning(1 << 20, {65536, false}),
             Contains("65536 bytes and does not bind") && Contains("free memory"));
  CHECK_THAT(adviceOnPinning(1 << 20, {1 << 20, true}), Contains("1048576 bytes; free memory"));
  CHECK_THAT(adviceOnPinning(1 << 20, {kAll, true}), Contains("unlimited; free memory"));
}

TEST_CASE("the limit is this process's, and is raised as far as it goes") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &before) == 0);
  rlimit low = before;
  low.rlim_cur = 4096;
  REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &low) == 0);
  CHECK(lockedMemoryLimit().bytes == 4096);
  raiseLockedMemoryLimit();
  CHECK(lockedMemoryLimit().bytes ==
        (before.rlim_max == RLIM_INFINITY ? std::numeric_limits<std::uint64_t>::max() : before.rlim_max));
  ::setrlimit(RLIMIT_MEMLOCK, &before);
}
