// Copies and fills cut into what the driver can do, carried out on a model of memory, against the plain meaning of a
// shape.
#include "server/device/cuda/pieces.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

using namespace rouse;

namespace {

constexpr std::uint64_t kBytes = 1 << 16;
using Bytes = std::vector<std::uint8_t>;

// Addresses are offsets. What the driver demands of a call is checked here.
void perform(const cuda::CopyPiece& p, Bytes& to, const Bytes& from, std::uint64_t maxPitch) {
  if (p.height > 1) {
    REQUIRE(p.destinationPitch >= p.width);
    REQUIRE(p.sourcePitch >= p.width);
    REQUIRE(p.destinationPitch <= maxPitch);
    REQUIRE(p.sourcePitch <= maxPitch);
  }
  if (p.depth > 1) {
    REQUIRE(p.destinationPlanePitch % p.destinationPitch == 0);
    REQUIRE(p.sourcePlanePitch % p.sourcePitch == 0);
    REQUIRE(p.destinationPlanePitch >= p.height * p.destinationPitch);
    REQUIRE(p.sourcePlanePitch >= p.height * p.sourcePitch);
  }
  for (std::uint64_t z = 0; z < p.depth; ++z)
    for (std::uint64_t y = 0; y < p.height; ++y)
      std::memcpy(to.data() + p.destination + z * p.destinationPlanePitch + y * p.destinationPitch,
                  from.data() + p.source + z * p.sourcePlanePitch + y * p.sourcePitch, p.width);
}

void perform(const cuda::FillPiece& p, Bytes& to, std::uint64_t maxPitch) {
  REQUIRE(p.destination % p.elementBytes == 0);
  if (p.height > 1) {
    REQUIRE(p.pitch % p.elementBytes == 0);
    REQUIRE(p.pitch >= p.width * p.elementBytes);
    REQUIRE(p.pitch <= maxPitch);
  }
  for (std::uint64_t y = 0; y < p.height; ++y)
    for (std::uint64_t x = 0; x < p.width; ++x)
      std::memcpy(to.data() + p.destination + y * p.pitch + x * p.elementBytes, &p.value, p.elementBytes);
}

}  // namespace

TEST_CASE("any copy in pieces is the copy") {
  std::mt19937 random(1);
  Bytes from(kBytes);
  for (auto& byte : from) byte = static_cast<std::uint8_t>(random());
  int many = 0, one = 0;
  for (int round = 0; round < 3000; ++round) {
    memory::CopyShape s;
    s.width = 1 + random() % 40;
    s.height = 1 + random() % 6;
    s.depth = 1 + random() % 6;
    const auto pitch = [&] { return s.width + (round % 3 == 0 ? 0 : random() % 40); };
    s.destinationPitch = pitch();
    s.sourcePitch = pitch();
    const auto slice = [&](std::uint64_t rows) {
      return round % 2 == 0 ? rows * (s.height + random() % 3) : rows * s.height + random() % 50;
    };
    s.destinationSlicePitch = slice(s.destinationPitch);
    s.sourceSlicePitch = slice(s.sourcePitch);
    s.destination = random() % 1000;
    s.source = random() % 1000;
    const std::uint64_t maxPitch = random() % 3 == 0 ? 60 : random() % 2 == 0 ? 200 : 1 << 20;
    const bool unbroken = random() % 4 != 0;
    Bytes expected(kBytes), got(kBytes);
    for (std::uint64_t z = 0; z < s.depth; ++z)
      for (std::uint64_t y = 0; y < s.height; ++y)
        std::memcpy(expected.data() + s.destination + z * s.destinationSlicePitch + y * s.destinationPitch,
                    from.data() + s.source + z * s.sourceSlicePitch + y * s.sourcePitch, s.width);
    cuda::CopyPieces pieces(s, maxPitch, [&](std::uint64_t, std::uint64_t) { return unbroken; });
    int count = 0;
    for (; !pieces.done(); pieces.advance(), ++count) {
      if (!unbroken) REQUIRE(pieces.current().height == 1);
      perform(pieces.current(), got, from, maxPitch);
    }
    (count == 1 ? one : many) += 1;
    INFO("round " << round);
    REQUIRE(got == expected);
  }
  CHECK(one > 300);
  CHECK(many > 300);
}

TEST_CASE("any fill in pieces is the fill") {
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    memory::FillShape s;
    s.elementBytes = 1u << (random() % 3);
    s.width = 1 + random() % 30;
    s.height = 1 + random() % 6;
    s.depth = 1 + random() % 6;
    s.value = round % 4 == 0 ? 0x7f7f7f7f : static_cast<std::uint32_t>(random());
    s.pitch = s.width * s.elementBytes + random() % 20;
    s.slicePitch = s.pitch * s.height + random() % 20;
    s.destination = random() % 1000;
    const std::uint64_t maxPitch = random() % 2 == 0 ? 90 : 1 << 20;
    Bytes expected(kBytes), got(kBytes);
    for (std::uint64_t z = 0; z < s.depth; ++z)
      for (std::uint64_t y = 0; y < s.height; ++y)
        for (std::uint64_t x = 0; x < s.width; ++x)
          std::memcpy(expected.data() + s.destination + z * s.slicePitch + y * s.pitch + x * s.elementBytes, &s.value,
                      s.elementBytes);
    const bool unbroken = random() % 4 != 0;
    for (cuda::FillPieces pieces(s, maxPitch, [&](std::uint64_t, std::uint64_t) { return unbroken; }); !pieces.done();
         pieces.advance())
      perform(pieces.current(), got, maxPitch);
    INFO("round " << round);
    REQUIRE(got == expected);
  }
}

TEST_CASE("planes whose distance is no multiple of the rows' take the fewer pieces") {
  const auto whole = [](std::uint64_t, std::uint64_t) { return true; };
  memory::CopyShape s;
  s.width = 1;
  s.height = 2;
  s.depth = 1 << 20;
  s.destinationPitch = s.sourcePitch = 2;
  s.destinationSlicePitch = s.sourceSlicePitch = 5;
  int count = 0;
  for (cuda::CopyPieces pieces(s, 1 << 30, whole); !pieces.done(); pieces.advance()) ++count;
  CHECK(count == 2);
}
