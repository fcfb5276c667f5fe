// A cublasLtMatrixTransform as it travels: wire::LibraryCall with library 2, function 1, and this as the parameters. C = alpha op(A) + beta op(B), in
// numbers of the scale type, between any two orders.
#pragma once

#include "schemas/blas/lt_matmul.h"

namespace rouse::blas {

inline constexpr std::uint32_t kLtTransformFunction = 1;

struct LtTransform {
  LtMatrix a, b, c;  // a, b: address 0: there is none, and nothing else in it counts
  Scalar alpha, beta;
  std::int64_t batch = 1;
  Type scaleType{};
  Transpose transa{}, transb{};
  Scalars scalars{};
  std::uint8_t reserved[4] = {};
};
static_assert(std::is_trivially_copyable_v<LtTransform> && sizeof(LtTransform) == 192);

Check check(const LtTransform& call);
// As of a Call (check.h).
bool operands(const LtTransform& call, Operands& found);

}  // namespace rouse::blas
