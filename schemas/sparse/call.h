// A call of cuSPARSE as it travels: wire::LibraryCall with library 6, one of these functions, and a Call as the parameters. It is all that the function
// depends on: no descriptor is kept on the server.
//
// Numbers are cuSPARSE's own where it has them: formats, index types, orders, operations, cudaDataType. Sizes, spacings and strides count elements.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rouse::sparse {

inline constexpr std::uint32_t kLibrary = 6;  // wire::LibraryCall::library

enum class Function : std::uint32_t {
  spmv,          // y = alpha op(a) x + beta y
  spmm,          // y = alpha op(a) op(x) + beta y
  sddmm,         // c = alpha (op(x) op(y)), where c has elements, + beta c
  solve,         // op(a) y = alpha op(x), a triangle of a
  productCount,  // answer: elements of op(a) op(b)
  product,       // c = alpha op(a) op(b) + beta c
  axpby,         // y = alpha a + beta y, a vector a
  gather,        // a's values, of x
  scatter,       // a's values into y
  rot,           // a and y turned by alpha (cosine) and beta (sine)
  dot,           // result = op(a) x, a vector a
  toDense,       // y = a
  fromDenseCount,  // answer: elements of x that are not 0
  fromDense,       // c = x
  transpose,       // c, by columns, = a, by rows
  compress,        // c's offsets of a's rows, which are sorted
  expand,          // c's rows of a's offsets
  sort,            // a's indices, and `result` with them
  identity,        // result = 0, 1, 2, ...
  sumCount,        // c's offsets, and the answer or `result`: elements of a + b
  sum,             // c = alpha a + beta b
  tridiagonal,
  pentadiagonal,
  lu,        // a's values in place; answer: the first pivot that is 0, or -1
  cholesky,  // the same, of its lower triangle
  productWork,  // answer: multiplications of op(a) op(b)
};
inline constexpr std::uint32_t kFunctionCount = 26;

enum class Format : std::uint8_t { none = 0, csr = 1, csc = 2, coo = 3, blockedEll = 5, bsr = 6, slicedEll = 7, vector = 8 };
enum class Index : std::uint8_t { none = 0, u16 = 1, i32 = 2, i64 = 3 };
enum class Order : std::uint8_t { none = 0, column = 1, row = 2 };
enum class Operation : std::uint8_t { none = 0, transpose = 1, conjugate = 2 };
enum class Triangle : std::uint8_t { lower = 0, upper = 1 };
enum class Scalars : std::uint8_t { inCall = 0, inMemory = 1 };

// cudaDataType (library_types.h), those that are served; `none`: of the same size as an enumeration, and no type.
enum class Type : std::uint8_t { f32 = 0, f64 = 1, f16 = 2, i8 = 3, c32 = 4, c64 = 5, i32 = 10, bf16 = 14, none = 255 };

// A sparse matrix, or (Format::vector) a sparse vector of `rows` elements.
struct Sparse {
  // Of COO the rows of all elements; of a sliced ELL where slices begin; of a blocked ELL and of a vector there are none.
  std::uint64_t offsets = 0;
  std::uint64_t indices = 0, values = 0;
  std::int64_t rows = 0, cols = 0;                              // in elements, of blocks too
  std::int64_t nnz = 0;                                         // of BSR blocks
  std::int64_t blockRows = 0, blockCols = 0;                    // of BSR and blocked ELL
  std::int64_t width = 0;                                       // blocked ELL: elements stored of a row; sliced ELL: rows of a slice
  std::int64_t stored = 0;                                      // sliced ELL: values, padding included
  std::int64_t offsetsStride = 0, indicesStride = 0, valuesStride = 0;  // from one of a batch to the next
  std::int32_t batch = 0;
  Format format{};
  Index offsetsType{}, indicesType{};
  Type type{};
  std::uint8_t base = 0;
  Order order{};  // of BSR inside blocks
  Triangle triangle{};
  std::uint8_t unitDiagonal = 0;
  std::uint8_t padding[4] = {};
};
static_assert(std::is_trivially_copyable_v<Sparse> && sizeof(Sparse) == 120);

// A dense matrix, or a vector: one column.
struct Dense {
  std::uint64_t values = 0;
  std::int64_t rows = 0, cols = 0, spacing = 0;
  std::int64_t stride = 0;  // from one of a batch to the next
  std::int32_t batch = 0;
  Type type{};
  Order order{};
  std::uint8_t padding[2] = {};
};
static_assert(std::is_trivially_copyable_v<Dense> && sizeof(Dense) == 48);

// A number of the call's compute type, or the address of one in the device's memory.
struct Scalar {
  std::uint64_t words[2] = {};
};

// Systems of equations with few diagonals, by their addresses: two below the main one, one below, the main one, one above, two above; 0: not there.
struct Band {
  std::uint64_t diagonals[5] = {};
  std::int64_t rows = 0;
  std::int64_t spacing = 0;  // from a system's element to its next
  std::int64_t stride = 0;   // from a system to the next
  std::int32_t systems = 0;
  std::uint8_t pivots = 0;     // rows may be exchanged
  std::uint8_t oneMatrix = 0;  // of all systems, whose right sides are x's columns
  std::uint8_t padding[2] = {};
};
static_assert(sizeof(Band) == 72);

struct Call {
  Sparse a, b, c;
  Dense x, y;
  Band band;
  Scalar alpha, beta;
  std::uint64_t answer = 0;  // Answer in memory of the host's that the process shares; 0: none
  std::uint64_t answerMark = 0;  // what comes with it
  std::uint64_t result = 0;  // what is written to the device's memory beside operands
  std::int64_t count = 0;                     // of `identity`
  Operation opA{}, opB{};
  Type computeType{};
  Scalars scalars{};
  std::uint8_t algorithm = 0;  // of the function's own numbers; of results' last bits only
  std::uint8_t byColumn = 0;   // of `sort`, COO
  std::uint8_t boosted = 0;    // of `lu`: pivots up to alpha, a double, become beta
  std::uint8_t padding = 0;
};
static_assert(std::is_trivially_copyable_v<Call> && sizeof(Call) == 600);

struct Answer {
  std::int64_t number = 0;
  std::uint64_t mark = 0;  // the call's: whose answer it is
};
inline constexpr std::int64_t kUnanswered = -2;

}  // namespace rouse::sparse
