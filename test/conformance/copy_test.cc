// Copies and fills of all shapes against a model: bytes that are not named must not change.
#include <algorithm>
#include <cstring>
#include <random>

#include "test/conformance/backend.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

std::vector<std::uint8_t> noise(std::size_t bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> result(bytes);
  for (auto& byte : result) byte = static_cast<std::uint8_t>(random());
  return result;
}

// Applies a shape to buffers that stand for memory at the given bases.
void copyModel(const memory::CopyShape& shape, std::vector<std::uint8_t>& to, std::uint64_t toBase,
               const std::vector<std::uint8_t>& from, std::uint64_t fromBase) {
  for (std::uint64_t z = 0; z < shape.depth; ++z) {
    for (std::uint64_t y = 0; y < shape.height; ++y) {
      std::memcpy(
          to.data() + (shape.destination - toBase) + z * shape.destinationSlicePitch + y * shape.destinationPitch,
          from.data() + (shape.source - fromBase) + z * shape.sourceSlicePitch + y * shape.sourcePitch, shape.width);
    }
  }
}

void fillModel(const memory::FillShape& shape, std::vector<std::uint8_t>& to, std::uint64_t base) {
  for (std::uint64_t z = 0; z < shape.depth; ++z) {
    for (std::uint64_t y = 0; y < shape.height; ++y) {
      for (std::uint64_t x = 0; x < shape.width; ++x) {
        std::memcpy(
            to.data() + (shape.destination - base) + z * shape.slicePitch + y * shape.pitch + x * shape.elementBytes,
            &shape.value, shape.elementBytes);
      }
    }
  }
}

}  // namespace

TEST_CASE("linear copies of all sizes, in every direction, at any alignment") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  constexpr std::uint64_t kBytes = 12 << 20;
  const std::uint64_t a = bench.allocate(kBytes);
  const std::uint64_t b = bench.allocate(kBytes);
  const auto source = noise(kBytes, 1);
  bench.write(*stream, a, source);
  std::vector<std::uint8_t> model(kBytes, 0);
  std::mt19937 random(2);
  for (const std::uint64_t bytes :
       {1ull, 3ull, 64ull, 4097ull, 65536ull, 65537ull, 1048576ull, 1048577ull, 3000001ull, 11000003ull}) {
    const std::uint64_t from = random() % (kBytes - bytes);
    const std::uint64_t to = random() % (kBytes - bytes);
    bench.context->copy(*stream, linear(b + to, a + from, bytes));
    std::memcpy(model.data() + to, source.data() + from, bytes);
    INFO(bytes);
    REQUIRE(bench.read(*stream, b, kBytes) == model);
  }
}

TEST_CASE("pitched copies against a model") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  constexpr std::uint64_t kBytes = 8 << 20;
  const std::uint64_t a = bench.allocate(kBytes);
  const std::uint64_t b = bench.allocate(kBytes);
  const auto source = noise(kBytes, 3);
  bench.write(*stream, a, source);
  std::vector<std::uint8_t> model(kBytes, 0);
  std::mt19937 random(4);
  for (int round = 0; round < 40; ++round) {
    memory::CopyShape shape;
    shape.width = 1 + random() % (round % 4 == 0 ? 70'000 : 300);
    shape.height = 1 + random() % 20;
    shape.depth = 1 + random() % 4;
    const auto pitch = [&] { return round % 3 == 0 ? shape.width : shape.width + random() % 100; };
    shape.destinationPitch = pitch();
    shape.sourcePitch = pitch();
    shape.destinationSlicePitch = shape.destinationPitch * shape.height + (round % 5 == 0 ? 0 : random() % 1000);
    shape.sourceSlicePitch = shape.sourcePitch * shape.height + (round % 5 == 0 ? 0 : random() % 1000);
    const std::uint64_t need = std::max(shape.destinationSlicePitch, shape.sourceSlicePitch) * shape.depth;
    if (need > kBytes) continue;
    shape.destination = b + random() % (kBytes - need + 1);
    shape.source = a + random() % (kBytes - need + 1);
    bench.context->copy(*stream, shape);
    copyModel(shape, model, b, source, a);
    if (round % 8 == 7) {
      INFO(round);
      REQUIRE(bench.read(*stream, b, kBytes) == model);
    }
  }
  REQUIRE(bench.read(*stream, b, kBytes) == model);
}

TEST_CASE("fills of every element size and shape against a model") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  constexpr std::uint64_t kBytes = 4 << 20;
  const std::uint64_t a = bench.allocate(kBytes);
  std::vector<std::uint8_t> model(kBytes, 0);
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    memory::FillShape shape;
    shape.elementBytes = 1u << (random() % 3);
    shape.width = 1 + random() % (round % 6 == 0 ? 400'000 : 500);
    shape.height = 1 + random() % 8;
    shape.depth = 1 + random() % 3;
    shape.value = round % 5 == 0 ? 0x5a5a5a5a : static_cast<std::uint32_t>(random());
    const std::uint64_t row = shape.width * shape.elementBytes;
    shape.pitch = row + (round % 3 == 0 ? 0 : random() % 64);
    shape.slicePitch = shape.pitch * shape.height + (round % 4 == 0 ? 0 : random() % 256);
    const std::uint64_t need = shape.slicePitch * shape.depth;
    if (need > kBytes) continue;
    shape.destination = a + random() % (kBytes - need + 1);
    bench.context->fill(*stream, shape);
    fillModel(shape, model, a);
    if (round % 10 == 9) {
      INFO(round);
      REQUIRE(bench.read(*stream, a, kBytes) == model);
    }
  }
}

TEST_CASE("an inline copy has taken its bytes when it returns") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  const std::uint64_t a = bench.allocate(4 * kGranuleBytes);
  const std::uint64_t b = bench.allocate(4 * kGranuleBytes);
  for (const std::size_t bytes : {1u, 100u, 32768u}) {
    auto text = noise(bytes, static_cast<std::uint32_t>(bytes));
    const auto expected = text;
    bench.context->copy(*stream, linear(b, a, 4 * kGranuleBytes));  // keeps the stream busy
    bench.context->copyInline(*stream, a + 7, std::as_bytes(std::span(text)));
    std::fill(text.begin(), text.end(), 0);
    CHECK(bench.read(*stream, a + 7, bytes) == expected);
  }
}
