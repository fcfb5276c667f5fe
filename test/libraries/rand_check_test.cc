// What may be asked of a generator, what memory it names, and where it is between calls.
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "schemas/rand/position.h"
#include "server/library/named_memory.h"

namespace rouse::rand {
namespace {

struct Asked {
  Generation generation;
  std::vector<Stretch> stretches;
};

Asked pseudo(Type type = Type::xorwow) {
  Asked asked;
  asked.generation.output = 0x1000;
  asked.generation.count = 100;
  asked.generation.type = type;
  asked.generation.ordering = Ordering::pseudoDefault;
  asked.generation.kind = Kind::uniform;
  Position position;
  position.begin(type, asked.generation.ordering, 5);
  asked.generation.step = position.step();
  asked.stretches = position.stretches();
  asked.generation.stretches = static_cast<std::uint32_t>(asked.stretches.size());
  return asked;
}
Asked quasi(Type type = Type::sobol32) {
  Asked asked;
  asked.generation.output = 0x1000;
  asked.generation.count = 99;
  asked.generation.type = type;
  asked.generation.ordering = Ordering::quasiDefault;
  asked.generation.kind = Kind::uniform;
  asked.generation.dimensions = 3;
  return asked;
}

std::vector<std::byte> bytesOf(const Asked& asked) {
  std::vector<std::byte> bytes(sizeof asked.generation + asked.stretches.size() * sizeof(Stretch));
  std::memcpy(bytes.data(), &asked.generation, sizeof asked.generation);
  if (!asked.stretches.empty()) std::memcpy(bytes.data() + sizeof asked.generation, asked.stretches.data(), bytes.size() - sizeof asked.generation);
  return bytes;
}

}  // namespace

TEST_CASE("a generation names what it writes, to the byte", "[rand]") {
  for (const Kind kind : {Kind::bits32, Kind::uniform, Kind::uniformDouble, Kind::normal, Kind::normalDouble, Kind::logNormal, Kind::logNormalDouble, Kind::poisson}) {
    Asked asked = pseudo();
    asked.generation.kind = kind;
    asked.generation.first = 3;
    library::NamedMemory named;
    std::string why;
    REQUIRE(library::namedMemory(kLibrary, kGenerateFunction, bytesOf(asked), named, why));
    REQUIRE(named.ranges.size() == 1);
    CHECK(named.ranges[0].address == 0x1000);
    CHECK(named.ranges[0].bytes == 100 * bytesOf(kind));
    CHECK(named.ranges[0].written);
    CHECK_FALSE(named.indirect);
  }
}

TEST_CASE("what is wrong is said", "[rand]") {
  struct Wrong {
    std::function<void(Asked&)> change;
    Verdict verdict;
    bool isQuasi = false;
  };
  const Wrong all[] = {
      {[](Asked& a) { a.generation.type = static_cast<Type>(100); }, Verdict::typeError},
      {[](Asked& a) { a.generation.kind = static_cast<Kind>(9); }, Verdict::typeError},
      {[](Asked& a) { a.generation.kind = Kind::bits64; }, Verdict::typeError},
      {[](Asked& a) { a.generation.type = Type::sobol64, a.generation.kind = Kind::bits32; }, Verdict::typeError, true},
      {[](Asked& a) { a.generation.ordering = Ordering::quasiDefault; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.ordering = Ordering::pseudoDefault; }, Verdict::outOfRange, true},
      {[](Asked& a) { a.generation.ordering = static_cast<Ordering>(0); }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.type = Type::mrg32k3a, a.generation.ordering = Ordering::seeded; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.count = 0; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.count = std::numeric_limits<std::uint64_t>::max() - 1; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.count = kMostBytes / 4 + 1; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.kind = Kind::normal, a.generation.count = 101; }, Verdict::notMultiple},
      {[](Asked& a) { a.generation.count = 100; }, Verdict::notMultiple, true},
      {[](Asked& a) { a.generation.dimensions = 0; }, Verdict::outOfRange, true},
      {[](Asked& a) { a.generation.dimensions = 20001, a.generation.count = 20001; }, Verdict::outOfRange, true},
      {[](Asked& a) { a.generation.dimensions = 1; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.kind = Kind::poisson, a.generation.first = 0; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.kind = Kind::poisson, a.generation.first = -1; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.kind = Kind::poisson, a.generation.first = 400001; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.kind = Kind::poisson, a.generation.first = std::numeric_limits<double>::quiet_NaN(); }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.type = Type::mtgp32, a.generation.step = kMostTwisterStep + 1, a.stretches.clear(), a.generation.stretches = 0; }, Verdict::unsupported},
      {[](Asked& a) { a.generation.type = Type::mtgp32; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.padding = 1; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.output = 0x1002; }, Verdict::outOfRange},
      {[](Asked& a) { a.generation.output = ~std::uint64_t{3}; }, Verdict::outOfRange},
      {[](Asked& a) { a.stretches.clear(), a.generation.stretches = 0; }, Verdict::outOfRange},
      {[](Asked& a) { a.stretches[0].lane = 1; }, Verdict::outOfRange},
      {[](Asked& a) { a.stretches[1].lane = 0; }, Verdict::outOfRange},
      {[](Asked& a) { a.stretches[1].lane = 4096; }, Verdict::outOfRange},
      {[](Asked& a) { a.stretches[1].padding = 1; }, Verdict::outOfRange},
      {[](Asked& a) { a.stretches.push_back({}), a.generation.stretches = 1; }, Verdict::outOfRange, true},
  };
  for (std::size_t i = 0; i < std::size(all); ++i) {
    Asked asked = all[i].isQuasi ? quasi() : pseudo();
    REQUIRE(check(asked.generation, asked.stretches).verdict == Verdict::runs);
    all[i].change(asked);
    CAPTURE(i);
    const Check found = check(asked.generation, asked.stretches);
    CHECK(found.verdict == all[i].verdict);
    CHECK(std::string(found.what) != "");
    library::NamedMemory named;
    std::string why;
    CHECK_FALSE(library::namedMemory(kLibrary, kGenerateFunction, bytesOf(asked), named, why));
    CHECK(why.find(found.what) != std::string::npos);
  }
}

TEST_CASE("what pairs do not need: Philox and quasi-random numbers take any count", "[rand]") {
  Asked asked = pseudo(Type::philox);
  asked.generation.kind = Kind::normalDouble;
  asked.generation.count = 101;
  CHECK(check(asked.generation, asked.stretches).verdict == Verdict::runs);
  asked = quasi();
  asked.generation.kind = Kind::normal;
  CHECK(check(asked.generation, asked.stretches).verdict == Verdict::runs);
}

TEST_CASE("bytes that are no generation", "[rand]") {
  const Asked asked = pseudo();
  const std::vector<std::byte> right = bytesOf(asked);
  library::NamedMemory named;
  std::string why;
  for (std::size_t size = 0; size < right.size(); ++size) CHECK_FALSE(library::namedMemory(kLibrary, kGenerateFunction, std::span(right).first(size), named, why));
  std::vector<std::byte> longer = right;
  longer.resize(longer.size() + sizeof(Stretch));
  CHECK_FALSE(library::namedMemory(kLibrary, kGenerateFunction, longer, named, why));
  CHECK_FALSE(library::namedMemory(kLibrary, 1, right, named, why));
  // Any that pass say where they write.
  std::mt19937_64 random(5);
  int passed = 0;
  for (int i = 0; i < 200000; ++i) {
    std::vector<std::byte> bytes = right;
    for (int changes = static_cast<int>(random() % 3); changes >= 0; --changes) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    library::NamedMemory found;
    if (!library::namedMemory(kLibrary, kGenerateFunction, bytes, found, why)) continue;
    ++passed;
    REQUIRE(found.ranges.size() == 1);
    REQUIRE(found.ranges[0].bytes <= kMostBytes);
    REQUIRE(found.ranges[0].address + found.ranges[0].bytes >= found.ranges[0].address);
  }
  CHECK(passed > 1000);
}

TEST_CASE("positions: lanes, and how much each has drawn", "[rand]") {
  const auto drawn = [](const Position& position, std::uint32_t lane) {
    std::uint64_t draws = 0;
    for (const Stretch& each : position.stretches())
      if (each.lane <= lane) draws = each.draws;
    return draws;
  };
  std::mt19937_64 random(7);
  for (const Type type : {Type::xorwow, Type::mrg32k3a, Type::philox}) {
    const std::uint32_t lanes = lanesOf(type, Ordering::legacy);
    const std::uint64_t offset = random() % 1000000, perStep = type == Type::philox ? 4 : 1;
    Position position;
    position.begin(type, Ordering::legacy, offset);
    std::vector<std::uint64_t> counted(lanes);
    std::uint64_t step = offset;
    for (std::uint64_t i = 0; i < offset / perStep; ++i) ++counted[i % lanes];
    for (int call = 0; call < 12; ++call) {
      Generation generation;
      generation.type = type;
      generation.ordering = Ordering::legacy;
      constexpr Kind kKindsHere[] = {Kind::bits32, Kind::uniformDouble, Kind::normal, Kind::normalDouble};
      generation.kind = kKindsHere[random() % 4];
      const Step each = stepOf(type, generation.kind);
      generation.count = (1 + random() % (3 * lanes)) * (perStep == 1 ? each.results : 1);
      position.advance(generation);
      // One result after the other.
      for (std::uint64_t i = 0; i < generation.count / (perStep == 1 ? each.results : 1); ++i)
        if (++step % perStep == 0) counted[(step - 1) / perStep % lanes] += each.draws;
    }
    CHECK(position.step() == step);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) REQUIRE(drawn(position, lane) == counted[lane]);
  }
}

}  // namespace rouse::rand
