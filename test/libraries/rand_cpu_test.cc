// Random numbers on the CPU device: published algorithms by their published numbers, and all but normal deviates to the last bit as NVIDIA's library makes
// them on hosts (sums of its results, taken once from cuRAND 10.4.0).
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <random>
#include <string_view>

#include "schemas/rand/numbers/loops.h"
#include "schemas/rand/numbers/mt19937.h"
#include "schemas/rand/numbers/philox.h"
#include "test/libraries/rand_runs.h"

namespace rouse::rand {
namespace {

constexpr std::uint64_t kSeed = 0x123456789abcdef;

// FNV-1a of 32-bit words.
std::uint64_t sumOf(const std::vector<std::byte>& bytes, std::uint64_t sum = 0xcbf29ce484222325) {
  for (std::size_t at = 0; at < bytes.size(); at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    sum = (sum ^ word) * 0x100000001b3;
  }
  return sum;
}

struct Golden {
  Type type;
  Ordering ordering;
  std::uint64_t offset;
  std::uint32_t dimensions;
  Kind kind;
  std::uint64_t sum;
};
constexpr Golden kGolden[] = {
    {Type::xorwow, Ordering::pseudoDefault, 0u, 0, Kind::bits32, 0xb3c1b62d57d201bf},
    {Type::xorwow, Ordering::pseudoDefault, 0u, 0, Kind::uniform, 0xf05f9c79d720c341},
    {Type::xorwow, Ordering::pseudoDefault, 0u, 0, Kind::uniformDouble, 0x9126617708c98fb1},
    {Type::xorwow, Ordering::legacy, 12345u, 0, Kind::bits32, 0xac2d0103ab7782ac},
    {Type::xorwow, Ordering::legacy, 12345u, 0, Kind::uniform, 0xd2d39de17a24f517},
    {Type::xorwow, Ordering::legacy, 12345u, 0, Kind::uniformDouble, 0x3dd0c4ebb7b51ff6},
    {Type::xorwow, Ordering::seeded, 5000u, 0, Kind::bits32, 0x8bfefbf22507ab0f},
    {Type::xorwow, Ordering::seeded, 5000u, 0, Kind::uniform, 0xe6a84bbfae8fdc80},
    {Type::xorwow, Ordering::seeded, 5000u, 0, Kind::uniformDouble, 0xb1ec135d646327e4},
    {Type::mrg32k3a, Ordering::pseudoDefault, 0u, 0, Kind::bits32, 0x56b62b7ff449cb5e},
    {Type::mrg32k3a, Ordering::pseudoDefault, 0u, 0, Kind::uniform, 0xab29ae0498452cd3},
    {Type::mrg32k3a, Ordering::pseudoDefault, 0u, 0, Kind::uniformDouble, 0x22a72f95d1bec25e},
    {Type::mrg32k3a, Ordering::legacy, 12345u, 0, Kind::bits32, 0x6f4a820805c82388},
    {Type::mrg32k3a, Ordering::legacy, 12345u, 0, Kind::uniform, 0x226a7877fcb38654},
    {Type::mrg32k3a, Ordering::legacy, 12345u, 0, Kind::uniformDouble, 0xf42a2268367efd16},
    {Type::mtgp32, Ordering::pseudoDefault, 0u, 0, Kind::bits32, 0xcf8d6f11812dc1ac},
    {Type::mtgp32, Ordering::pseudoDefault, 0u, 0, Kind::uniform, 0xab026b845c1ce3de},
    {Type::mtgp32, Ordering::pseudoDefault, 0u, 0, Kind::uniformDouble, 0xb0a431c5f73536df},
    {Type::mtgp32, Ordering::legacy, 0u, 0, Kind::bits32, 0xeac7a697364bd70c},
    {Type::mtgp32, Ordering::legacy, 0u, 0, Kind::uniform, 0x12c7e002680ee71c},
    {Type::mtgp32, Ordering::legacy, 0u, 0, Kind::uniformDouble, 0x3208a5af7042ca87},
    {Type::mt19937, Ordering::pseudoDefault, 0u, 0, Kind::bits32, 0x4a25c29499977a17},
    {Type::mt19937, Ordering::pseudoDefault, 0u, 0, Kind::uniform, 0x716e4c425082457b},
    {Type::mt19937, Ordering::pseudoDefault, 0u, 0, Kind::uniformDouble, 0xdd6e77f62f2fa530},
    {Type::philox, Ordering::pseudoDefault, 0u, 0, Kind::bits32, 0x4630eb7c614e711b},
    {Type::philox, Ordering::pseudoDefault, 0u, 0, Kind::uniform, 0xb143bfeb49e45177},
    {Type::philox, Ordering::pseudoDefault, 0u, 0, Kind::uniformDouble, 0xc0b494fcf4627824},
    {Type::philox, Ordering::legacy, 12345u, 0, Kind::bits32, 0x62bdb34c321ca970},
    {Type::philox, Ordering::legacy, 12345u, 0, Kind::uniform, 0x74316d99651466f2},
    {Type::philox, Ordering::legacy, 12345u, 0, Kind::uniformDouble, 0x2814ca830e52a024},
    {Type::sobol32, Ordering::quasiDefault, 0u, 3, Kind::bits32, 0x22385f479de2386d},
    {Type::sobol32, Ordering::quasiDefault, 0u, 3, Kind::uniform, 0xe87bf563f329a032},
    {Type::sobol32, Ordering::quasiDefault, 0u, 3, Kind::uniformDouble, 0x575a88acef1b1a95},
    {Type::sobol32, Ordering::quasiDefault, 1000003u, 2, Kind::bits32, 0xf9878588f79e286d},
    {Type::sobol32, Ordering::quasiDefault, 1000003u, 2, Kind::uniform, 0xfe770fa40b2de91b},
    {Type::sobol32, Ordering::quasiDefault, 1000003u, 2, Kind::uniformDouble, 0x54e7e71a183e9618},
    {Type::sobol64, Ordering::quasiDefault, 0u, 3, Kind::bits64, 0x32d8d83884e88cf5},
    {Type::sobol64, Ordering::quasiDefault, 0u, 3, Kind::uniform, 0xe87bf563f329a032},
    {Type::sobol64, Ordering::quasiDefault, 0u, 3, Kind::uniformDouble, 0xdadbc0824293e4df},
    {Type::sobol64, Ordering::quasiDefault, 1099511627781u, 2, Kind::bits64, 0x8c58a1a9e5ac8cf5},
    {Type::sobol64, Ordering::quasiDefault, 1099511627781u, 2, Kind::uniform, 0x8eff25dafc6604af},
    {Type::sobol64, Ordering::quasiDefault, 1099511627781u, 2, Kind::uniformDouble, 0x0e292044fd7232f9},
};

// The first six of mean 0.5 and deviation 1.5, at offset 77: normal floats and doubles.
struct Deviates {
  Type type;
  double floats[6], doubles[6];
};
constexpr Deviates kDeviates[] = {
    {Type::xorwow, {-2.3224132, 0.33680737, 0.17130339, 1.3245646, 1.0212032, 2.9296005},
     {-0.5137503083168673, -0.067779157668049317, 0.98094145072295236, 0.72116732672260919, 4.3952937749765315, 0.19693588881366486}},
    {Type::mrg32k3a, {0.48333696, -0.072770655, 0.26473406, -0.29950589, -0.94131422, -0.676229},
     {0.48333696707197588, -0.072770542131632032, 0.26473401532969099, -0.29950572566089229, -0.94131369537177045, -0.67622953695468402}},
    {Type::philox, {2.4674072, -0.31274712, 3.786834, 2.5936074, -0.03615731, -0.5234884},
     {0.69817768743649411, 0.086862722840908513, -1.1946276457633558, -1.7689796525553652, -0.15092443463873217, 0.99551656513225961}},
    {Type::sobol32, {1.9668463, 0.82566047, -1.5493057, -1.2837465, 0.94715363, 2.1697912},
     {1.9668463166168797, 0.82566042126334804, -1.5493057234451366, -1.2837465244113142, 0.94715361985333246, 2.1697914165547489}},
    {Type::sobol64, {1.9668463, 0.82566047, -1.5493057, -1.2837465, 0.94715363, 2.1697912},
     {1.9668463159108134, 0.82566042081519497, -1.5493057245581472, -1.2837465252990046, 0.94715361939573051, 2.1697914157413929}},
};

constexpr Type kTypes[] = {Type::xorwow, Type::mrg32k3a, Type::mtgp32, Type::mt19937, Type::philox, Type::sobol32, Type::scrambledSobol32, Type::sobol64, Type::scrambledSobol64};

struct Moments {
  double mean = 0, variance = 0;
};
template <class T>
Moments momentsOf(const std::vector<T>& numbers) {
  Moments found;
  for (const T number : numbers) found.mean += static_cast<double>(number);
  found.mean /= static_cast<double>(numbers.size());
  for (const T number : numbers) found.variance += (static_cast<double>(number) - found.mean) * (static_cast<double>(number) - found.mean);
  found.variance /= static_cast<double>(numbers.size());
  return found;
}

// The largest distance of the numbers' distribution from `cumulative`, times the root of their count (Kolmogorov and Smirnov): above 2 once in a thousand.
template <class T, class Cumulative>
double distanceOf(std::vector<T> numbers, Cumulative&& cumulative) {
  std::ranges::sort(numbers);
  double most = 0;
  const auto count = static_cast<double>(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double at = cumulative(static_cast<double>(numbers[i]));
    most = std::max({most, std::abs(at - static_cast<double>(i) / count), std::abs(at - static_cast<double>(i + 1) / count)});
  }
  return most * std::sqrt(count);
}
double normal(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

}  // namespace

TEST_CASE("Philox4x32-10 gives the numbers that its authors publish", "[rand]") {
  CHECK(philox({0, 0, 0, 0}, 0) == std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({~0u, ~0u, ~0u, ~0u}, ~0ull) == std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822) == std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("MRG32k3a gives the numbers that its author publishes", "[rand]") {
  MrgState state = mrgSeeded(0);
  // Of all residues 12345, the beginning of L'Ecuyer's package RngStreams.
  for (const double number : {0.1270111220, 0.3185275654, 0.3091860156, 0.8258468629, 0.2216299157})
    CHECK(static_cast<double>(next(state)) * 2.328306549295727688e-10 == Approx(number).margin(1e-9));
}

TEST_CASE("skipping is drawing", "[rand]") {
  XorwowState xorwow = xorwowSeeded(kSeed), skipped = xorwow;
  MrgState mrg = mrgSeeded(kSeed), over = mrg;
  for (int i = 0; i < 12345; ++i) (void)next(xorwow), (void)next(mrg);
  skip(skipped, 12345);
  skip(over, 12345);
  CHECK((skipped.v == xorwow.v && skipped.d == xorwow.d));
  CHECK((over.first == mrg.first && over.second == mrg.second));
  // Half a subsequence of XORWOW twice, in halves that a count of draws can hold.
  XorwowState far = xorwow;
  for (int i = 0; i < 16; ++i) skip(far, std::uint64_t{1} << 63);
  skipSubsequences(xorwow, 1);
  CHECK((far.v == xorwow.v && far.d == xorwow.d));
  MrgState further = mrg;
  for (int i = 0; i < 1 << 13; ++i) skip(further, std::uint64_t{1} << 63);
  skipSubsequences(mrg, 1);
  CHECK((further.first == mrg.first && further.second == mrg.second));
}

TEST_CASE("numbers are those of NVIDIA's library for hosts, to the last bit", "[rand]") {
  for (const Golden& each : kGolden) {
    CAPTURE(static_cast<unsigned>(each.type), static_cast<unsigned>(each.ordering), each.offset, static_cast<unsigned>(each.kind));
    Source source(each.type, kSeed, each.offset, each.ordering, each.dimensions);
    CHECK(sumOf(source.bytes(each.kind, 100002)) == each.sum);
  }
}

TEST_CASE("MT19937's first twister is the one that its authors publish", "[rand]") {
  // Of seed 5489, the 10000th number (as the C++ standard has it); and twisters by themselves are those among others.
  Twister twister = twisters(5489, 0, 1)[0];
  std::vector<std::uint32_t> numbers(8 * 78 * 17);
  for (std::size_t row = 0; row < 78 * 17; ++row) twister.row(numbers.data() + 8 * row);
  std::mt19937 reference;
  std::vector<std::uint32_t> wanted(numbers.size());
  for (std::uint32_t& each : wanted) each = static_cast<std::uint32_t>(reference());
  CHECK(wanted[9999] == 4123659995);
  for (std::size_t period = 0; period < 17; ++period) {
    const auto begin = static_cast<std::ptrdiff_t>(624 * period);
    CHECK(std::is_permutation(numbers.begin() + begin, numbers.begin() + begin + 624, wanted.begin() + begin));
  }
  const std::vector<Twister> several = twisters(kSeed, 5, 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    Twister alone = twisters(kSeed, 5 + i, 1)[0], among = several[i];
    std::uint32_t one[kTwisterRow], other[kTwisterRow];
    alone.skip(100);
    for (int row = 0; row <= 100; ++row) among.row(other);
    alone.row(one);
    CHECK(std::equal(one, one + kTwisterRow, other));
  }
}

TEST_CASE("MTGP32 goes on from states that are kept, and is the same without", "[rand]") {
  // More generators than there are states kept, in turns, and one again that began before.
  std::vector<Source> sources;
  std::vector<std::vector<std::byte>> made(20);
  for (std::uint64_t i = 0; i < 20; ++i) sources.emplace_back(Type::mtgp32, i, 0, i % 2 != 0 ? Ordering::legacy : Ordering::pseudoDefault);
  for (const std::uint64_t count : {100u, 49152u, 30000u}) {
    for (std::size_t i = 0; i < 20; ++i) {
      const std::vector<std::byte> part = sources[i].bytes(Kind::bits32, count);
      made[i].insert(made[i].end(), part.begin(), part.end());
    }
  }
  for (std::size_t i = 0; i < 20; ++i)
    CHECK(Source(Type::mtgp32, i, 0, i % 2 != 0 ? Ordering::legacy : Ordering::pseudoDefault).bytes(Kind::bits32, 79252) == made[i]);
}

TEST_CASE("after calls of other kinds numbers go on as NVIDIA's do", "[rand]") {
  const std::pair<Type, std::uint64_t> expected[] = {{Type::xorwow, 0x1ad60650c12a102f}, {Type::mrg32k3a, 0x4022651c901c4604}, {Type::philox, 0x81d99b171422109a}, {Type::mtgp32, 0xb5c12ee525991315}, {Type::mt19937, 0x2f13427878288f42}};
  for (const auto& [type, sum] : expected) {
    CAPTURE(static_cast<unsigned>(type));
    Source source(type, kSeed, hasOffset(type) ? 77 : 0);
    std::uint64_t found = 0xcbf29ce484222325;
    using enum Kind;
    for (const auto& [kind, count] : std::initializer_list<std::pair<Kind, std::uint64_t>>{
             {bits32, 1000}, {normal, 3002}, {uniformDouble, 4097}, {bits32, 300001}, {normalDouble, 70000}, {uniform, 5}, {uniformDouble, 100000},
             {logNormal, 8192}, {logNormalDouble, 10}, {bits32, 90000}, {uniform, 262143}}) {
      const std::vector<std::byte> made = source.bytes(kind, count);
      if (kind <= uniformDouble) found = sumOf(made, found);
    }
    CHECK(found == sum);
  }
}

TEST_CASE("normal deviates differ from NVIDIA's in the last bits only", "[rand]") {
  for (const Deviates& each : kDeviates) {
    CAPTURE(static_cast<unsigned>(each.type));
    const auto from = [&] { return Source(each.type, kSeed, 77); };
    const auto floats = from().make<float>(Kind::normal, 6, 0.5, 1.5), logs = from().make<float>(Kind::logNormal, 6, 0.5, 1.5);
    const auto doubles = from().make<double>(Kind::normalDouble, 6, 0.5, 1.5), doubleLogs = from().make<double>(Kind::logNormalDouble, 6, 0.5, 1.5);
    for (int i = 0; i < 6; ++i) {
      CHECK(floats[i] == Approx(each.floats[i]).epsilon(1e-6));
      CHECK(logs[i] == Approx(std::exp(each.floats[i])).epsilon(1e-6));
      CHECK(doubles[i] == Approx(each.doubles[i]).epsilon(1e-14));
      CHECK(doubleLogs[i] == Approx(std::exp(each.doubles[i])).epsilon(1e-14));
    }
  }
}

TEST_CASE("a sequence is the same however many calls ask for it", "[rand]") {
  for (const Type type : kTypes) {
    for (const Kind kind : {is64(type) ? Kind::bits64 : Kind::bits32, Kind::uniform, Kind::uniformDouble, Kind::normal, Kind::logNormalDouble, Kind::poisson}) {
      CAPTURE(static_cast<unsigned>(type), static_cast<unsigned>(kind));
      const std::vector<std::byte> whole = Source(type, kSeed, hasOffset(type) ? 3 : 0).bytes(kind, 400000, 5);
      Source source(type, kSeed, hasOffset(type) ? 3 : 0);
      std::vector<std::byte> parts;
      for (const std::uint64_t count : {2u, 98u, 4096u, 10u, 131072u, 81920u, 2u, 182800u}) {
        const std::vector<std::byte> part = source.bytes(kind, count, 5);
        parts.insert(parts.end(), part.begin(), part.end());
      }
      CHECK(parts == whole);
    }
  }
}

TEST_CASE("results are the same to the last bit with each set of instructions", "[rand]") {
  std::vector<const Loops*> sets{&kLoopsAny};
  if (__builtin_cpu_supports("avx2")) sets.push_back(&kLoops256);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) sets.push_back(&kLoops512);
  const Poisson poisson(20);
  XorwowState xorwow[kTogether];
  MrgState mrg[kTogether];
  PhiloxLanes lanes;
  for (std::uint32_t i = 0; i < kTogether; ++i) {
    xorwow[i] = xorwowSeeded(i);
    mrg[i] = mrgSeeded(i);
    lanes.lanes[i] = i, lanes.counters[i] = 7 * i;
  }
  for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
    const Distribution distribution{static_cast<Kind>(kind), 0.25, 3, &poisson};
    std::vector<std::vector<std::byte>> found;
    for (const Loops* set : sets) {
      std::vector<std::byte>& bytes = found.emplace_back(4 * 256 * 256);
      const LaneRows rows{40, kTogether, 3, bytes.data(), kTogether * 16};
      set->xorwow(xorwow, rows, distribution);
      set->mrg(mrg, {40, kTogether, 3, bytes.data() + 65536, kTogether * 16}, distribution);
      set->philox(kSeed, lanes, 1, 254, bytes.data() + 131072, distribution);
      for (const bool wide : {false, true})
        set->sobol(directionsOf(5, true), shiftOf(5, true), wide, 77, 3000, bytes.data() + 140000 / 8 * 8 + (wide ? 32768 : 0), distribution);
    }
    CAPTURE(kind);
    for (const auto& each : found) CHECK(each == found[0]);
  }
}

TEST_CASE("uniform numbers are above 0, at most 1, and equally distributed", "[rand]") {
  for (const Type type : kTypes) {
    CAPTURE(static_cast<unsigned>(type));
    const auto floats = Source(type, kSeed).make<float>(Kind::uniform, 200000);
    CHECK(*std::ranges::min_element(floats) > 0);
    CHECK(*std::ranges::max_element(floats) <= 1);
    CHECK(distanceOf(floats, [](double x) { return x; }) < 2);
    const auto doubles = Source(type, kSeed).make<double>(Kind::uniformDouble, 200000);
    CHECK(*std::ranges::min_element(doubles) > 0);
    CHECK(*std::ranges::max_element(doubles) <= 1);
    CHECK(distanceOf(doubles, [](double x) { return x; }) < 2);
  }
}

TEST_CASE("each bit is set as often as not", "[rand]") {
  for (const Type type : {Type::xorwow, Type::mrg32k3a, Type::mtgp32, Type::mt19937, Type::philox}) {
    const auto words = Source(type, kSeed).make<std::uint32_t>(Kind::bits32, 1 << 20);
    double square = 0;  // of 32 counts (chi-square), and of pairs of neighbours
    int together = 0;
    for (int bit = 0; bit < 32; ++bit) {
      const double deviation = static_cast<double>(std::ranges::count_if(words, [&](std::uint32_t word) { return (word >> bit & 1) != 0; })) - (1 << 19);
      square += deviation * deviation / (1 << 18);
    }
    for (std::size_t i = 1; i < words.size(); ++i) together += std::popcount(words[i] ^ words[i - 1]);
    CAPTURE(static_cast<unsigned>(type), square);
    CHECK(square < 70);  // once in ten thousand
    CHECK(std::abs(together - 16.0 * ((1 << 20) - 1)) < 5 * std::sqrt(8.0 * (1 << 20)));
  }
}

TEST_CASE("normal and log-normal numbers have their distribution", "[rand]") {
  for (const Type type : kTypes) {
    CAPTURE(static_cast<unsigned>(type));
    CHECK(distanceOf(Source(type, kSeed).make<float>(Kind::normal, 200000), normal) < 2);
    CHECK(distanceOf(Source(type, kSeed).make<double>(Kind::normalDouble, 200000), normal) < 2);
    CHECK(distanceOf(Source(type, kSeed).make<float>(Kind::logNormal, 200000, 1, 0.5), [](double x) { return normal((std::log(x) - 1) / 0.5); }) < 2);
    const Moments moments = momentsOf(Source(type, kSeed).make<double>(Kind::normalDouble, 200000, -3, 7));
    CHECK(moments.mean == Approx(-3).margin(0.08));
    CHECK(moments.variance == Approx(49).epsilon(0.02));
  }
}

TEST_CASE("Poisson numbers have their distribution", "[rand]") {
  for (const Type type : {Type::xorwow, Type::mrg32k3a, Type::philox, Type::scrambledSobol32}) {
    for (const double lambda : {0.05, 3.0, 60.0, 4001.0, 400000.0}) {
      CAPTURE(static_cast<unsigned>(type), lambda);
      const auto numbers = Source(type, kSeed).make<std::uint32_t>(Kind::poisson, 200000, lambda);
      const Moments moments = momentsOf(numbers);
      CHECK(moments.mean == Approx(lambda).margin(5 * std::sqrt(lambda / 200000)));
      CHECK(moments.variance == Approx(lambda).epsilon(0.02).margin(5 * lambda / std::sqrt(200000 * std::min(lambda, 1.0))));
      if (lambda > 100) continue;
      // How often each occurs, of those that are to be expected at least 20 times.
      double square = 0, degrees = 0, probability = std::exp(-lambda);
      for (std::uint32_t k = 0; k < 200; probability *= lambda / ++k) {
        const double expected = probability * 200000;
        if (expected < 20) continue;
        const double deviation = static_cast<double>(std::ranges::count(numbers, k)) - expected;
        square += deviation * deviation / expected;
        ++degrees;
      }
      CHECK(square < degrees + 4 * std::sqrt(2 * degrees) + 8);
    }
  }
}

TEST_CASE("Sobol' points: the first ones, and each once in each interval", "[rand]") {
  const auto points = Source(Type::sobol32, 0, 0, {}, 2).make<double>(Kind::uniformDouble, 16);
  const double first[] = {0, .5, .75, .25, .375, .875, .625, .125}, second[] = {0, .5, .25, .75, .375, .875, .125, .625};
  for (int i = 0; i < 8; ++i) {
    CHECK(points[i] == Approx(first[i]).margin(1e-9));
    CHECK(points[8 + i] == Approx(second[i]).margin(1e-9));
  }
  for (const Type type : {Type::sobol32, Type::scrambledSobol32, Type::sobol64, Type::scrambledSobol64}) {
    const auto many = Source(type, 0, 0, {}, 1000).make<float>(Kind::uniform, 1000 * 256);
    for (int dimension = 0; dimension < 1000; dimension += 37) {
      std::vector<bool> hit(256);
      for (int i = 0; i < 256; ++i) hit[std::min(255, static_cast<int>(many[dimension * 256 + i] * 256))] = true;
      CAPTURE(static_cast<unsigned>(type), dimension);
      CHECK(std::ranges::count(hit, true) == 256);
    }
  }
}

TEST_CASE("scrambling changes points, and differs between dimensions", "[rand]") {
  const auto plain = Source(Type::sobol32, 0, 0, {}, 50).make<std::uint32_t>(Kind::bits32, 50 * 64);
  const auto scrambled = Source(Type::scrambledSobol32, 0, 0, {}, 50).make<std::uint32_t>(Kind::bits32, 50 * 64);
  const auto wide = Source(Type::scrambledSobol64, 0, 0, {}, 50).make<std::uint64_t>(Kind::bits64, 50 * 64);
  int same = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    same += plain[i] == scrambled[i];
    CHECK(scrambled[i] == wide[i] >> 32);
  }
  CHECK(same < 3);
}

TEST_CASE("more stretches than a call has room for: lanes go on behind the one that has drawn most", "[rand]") {
  Source source(Type::xorwow, kSeed);
  std::uint64_t most = 0;
  bool levelled = false;
  for (int i = 0; i < 400 && !levelled; ++i) {
    const bool more = source.position.stretches().size() > 1;
    for (const Stretch& each : source.position.stretches()) most = std::max(most, each.draws);
    (void)source.bytes(i % 2 != 0 ? Kind::uniform : Kind::normalDouble, 4096 + 64 * 37 + 2 * static_cast<std::uint64_t>(i));
    REQUIRE(source.position.stretches().size() <= kMostStretches);
    levelled = more && source.position.stretches().size() == 1;
  }
  CHECK(levelled);
  CHECK(source.position.stretches()[0].draws >= most);
  (void)source.bytes(Kind::uniform, 10000);
}

}  // namespace rouse::rand
