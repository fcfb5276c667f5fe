// cuSOLVER's sparse part on GPUs, before doubles of it and of cuSPARSE: patterns are looked through before the library has them, matrices are kept in info objects' memory,
// and what is refused. Nothing here says that NVIDIA's library takes these calls.
#include <cusolverSp.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "schemas/systems/check.h"
#include "server/library/cuda/real_libraries.h"
#include "test/libraries/taken.h"

namespace rouse::library::cuda {
namespace {

using systems::Function;
using systems::Method;
using systems::Order;
using systems::Type;

CUstream_st* stream(std::uint64_t number) { return reinterpret_cast<CUstream_st*>(number); }

// Memory of the test's own, which is the device's.
struct Given {
  std::deque<std::vector<std::uint64_t>> all;
  std::uint64_t copies = 0;
};
class Memory final : public WorkMemory {
 public:
  explicit Memory(Given& given) : given_(given) {}
  Result<std::uint64_t> take(std::uint64_t bytes) override { return reinterpret_cast<std::uint64_t>(given_.all.emplace_back(bytes / 8 + 1).data()); }
  void give(std::uint64_t, std::uint64_t) override {}
  Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes, CUstream_st* in) override {
    CHECK(in == stream(0x77));
    ++given_.copies;
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return {};
  }

 private:
  Given& given_;
};

struct Real {
  Real() {
    ::setenv(kSolverVariable, ROUSE_CUSOLVER_DOUBLE, 1);
    ::setenv(kSparseVariable, ROUSE_CUSPARSE_DOUBLE, 1);
    refuse(ROUSE_CUSOLVER_DOUBLE, "", 0);
    singular(-1);
    libraries.workIn(std::make_unique<Memory>(given));
    handle = libraries.take(stream(0x77), systems::kLibrary).value();
    call.a = {.offsets = address(offsets), .indices = address(indices), .values = address(values), .rows = 3, .cols = 3, .elements = 4, .type = Type::f64, .base = 1, .padding = {}};
    call.right = 0xb000, call.solution = 0xc000, call.value = 0xd000;
    call.answer = reinterpret_cast<std::uint64_t>(&answer);
    call.state = address(state), call.stateBytes = 8 * state.size();
    (void)taken();
    (void)takenOf(ROUSE_CUSPARSE_DOUBLE);
  }
  template <class T>
  static std::uint64_t address(std::vector<T>& of) {
    return reinterpret_cast<std::uint64_t>(of.data());
  }
  static std::vector<Taken> taken() { return takenOf(ROUSE_CUSOLVER_DOUBLE); }
  static void singular(int where) { functionOf<void(int)>(ROUSE_CUSOLVER_DOUBLE, "rouse_cusolver_double_singular")(where); }
  Status run(Function function) { return libraries.call(*handle, systems::kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1))); }
  // Of a call of the library's: from the first argument behind the handle on.
  static std::vector<int> at(std::uint64_t where, int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::memcpy(all.data(), reinterpret_cast<const void*>(where), all.size() * 4);
    return all;
  }

  Given given;
  RealLibraries libraries;
  Handle* handle = nullptr;
  systems::Call call;
  systems::Answer answer;
  std::vector<std::int32_t> offsets{1, 2, 4, 5}, indices{1, 1, 2, 3};
  std::vector<double> values{2, 3, 4, 5};
  std::vector<std::uint64_t> state = std::vector<std::uint64_t>(128);
};

}  // namespace

TEST_CASE_METHOD(Real, "a system is the library's own, with a pattern that has been looked through", "[systems]") {
  call.order = Order::reverseCuthillMcKee, call.tolerance = 0.5;
  singular(2);
  REQUIRE(run(Function::solve).ok());
  CHECK(answer.number == 2);
  auto calls = taken();
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].name == "cusolverSpCreate");
  CHECK((calls[1].name == "cusolverSpSetStream" && calls[1].arguments[1] == 0x77));
  CHECK(calls[2].name == "cusolverSpDcsrlsvqr");
  const Words solve = calls[2].arguments;
  CHECK((solve[1] == 3 && solve[2] == 4 && solve[4] == address(values) && solve[7] == 0xb000 && solve[9] == 1 && solve[10] == 0xc000));
  double tolerance = 0;
  std::memcpy(&tolerance, &solve[8], sizeof tolerance);
  CHECK(tolerance == 0.5);
  // Of the executor's own memory, from 0 on.
  CHECK((solve[5] != address(offsets) && solve[6] != address(indices)));
  CHECK(at(solve[5], 4) == std::vector<int>{0, 1, 3, 4});
  CHECK(at(solve[6], 4) == std::vector<int>{0, 0, 1, 2});
  // The descriptor is ended again.
  const auto described = takenOf(ROUSE_CUSPARSE_DOUBLE);
  REQUIRE(described.size() == 2);
  CHECK((described[0].name == "cusparseCreateMatDescr" && described[1].name == "cusparseDestroyMatDescr" && described[1].arguments[0] == solve[3]));
  call.method = Method::cholesky, call.a.type = Type::c32, call.order = Order::none;
  REQUIRE(run(Function::solve).ok());
  calls = taken();
  REQUIRE(calls.size() == 1);
  CHECK((calls[0].name == "cusolverSpCcsrlsvchol" && calls[0].arguments[9] == 0));
  call.a.type = Type::f32, call.iterations = 9, call.shift[0] = 1.5;
  REQUIRE(run(Function::eigenvalue).ok());
  calls = taken();
  REQUIRE(calls.size() == 1);
  CHECK((calls[0].name == "cusolverSpScsreigvsi" && calls[0].arguments[9] == 9 && calls[0].arguments[11] == 0xd000 && calls[0].arguments[12] == 0xc000));
  libraries.end();
  calls = taken();
  CHECK((calls.size() == 1 && calls[0].name == "cusolverSpDestroy"));
}

TEST_CASE_METHOD(Real, "indices that are none never reach the library", "[systems]") {
  for (const auto& [where, value] : std::vector<std::pair<std::int32_t*, std::int32_t>>{{&offsets[1], 9}, {&offsets[2], 1}, {&offsets[0], 0}, {&indices[2], 4}, {&indices[0], 0}, {&indices[3], -7}}) {
    const std::int32_t was = std::exchange(*where, value);
    for (const Function function : {Function::solve, Function::analyse, Function::eigenvalue}) {
      const Status said = run(function);
      REQUIRE_FALSE(said.ok());
      CHECK(said.error().code == CudaError::illegalAddress);
    }
    for (const Taken& each : taken()) CHECK((each.name == "cusolverSpCreate" || each.name == "cusolverSpSetStream"));
    *where = was;
  }
}

TEST_CASE_METHOD(Real, "an info object's memory has the matrix, which is looked through again", "[systems]") {
  call.method = Method::cholesky;
  REQUIRE(run(Function::analyse).ok());
  CHECK(answer.number == 0);
  CHECK(systems::stateBytes(call, 0) <= 8 * state.size());
  REQUIRE(run(Function::factorise).ok());
  (void)taken();
  // The program's own is needed no more.
  offsets.assign(4, 77), indices.assign(4, 77);
  REQUIRE(run(Function::solveFactorised).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 1);
  CHECK((calls[0].name == "cusolverSpDcsrlsvchol" && calls[0].arguments[7] == 0xb000 && calls[0].arguments[9] == 0 && calls[0].arguments[10] == 0xc000));
  double kept[4];
  std::memcpy(kept, reinterpret_cast<const void*>(calls[0].arguments[4]), sizeof kept);
  CHECK((kept[0] == 2 && kept[3] == 5 && calls[0].arguments[4] % 16 == 0));
  CHECK(at(calls[0].arguments[6], 4) == std::vector<int>{0, 0, 1, 2});
  // Pivots by a right side of zeros.
  singular(1);
  REQUIRE(run(Function::pivot).ok());
  CHECK(answer.number == 1);
  calls = taken();
  REQUIRE(calls.size() == 1);
  double zeros[3] = {1, 1, 1};
  std::memcpy(zeros, reinterpret_cast<const void*>(calls[0].arguments[7]), sizeof zeros);
  CHECK((calls[0].name == "cusolverSpDcsrlsvchol" && zeros[0] == 0 && zeros[2] == 0));
  // What the program makes of it.
  state[0] = ~std::uint64_t{0};
  CHECK_FALSE(run(Function::solveFactorised).ok());
  CHECK(taken().empty());
  call.stateBytes = 16;
  const Status small = run(Function::factorise);
  CHECK((!small.ok() && small.error().code == CudaError::invalidValue));
  call.stateBytes = 8 * state.size();
  call.method = Method::qr, call.shift[0] = 1;
  const Status refused = run(Function::factorise);
  CHECK((!refused.ok() && refused.error().code == CudaError::notSupported));
  call.method = Method::cholesky;
  CHECK(run(Function::diagonal).error().code == CudaError::notSupported);
}

TEST_CASE_METHOD(Real, "a batch is analysed, solved and ended again", "[systems]") {
  call.answer = 0, call.batch = 5, call.a.rows = 3;
  REQUIRE(run(Function::solve).ok());
  const auto calls = taken();
  std::vector<std::string> names;
  for (const Taken& each : calls) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"cusolverSpCreate", "cusolverSpSetStream", "cusolverSpCreateCsrqrInfo", "cusolverSpXcsrqrAnalysisBatched", "cusolverSpDcsrqrBufferInfoBatched",
                                          "cusolverSpDcsrqrsvBatched", "cusolverSpDestroyCsrqrInfo"});
  const Words& solved = calls[5].arguments;
  CHECK((solved[1] == 3 && solved[2] == 3 && solved[3] == 4 && solved[8] == 0xb000 && solved[9] == 0xc000 && solved[10] == 5));
  offsets[3] = 4;  // the last element is no row's
  const Status refused = run(Function::solve);
  CHECK((!refused.ok() && refused.error().code == CudaError::notSupported));
}

TEST_CASE_METHOD(Real, "what the library refuses is an error with its name, and every call may wait", "[systems]") {
  refuse(ROUSE_CUSOLVER_DOUBLE, "cusolverSpDcsrlsvqr", CUSOLVER_STATUS_ALLOC_FAILED);
  answer.number = 77;
  const Status said = run(Function::solve);
  REQUIRE_FALSE(said.ok());
  CHECK(said.error().code == CudaError::memoryAllocation);
  CHECK(said.error().message == "cusolverSp…csrlsvqr: CUSOLVER_STATUS_ALLOC_FAILED");
  refuse(ROUSE_CUSOLVER_DOUBLE, "", 0);
  CHECK(mayWait(systems::kLibrary, 0));
}

}  // namespace rouse::library::cuda
