#include "memory/address_plan.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace rouse::memory {
namespace {

constexpr std::uint64_t kBase = 0x2000'0000'0000;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

}  // namespace

TEST_CASE("freed windows are used again later, oldest first") {
  AddressPlan plan({kBase, 4 * kGiB});
  const AddressRange a = plan.allocate(kGiB).value(), b = plan.allocate(1).value();
  REQUIRE(b.bytes == kGiB);
  REQUIRE(plan.freeBytes() == 2 * kGiB);
  REQUIRE(plan.free(b).ok());
  REQUIRE(plan.free(a).ok());
  REQUIRE(plan.freeBytes() == 4 * kGiB);
  REQUIRE(plan.allocate(kGiB).value().base == kBase + 2 * kGiB);
  REQUIRE(plan.allocate(kGiB).value().base == kBase + 3 * kGiB);
  REQUIRE(plan.allocate(kGiB).value() == b);
  REQUIRE(plan.allocate(kGiB).value() == a);
  const auto none = plan.allocate(kGiB);
  REQUIRE(none.error().code == CudaError::memoryAllocation);
  REQUIRE(none.error().message == "address window of 1073741824 bytes: the largest free is 0 of 4294967296");
}

TEST_CASE("pieces are put together when nothing else is left") {
  AddressPlan plan({kBase, 3 * kGiB});
  std::vector<AddressRange> windows;
  for (int i = 0; i < 3; ++i) windows.push_back(plan.allocate(kGiB).value());
  for (const AddressRange& window : windows) REQUIRE(plan.free(window).ok());
  REQUIRE(plan.allocate(3 * kGiB).value() == AddressRange{kBase, 3 * kGiB});
}

TEST_CASE("only whole live windows are freed, and sizes do not wrap") {
  AddressPlan plan({kBase, 4 * kGiB});
  const AddressRange a = plan.allocate(2 * kGiB).value();
  REQUIRE_FALSE(plan.free({a.base, kGiB}).ok());
  REQUIRE_FALSE(plan.free({a.base + kGiB, kGiB}).ok());
  REQUIRE(plan.free(a).ok());
  REQUIRE_FALSE(plan.free(a).ok());
  REQUIRE_FALSE(plan.allocate(~0ull).ok());
  REQUIRE_FALSE(plan.allocate(0).ok());
}

TEST_CASE("the default range is a multiple of the alignment") {
  const AddressPlan plan;
  REQUIRE(isAligned(plan.range().base, kWindowAlignment));
  REQUIRE(isAligned(plan.range().bytes, kWindowAlignment));
  REQUIRE(plan.range().end() <= std::uint64_t{1} << 47);
}

TEST_CASE("random windows never overlap, and all space can be had again") {
  const AddressRange whole{kBase, 64 * kGiB};
  std::mt19937_64 random(5);
  AddressPlan plan(whole);
  std::vector<AddressRange> live;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % (9 * kGiB);
      if (const auto window = plan.allocate(bytes)) {
        REQUIRE(window->bytes == roundUp(bytes, kWindowAlignment));
        REQUIRE(isAligned(window->base, kWindowAlignment));
        REQUIRE(whole.contains(*window));
        for (const AddressRange& other : live) REQUIRE_FALSE(other.overlaps(*window));
        live.push_back(*window);
      }
    } else if (!live.empty()) {
      const std::size_t which = random() % live.size();
      REQUIRE(plan.free(live[which]).ok());
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    }
    REQUIRE(plan.live() == live.size());
  }
  for (const AddressRange& window : live) REQUIRE(plan.free(window).ok());
  REQUIRE(plan.allocate(whole.bytes).value() == whole);
}

}  // namespace rouse::memory

TEST_CASE("windows that another plan has handed out are claimed, each once") {
  using namespace rouse;
  using namespace rouse::memory;
  const AddressRange all{kWindowAlignment * 16, kWindowAlignment * 16};
  AddressPlan before(all), plan(all);
  std::vector<AddressRange> live;
  for (int i = 1; i <= 4; ++i) live.push_back(*before.allocate(kWindowAlignment * static_cast<std::uint64_t>(i)));
  REQUIRE(before.free(live[1]).ok());
  live.erase(live.begin() + 1);
  for (const AddressRange& window : live) REQUIRE(plan.claim(window).ok());
  CHECK(plan.live() == 3);
  for (const AddressRange& window : live) CHECK(!plan.claim(window).ok());
  CHECK(!plan.claim({live[0].base, kWindowAlignment * 2}).ok());              // partly another's
  CHECK(!plan.claim({all.base - kWindowAlignment, kWindowAlignment}).ok());   // before the range
  CHECK(!plan.claim({all.end(), kWindowAlignment}).ok());
  CHECK(!plan.claim({all.end() - kWindowAlignment, kWindowAlignment * 2}).ok());
  CHECK(!plan.claim({all.base + 4096, kWindowAlignment}).ok());
  CHECK(!plan.claim({all.base, 0}).ok());
  CHECK(!plan.claim({~std::uint64_t{0} - kWindowAlignment + 1, kWindowAlignment * 2}).ok());
  // Nobody is given what somebody has.
  std::uint64_t rest = 0;
  while (auto window = plan.allocate(kWindowAlignment)) {
    for (const AddressRange& taken : live) CHECK(!window->overlaps(taken));
    ++rest;
  }
  CHECK(rest == 16 - 8);
  for (const AddressRange& window : live) CHECK(plan.free(window).ok());
}
