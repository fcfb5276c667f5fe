// A call of cuBLAS as it travels: wire::LibraryCall with library 1, `function` a number of blas::Function, and this as the parameters.
// It holds all state that the call depends on: types, scalars (by value, or where they lie), the handle's modes and workspace. Numbers
// are cuBLAS's own: cudaDataType, cublasComputeType_t, cublasOperation_t and so on.
//
// Which fields a function uses follows from its verb (functions.h, generated). Fields that it does not use are 0.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rouse::blas {

inline constexpr std::uint32_t kLibrary = 1;  // wire::LibraryCall::library

// cudaDataType (library_types.h), those that occur.
enum class Type : std::uint8_t {
  f32 = 0,
  f64 = 1,
  f16 = 2,
  i8 = 3,
  c32 = 4,
  c64 = 5,
  u8 = 8,
  i32 = 10,
  bf16 = 14,
  i64 = 24,
  e4m3 = 28,  // 8-bit floats: cuBLASLt's alone
  e5m2 = 29,
  any = 255,  // in a table: as the caller says
};

// cublasOperation_t, cublasFillMode_t, cublasSideMode_t, cublasDiagType_t, cublasPointerMode_t (cublas_api.h).
enum class Transpose : std::uint8_t { none = 0, transposed = 1, conjugated = 2 };
enum class Triangle : std::uint8_t { lower = 0, upper = 1 };
enum class Side : std::uint8_t { left = 0, right = 1 };
enum class Diagonal : std::uint8_t { stored = 0, unit = 1 };
enum class Scalars : std::uint8_t { byValue = 0, inMemory = 1 };

enum class Batching : std::uint8_t {
  single = 0,
  strided = 1,  // each operand's next matrix or vector is `stride` elements further
  arrays = 2,   // each operand's `address` is that of `batch` addresses
};

// A matrix, column by column, `spacing` elements between the beginnings of columns; or a vector, `spacing` elements between its
// elements: negative: it begins with the last.
struct Operand {
  std::uint64_t address = 0;
  std::int64_t spacing = 0;
  std::int64_t stride = 0;
};

// The scalar itself, in its type, from the first byte on; or its address.
struct Scalar {
  std::uint64_t words[2] = {};
};

// How the handle wants products emulated (cublasSetEmulationStrategy and what is set beside it); as a fresh handle has it.
struct Emulation {
  std::uint64_t mantissaBitCount = 0;  // where the number of bits that were kept is told, an int32; 0: nowhere
  std::int32_t mostMantissaBits = 0, mantissaBitOffset = 0;
  std::uint16_t specialValues = 0xffff;  // cudaEmulationSpecialValuesSupport
  std::uint8_t strategy = 0;             // cublasEmulationStrategy_t
  std::uint8_t mantissaControl = 0;      // cudaEmulationMantissaControl
  std::uint32_t unused = 0;
  bool operator==(const Emulation&) const = default;
};

struct Call {
  Operand a, b, c, x, y;
  std::int64_t m = 0, n = 0, k = 0, batch = 0;  // k: of a band its subdiagonals, or those beside the stored diagonal; of a solver its right-hand sides
  std::int64_t ku = 0;                          // of a band: its superdiagonals
  Scalar alpha, beta;  // of rot: c and s
  std::uint64_t result = 0;
  std::uint64_t pivots = 0, infos = 0;  // of factorisations: n int32 for each matrix, one int32 for each; 0: none
  // Addresses: of rotg of a, b, c and s; of rotmg of d1, d2, x1, y1 and the parameters. Of rotm the five parameters, one behind the other, or their address.
  std::uint64_t rotation[5] = {};
  std::uint64_t workspace = 0, workspaceBytes = 0;  // the handle's; 0: the library's own
  Type aType{}, bType{}, cType{}, xType{}, yType{}, scaleType{}, resultType{}, executionType{};
  Transpose transa{}, transb{};
  Triangle uplo{};
  Side side{};
  Diagonal diag{};
  Scalars scalars{};
  Batching batching{};
  std::uint8_t atomics = 0;  // cublasAtomicsMode_t
  std::uint32_t computeType = 0;  // cublasComputeType_t; 0 where the function has none
  std::int32_t algorithm = 0;     // cublasGemmAlgo_t
  std::uint32_t mathMode = 0;     // cublasMath_t
  std::int32_t multiprocessors = 0;
  Emulation emulation;  // where the handle's math mode or the compute type asks for it
};
static_assert(std::is_trivially_copyable_v<Call> && sizeof(Call) == 328);

}  // namespace rouse::blas
