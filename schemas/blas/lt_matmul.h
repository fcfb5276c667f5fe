// A cublasLtMatmul as it travels: wire::LibraryCall with library 2, function 0, and this as the parameters: the descriptors' content and
// the call's arguments. Numbers are cuBLASLt's own. The algorithm does not travel: heuristics are answered in the client, and whoever
// runs the call chooses by the same means.
#pragma once

#include <cstdint>
#include <type_traits>

#include "schemas/blas/check.h"

namespace rouse::blas {

inline constexpr std::uint32_t kLtLibrary = 2;
inline constexpr std::uint32_t kLtMatmulFunction = 0;

enum class Order : std::uint8_t { columns = 0, rows = 1 };  // cublasLtOrder_t: which of them lie together

struct LtMatrix {
  std::uint64_t address = 0;
  std::int64_t rows = 0, columns = 0;
  std::int64_t spacing = 0;  // between columns, or rows
  std::int64_t stride = 0;   // between the matrices of a batch; in elements, as `spacing`
  Type type{};
  Order order{};
  std::uint8_t reserved[6] = {};
};

// cublasLtMatmulMatrixScale_t, those that occur: of A and B when they are 8-bit floats.
enum class ScaleMode : std::uint8_t {
  scalar = 0,       // one float for the matrix
  outerVector = 3,  // one for each row of op(A), for each column of op(B)
};

// cublasLtEpilogue_t: bits.
inline constexpr std::uint32_t kEpilogueDefault = 1, kEpilogueRelu = 2, kEpilogueBias = 4, kEpilogueGelu = 32, kEpilogueAux = 128;

struct LtMatmul {
  LtMatrix a, b, c, d;  // c: address 0 where beta is 0, by value
  Scalar alpha, beta;
  std::uint64_t bias = 0;  // as many as d has rows
  std::int64_t biasStride = 0;
  std::uint64_t aux = 0;  // what the activation is applied to; columns lie together
  std::int64_t auxSpacing = 0, auxStride = 0;
  // Floats in memory, by which 8-bit floats are scaled: A, B and C when they are read, D when it is written. 0: by 1.
  std::uint64_t aScale = 0, bScale = 0, cScale = 0, dScale = 0;
  std::uint64_t amax = 0;  // a float: becomes the largest absolute value of D before dScale; 0: nowhere
  std::uint64_t workspace = 0, workspaceBytes = 0;
  std::int64_t batch = 1;
  std::uint32_t computeType = 0;
  std::uint32_t epilogue = kEpilogueDefault;
  std::int32_t multiprocessors = 0;
  Type scaleType{}, biasType{}, auxType{};
  Transpose transa{}, transb{};
  Scalars scalars{};
  std::uint8_t fastAccumulation = 0;
  ScaleMode aScaling{}, bScaling{};
  std::uint8_t reserved[3] = {};
};
static_assert(std::is_trivially_copyable_v<LtMatmul> && sizeof(LtMatmul) == 352);

// The bias's type where the program says none.
Type usualBiasType(const LtMatmul& call);
Check check(const LtMatmul& call);
// As of a Call (check.h).
bool operands(const LtMatmul& call, Operands& found);

}  // namespace rouse::blas
