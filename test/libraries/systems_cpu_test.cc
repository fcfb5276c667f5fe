// cuSOLVER's sparse part on the CPU device, as it prepares and runs calls: systems of each type, base, order and method; factors in memory; what lies in memory and is
// anything else.
#include <algorithm>
#include <catch2/catch.hpp>
#include <complex>
#include <cstring>
#include <random>
#include <span>
#include <string>

#include "schemas/systems/check.h"
#include "server/library/cpu/prepare.h"
#include "test/libraries/pieces.h"

namespace rouse::systems {
namespace {

using Number = std::complex<double>;

class AllMemory final : public library::MappedMemory {
 public:
  bool contains(AddressRange) const override { return true; }
};
const AllMemory kAllMemory;

template <class T>
std::uint64_t addressOf(std::vector<T>& values) {
  return reinterpret_cast<std::uint64_t>(values.data());
}

// What is said of a call that does not run to its end; empty: it does.
std::string run(Function function, const Call& call, CudaError* code = nullptr) {
  if (const Check checked = check(function, call); checked.verdict != Verdict::runs) return std::string("refused: ") + checked.what;
  if (Ranges found; !ranges(function, call, found)) return "refused: an address";
  auto job = library::cpu::prepare(kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)), kAllMemory);
  if (!job) return job.error().message;
  try {
    library::run(**job, 3);
  } catch (const library::Failure& failure) {
    if (code != nullptr) *code = failure.code;
    return failure.what();
  }
  return {};
}

std::vector<std::byte> encode(Type type, const std::vector<Number>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * bytesOf(type) + 1);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto put = [&](auto value) { std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value); };
    switch (type) {
      case Type::f32: put(static_cast<float>(numbers[i].real())); break;
      case Type::f64: put(numbers[i].real()); break;
      case Type::c32: put(std::complex<float>(numbers[i])); break;
      default: put(numbers[i]);
    }
  }
  return bytes;
}
Number decode(Type type, const std::vector<std::byte>& bytes, std::size_t i) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  };
  switch (type) {
    case Type::f32: return static_cast<double>(as(float{}));
    case Type::f64: return as(double{});
    case Type::c32: return Number(as(std::complex<float>{}));
    default: return as(Number{});
  }
}

// A matrix, right sides of known solutions, and all that a call names.
struct System {
  // Hermitian and positive; or with a diagonal that outweighs the rest of its row, of `rows` rows.
  System(std::mt19937& random, Type of, std::int32_t cols, std::int32_t rows, bool positive, int base, int batch = 1) : type(of) {
    std::normal_distribution<double> some;
    const auto any = [&] { return Number(some(random), isComplex(of) ? some(random) : 0); };
    call.a.rows = rows, call.a.cols = cols, call.a.type = type;
    call.a.base = static_cast<std::uint8_t>(base);
    call.batch = batch;
    std::vector<std::vector<bool>> there(static_cast<std::size_t>(rows), std::vector<bool>(static_cast<std::size_t>(cols)));
    for (std::size_t i = 0; i < there.size(); ++i)
      for (std::size_t j = 0; j < there[i].size(); ++j)
        if (i == j || random() % 4 == 0) there[i][j] = true, positive ? void(there[j][i] = true) : void();
    std::vector<Number> numbers;
    for (int entry = 0; entry < batch; ++entry) {
      dense.emplace_back(there.size(), std::vector<Number>(static_cast<std::size_t>(cols)));
      auto& m = dense.back();
      for (std::size_t i = 0; i < there.size(); ++i)
        for (std::size_t j = 0; j < there[i].size(); ++j)
          if (there[i][j]) m[i][j] = i == j ? Number(3.0 * cols) : positive && j < i ? std::conj(m[j][i]) : any();
      for (std::size_t i = 0; i < there.size(); ++i) {
        if (entry == 0) offsets.push_back(static_cast<std::int32_t>(numbers.size()) + base);
        for (std::size_t j = 0; j < there[i].size(); ++j)
          if (there[i][j]) {
            if (entry == 0) indices.push_back(static_cast<std::int32_t>(j) + base);
            numbers.push_back(m[i][j]);
          }
      }
      if (entry == 0) offsets.push_back(static_cast<std::int32_t>(numbers.size()) + base);
      solutions.emplace_back();
      for (std::int32_t j = 0; j < cols; ++j) solutions.back().push_back(any());
      for (const auto& row : m) {
        Number sum;
        for (std::size_t j = 0; j < row.size(); ++j) sum += row[j] * solutions.back()[j];
        rightSides.push_back(sum);
      }
    }
    call.a.elements = static_cast<std::int32_t>(indices.size());
    values = encode(type, numbers), right = encode(type, rightSides);
    solution.resize(static_cast<std::size_t>(cols * batch) * bytesOf(type) + 1, std::byte{0x5a});
    call.a.offsets = addressOf(offsets), call.a.indices = addressOf(indices), call.a.values = addressOf(values);
    call.right = addressOf(right), call.solution = addressOf(solution);
    call.answer = reinterpret_cast<std::uint64_t>(&answer), call.value = reinterpret_cast<std::uint64_t>(value);
  }
  System(const System&) = delete;
  // Through memory of the call's.
  void giveMemory() {
    state.assign(stateBytes(call, answer.number) / 16 + 1, {});
    call.state = addressOf(state), call.stateBytes = stateBytes(call, answer.number);
  }
  void near() {
    const double epsilon = type == Type::f32 || type == Type::c32 ? 1e-4 : 1e-9;
    for (std::size_t i = 0; i < solutions.size() * solutions[0].size(); ++i) {
      CAPTURE(i);
      CHECK(std::abs(decode(type, solution, i) - solutions[i / solutions[0].size()][i % solutions[0].size()]) < epsilon);
    }
    CHECK(solution.back() == std::byte{0x5a});
  }

  const Type type;
  Call call;
  Answer answer;
  std::vector<std::int32_t> offsets, indices;
  std::vector<std::byte> values, right, solution;
  std::vector<std::vector<std::vector<Number>>> dense;
  std::vector<std::vector<Number>> solutions;
  std::vector<Number> rightSides, state;
  double value[2] = {};
};

constexpr Type kTypes[] = {Type::f32, Type::f64, Type::c32, Type::c64};

}  // namespace

TEST_CASE("a system of each type, base, order and method", "[systems]") {
  std::mt19937 random(1);
  for (const Type type : kTypes)
    for (const int base : {0, 1})
      for (std::uint8_t order = 0; order < 4; ++order)
        for (const Method method : {Method::qr, Method::cholesky}) {
          CAPTURE(static_cast<int>(type), base, static_cast<int>(order), static_cast<int>(method));
          System system(random, type, 17, 17, method == Method::cholesky, base);
          system.call.method = method;
          system.call.order = static_cast<Order>(order);
          system.call.tolerance = 1e-9;
          system.answer.number = kUnanswered;
          REQUIRE(run(Function::solve, system.call) == "");
          CHECK(system.answer.number == -1);
          system.near();
          // In place.
          system.solution = system.right;
          system.solution.back() = std::byte{0x5a};
          system.call.right = system.call.solution = addressOf(system.solution);
          REQUIRE(run(Function::solve, system.call) == "");
          system.near();
        }
}

TEST_CASE("a factor in memory solves, tells its pivots and its diagonal", "[systems]") {
  std::mt19937 random(2);
  for (const Type type : kTypes)
    for (const Method method : {Method::qr, Method::cholesky}) {
      CAPTURE(static_cast<int>(type), static_cast<int>(method));
      System system(random, type, 15, 15, method == Method::cholesky, 1);
      Call& call = system.call;
      call.method = method;
      REQUIRE(run(Function::analyse, call) == "");
      REQUIRE(system.answer.number > 15);
      system.giveMemory();
      if (method == Method::qr) call.shift[0] = 0.25;
      const std::uint64_t whole = std::exchange(call.stateBytes, 256);
      CHECK(run(Function::factorise, call).ends_with("the factor is larger than the info object's memory"));
      call.stateBytes = whole;
      REQUIRE(run(Function::factorise, call) == "");
      // The matrix is needed no more.
      std::ranges::fill(system.values, std::byte{0});
      std::ranges::fill(system.indices, -1);
      if (method == Method::qr) {
        for (std::size_t i = 0; i < 15; ++i) system.rightSides[i] -= 0.25 * system.solutions[0][i];
        const auto right = encode(type, system.rightSides);
        std::ranges::copy(right, system.right.begin());
      }
      REQUIRE(run(Function::solveFactorised, call) == "");
      system.near();
      REQUIRE(run(Function::pivot, call) == "");
      CHECK(system.answer.number == -1);
      call.tolerance = 1e6;
      REQUIRE(run(Function::pivot, call) == "");
      CHECK(system.answer.number == 0);
      if (method == Method::cholesky) {
        REQUIRE(run(Function::diagonal, call) == "");
        const Type real = type == Type::c32 ? Type::f32 : type == Type::c64 ? Type::f64 : type;
        CHECK(std::abs(decode(real, system.solution, 0) - std::sqrt(45.0)) < 1e-5);
      }
      // A factor of the other kind, of another size, and one that has become something else.
      CudaError code{};
      call.method = method == Method::qr ? Method::cholesky : Method::qr;
      CHECK(run(Function::solveFactorised, call, &code).ends_with("is no factor of this kind"));
      CHECK(code == CudaError::invalidValue);
      call.method = method;
      call.a.rows = call.a.cols = 14;
      CHECK(run(Function::solveFactorised, call).ends_with("a factor of another matrix's size"));
      call.a.rows = call.a.cols = 15;
      system.state[1] = {1e300, -1};
      CHECK(run(Function::solveFactorised, call).ends_with("is no factor of this kind"));
    }
}

TEST_CASE("batches, and the nearest vector of more rows than columns", "[systems]") {
  std::mt19937 random(3);
  for (const Type type : kTypes)
    for (const std::int32_t rows : {9, 13}) {
      System system(random, type, 9, rows, false, 0, 6);
      system.call.method = Method::qr;
      system.call.answer = 0;
      REQUIRE(run(Function::solve, system.call) == "");
      system.near();
    }
}

TEST_CASE("where a matrix is singular, or not positive", "[systems]") {
  std::mt19937 random(4);
  System system(random, Type::f64, 8, 8, true, 0);
  const auto at = [&](std::size_t row, std::size_t column) {
    for (std::int32_t i = system.offsets[row]; i < system.offsets[row + 1]; ++i)
      if (system.indices[static_cast<std::size_t>(i)] == static_cast<std::int32_t>(column)) return reinterpret_cast<double*>(system.values.data()) + i;
    return static_cast<double*>(nullptr);
  };
  const double was = *at(5, 5);
  *at(5, 5) = -1;
  system.call.method = Method::cholesky;
  REQUIRE(run(Function::solve, system.call) == "");
  CHECK(system.answer.number == 5);
  CHECK(std::isnan(decode(Type::f64, system.solution, 0).real()));
  *at(5, 5) = was;
  for (std::size_t row = 0; row < 8; ++row)
    if (double* const element = at(row, 3)) *element = 0;
  system.call.method = Method::qr;
  REQUIRE(run(Function::solve, system.call) == "");
  CHECK(system.answer.number == 3);
}

TEST_CASE("the eigenvalue next to a shift, as a call", "[systems]") {
  std::mt19937 random(5);
  System system(random, Type::c32, 12, 12, true, 1);
  system.call.iterations = 2000, system.call.tolerance = 1e-6, system.call.shift[0] = 30;
  std::memcpy(system.right.data(), encode(Type::c32, std::vector<Number>(12, Number(1, 0.5))).data(), 12 * 8);
  REQUIRE(run(Function::eigenvalue, system.call) == "");
  std::complex<float> value;
  std::memcpy(&value, system.value, sizeof value);
  double off = 0, length = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    Number sum = -Number(value) * decode(Type::c32, system.solution, i);
    for (std::size_t j = 0; j < 12; ++j) sum += system.dense[0][i][j] * decode(Type::c32, system.solution, j);
    off += std::norm(sum), length += std::norm(decode(Type::c32, system.solution, i));
  }
  CHECK(off < 1e-6);
  CHECK(std::abs(length - 1) < 1e-5);
}

TEST_CASE("indices of any value touch nothing but what a system names", "[systems]") {
  std::mt19937 random(6);
  int errors = 0, done = 0;
  for (int round = 0; round < 4000; ++round) {
    const auto function = static_cast<Function>(random() % kFunctionCount);
    System system(random, kTypes[random() % 4], 9, 9, true, static_cast<int>(random() % 2));
    Call& call = system.call;
    call.method = function == Function::diagonal ? Method::cholesky : static_cast<Method>(random() % 2);
    call.iterations = 3;
    if (function == Function::solve || function == Function::eigenvalue) call.order = static_cast<Order>(random() % 4);
    if (function != Function::analyse) {
      REQUIRE(run(Function::analyse, call) == "");
      system.giveMemory();
      REQUIRE(run(Function::factorise, call) == "");
    }
    const std::int32_t some[] = {-1, 0, 1, 8, 9, 10, 1000, 0x7fff'ffff, static_cast<std::int32_t>(0x8000'0000u), static_cast<std::int32_t>(random())};
    for (int changes = static_cast<int>(random() % 3); changes >= 0; --changes) {
      const std::int32_t value = some[random() % std::size(some)];
      if (random() % 3 == 0) system.offsets[random() % system.offsets.size()] = value;
      else if (random() % 2 == 0) system.indices[random() % system.indices.size()] = value;
      else if (call.stateBytes != 0) std::memcpy(reinterpret_cast<std::byte*>(call.state) + random() % (call.stateBytes / 4) * 4, &value, 4);
    }
    CudaError code{};
    const std::string said = run(function, call, &code);
    CAPTURE(said);
    (said.empty() ? done : errors)++;
    CHECK((said.empty() || code == CudaError::illegalAddress || code == CudaError::invalidValue));
    CHECK(system.solution.back() == std::byte{0x5a});
  }
  CHECK((errors > 500 && done > 500));
}

TEST_CASE("more than there may be to work in is refused by name", "[systems]") {
  std::mt19937 random(7);
  System system(random, Type::f64, 4, 4, true, 0);
  // So many rows that what is kept of each is too much, and none is read.
  system.call.a.rows = system.call.a.cols = 0x7fff'ffff;
  CudaError code{};
  const std::string said = run(Function::analyse, system.call, &code);
  CHECK(said == "cusolverSpXcsrqrAnalysis on the CPU device: it would work in more than 4294967296 bytes");
  CHECK(code == CudaError::notSupported);
}

}  // namespace rouse::systems
