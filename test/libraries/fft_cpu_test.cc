// Transforms on the CPU device against their definition, in long double.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "server/library/cpu/fft/lines.h"
#include "test/libraries/fft_runs.h"

namespace rouse::fft {
namespace {

constexpr Type kTypes[][3] = {{Type::c32, Type::c32, Type::c32},     {Type::f32, Type::c32, Type::c32},      {Type::c32, Type::f32, Type::c32},
                              {Type::c64, Type::c64, Type::c64},     {Type::f64, Type::c64, Type::c64},      {Type::c64, Type::f64, Type::c64},
                              {Type::c16, Type::c16, Type::c16},     {Type::f16, Type::c16, Type::c16},      {Type::c16, Type::f16, Type::c16},
                              {Type::cbf16, Type::cbf16, Type::cbf16}, {Type::bf16, Type::cbf16, Type::cbf16}, {Type::cbf16, Type::bf16, Type::cbf16}};

Transform of(const Type (&types)[3], std::initializer_list<std::int64_t> dims, std::int64_t batch = 1) {
  Transform transform;
  transform.inType = types[0];
  transform.outType = types[1];
  transform.executionType = types[2];
  transform.direction = isComplex(types[1]) ? Direction::forward : Direction::inverse;
  for (const std::int64_t dim : dims) transform.dims[transform.rank++] = dim;
  transform.batch = batch;
  transform.packed = 1;
  return transform;
}

// Runs it in memory of its own, in place where `inPlace`, and compares all of that memory.
void verify(Transform transform, bool inPlace, unsigned seed) {
  transform.input = 1 << 20;
  transform.output = inPlace ? 1 << 20 : std::uint64_t{1} << 50;
  const Check checked = check(transform);
  CAPTURE(checked.what);
  REQUIRE(checked.verdict == Verdict::runs);
  Ranges sides;
  REQUIRE(ranges(transform, sides));
  Memory in(inPlace ? std::max(sides.ranges[0].bytes, sides.ranges[1].bytes) : sides.ranges[0].bytes), out(sides.ranges[1].bytes);
  Memory& written = inPlace ? in : out;
  transform.input = reinterpret_cast<std::uint64_t>(in.data());
  transform.output = reinterpret_cast<std::uint64_t>(written.data());

  std::mt19937 random(seed);
  std::uniform_real_distribution<double> numbers(-1, 1);
  const Type inReal = realOf(transform.inType), outReal = realOf(transform.outType);
  eachElement(transform, false, [&](std::size_t, std::int64_t at) {
    encodePart(inReal, numbers(random), in.data() + at);
    if (isComplex(transform.inType)) encodePart(inReal, numbers(random), in.data() + at + bytesOf(inReal));
  });
  const std::vector<Number> input = readAll(transform, false, in.data());
  const std::vector<std::byte> before = in.all(), outBefore = written.all();

  auto job = prepare(transform);
  REQUIRE(job.ok());
  run(**job, seed);

  const std::vector<Number> expected = transformed(transform, input), found = readAll(transform, true, written.data());
  REQUIRE(found.size() == expected.size());
  long double error = 0, size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    error = std::max(error, std::abs(found[i] - expected[i]));
    size = std::max(size, std::abs(expected[i]));
  }
  CHECK(error <= epsilonOf(transform.executionType) * 8 * std::max(size, 1.0L));
  // Nothing but its elements is written, and no input but in place.
  std::vector<bool> may(written.all().size());
  eachElement(transform, true, [&](std::size_t, std::int64_t at) {
    std::fill_n(may.begin() + static_cast<std::ptrdiff_t>(Memory::kAround) + at, bytesOf(transform.outType), true);
  });
  (void)outReal;
  if (inPlace) {
    eachElement(transform, false, [&](std::size_t, std::int64_t at) {
      std::fill_n(may.begin() + static_cast<std::ptrdiff_t>(Memory::kAround) + at, bytesOf(transform.inType), true);
    });
  } else {
    CHECK(in.all() == before);
  }
  std::size_t strays = 0;
  for (std::size_t i = 0; i < may.size(); ++i) strays += !may[i] && written.all()[i] != outBefore[i];
  CHECK(strays == 0);
}

std::int64_t pick(std::mt19937& random, std::initializer_list<std::int64_t> all) { return *(all.begin() + random() % all.size()); }

}  // namespace

TEST_CASE("transforms of all types, ranks and lengths are what they are by definition", "[fft]") {
  const auto& types = kTypes[GENERATE(range(0, 12))];
  std::mt19937 random(static_cast<unsigned>(types[0]) * 31 + static_cast<unsigned>(types[1]));
  const bool small = bytesOf(realOf(types[2])) == 2;
  for (int i = 0; i < 60; ++i) {
    Transform transform = of(types, {});
    transform.rank = static_cast<std::uint8_t>(1 + random() % 3);
    for (std::uint32_t axis = 0; axis < transform.rank; ++axis) {
      if (small) transform.dims[axis] = pick(random, {1, 2, 4, 8, 16});
      else if (transform.rank == 1) transform.dims[axis] = pick(random, {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 25, 30, 49, 64, 97, 101, 121, 127, 128, 210, 251, 254, 509});
      else transform.dims[axis] = pick(random, {1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 53});
    }
    transform.batch = pick(random, {1, 2, 3, 7, 20, 37});
    if (isComplex(types[0]) && isComplex(types[1]) && random() % 2 == 0) transform.direction = Direction::inverse;
    const bool inPlace = random() % 2 == 0;
    CAPTURE(i, int{transform.rank}, transform.dims[0], transform.dims[1], transform.dims[2], transform.batch, inPlace);
    verify(transform, inPlace, random());
  }
}

TEST_CASE("transforms of advanced layouts: embeds, strides, distances, and what lies in each other", "[fft]") {
  const auto& types = kTypes[GENERATE(range(0, 6))];
  std::mt19937 random(static_cast<unsigned>(types[0]) * 37 + static_cast<unsigned>(types[1]));
  for (int i = 0; i < 60; ++i) {
    Transform transform = of(types, {});
    transform.packed = 0;
    transform.rank = static_cast<std::uint8_t>(1 + random() % 3);
    for (std::uint32_t axis = 0; axis < transform.rank; ++axis) transform.dims[axis] = pick(random, {1, 2, 3, 4, 6, 7, 8, 15, 16});
    transform.batch = pick(random, {1, 2, 5, 19});
    for (const bool output : {false, true}) {
      Layout& layout = output ? transform.out : transform.in;
      std::int64_t entry = 1;
      for (std::uint32_t axis = 0; axis < transform.rank; ++axis) {
        layout.embed[axis] = sizeOf(transform, output, axis) + static_cast<std::int64_t>(random() % 3);
        entry *= layout.embed[axis];
      }
      // Transforms one behind the other, or element by element beside each other.
      if (random() % 2 == 0) {
        layout.stride = pick(random, {1, 2, 3});
        layout.distance = entry * layout.stride + static_cast<std::int64_t>(random() % 5);
      } else {
        layout.distance = 1;
        layout.stride = transform.batch + static_cast<std::int64_t>(random() % 2);
      }
    }
    CAPTURE(i, int{transform.rank}, transform.dims[0], transform.dims[1], transform.dims[2], transform.batch);
    verify(transform, false, random());
    // In place, though the sides lie otherwise: as if the input had been elsewhere.
    if (random() % 2 == 0) verify(transform, true, random());
  }
}

TEST_CASE("an input may repeat itself: frames of a signal", "[fft]") {
  Transform transform = of(kTypes[1], {64}, 13);
  transform.packed = 0;
  transform.in = {.embed = {64}, .stride = 1, .distance = 16};
  transform.out = {.embed = {33}, .stride = 13, .distance = 1};
  verify(transform, false, 5);
  transform.in.distance = 0;
  verify(transform, false, 6);
}

TEST_CASE("large transforms are cut by lines, in phases, and the result does not depend on the order of pieces", "[fft]") {
  for (const int which : {0, 1, 2, 7, 8}) {
    const auto& types = kTypes[which];
    Transform transform = of(types, {256, 512}, 2);
    const Type inReal = realOf(transform.inType);
    transform.input = 1 << 20;
    transform.output = std::uint64_t{1} << 50;
    Ranges sides;
    REQUIRE(ranges(transform, sides));
    Memory in(sides.ranges[0].bytes), out(sides.ranges[1].bytes), again(sides.ranges[1].bytes);
    transform.input = reinterpret_cast<std::uint64_t>(in.data());
    transform.output = reinterpret_cast<std::uint64_t>(out.data());
    // One wave along each axis: its place in the spectrum is known.
    eachElement(transform, false, [&](std::size_t number, std::int64_t at) {
      const std::int64_t entry = isComplex(transform.outType) ? 256 * 512 : 256 * 257, place = static_cast<std::int64_t>(number) % entry;
      const double angle = 2 * std::numbers::pi * (3.0 * static_cast<double>(place / 512) / 256 + 5.0 * static_cast<double>(place % 512) / 512);
      const bool isWave = isComplex(transform.outType);
      const bool isPlace = !isWave && place / 257 == 3 && place % 257 == 5;
      encodePart(inReal, isWave ? std::cos(angle) / 64 : isPlace ? 1.0 : 0.0, in.data() + at);
      if (isComplex(transform.inType)) encodePart(inReal, isWave ? std::sin(angle) / 64 : 0.0, in.data() + at + bytesOf(inReal));
    });
    auto job = prepare(transform);
    REQUIRE(job.ok());
    CHECK((*job)->pieces() > 2);
    run(**job);
    const auto found = readAll(transform, true, out.data());
    if (isComplex(transform.outType)) {
      const std::int64_t row = sizeOf(transform, true, 1);
      const double there = isComplex(transform.inType) ? 2048 : 1024;
      CHECK(static_cast<double>(std::abs(found[static_cast<std::size_t>(3 * row + 5)] - Number(there))) < 2);
      CHECK(static_cast<double>(std::abs(found[static_cast<std::size_t>(256 * row + 3 * row + 5)] - Number(there))) < 2);
      CHECK(static_cast<double>(std::abs(found[7])) < 2);
    } else {
      CHECK(static_cast<double>(found[0].real()) == Approx(2.0));
      CHECK(static_cast<double>(found[512 * 10 + 9].real()) == Approx(2 * std::cos(2 * std::numbers::pi * (30.0 / 256 + 45.0 / 512))).margin(0.01));
    }
    transform.output = reinterpret_cast<std::uint64_t>(again.data());
    auto second = prepare(transform);
    REQUIRE(second.ok());
    run(**second, 77);
    CHECK(again.all() == out.all());
  }
}

TEST_CASE("a transform that needs more memory than a job may have is refused with the limit", "[fft]") {
  // Nothing of it is read.
  Transform transform = of(kTypes[3], {std::int64_t{1} << 28});
  transform.input = 1 << 20;
  transform.output = std::uint64_t{1} << 50;
  const auto job = prepare(transform);
  REQUIRE_FALSE(job.ok());
  CHECK(job.error().code == CudaError::notSupported);
  CHECK(job.error().message.find("at most 4294967296") != std::string::npos);
  CHECK_FALSE(prepare(of(kTypes[3], {(std::int64_t{1} << 31) - 1})).ok());  // a prime
}

TEST_CASE("lines of any length by any set of instructions are the same up to rounding", "[fft]") {
  using namespace library::cpu;
  std::vector<MakeLines> makers{kLinesAny};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) makers.push_back(kLines256);
  if (__builtin_cpu_supports("avx512f")) makers.push_back(kLines512);
#endif
  for (const std::int64_t length : {1, 2, 15, 64, 77, 251, 1009}) {
    for (const bool isDouble : {false, true}) {
      for (const int which : {0, 1, 2}) {
        const auto& types = kTypes[which + (isDouble ? 3 : 0)];
        Transform transform = of(types, {length}, 21);
        transform.input = 1;
        Ranges sides;
        REQUIRE(ranges(transform, sides) == false);  // not aligned; the sizes are asked below
        transform.input = 1 << 20;
        transform.output = 1 << 30;
        REQUIRE(ranges(transform, sides));
        Memory in(sides.ranges[0].bytes);
        std::mt19937 random(static_cast<unsigned>(length));
        const Type inReal = realOf(types[0]);
        for (std::uint64_t at = 0; at < sides.ranges[0].bytes; at += bytesOf(inReal)) encodePart(inReal, std::uniform_real_distribution<double>(-1, 1)(random), in.data() + at);
        const auto expected = transformed(transform, readAll(transform, false, in.data()));
        std::vector<std::int64_t> from, to;
        for (std::int64_t line = 0; line < 21; ++line) {
          from.push_back(line * sizeOf(transform, false, 0));
          to.push_back(line * sizeOf(transform, true, 0));
        }
        const LineKind kind = !isComplex(types[0]) ? LineKind::realToComplex : !isComplex(types[1]) ? LineKind::complexToReal : LineKind::complex;
        for (const MakeLines make : makers) {
          for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
            Memory out(sides.ranges[1].bytes);
            const std::unique_ptr<LineTransform> lines(make(kind, isDouble, static_cast<std::size_t>(length), most));
            CHECK((lines->together > 1) == (most != 0));
            lines->run({in.data(), types[0], 1}, {out.data(), types[1], 1}, from.data(), to.data(), 21, true);
            const auto found = readAll(transform, true, out.data());
            long double error = 0;
            if (kind != LineKind::complexToReal) {
              for (std::size_t i = 0; i < found.size(); ++i) error = std::max(error, std::abs(found[i] - expected[i]));
            } else {
              for (std::size_t i = 0; i < found.size(); ++i) error = std::max(error, std::abs(found[i].real() - expected[i].real()));
            }
            CHECK(static_cast<double>(error) <= epsilonOf(types[2]) * 20 * std::sqrt(static_cast<double>(length)));
          }
        }
      }
    }
  }
}

}  // namespace rouse::fft
