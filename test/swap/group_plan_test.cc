#include "swap/group_plan.h"

#include <catch2/catch.hpp>
#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace rouse::swap {
namespace {

constexpr std::uint64_t kBase = std::uint64_t{3} << 40;
constexpr std::uint64_t kGB = 1'000'000'000;

// A transfer costs `fixed` seconds and then runs at `rate`.
BandwidthCurve affine(double fixed, double rate, std::uint64_t largest = std::uint64_t{64} << 20) {
  memory::LinkCurve points;
  for (std::uint64_t bytes = 64 << 10; bytes <= largest; bytes *= 2) {
    const auto size = static_cast<double>(bytes);
    points.push_back({bytes, static_cast<std::uint64_t>(size / (fixed + size / rate))});
  }
  return BandwidthCurve::create(points).value();
}

std::vector<std::uint32_t> ascending(std::uint32_t count) {
  std::vector<std::uint32_t> granules(count);
  std::iota(granules.begin(), granules.end(), 0u);
  return granules;
}

}  // namespace

TEST_CASE("the elbow of an H100's published curve is 4 MiB") {
  // numbers: host to device by block size.
  const auto curve = BandwidthCurve::create({{4 << 10, 1 * kGB}, {16 << 10, 4 * kGB}, {64 << 10, 145 * kGB / 10}, {256 << 10, 32 * kGB},
                                             {512 << 10, 395 * kGB / 10}, {1 << 20, 44 * kGB}, {2 << 20, 477 * kGB / 10},
                                             {4 << 20, 497 * kGB / 10}, {8 << 20, 507 * kGB / 10}, {16 << 20, 512 * kGB / 10}}).value();
  CHECK(groupGranules(curve) == 2);
  CHECK(groupGranules(affine(1e-6, 12 * kGB)) == 1);  // a V100's: the paper's 2 MB
}

TEST_CASE("a curve that is none is refused by point") {
  CHECK(BandwidthCurve::create({}).error().message == "bandwidth curve: no points");
  CHECK(BandwidthCurve::create({{4, 1}, {4, 2}}).error().message == "bandwidth curve: point 1 (4 bytes): sizes must ascend from above 0");
  CHECK(BandwidthCurve::create({{0, 1}}).error().message == "bandwidth curve: point 0 (0 bytes): sizes must ascend from above 0");
  CHECK(BandwidthCurve::create({{4, 0}}).error().message == "bandwidth curve: point 0 (4 bytes): bandwidth must be above 0");
}

TEST_CASE("times follow the curve") {
  const auto curve = affine(10e-6, 10 * kGB);
  for (const std::uint64_t bytes : {std::uint64_t{32} << 10, std::uint64_t{100'000}, std::uint64_t{3'000'000}, std::uint64_t{64} << 20})
    CHECK(curve.seconds(bytes) == Approx(10e-6 + double(bytes) / (10 * kGB)));
  CHECK(curve.seconds(0) == 0);
  CHECK(curve.seconds(std::uint64_t{640} << 20) == Approx(double(std::uint64_t{640} << 20) / (10 * kGB)).epsilon(0.01));
  CHECK(BandwidthCurve::create({{100, 50}}).value().seconds(25) == Approx(0.5));
}

TEST_CASE("first groups are smaller where the first kernel gains more than the transfer loses") {
  const auto fast = affine(20e-6, 50 * kGB);
  REQUIRE(groupGranules(fast) == 9);
  CHECK(fast.rate(9 * kGranuleBytes) >= 0.96 * fast.bestRate());
  CHECK(fast.rate(8 * kGranuleBytes) < 0.96 * fast.bestRate());
  REQUIRE(firstGroupGranules(fast, 9, 115) == 1);
  const auto plan = planGroups(ascending(115), kBase, fast);
  CHECK(plan.groups[0].bytes == kGranuleBytes);
  CHECK(plan.groups[1].bytes == 2 * kGranuleBytes);
  CHECK(plan.groups[2].bytes == 4 * kGranuleBytes);
  CHECK(plan.groups[3].bytes == 8 * kGranuleBytes);
  CHECK(plan.groups[4].bytes == 9 * kGranuleBytes);
  CHECK(plan.groups.size() == 4 + 11 + 1);  // 15 + 11 * 9 + 1
  // A link on which a small transfer costs what a large one does: nothing is gained.
  const auto slow = BandwidthCurve::create({{2 << 20, 1 * kGB}, {32 << 20, 16 * kGB}}).value();
  REQUIRE(groupGranules(slow) == 16);
  CHECK(firstGroupGranules(slow, 16, 115) == 16);
}

TEST_CASE("random orders: each granule arrives once, in order by group, in as few pieces as neighbours allow") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u, 5u);
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 400; ++round) {
    auto granules = ascending(static_cast<std::uint32_t>(random() % 300));
    if (round % 2 == 0) std::shuffle(granules.begin(), granules.end(), random);
    std::erase_if(granules, [&](std::uint32_t) { return random() % 3 == 0; });
    const auto curve = affine(double(random() % 40) * 1e-6 + 1e-7, (1 + double(random() % 60)) * kGB);
    const auto plan = planGroups(granules, kBase, curve);
    REQUIRE((plan.pinned && plan.pipelined));
    REQUIRE(plan.bytes() == granules.size() * kGranuleBytes);
    std::size_t at = 0, piece = 0;
    for (const auto& group : plan.groups) {
      REQUIRE(group.firstPiece == piece);
      REQUIRE(group.bytes <= groupGranules(curve) * kGranuleBytes);
      std::set<std::uint32_t> arrived;
      for (std::uint32_t i = 0; i < group.pieces; ++i, ++piece) {
        const AddressRange range = plan.pieces[piece];
        REQUIRE(isAligned(range.base, kGranuleBytes));
        for (std::uint64_t address = range.base; address != range.end(); address += kGranuleBytes)
          REQUIRE(arrived.insert(static_cast<std::uint32_t>((address - kBase) / kGranuleBytes)).second);
        if (i != 0) REQUIRE(plan.pieces[piece - 1].end() < range.base);
      }
      const std::set<std::uint32_t> expected(granules.begin() + std::ptrdiff_t(at), granules.begin() + std::ptrdiff_t(at + arrived.size()));
      REQUIRE(arrived == expected);
      at += arrived.size();
    }
    REQUIRE(at == granules.size());
    REQUIRE(piece == plan.pieces.size());
  }
}

TEST_CASE("the ladder") {
  const std::vector<AddressRange> parameters = {{kBase + 4096, 100}, {kBase, 4096}, {kBase + 8192, 0}, {kBase + 8192, 10}};
  const auto naive = planNaive(parameters);
  CHECK_FALSE((naive.pinned || naive.pipelined));
  CHECK(naive.groups.size() == 3);
  CHECK(naive.bytes() == 4206);
  const auto whole = planWholeModel(parameters);
  CHECK((whole.pinned && !whole.pipelined));
  CHECK(whole.groups.size() == 1);
  CHECK(whole.pieces == std::vector<AddressRange>{{kBase, 4196}, {kBase + 8192, 10}});
  const auto each = planPerParameter(parameters);
  CHECK((each.pinned && each.pipelined));
  CHECK(each.pieces == std::vector<AddressRange>{{kBase + 4096, 100}, {kBase, 4096}, {kBase + 8192, 10}});
  CHECK(planGroups({}, kBase, affine(1e-6, kGB)).groups.empty());
}

}  // namespace rouse::swap
