// A call of cuSOLVER's dense functions as it travels: wire::LibraryCall with library 7, `function` a number of solver::Function, and this as the parameters.
// It holds all state that the call depends on: the handle's modes, what has been set in its parameter objects. Numbers are cuSOLVER's own: cudaDataType,
// cublasFillMode_t, cusolverEigMode_t and so on.
//
// Which fields a function uses follows from its verb (functions.h, generated; shapes.h). Fields that it does not use are 0, but `batch`.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rouse::solver {

inline constexpr std::uint32_t kLibrary = 7;  // wire::LibraryCall::library

// cudaDataType (library_types.h), those that occur.
enum class Type : std::uint8_t { f32 = 0, f64 = 1, c32 = 4, c64 = 5, any = 255 };  // any: in a table, as the caller says

// cublasOperation_t, cublasFillMode_t, cublasSideMode_t, cublasDiagType_t (cublas_api.h).
enum class Transpose : std::uint8_t { none = 0, transposed = 1, conjugated = 2 };
enum class Triangle : std::uint8_t { lower = 0, upper = 1 };
enum class Side : std::uint8_t { left = 0, right = 1 };
enum class Diagonal : std::uint8_t { stored = 0, unit = 1 };

// cusolverEigMode_t, cusolverEigRange_t (cusolver_common.h).
inline constexpr std::uint8_t kValuesOnly = 0, kVectorsToo = 1;
enum class Selection : std::uint32_t { none = 0, all = 1001, byIndex = 1002, byValue = 1003 };

// Column by column, `spacing` elements between the beginnings of columns; of a batch the next is `stride` elements further. In a batch of arrays `address`
// is that of `batch` addresses.
struct Matrix {
  std::uint64_t address = 0;
  std::int64_t spacing = 0, stride = 0;
};

struct Call {
  std::int64_t m = 0, n = 0, k = 0;  // k: also right-hand sides, and the rank that is asked for
  std::int64_t batch = 1;
  Matrix a, b, c;                  // b: right-hand sides, U; c: C, V or its conjugate transpose, right eigenvectors
  std::uint64_t values = 0;        // eigenvalues, singular values, a diagonal
  std::int64_t valuesStride = 0;
  std::uint64_t offDiagonal = 0;
  std::uint64_t tau = 0, otherTau = 0;
  std::uint64_t pivots = 0;        // 32-bit, or 64-bit in the functions for any type
  std::uint64_t rest = 0;          // gesvd's rwork
  std::uint64_t info = 0;
  std::uint64_t work = 0, workBytes = 0;  // the program's, which the library may write; 0: there is none
  std::uint64_t answer = 0;               // memory of both sides where the host is told what it asks for; 0: nothing is asked
  std::int64_t first = 0, last = 0, increment = 0;  // of eigenvalues (il, iu); of rows to exchange
  double low = 0, high = 0;                         // of eigenvalues (vl, vu)
  double tolerance = 0;                             // by Jacobi; 0: the machine's precision
  std::int32_t sweeps = 0;                          // by Jacobi; 0: the library's own limit
  Selection selection = Selection::none;
  Type aType{}, bType{}, cType{}, valuesType{}, tauType{}, computeType{};
  Triangle uplo{};
  Diagonal diagonal{};
  Transpose transpose{};
  Side side{};
  std::uint8_t job = 0, otherJob = 0;  // cusolverEigMode_t, of the left and right vectors; or gesvd's letters
  std::uint8_t economy = 0;
  std::uint8_t problem = 0;       // cusolverEigType_t
  std::uint8_t sorts = 0;         // by Jacobi
  std::uint8_t algorithms = 0;    // cusolverAlgMode_t, two bits for each cusolverDnFunction_t
  std::uint8_t deterministic = 0, mathMode = 0, emulation = 0;  // the handle's: cusolverDeterministicMode_t, cusolverMathMode_t, cudaEmulationStrategy_t
  std::uint8_t padding[5] = {};
};
static_assert(std::is_trivially_copyable_v<Call> && sizeof(Call) == 272);

}  // namespace rouse::solver
