// What may be in a transform, and what memory it names.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "schemas/fft/check.h"
#include "server/library/named_memory.h"

namespace rouse::fft {
namespace {

__extension__ using Wide = __int128;

Transform complexes() {
  Transform transform;
  transform.input = 0x1000;
  transform.output = 0x200000;
  transform.rank = 2;
  transform.dims[0] = 6;
  transform.dims[1] = 10;
  transform.batch = 3;
  transform.packed = 1;
  transform.inType = transform.outType = transform.executionType = Type::c32;
  transform.direction = Direction::forward;
  return transform;
}
Transform reals(bool inverse) {
  Transform transform = complexes();
  (inverse ? transform.outType : transform.inType) = Type::f32;
  transform.direction = inverse ? Direction::inverse : Direction::forward;
  return transform;
}
Transform advanced() {
  Transform transform = complexes();
  transform.packed = 0;
  transform.in = {.embed = {7, 12}, .stride = 2, .distance = 200};
  transform.out = {.embed = {6, 10}, .stride = 3, .distance = 1};
  return transform;
}

Ranges rangesOf(const Transform& transform) {
  REQUIRE(check(transform).verdict == Verdict::runs);
  Ranges found;
  REQUIRE(ranges(transform, found));
  return found;
}

}  // namespace

TEST_CASE("a transform names what it reads and writes, to the byte", "[fft]") {
  Ranges found = rangesOf(complexes());
  REQUIRE(found.count == 2);
  CHECK(found.ranges[0].address == 0x1000);
  CHECK(found.ranges[0].bytes == 6 * 10 * 3 * 8);
  CHECK_FALSE(found.ranges[0].written);
  CHECK(found.ranges[1].bytes == 6 * 10 * 3 * 8);
  CHECK(found.ranges[1].written);

  found = rangesOf(reals(false));
  CHECK(found.ranges[0].bytes == 6 * 10 * 3 * 4);
  CHECK(found.ranges[1].bytes == 6 * 6 * 3 * 8);
  CHECK_FALSE(found.ranges[0].written);

  // NVIDIA's library works in the spectrum of a real signal.
  found = rangesOf(reals(true));
  CHECK(found.ranges[0].bytes == 6 * 6 * 3 * 8);
  CHECK(found.ranges[0].written);
  CHECK(found.ranges[1].bytes == 6 * 10 * 3 * 4);

  // In place rows of real numbers are as long as those of the spectrum; behind the last one there is nothing.
  Transform inPlace = reals(false);
  inPlace.output = inPlace.input;
  found = rangesOf(inPlace);
  CHECK(found.ranges[0].bytes == (6 * 12 * 3 - 2) * 4);
  CHECK(found.ranges[1].bytes == 6 * 6 * 3 * 8);

  found = rangesOf(advanced());
  CHECK(found.ranges[0].bytes == (2 * 200 + (5 * 12 + 9) * 2 + 1) * 8);
  CHECK(found.ranges[1].bytes == (2 + (5 * 10 + 9) * 3 + 1) * 8);

  Transform working = complexes();
  working.workArea = 0x900000;
  working.workBytes = 12345;
  found = rangesOf(working);
  REQUIRE(found.count == 3);
  CHECK(found.ranges[2].address == 0x900000);
  CHECK(found.ranges[2].bytes == 12345);
  CHECK(found.ranges[2].written);
}

TEST_CASE("what no element lies behind is not looked at: embeds of one row, a batch of one", "[fft]") {
  Transform transform = advanced();
  transform.in.embed[0] = 0;
  transform.batch = 1;
  transform.in.distance = -5;
  transform.dims[0] = 1;
  transform.in.embed[1] = std::numeric_limits<std::int64_t>::max();
  CHECK(rangesOf(transform).ranges[0].bytes == (9 * 2 + 1) * 8);
}

TEST_CASE("an input may repeat its elements", "[fft]") {
  Transform transform = advanced();
  transform.in.distance = 0;
  transform.in.embed[1] = 1;
  CHECK(rangesOf(transform).ranges[0].bytes == ((5 + 9) * 2 + 1) * 8);
}

TEST_CASE("memory must be aligned to numbers, and end", "[fft]") {
  Ranges found;
  Transform transform = complexes();
  transform.input = 0x1002;
  CHECK_FALSE(ranges(transform, found));
  transform.input = 0x1004;
  CHECK(ranges(transform, found));
  transform.output = ~std::uint64_t{0} - 7;
  CHECK_FALSE(ranges(transform, found));
}

TEST_CASE("what is wrong with a transform is said as cuFFT says it", "[fft]") {
  struct Case {
    std::function<void(Transform&)> change;
    Verdict verdict;
    const char* what;
  };
  const Case cases[] = {
      {[](Transform& t) { t.rank = 0; }, Verdict::invalidValue, "the rank"},
      {[](Transform& t) { t.rank = 4; }, Verdict::invalidValue, "the rank"},
      {[](Transform& t) { t.dims[1] = 0; }, Verdict::invalidSize, "a dimension"},
      {[](Transform& t) { t.dims[0] = -4; }, Verdict::invalidSize, "a dimension"},
      {[](Transform& t) { t.dims[2] = 1; }, Verdict::invalidValue, "a dimension behind the rank"},
      {[](Transform& t) { t.batch = 0; }, Verdict::invalidSize, "the batch"},
      {[](Transform& t) { t.batch = -1; }, Verdict::invalidSize, "the batch"},
      {[](Transform& t) { t.inType = static_cast<Type>(99); }, Verdict::invalidType, "a type"},
      {[](Transform& t) { t.inType = Type::c64; }, Verdict::invalidType, "types of different precision"},
      {[](Transform& t) { t.executionType = Type::f32; }, Verdict::invalidType, "types of different precision"},
      {[](Transform& t) { t.inType = t.outType = Type::f32; }, Verdict::invalidType, "real numbers on both sides"},
      {[](Transform& t) { t.direction = static_cast<Direction>(0); }, Verdict::invalidValue, "the direction"},
      {[](Transform& t) { t.inType = Type::f32, t.direction = Direction::inverse; }, Verdict::invalidValue, "the direction of a real transform"},
      {[](Transform& t) { t.packed = 2; }, Verdict::invalidValue, "a field that is not 0"},
      {[](Transform& t) { t.padding[1] = 2; }, Verdict::invalidValue, "a field that is not 0"},
      {[](Transform& t) { t.out.stride = 1; }, Verdict::invalidValue, "a layout of what is packed"},
      {[](Transform& t) { t = advanced(), t.in.stride = 0; }, Verdict::invalidValue, "the input's layout"},
      {[](Transform& t) { t = advanced(), t.out.distance = -1; }, Verdict::invalidValue, "the output's layout"},
      {[](Transform& t) { t = advanced(), t.out.distance = 0; }, Verdict::invalidValue, "the output's layout"},
      {[](Transform& t) { t = advanced(), t.out.embed[1] = 9; }, Verdict::invalidSize, "the output's layout"},
      {[](Transform& t) { t = advanced(), t.in.embed[1] = 0; }, Verdict::invalidSize, "the input's layout"},
      {[](Transform& t) { t = advanced(), t.in.embed[2] = 1; }, Verdict::invalidValue, "an embed behind the rank"},
      {[](Transform& t) { t.dims[0] = std::numeric_limits<std::int64_t>::max(); }, Verdict::invalidSize, "more elements than memory can hold"},
      {[](Transform& t) { t.batch = std::int64_t{1} << 50; }, Verdict::invalidSize, "more elements than memory can hold"},
      {[](Transform& t) { t = advanced(), t.in.stride = std::numeric_limits<std::int64_t>::max(); }, Verdict::invalidSize, "an input longer than memory"},
      {[](Transform& t) { t = advanced(), t.in.embed[1] = std::numeric_limits<std::int64_t>::max(); }, Verdict::invalidSize, "an input longer than memory"},
      {[](Transform& t) { t = advanced(), t.out.distance = std::int64_t{1} << 40; }, Verdict::invalidSize, "an output longer than memory"},
      {[](Transform& t) { t.inType = t.outType = t.executionType = Type::c16; }, Verdict::unsupported, "a dimension that is no power of two, in 16-bit numbers"},
      {[](Transform& t) {
         t = advanced();
         t.dims[0] = t.dims[1] = 4;
         t.inType = Type::bf16, t.outType = t.executionType = Type::cbf16;
       },
       Verdict::unsupported, "a stride of 16-bit real numbers"},
  };
  const Case& chosen = cases[GENERATE(range(0, 29))];
  Transform transform = complexes();
  REQUIRE(check(transform).verdict == Verdict::runs);
  chosen.change(transform);
  const Check found = check(transform);
  CHECK(found.verdict == chosen.verdict);
  CHECK(std::string(found.what) == chosen.what);
}

TEST_CASE("every element of a transform that is allowed lies in what it names", "[fft]") {
  std::mt19937_64 random(11);
  const auto number = [&]() -> std::int64_t {
    switch (random() % 6) {
      case 0: return static_cast<std::int64_t>(random());
      case 1: return static_cast<std::int64_t>(random() >> 24);
      case 2: return static_cast<std::int64_t>(random() % 3);
      default: return static_cast<std::int64_t>(1 + random() % 40);
    }
  };
  constexpr Type types[] = {Type::f32, Type::f64, Type::c32, Type::c64, Type::c16, Type::f16};
  int allowed = 0;
  for (int i = 0; i < 200'000; ++i) {
    Transform transform;
    transform.rank = static_cast<std::uint8_t>(1 + random() % 3);
    for (std::uint32_t axis = 0; axis < transform.rank; ++axis) {
      transform.dims[axis] = number();
      transform.in.embed[axis] = number();
      transform.out.embed[axis] = number();
    }
    transform.batch = number();
    transform.in.stride = number(), transform.in.distance = number(), transform.out.stride = number(), transform.out.distance = number();
    transform.inType = types[random() % 6];
    transform.outType = random() % 2 ? transform.inType : types[random() % 6];
    transform.executionType = isComplex(transform.inType) ? transform.inType : transform.outType;
    transform.direction = isComplex(transform.outType) ? Direction::forward : Direction::inverse;
    if (random() % 4 == 0) {
      transform.packed = 1;
      transform.in = transform.out = {};
    }
    transform.input = 1 << 20;
    transform.output = random() % 2 ? transform.input : 1 << 21;
    if (check(transform).verdict != Verdict::runs) continue;
    ++allowed;
    Ranges found;
    REQUIRE(ranges(transform, found));
    for (const bool output : {false, true}) {
      // The corner that lies furthest.
      const Layout layout = layoutOf(transform, output);
      Wide last = static_cast<Wide>(transform.batch - 1) * layout.distance, stride = layout.stride;
      for (std::uint32_t axis = transform.rank; axis-- > 0;) {
        const std::int64_t size = sizeOf(transform, output, axis);
        if (size > 1) last += static_cast<Wide>(size - 1) * stride;
        if (axis > 0) stride = stride > (Wide{1} << 62) ? stride : stride * layout.embed[axis];
      }
      const std::uint64_t bytes = found.ranges[output ? 1 : 0].bytes;
      CHECK((last + 1) * bytesOf(output ? transform.outType : transform.inType) == static_cast<Wide>(bytes));
      CHECK(bytes <= kMostBytes);
    }
  }
  CHECK(allowed > 1000);
}

TEST_CASE("plans are told to need their spectrum, more where a dimension has a large prime", "[fft]") {
  CHECK(workBytesOf(complexes()) == 6 * 10 * 3 * 8);
  CHECK(workBytesOf(reals(true)) == 6 * 6 * 3 * 8);
  Transform transform = complexes();
  transform.dims[1] = 127;
  CHECK(workBytesOf(transform) == 6 * 127 * 3 * 8);
  transform.dims[1] = 131 * 2;
  CHECK(workBytesOf(transform) == 4 * 6 * 262 * 3 * 8);
}

TEST_CASE("memory that a transform names, as the executor finds it", "[fft]") {
  library::NamedMemory named;
  std::string why;
  Transform transform = reals(true);
  transform.workArea = 0x800000;
  transform.workBytes = 64;
  const auto ask = [&](std::uint32_t function = kTransformFunction, std::size_t less = 0) {
    named = {};
    const auto bytes = std::as_bytes(std::span(&transform, 1));
    return library::namedMemory(kLibrary, function, bytes.first(bytes.size() - less), named, why);
  };
  REQUIRE(ask());
  REQUIRE(named.ranges.size() == 3);
  CHECK(named.ranges[0].address == transform.input);
  CHECK(named.ranges[0].written);
  CHECK(named.ranges[1].bytes == 6 * 10 * 3 * 4);
  CHECK(named.ranges[2].address == 0x800000);
  CHECK(std::string_view(named.function) == "cuFFT's transform");
  CHECK(!ask(1));
  CHECK(why == "LibraryCall.function = 1: cuFFT's is 0");
  CHECK(!ask(0, 1));
  CHECK(why == "LibraryCall.parameters: 151 bytes, cuFFT's are 152");
  transform.batch = 0;
  CHECK(!ask());
  CHECK(why == "LibraryCall: cuFFT's transform: the batch");
  transform.batch = 1;
  transform.input = 0x1001;
  CHECK(!ask());
  CHECK(why.find("LibraryCall: cuFFT's transform: memory that is not aligned") == 0);
}

}  // namespace rouse::fft
