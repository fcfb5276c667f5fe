// A transform of cuFFT as it travels: wire::LibraryCall with library 4, function 0, and this as the parameters. It is the whole plan and one execution of
// it: no plan is kept on the server.
//
// Numbers are cuFFT's own: cudaDataType, directions. Sizes, strides and distances count elements of the side that they belong to.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rouse::fft {

inline constexpr std::uint32_t kLibrary = 4;  // wire::LibraryCall::library
inline constexpr std::uint32_t kTransformFunction = 0;
inline constexpr std::uint32_t kMostRank = 3;

// cudaDataType (library_types.h), those that occur.
enum class Type : std::uint8_t {
  f32 = 0,
  f64 = 1,
  f16 = 2,
  c32 = 4,
  c64 = 5,
  c16 = 6,
  bf16 = 14,
  cbf16 = 15,
};

enum class Direction : std::int8_t { forward = -1, inverse = 1 };

// How a side lies in memory: element (i, j, k) of batch b at ((i * embed[1] + j) * embed[2] + k) * stride + b * distance. embed[0] is of no meaning, but is
// the program's all the same.
struct Layout {
  std::int64_t embed[kMostRank] = {};
  std::int64_t stride = 0, distance = 0;
};

struct Transform {
  std::uint64_t input = 0, output = 0;        // addresses of the first elements; the same: in place
  std::uint64_t workArea = 0, workBytes = 0;  // the program's, which the library may write; 0: there is none
  std::int64_t dims[kMostRank] = {};          // of the signal, however much of its spectrum there is in memory; the last is the innermost
  std::int64_t batch = 0;
  Layout in, out;  // 0 where `packed`
  Type inType{}, outType{}, executionType{};
  Direction direction{};
  std::uint8_t rank = 0;
  std::uint8_t packed = 0;  // one behind the other, as cuFFT has them where a program gives no embed; layoutOf() tells how
  std::uint8_t padding[2] = {};
};
static_assert(std::is_trivially_copyable_v<Transform> && sizeof(Transform) == 152);

}  // namespace rouse::fft
