#include "memory/quota.h"

#include <catch2/catch.hpp>
#include <random>

namespace rouse::memory {

TEST_CASE("a quota names what was asked and what was left") {
  Quota quota(100);
  REQUIRE(quota.reserve(60).ok());
  const Status refused = quota.reserve(41);
  REQUIRE(refused.error().code == CudaError::memoryAllocation);
  REQUIRE(refused.error().message == "reserve 41 bytes: 40 left of 100 allowed");
  REQUIRE(quota.map(50).ok());
  REQUIRE(quota.map(11).error().message == "map 11 bytes: 10 left of 60 reserved");
  REQUIRE(quota.giveBack(11).error().message == "return 11 bytes: 10 left of 60 reserved");
  REQUIRE(quota.unmap(51).error().message == "unmap 51 bytes: 50 left of 50 mapped");
  REQUIRE(quota.reserved() == 60);
  REQUIRE(quota.mapped() == 50);
}

TEST_CASE("sizes near the end of the number range do not wrap") {
  Quota quota(100);
  REQUIRE(quota.reserve(10).ok());
  REQUIRE_FALSE(quota.reserve(~0ull).ok());
  REQUIRE_FALSE(quota.map(~0ull).ok());
  REQUIRE_FALSE(quota.giveBack(~0ull).ok());
  REQUIRE_FALSE(quota.unmap(~0ull).ok());
  REQUIRE(quota.reserved() == 10);
}

TEST_CASE("random operations keep mapped <= reserved <= limit and fail exactly when they must") {
  std::mt19937_64 random(1);
  Quota quota(1000);
  std::uint64_t reserved = 0, mapped = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bytes = random() % 300;
    switch (random() % 4) {
      case 0:
        REQUIRE(quota.reserve(bytes).ok() == (reserved + bytes <= 1000));
        if (reserved + bytes <= 1000) reserved += bytes;
        break;
      case 1:
        REQUIRE(quota.giveBack(bytes).ok() == (mapped + bytes <= reserved));
        if (mapped + bytes <= reserved) reserved -= bytes;
        break;
      case 2:
        REQUIRE(quota.map(bytes).ok() == (mapped + bytes <= reserved));
        if (mapped + bytes <= reserved) mapped += bytes;
        break;
      default:
        REQUIRE(quota.unmap(bytes).ok() == (bytes <= mapped));
        if (bytes <= mapped) mapped -= bytes;
    }
    REQUIRE(quota.reserved() == reserved);
    REQUIRE(quota.mapped() == mapped);
  }
}

}  // namespace rouse::memory
