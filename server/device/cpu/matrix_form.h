// Matrix operations of a warp, as generated code names them to the runtime (abi.h): which matrices, and where each lane has them.
//
// Fragments. Matrices are spread over the lanes in tiles of 8 rows by 16 bytes (PTX ISA, "Matrix Fragments for mma.*"): lane l has
// of row l / 4 the 32 bits number l % 4, rows being A's rows, B's columns and, two elements a lane, the accumulators' rows. Elements
// of 64 bits take tiles of 8 by 4 (accumulators 8 by 8) in the same order. A lane's registers count the tiles
//   of A: the two of 16 rows, then along k, then the next 16 rows;
//   of B: along k, then along n;
//   of C and D: the two of 16 rows, then along n, then the next 16 rows.
// For mma this is the ISA's order. The fragments of wmma are opaque there; this order is also that of the hardware from compute
// capability 7.5 on for m16n16k16, as far as it is known. mma.m8n8k4 of f16 has a layout of its own (quadPairs).
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace rouse::cpu {

enum class MatrixElement : std::uint8_t { f16, bf16, tf32, f64, e4m3, e5m2, s8, u8, s4, u4, b1, f32, s32 };

constexpr std::uint32_t bitsOf(MatrixElement element) {
  switch (element) {
    case MatrixElement::f64:
      return 64;
    case MatrixElement::tf32:
    case MatrixElement::f32:
    case MatrixElement::s32:
      return 32;
    case MatrixElement::f16:
    case MatrixElement::bf16:
      return 16;
    case MatrixElement::s4:
    case MatrixElement::u4:
      return 4;
    case MatrixElement::b1:
      return 1;
    default:
      return 8;
  }
}

enum class MatrixVerb : std::uint8_t {
  multiply,   // mma, wmma.mma: D = A * B + C
  loadRows,   // ldmatrix
  storeRows,  // stmatrix
  transpose,  // movmatrix
  load,       // wmma.load
  store,      // wmma.store
  multiplyShared,  // wgmma.mma_async, a warp's part of it: D = A * B + D, 16 rows of the 64
};

enum class MatrixRole : std::uint8_t { a, b, accumulator };

// multiplyShared: of A's rows and B's columns, along k; of B's where A is sparse, twice that.
inline constexpr std::uint32_t kSharedRowBytes = 32;

struct MatrixOperation {
  MatrixVerb verb = MatrixVerb::multiply;
  // multiply, load, store. Powers of two: m and n 8 to 32, k 4 to 256.
  std::uint32_t m = 8, n = 8, k = 4;
  // multiply: of the four matrices. load, store: `a` alone, of the matrix moved.
  MatrixElement a = MatrixElement::f16, b = MatrixElement::f16, c = MatrixElement::f32, d = MatrixElement::f32;
  bool saturate = false;   // of s32 sums
  bool exclusive = false;  // b1: xor instead of and
  bool quadPairs = false;  // four products, one for each eight lanes
  // quadPairs: A and B are column-major. load, store: `aColumns`, the matrix in memory. loadRows, storeRows: `aColumns`, transposed.
  bool aColumns = false, bColumns = false;
  MatrixRole role = MatrixRole::a;  // load, store
  std::uint32_t count = 1;          // loadRows, storeRows: matrices, 1, 2 or 4
  // multiplyShared: m is 16, n 8 to 256 by 8, k has kSharedRowBytes; c is d. B lies in shared memory. `aColumns`: A is M-major there, `bColumns`: B is K-major.
  bool aShared = false;   // A as well, else it is in registers
  bool negative = false;  // what is added is the product's negative
  // multiply (16 by 8), multiplyShared: half of A's k columns are left out, others in each row; metadata say which are there.
  bool sparse = false;
  std::uint32_t selector = 0;  // whose metadata (runtime/matrix_sparse.h)

  // All of it in 30 bits.
  constexpr std::uint32_t code() const {
    std::uint32_t code = static_cast<std::uint32_t>(verb);
    std::uint32_t at = 3;
    const auto put = [&](std::uint32_t value, std::uint32_t bits) {
      code |= value << at;
      at += bits;
    };
    if (verb == MatrixVerb::multiplyShared) {
      put(n / 8 - 1, 5);
      put(static_cast<std::uint32_t>(a), 4);
      put(static_cast<std::uint32_t>(b), 4);
      put(accumulatorCode(d), 2);
      for (const bool flag : {saturate, aShared, negative, aColumns, bColumns, sparse}) put(flag, 1);
      put(selector, 2);
      return code;
    }
    put(log2(m) - 3, 2);
    put(log2(n) - 3, 2);
    put(log2(k) - 2, 3);
    put(static_cast<std::uint32_t>(a), 4);
    if (verb == MatrixVerb::multiply) {
      put(static_cast<std::uint32_t>(b), 4);
      put(accumulatorCode(c), 2);
      put(accumulatorCode(d), 2);
      put(saturate, 1);
      put(exclusive, 1);
      put(quadPairs, 1);
      put(bColumns, 1);
      put(sparse, 1);
      put(selector, 2);
    } else {
      put(static_cast<std::uint32_t>(role), 2);
      put(log2(count), 2);
    }
    put(aColumns, 1);
    return code;
  }

  static constexpr MatrixOperation decode(std::uint32_t code) {
    const auto take = [&](std::uint32_t bits) {
      const std::uint32_t value = code & ((1u << bits) - 1);
      code >>= bits;
      return value;
    };
    MatrixOperation made;
    made.verb = static_cast<MatrixVerb>(take(3));
    if (made.verb == MatrixVerb::multiplyShared) {
      made.m = 16;
      made.n = 8 * (take(5) + 1);
      made.a = static_cast<MatrixElement>(take(4));
      made.b = static_cast<MatrixElement>(take(4));
      made.c = made.d = kAccumulators[take(2)];
      for (bool* flag : {&made.saturate, &made.aShared, &made.negative, &made.aColumns, &made.bColumns, &made.sparse}) *flag = take(1) != 0;
      made.selector = take(2);
      made.k = (made.sparse ? 2 : 1) * kSharedRowBytes * 8 / bitsOf(made.a);
      return made;
    }
    made.m = 8u << take(2);
    made.n = 8u << take(2);
    made.k = 4u << take(3);
    made.a = static_cast<MatrixElement>(take(4));
    if (made.verb == MatrixVerb::multiply) {
      made.b = static_cast<MatrixElement>(take(4));
      made.c = kAccumulators[take(2)];
      made.d = kAccumulators[take(2)];
      made.saturate = take(1) != 0;
      made.exclusive = take(1) != 0;
      made.quadPairs = take(1) != 0;
      made.bColumns = take(1) != 0;
      made.sparse = take(1) != 0;
      made.selector = take(2);
    } else {
      made.role = static_cast<MatrixRole>(take(2));
      made.count = 1u << take(2);
    }
    made.aColumns = take(1) != 0;
    return made;
  }

  constexpr bool operator==(const MatrixOperation&) const = default;

  // Words of 32 bits a lane has of each matrix. wmma's fragments of f16 have more registers than the matrix has elements; the first
  // of them count, the others hold copies.
  constexpr std::uint32_t aWords() const { return quadPairs ? 2 : m * aColumnsStored() * bitsOf(a) / 1024; }
  constexpr std::uint32_t bWords() const { return quadPairs ? 2 : n * k * bitsOf(b) / 1024; }
  constexpr std::uint32_t accumulatorWords(MatrixElement element) const {
    return quadPairs ? bitsOf(element) / 4 : m * n * bitsOf(element) / 1024;
  }
  // Of A's columns those that are there.
  constexpr std::uint32_t aColumnsStored() const { return sparse ? k / 2 : k; }
  // load, store
  constexpr std::uint32_t partWords() const {
    const std::uint32_t elements = role == MatrixRole::a ? m * k : role == MatrixRole::b ? n * k : m * n;
    return elements * bitsOf(a) / 1024;
  }

 private:
  static constexpr MatrixElement kAccumulators[4] = {MatrixElement::f16, MatrixElement::f32, MatrixElement::f64, MatrixElement::s32};
  static constexpr std::uint32_t log2(std::uint32_t value) { return static_cast<std::uint32_t>(std::countr_zero(value)); }
  static constexpr std::uint32_t accumulatorCode(MatrixElement element) {
    std::uint32_t code = 0;
    while (code < 3 && kAccumulators[code] != element) ++code;
    return code;
  }
};

// A lane's registers as the runtime gets them, aligned to 8.
//   multiply: C at 0 (D afterwards), A, B and the metadata of a sparse A at the words given here
//   loadRows, storeRows: up to four words at 0, the row's host address at kMatrixAddress
//   transpose: one word; load, store: partWords()
inline constexpr std::uint32_t kMatrixA = 8, kMatrixSparsity = 20, kMatrixB = 24, kMatrixAddress = 4, kMatrixWords = 32;

// Those of multiplyShared: D at 0, which is read where the word at kSharedAdds is not 0; A's registers or its descriptor; B's descriptor; the host address at which
// the block's shared memory begins; the first of the warp's rows among the warpgroup's; and the metadata of a sparse A.
inline constexpr std::uint32_t kSharedA = 128, kSharedB = 132, kSharedBase = 134, kSharedAdds = 136, kSharedFirstRow = 137, kSharedSparsity = 138, kSharedWords = 139;

}  // namespace rouse::cpu
