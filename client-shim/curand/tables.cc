// cuRAND's tables for programs' own Sobol' generators: made at their first use, and kept as long as the process lives.
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include "client-shim/curand/generator.h"
#include "client-shim/curand/implementations.h"
#include "schemas/rand/numbers/directions.h"

namespace rouse::curand {
namespace {

using Vectors32 = curandDirectionVectors32_t;
using Vectors64 = curandDirectionVectors64_t;

template <class Vectors>
std::unique_ptr<Vectors[]> directions(bool scrambled) {
  constexpr std::uint32_t kBits = sizeof(Vectors) / sizeof(std::declval<Vectors>()[0]);
  auto made = std::make_unique<Vectors[]>(rand::kMostDimensions);
  for (std::uint32_t dimension = 0; dimension < rand::kMostDimensions; ++dimension) {
    const rand::Directions all = rand::directionsOf(dimension, scrambled);
    for (std::uint32_t i = 0; i < kBits; ++i) made[dimension][i] = static_cast<std::remove_reference_t<decltype(made[0][0])>>(all[i] >> (64 - kBits));
  }
  return made;
}

template <class Number>
std::unique_ptr<Number[]> shifts() {
  auto made = std::make_unique<Number[]>(rand::kMostDimensions);
  for (std::uint32_t dimension = 0; dimension < rand::kMostDimensions; ++dimension)
    made[dimension] = static_cast<Number>(rand::shiftOf(dimension, true) >> (64 - 8 * sizeof(Number)));
  return made;
}

template <class Vectors>
curandStatus_t tell(Vectors** vectors, bool scrambled) {
  return guarded([&] {
    if (vectors == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
    static Vectors* plain = nullptr;
    static Vectors* mixed = nullptr;
    static std::once_flag plainOnce, mixedOnce;
    if (scrambled) std::call_once(mixedOnce, [] { mixed = directions<Vectors>(true).release(); });
    else std::call_once(plainOnce, [] { plain = directions<Vectors>(false).release(); });
    *vectors = scrambled ? mixed : plain;
    return CURAND_STATUS_SUCCESS;
  });
}

template <class Number>
curandStatus_t tellShifts(Number** constants) {
  return guarded([&] {
    if (constants == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
    static Number* const made = shifts<Number>().release();
    *constants = made;
    return CURAND_STATUS_SUCCESS;
  });
}

}  // namespace

namespace impl {

curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t* vectors[], curandDirectionVectorSet_t set) {
  if (set != CURAND_DIRECTION_VECTORS_32_JOEKUO6 && set != CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6) return CURAND_STATUS_OUT_OF_RANGE;
  return tell<Vectors32>(vectors, set == CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6);
}

curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t* vectors[], curandDirectionVectorSet_t set) {
  if (set != CURAND_DIRECTION_VECTORS_64_JOEKUO6 && set != CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6) return CURAND_STATUS_OUT_OF_RANGE;
  return tell<Vectors64>(vectors, set == CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6);
}

curandStatus_t curandGetScrambleConstants32(unsigned int** constants) { return tellShifts(constants); }
curandStatus_t curandGetScrambleConstants64(unsigned long long** constants) { return tellShifts(constants); }

}  // namespace impl
}  // namespace rouse::curand
