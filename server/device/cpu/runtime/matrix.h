// Matrix operations on the registers that the lanes of a warp bring (matrix_form.h). Pure functions: no fibers, no waiting.
//
// Arithmetic. The ISA asks for products and sums of at least single precision and leaves their order open ("mma", "Semantics"), and
// hardware truncates some bits. Here products of f16, bf16, tf32 and fp8 are exact in double, summed in double onto C along k upwards,
// and rounded once to the type of D, to nearest even; NaN is 0x7fffffff or 0x7fff. Where A is sparse, there are products of what it
// has, and no others: nothing is multiplied by zero. Of tf32 the upper 19 bits count. f64 is one fused
// multiply-add after another along k. Integers are exact, then wrap around or saturate. The result depends on nothing but the
// operands, not on the processor either.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "server/device/cpu/matrix_form.h"

namespace rouse::cpu {

// By lane: kMatrixWords words, aligned to 8 (matrix_form.h). Null: the lane is not there; all it would bring is zero.
using LaneRegisters = std::array<std::uint32_t*, 32>;

// What all lanes do together: multiply, multiplyShared, loadRows, storeRows, transpose. The last four touch the kernel's memory or may: a fault
// leaves them half-way.
void runMatrixOperation(const MatrixOperation&, const LaneRegisters&);

// Eight rows of eight 16-bit elements (32 words) become their transpose. `to` may be `from`.
void transposeUnit(const std::uint32_t* from, std::uint32_t* to);

// Whether the lane's address is one of a row, which must be aligned to its size; other lanes' addresses mean nothing.
inline constexpr std::uint32_t kMatrixRowBytes = 16;
bool bringsRow(const MatrixOperation&, std::uint32_t lane);

// What each lane does for itself: load, store. `stride` between rows or columns in elements.
void moveMatrixPart(const MatrixOperation&, std::uint32_t lane, std::uint32_t* registers, std::byte* base, std::uint32_t stride);

// Those of all lanes by word, then by lane: lane l's word w at words[32 w + l].
struct WarpRegisters {
  std::uint32_t* words;
};

// As above, for all lanes. Returns the bits of rows' addresses that ought to be zero.
std::uint32_t runMatrixOperation(const MatrixOperation&, const WarpRegisters&);
void moveMatrixParts(const MatrixOperation&, const WarpRegisters&, std::byte* const* bases, const std::uint32_t* strides);

// D = A * B + C. A by rows, B by columns (n rows of k), C and D by rows, as in memory without gaps. `d` may be `c`. `sparsity`: a word of each lane,
// where A is sparse.
void multiplyMatrices(const MatrixOperation&, const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d,
                      const std::uint32_t* sparsity);

}  // namespace rouse::cpu
