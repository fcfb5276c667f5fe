// Matrix operations of a warp in vectors of 512 bits, on registers by word, then by lane. The same results as matrix_arithmetic.cc, bit for bit but for
// which NaN a product of f64 is: what is exact there is exact here, and sums have one order, that of k.
#pragma once

#include <cstdint>

#include "server/device/cpu/matrix_form.h"

namespace rouse::cpu {

// Whether this processor has the vectors; nothing else may be called where it has not.
bool hasMatrixVectors();

// multiply: of f16, bf16, tf32, f64, s8, u8. False: none of these, or quad pairs; nothing is changed.
bool multiplyInVectors(const MatrixOperation&, std::uint32_t* words);

// A unit of 8 by 8 elements of 16 bits (32 words) becomes its transpose. `to` may be `from`; neither need be aligned.
void transposeInVectors(const std::uint32_t* from, std::uint32_t* to);

}  // namespace rouse::cpu
