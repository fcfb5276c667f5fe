// What may be in a call of cuSOLVER's sparse part, and what memory it names: before whoever believes nothing of it.
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>

#include "schemas/systems/check.h"
#include "server/library/named_memory.h"

namespace rouse::systems {
namespace {

// A call of each function that runs.
Call callOf(Function function, Method method = Method::cholesky) {
  Call call;
  call.a = {.offsets = 0x10000, .indices = 0x20000, .values = 0x30000, .rows = 10, .cols = 10, .elements = 30, .type = Type::c64, .base = 1, .padding = {}};
  call.right = 0x40000, call.solution = 0x50000;
  call.state = 0x60000, call.stateBytes = 4096;
  call.answer = 0x70000, call.value = 0x80000;
  call.iterations = 3;
  call.method = method;
  return call;
}
Verdict verdictOf(Function function, const Call& call) { return check(function, call).verdict; }
constexpr Function kAll[] = {Function::solve, Function::analyse, Function::factorise, Function::solveFactorised, Function::pivot, Function::diagonal, Function::eigenvalue};

// Its operands, a line each.
std::string operandsOf(Function function, const Call& call) {
  Ranges found;
  REQUIRE(verdictOf(function, call) == Verdict::runs);
  REQUIRE(ranges(function, call, found));
  std::string all;
  for (std::uint32_t i = 0; i < found.count; ++i) {
    const Range& range = found.ranges[i];
    all += std::string(range.operand) + " " + std::to_string(range.bytes) + (range.written ? " w" : "") + (range.onHost ? " host" : "") + ";";
  }
  return all;
}

}  // namespace

TEST_CASE("what of a system's operands is named, and how", "[systems]") {
  const std::string pattern = "row offsets 44;column indices 120;", matrix = pattern + "values 480;";
  CHECK(operandsOf(Function::solve, callOf(Function::solve)) == matrix + "b 160;x 160 w;answer 8 w host;");
  CHECK(operandsOf(Function::analyse, callOf(Function::analyse)) == pattern + "answer 8 w host;");
  CHECK(operandsOf(Function::factorise, callOf(Function::factorise)) == matrix + "factor 4096 w;");
  CHECK(operandsOf(Function::solveFactorised, callOf(Function::solveFactorised)) == "b 160;x 160 w;factor 4096;");
  CHECK(operandsOf(Function::pivot, callOf(Function::pivot)) == "factor 4096;answer 8 w host;");
  CHECK(operandsOf(Function::diagonal, callOf(Function::diagonal)) == "x 80 w;factor 4096;");  // it is real
  CHECK(operandsOf(Function::eigenvalue, callOf(Function::eigenvalue)) == matrix + "b 160;x 160 w;eigenvalue 16 w;");
  // Batches, and more rows than columns.
  Call call = callOf(Function::solve, Method::qr);
  call.answer = 0, call.batch = 5, call.a.rows = 12, call.a.type = Type::f32;
  CHECK(operandsOf(Function::solve, call) == "row offsets 52;column indices 120;values 600;b 240;x 200 w;");
  call.a.elements = 0;
  CHECK(operandsOf(Function::solve, call) == "row offsets 52;b 240;x 200 w;");
}

TEST_CASE("sizes and numbers that a system has not", "[systems]") {
  const auto refused = [](Function function, auto&& change, Method method = Method::cholesky) {
    Call call = callOf(function, method);
    change(call);
    return verdictOf(function, call) == Verdict::invalid;
  };
  for (const Function function : kAll) {
    CAPTURE(static_cast<int>(function));
    CHECK(verdictOf(function, callOf(function)) == Verdict::runs);
    CHECK(refused(function, [](Call& call) { call.a.rows = -1; }));
    CHECK(refused(function, [](Call& call) { call.a.rows = 11; }));
    CHECK(refused(function, [](Call& call) { call.a.elements = -1; }));
    CHECK(refused(function, [](Call& call) { call.a.type = static_cast<Type>(2); }));
    CHECK(refused(function, [](Call& call) { call.a.type = Type::none; }));
    CHECK(refused(function, [](Call& call) { call.a.base = 2; }));
    CHECK(refused(function, [](Call& call) { call.method = static_cast<Method>(2); }));
    CHECK(refused(function, [](Call& call) { call.order = static_cast<Order>(4); }));
    CHECK(refused(function, [](Call& call) { call.batch = 0; }));
    CHECK(refused(function, [](Call& call) { call.batch = 2; }));
    CHECK(refused(function, [](Call& call) { call.tolerance = std::numeric_limits<double>::quiet_NaN(); }));
  }
  CHECK(refused(Function::eigenvalue, [](Call& call) { call.iterations = 0; }));
  CHECK(refused(Function::factorise, [](Call& call) { call.shift[0] = 1; }));
  CHECK_FALSE(refused(Function::factorise, [](Call& call) { call.shift[0] = 1; }, Method::qr));
  for (const Function function : {Function::factorise, Function::solveFactorised, Function::pivot, Function::diagonal})
    CHECK(refused(function, [](Call& call) { call.stateBytes = 0; }));
  // With more rows than columns there is a nearest vector, by Q R alone, and where nobody asks whether it is singular.
  const auto tall = [](Call& call) { call.a.rows = 11; };
  CHECK_FALSE(refused(Function::factorise, tall, Method::qr));
  CHECK(refused(Function::solve, tall, Method::qr));
  CHECK(refused(Function::eigenvalue, tall, Method::qr));
  CHECK_FALSE(refused(Function::solve, [&](Call& call) { tall(call), call.answer = 0, call.batch = 3; }, Method::qr));
  CHECK(refused(Function::solve, [&](Call& call) { tall(call), call.answer = 0, call.order = Order::minimumDegree; }, Method::qr));
  CHECK(refused(Function::factorise, [](Call& call) { call.a.rows = 9; }, Method::qr));
  Call call = callOf(Function::solve);
  call.a.rows = call.a.cols = 0;
  CHECK(verdictOf(Function::solve, call) == Verdict::empty);
}

TEST_CASE("addresses of a system that are none", "[systems]") {
  for (const Function function : kAll) {
    Ranges all;
    const Call good = callOf(function);
    REQUIRE(ranges(function, good, all));
    for (std::uint64_t Call::* const each : {&Call::right, &Call::solution, &Call::state, &Call::value, &Call::answer}) {
      const bool used = [&] {
        for (std::uint32_t i = 0; i < all.count; ++i)
          if (all.ranges[i].address == good.*each) return true;
        return false;
      }();
      for (const std::uint64_t bad : {std::uint64_t{0x40001}, ~std::uint64_t{7}}) {
        Call call = good;
        call.*each = bad;
        Ranges found;
        CHECK(ranges(function, call, found) == !used);
      }
    }
  }
  Call call = callOf(Function::solve, Method::qr);
  call.answer = 0;
  call.a.rows = call.a.cols = call.a.elements = 0x7fff'ffff;
  call.batch = 0x7fff'ffff;
  Ranges found;
  CHECK_FALSE(ranges(Function::solve, call, found));  // 2^66 bytes
}

TEST_CASE("calls of systems with any bytes changed are refused or name memory that is there to be checked", "[systems]") {
  std::mt19937 random(9);
  int runs = 0;
  for (int round = 0; round < 200'000; ++round) {
    const auto function = static_cast<Function>(random() % kFunctionCount);
    Call call = callOf(function, static_cast<Method>(random() % 2));
    auto* const bytes = reinterpret_cast<unsigned char*>(&call);
    for (int changes = static_cast<int>(random() % 4); changes >= 0; --changes) bytes[random() % sizeof call] = static_cast<unsigned char>(random());
    library::NamedMemory named;
    std::string why;
    if (!library::namedMemory(kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)), named, why)) {
      CHECK_FALSE(why.empty());
      continue;
    }
    ++runs;
    for (const NamedRange& each : named.ranges) CHECK((each.bytes > 0 && each.range().end() > each.address));
  }
  CHECK(runs > 1000);
}

TEST_CASE("what is no call of cuSOLVER's sparse part", "[systems]") {
  library::NamedMemory named;
  std::string why;
  std::vector<std::byte> bytes(100);
  CHECK_FALSE(library::namedMemory(kLibrary, 0, bytes, named, why));
  CHECK(why == "LibraryCall.parameters: 100 bytes, cuSOLVER's sparse part's are 128");
  CHECK_FALSE(library::namedMemory(kLibrary, kFunctionCount, bytes, named, why));
  CHECK(why == "LibraryCall.function = 7: those of cuSOLVER's sparse part are 0 to 6");
}

TEST_CASE("a factor's memory is enough for it, and for the matrix", "[systems]") {
  Call call = callOf(Function::factorise);
  for (const Type type : {Type::f32, Type::f64, Type::c32, Type::c64}) {
    call.a.type = type;
    CHECK(stateBytes(call, 0) >= 30 * (4 + bytesOf(type)) + 11 * 4);
    CHECK(stateBytes(call, 1000) >= 1000 * (isComplex(type) ? 20 : 12));
    CHECK(stateBytes(call, std::numeric_limits<std::int64_t>::max()) > stateBytes(call, 1000));
    CHECK(stateBytes(call, -5) == stateBytes(call, 0));
  }
}

}  // namespace rouse::systems
