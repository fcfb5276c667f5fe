// A call of cuSOLVER's sparse part as it travels: wire::LibraryCall with library 8, one of these functions, and a Call as the parameters. It is all that the
// function depends on. What an info object of the program's holds, a factor, lies in memory of the device that the client gives it (`state`): nothing is kept on the server.
//
// The functions for the host (cusolverSp…Host) do not travel: the program's own processor does them, as natively (schemas/systems/factors).
#pragma once

#include <cstdint>
#include <type_traits>

namespace rouse::systems {

inline constexpr std::uint32_t kLibrary = 8;  // wire::LibraryCall::library

enum class Function : std::uint32_t {
  solve,            // a x = b, of each of a batch; answer: where a is singular, or -1
  analyse,          // answer: how many elements a's factor has
  factorise,        // state = a's factor
  solveFactorised,  // a x = b, by its factor
  pivot,            // answer: where the factor's diagonal is no more than the tolerance, or -1
  diagonal,         // x = the factor's diagonal
  eigenvalue,       // the one of a that is next to the shift, and x, its vector
};
inline constexpr std::uint32_t kFunctionCount = 7;

enum class Method : std::uint8_t { qr = 0, cholesky = 1 };
// cuSOLVER's `reorder`.
enum class Order : std::uint8_t { none = 0, reverseCuthillMcKee = 1, minimumDegree = 2, nestedDissection = 3 };
// cudaDataType (library_types.h), those that occur.
enum class Type : std::uint8_t { f32 = 0, f64 = 1, c32 = 4, c64 = 5, none = 255 };

// By compressed rows, with 32-bit indices.
struct Matrix {
  std::uint64_t offsets = 0, indices = 0, values = 0;
  std::int32_t rows = 0, cols = 0, elements = 0;
  Type type{};
  std::uint8_t base = 0;
  std::uint8_t padding[2] = {};
};
static_assert(std::is_trivially_copyable_v<Matrix> && sizeof(Matrix) == 40);

struct Call {
  Matrix a;  // of a batch the pattern of all, whose values lie one behind the other, as those of b and x do
  std::uint64_t right = 0, solution = 0;  // b, x; of an eigenvalue the first guess, and the vector
  std::uint64_t state = 0, stateBytes = 0;
  std::uint64_t answer = 0;  // Answer in memory of the host's that the process shares; 0: none
  std::uint64_t value = 0;   // where the eigenvalue is written
  double tolerance = 0;
  double shift[2] = {};  // real and imaginary part; a less so much of its diagonal is factorised
  std::int32_t batch = 1;
  std::int32_t iterations = 0;  // at most
  Method method{};
  Order order{};
  std::uint8_t padding[6] = {};
};
static_assert(std::is_trivially_copyable_v<Call> && sizeof(Call) == 128);

struct Answer {
  std::int64_t number = 0;
};
inline constexpr std::int64_t kUnanswered = -2;

}  // namespace rouse::systems
