// What may be in a call of cuSOLVER, and what memory it names.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "schemas/solver/check.h"
#include "server/library/named_memory.h"

namespace rouse::solver {
namespace {

Function functionOf(const std::string& name) {
  const auto found = std::ranges::find(kFunctions, "cusolverDn" + name, &FunctionInfo::name);
  REQUIRE(found != kFunctions.end());
  return static_cast<Function>(found - kFunctions.begin());
}

// A call that runs, of any function: all operands there, none of them larger than it must be.
Call callOf(Function function) {
  Call call;
  call.aType = call.bType = call.cType = call.tauType = call.computeType = Type::f64;
  if (!isWide(function)) call.aType = call.bType = call.cType = call.tauType = call.computeType = info(function).type;
  call.valuesType = realOf(call.aType);
  call.m = 9, call.n = 7, call.k = 5;
  call.batch = info(function).name.find("Batched") != std::string_view::npos ? 3 : 1;
  call.a = {.address = 0x10000, .spacing = 9, .stride = 0};
  call.b = {.address = 0x20000, .spacing = 9, .stride = 0};
  call.c = {.address = 0x30000, .spacing = 9, .stride = 0};
  call.values = 0x40000, call.offDiagonal = 0x50000, call.tau = 0x60000, call.otherTau = 0x70000, call.pivots = 0x80000, call.info = 0x90000;
  call.work = 0xa0000, call.workBytes = 256;
  switch (info(function).verb) {
    case Verb::potrsBatched: call.k = 1; break;
    case Verb::laswp: call.first = 2, call.last = 4, call.increment = 1, call.info = 0; break;
    case Verb::orgbr: call.k = 7; break;
    case Verb::sygvd: case Verb::sygvj: call.problem = 1; break;
    case Verb::syevdx: call.selection = Selection::all; break;
    case Verb::sygvdx: call.problem = 2, call.selection = Selection::byIndex, call.first = 1, call.last = 7; break;
    case Verb::gesvd: call.job = 'A', call.otherJob = 'S'; break;
    case Verb::gesvdj: case Verb::gesvdp: case Verb::gesvdjBatched: call.job = kVectorsToo; break;
    case Verb::gesvda: call.job = kVectorsToo, call.a.stride = 63, call.b.stride = 45, call.c.stride = 45, call.valuesStride = 5; break;
    case Verb::geev: call.otherJob = kVectorsToo; break;
    default: break;
  }
  return call;
}

Ranges rangesOf(Function function, const Call& call) {
  const Check checked = check(function, call);
  CAPTURE(info(function).name, checked.what);
  REQUIRE(checked.verdict == Verdict::runs);
  Ranges found;
  REQUIRE(ranges(function, call, found));
  return found;
}
const Range& rangeOf(const Ranges& found, std::string_view name) {
  const auto end = found.ranges.begin() + found.count;
  const auto at = std::find_if(found.ranges.begin(), end, [&](const Range& each) { return each.operand == name; });
  REQUIRE(at != end);
  return *at;
}
bool named(const Ranges& found, std::string_view name) {
  return std::any_of(found.ranges.begin(), found.ranges.begin() + found.count, [&](const Range& each) { return each.operand == name; });
}

}  // namespace

TEST_CASE("every function has a call that runs, whose memory the executor finds", "[solver]") {
  for (std::uint32_t number = 0; number < kFunctionCount; ++number) {
    const auto function = static_cast<Function>(number);
    const Call call = callOf(function);
    const Ranges found = rangesOf(function, call);
    CHECK(found.count >= 2);
    library::NamedMemory memory;
    std::string why;
    REQUIRE(library::namedMemory(kLibrary, number, std::as_bytes(std::span(&call, 1)), memory, why));
    CHECK(memory.function == info(function).name);
    CHECK(memory.ranges.size() == found.count);
    CHECK(memory.indirect == found.indirect);
    // What it is without one of the operands that it needs.
    for (const auto field : {&Call::values, &Call::offDiagonal, &Call::tau, &Call::otherTau, &Call::info}) {
      Call without = call;
      without.*field = 0;
      Ranges left;
      const bool uses = std::any_of(found.ranges.begin(), found.ranges.begin() + found.count, [&](const Range& each) { return each.address == call.*field; });
      if (call.*field != 0) CHECK(ranges(function, without, left) == !uses);
    }
  }
}

TEST_CASE("a call names what it reads and writes, to the byte", "[solver]") {
  Ranges found = rangesOf(functionOf("Dgetrf"), callOf(functionOf("Dgetrf")));
  CHECK((rangeOf(found, "A").bytes == 63 * 8 && rangeOf(found, "A").written));
  CHECK((rangeOf(found, "pivots").bytes == 7 * 4 && rangeOf(found, "pivots").written));
  CHECK((rangeOf(found, "info").bytes == 4 && rangeOf(found, "info").written));
  CHECK((rangeOf(found, "work area").bytes == 256 && rangeOf(found, "work area").written));
  found = rangesOf(functionOf("Xgetrs"), callOf(functionOf("Xgetrs")));
  CHECK((rangeOf(found, "A").bytes == (6 * 9 + 7) * 8 && !rangeOf(found, "A").written));
  CHECK((rangeOf(found, "pivots").bytes == 7 * 8 && !rangeOf(found, "pivots").written));
  CHECK((rangeOf(found, "B").bytes == (4 * 9 + 7) * 8 && rangeOf(found, "B").written));
  Call call = callOf(functionOf("Cunmqr"));
  call.side = Side::right, call.k = 6;
  found = rangesOf(functionOf("Cunmqr"), call);
  CHECK((rangeOf(found, "A").bytes == (5 * 9 + 7) * 8 && !rangeOf(found, "A").written));
  CHECK((rangeOf(found, "C").bytes == 63 * 8 && rangeOf(found, "C").written));
  CHECK((rangeOf(found, "tau").bytes == 6 * 8 && !rangeOf(found, "tau").written));
  call = callOf(functionOf("Zgesvd"));
  found = rangesOf(functionOf("Zgesvd"), call);
  CHECK(rangeOf(found, "U").bytes == 81 * 16);
  CHECK(rangeOf(found, "VT").bytes == (6 * 9 + 7) * 16);
  CHECK(rangeOf(found, "S").bytes == 7 * 8);
  CHECK_FALSE(named(found, "rwork"));
  call.rest = 0xb0000, call.job = 'N', call.otherJob = 'O';
  found = rangesOf(functionOf("Zgesvd"), call);
  CHECK((rangeOf(found, "rwork").bytes == 6 * 8 && !named(found, "U") && !named(found, "VT")));
  call = callOf(functionOf("Sgesvdj"));
  call.economy = 1;
  found = rangesOf(functionOf("Sgesvdj"), call);
  CHECK((rangeOf(found, "U").bytes == 63 * 4 && rangeOf(found, "V").bytes == (6 * 9 + 7) * 4));
  call.job = kValuesOnly;
  CHECK_FALSE(named(rangesOf(functionOf("Sgesvdj"), call), "U"));
  found = rangesOf(functionOf("DsyevjBatched"), callOf(functionOf("DsyevjBatched")));
  CHECK((rangeOf(found, "A").bytes == (2 * 63 + 6 * 9 + 7) * 8 && rangeOf(found, "W").bytes == 21 * 8 && rangeOf(found, "info").bytes == 12));
  found = rangesOf(functionOf("SpotrfBatched"), callOf(functionOf("SpotrfBatched")));
  CHECK((rangeOf(found, "A").bytes == 24 && !rangeOf(found, "A").written && found.indirect && rangeOf(found, "info").bytes == 12));
  call = callOf(functionOf("DgesvdaStridedBatched"));
  call.answer = 0xc0000;
  found = rangesOf(functionOf("DgesvdaStridedBatched"), call);
  CHECK((rangeOf(found, "A").bytes == (2 * 63 + 63) * 8 && !rangeOf(found, "A").written && rangeOf(found, "S").bytes == 15 * 8));
  CHECK((rangeOf(found, "answer").bytes == 24 && rangeOf(found, "answer").onHost && rangeOf(found, "answer").written));
  call = callOf(functionOf("Xgeev"));
  found = rangesOf(functionOf("Xgeev"), call);
  CHECK((rangeOf(found, "W").bytes == 14 * 8 && named(found, "VR")));
  call.valuesType = Type::c64, call.otherJob = kValuesOnly;
  found = rangesOf(functionOf("Xgeev"), call);
  CHECK((rangeOf(found, "W").bytes == 7 * 16 && !named(found, "VR")));
  call = callOf(functionOf("Slaswp"));
  call.increment = -3;
  found = rangesOf(functionOf("Slaswp"), call);
  CHECK((rangeOf(found, "pivots").bytes == (2 + 2 * 3) * 4 && rangeOf(found, "A").bytes == (6 * 9 + 4) * 4));
}

TEST_CASE("what a parameter may be", "[solver]") {
  struct Wrong {
    const char* function;
    void (*change)(Call&);
    Verdict verdict = Verdict::invalid;
  };
  const Wrong all[] = {
      {"Spotrf", [](Call& c) { c.n = -1; }},
      {"Spotrf", [](Call& c) { c.a.spacing = 6; }},
      {"Spotrf", [](Call& c) { c.uplo = static_cast<Triangle>(2); }},
      {"Spotrf", [](Call& c) { c.n = c.a.spacing = std::int64_t{1} << 31; }},
      {"Spotrf", [](Call& c) { c.n = c.a.spacing = 0x7fff'ffff; }},
      {"Spotrf", [](Call& c) { c.a.spacing = std::numeric_limits<std::int64_t>::max(); }},
      {"Spotrf", [](Call& c) { c.batch = 2; }},
      {"Ssyevd", [](Call& c) { c.batch = 0; }},
      {"Ssyevd", [](Call& c) { c.selection = Selection::byIndex, c.first = 1, c.last = 1000; }},
      {"SgesvdjBatched", [](Call& c) { c.economy = 1; }},
      {"Xpotrf", [](Call& c) { c.n = std::int64_t{1} << 31; }, Verdict::unsupported},
      {"Xpotrf", [](Call& c) { c.a.spacing = std::numeric_limits<std::int64_t>::max(); }, Verdict::unsupported},
      {"Xpotrf", [](Call& c) { c.aType = static_cast<Type>(2); }},
      {"Xpotrf", [](Call& c) { c.computeType = Type::f32; }},
      {"Xpotrs", [](Call& c) { c.bType = Type::c64; }},
      {"Xsyevd", [](Call& c) { c.valuesType = Type::f32; }},
      {"Xgeqrf", [](Call& c) { c.tauType = Type::f32; }},
      {"Xgeev", [](Call& c) { c.valuesType = Type::c32; }},
      {"Xgeev", [](Call& c) { c.job = kVectorsToo; }, Verdict::unsupported},
      {"Xgeev", [](Call& c) { c.otherJob = 2; }},
      {"DpotrsBatched", [](Call& c) { c.k = 2; }, Verdict::unsupported},
      {"DpotrsBatched", [](Call& c) { c.batch = -1; }},
      {"Dgetrs", [](Call& c) { c.transpose = static_cast<Transpose>(3); }},
      {"Dgetrs", [](Call& c) { c.b.spacing = 6; }},
      {"Dlaswp", [](Call& c) { c.first = 0; }},
      {"Dlaswp", [](Call& c) { c.last = 1; }},
      {"Dlaswp", [](Call& c) { c.last = 10; }},
      {"Dlaswp", [](Call& c) { c.increment = 0; }},
      {"Dlaswp", [](Call& c) { c.last = c.a.spacing = 0x7fff'ffff, c.increment = std::numeric_limits<std::int64_t>::min(); }},
      {"Dorgqr", [](Call& c) { c.n = 10, c.a.spacing = 20; }},
      {"Dorgqr", [](Call& c) { c.k = 8; }},
      {"Dormqr", [](Call& c) { c.side = static_cast<Side>(2); }},
      {"Dormqr", [](Call& c) { c.k = 10; }},
      {"Zunmqr", [](Call& c) { c.transpose = Transpose::transposed; }},
      {"Dgebrd", [](Call& c) { c.m = 6; }},
      {"Dorgbr", [](Call& c) { c.side = Side::right; }},
      {"Dsytrf", [](Call& c) { c.pivots = 0; }, Verdict::unsupported},
      {"Xsytrs", [](Call& c) { c.pivots = 0; }, Verdict::unsupported},
      {"Dsyevd", [](Call& c) { c.job = 2; }},
      {"Dsyevdx", [](Call& c) { c.selection = Selection::none; }},
      {"Dsyevdx", [](Call& c) { c.selection = Selection::byIndex, c.first = 0, c.last = 3; }},
      {"Dsyevdx", [](Call& c) { c.selection = Selection::byIndex, c.first = 4, c.last = 3; }},
      {"Dsyevdx", [](Call& c) { c.selection = Selection::byIndex, c.first = 4, c.last = 8; }},
      {"Dsyevdx", [](Call& c) { c.selection = Selection::byValue, c.low = 1, c.high = 1; }},
      {"Dsyevdx", [](Call& c) { c.selection = Selection::byValue, c.low = std::numeric_limits<double>::quiet_NaN(), c.high = 1; }},
      {"Dsygvd", [](Call& c) { c.problem = 0; }},
      {"Dsygvd", [](Call& c) { c.problem = 4; }},
      {"Dgesvd", [](Call& c) { c.m = 6; }},
      {"Dgesvd", [](Call& c) { c.job = 'X'; }},
      {"Dgesvd", [](Call& c) { c.job = c.otherJob = 'O'; }},
      {"Dgesvd", [](Call& c) { c.b.spacing = 8; }},
      {"Dgesvdj", [](Call& c) { c.economy = 2; }},
      {"DgesvdjBatched", [](Call& c) { c.m = 33, c.a.spacing = c.b.spacing = 33; }},
      {"DgesvdaStridedBatched", [](Call& c) { c.k = 8; }},
      {"DgesvdaStridedBatched", [](Call& c) { c.b.stride = 44; }},
      {"DgesvdaStridedBatched", [](Call& c) { c.valuesStride = 4; }},
      {"DgesvdaStridedBatched", [](Call& c) { c.a.stride = -1; }},
      {"DgesvdaStridedBatched", [](Call& c) { c.a.stride = std::numeric_limits<std::int64_t>::max(); }},
  };
  for (const Wrong& each : all) {
    const Function function = functionOf(each.function);
    Call call = callOf(function);
    each.change(call);
    const Check checked = check(function, call);
    CAPTURE(each.function, &each - all, checked.what);
    CHECK(checked.verdict == each.verdict);
    CHECK(std::strlen(checked.what) > 0);
    library::NamedMemory memory;
    std::string why;
    CHECK_FALSE(library::namedMemory(kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)), memory, why));
    CHECK(why.find("LibraryCall: cusolverDn" + std::string(each.function) + ": " + checked.what) == 0);
  }
}

TEST_CASE("nothing is told to the host by functions that tell it nothing", "[solver]") {
  for (std::uint32_t number = 0; number < kFunctionCount; ++number) {
    const auto function = static_cast<Function>(number);
    Call call = callOf(function);
    call.answer = 0xc0000;
    Ranges found;
    CHECK(ranges(function, call, found) == (answerBytes(function, call) != 0));
  }
}

TEST_CASE("addresses that are not aligned to an element's parts, or end behind the last one, name nothing", "[solver]") {
  const Function function = functionOf("Zpotrs");
  Call call = callOf(function);
  Ranges found;
  call.a.address += 8;
  CHECK(ranges(function, call, found));
  call.a.address += 4;
  CHECK_FALSE(ranges(function, call, found));
  call.a.address = ~std::uint64_t{7};
  CHECK_FALSE(ranges(function, call, found));
  call = callOf(function);
  call.work = ~std::uint64_t{0} - 2;
  CHECK_FALSE(ranges(function, call, found));
  call.work = 0;
  CHECK(ranges(function, call, found));
}

TEST_CASE("what programs are told that a call needs is at least 1, and grows with it", "[solver]") {
  for (std::uint32_t number = 0; number < kFunctionCount; ++number) {
    const auto function = static_cast<Function>(number);
    Call call = callOf(function);
    const std::uint64_t some = workElements(function, call);
    CHECK(some >= 1);
    call.m = call.n = call.k = 0;
    CHECK(workElements(function, call) >= 1);
    CHECK(workElements(function, call) <= some);
    call.m = call.n = kMostElements;
    CHECK(workElements(function, call) >= some);
    if (!isWide(function)) CHECK(workElements(function, call) <= static_cast<std::uint64_t>(kMostElements));
  }
}

// Whatever comes: it is refused, or all that it names is within addresses.
TEST_CASE("bytes at random name no more than they may", "[solver]") {
  std::mt19937_64 random(1);
  const std::int64_t interesting[] = {0, 1, 2, 7, 32, 33, 4096, kMostElements, kMostElements + 1, -1, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  std::size_t ran = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto function = static_cast<Function>(random() % kFunctionCount);
    Call call = callOf(function);
    for (std::int64_t* const field : {&call.m, &call.n, &call.k, &call.batch, &call.a.spacing, &call.a.stride, &call.b.spacing, &call.b.stride, &call.c.spacing, &call.valuesStride,
                                      &call.first, &call.last, &call.increment})
      if (random() % 8 == 0) *field = interesting[random() % std::size(interesting)];
    if (random() % 4 == 0) {
      auto* const bytes = reinterpret_cast<unsigned char*>(&call.selection);
      for (std::size_t b = 0; b < 24; ++b)
        if (random() % 8 == 0) bytes[b] = static_cast<unsigned char>(random());
    }
    if (check(function, call).verdict != Verdict::runs) continue;
    Ranges found;
    if (!ranges(function, call, found)) continue;
    ++ran;
    for (std::uint32_t r = 0; r < found.count; ++r) {
      REQUIRE(found.ranges[r].bytes <= kMostBytes);
      REQUIRE(found.ranges[r].address + found.ranges[r].bytes > found.ranges[r].address);
    }
  }
  CHECK(ran > 1000);
}

}  // namespace rouse::solver
