// Random numbers as calls of NVIDIA's cuRAND 10: a generator of its own for what a program's makes, kept, and brought to where the program's is. Tested before a
// double; what NVIDIA's library takes is known from a GPU only.
#pragma once

#include <curand.h>

#include <cstdint>
#include <functional>
#include <list>
#include <span>

#include "schemas/base/result.h"
#include "schemas/rand/position.h"
#include "server/library/cuda/real_libraries.h"

namespace rouse::library::cuda {

#define ROUSE_RAND_NAMES(name)                 \
  name(curandCreateGenerator)                  \
  name(curandDestroyGenerator)                 \
  name(curandSetStream)                        \
  name(curandSetPseudoRandomGeneratorSeed)     \
  name(curandSetGeneratorOffset)               \
  name(curandSetGeneratorOrdering)             \
  name(curandSetQuasiRandomGeneratorDimensions) \
  name(curandGenerate)                         \
  name(curandGenerateLongLong)                 \
  name(curandGenerateUniform)                  \
  name(curandGenerateUniformDouble)            \
  name(curandGenerateNormal)                   \
  name(curandGenerateNormalDouble)             \
  name(curandGenerateLogNormal)                \
  name(curandGenerateLogNormalDouble)          \
  name(curandGeneratePoisson)

struct RandApi {
#define ROUSE_RAND_MEMBER(name) decltype(&::name) name = nullptr;
  ROUSE_RAND_NAMES(ROUSE_RAND_MEMBER)
#undef ROUSE_RAND_MEMBER
};

// Generators of one handle. One that is where the program's is goes on. Else one is set to an offset; where results of several draws each have left lanes
// apart, numbers are made into memory of the executor's to get there, as for Mersenne Twisters, which have no offsets. What no offset and no numbers of one kind lead to is
// refused.
class RandGenerators {
 public:
  // More go, the one that has not been used for longest first: each has its states in device memory.
  static constexpr std::size_t kMost = 64;
  // memory: so many bytes of the executor's.
  using Memory = std::function<Result<std::uint64_t>(std::uint64_t)>;
  Status run(const RandApi& api, CUstream_st* stream, const rand::Generation& generation, std::span<const rand::Stretch> stretches, const Memory& memory);
  void destroy(const RandApi& api);
  // Another stream may be where an ended one was.
  void forgetStreams();

 private:
  struct Kept {
    curandGenerator_t generator = nullptr;
    rand::Generation made;  // type, ordering, seed and dimensions
    rand::Position position;
    CUstream_st* stream = nullptr;
    bool hasStream = false;
  };
  Status make(const RandApi& api, const rand::Generation& generation, Kept& kept);
  Status draw(const RandApi& api, Kept& kept, const rand::Generation& generation, const Memory& memory);
  Status bring(const RandApi& api, Kept& kept, const rand::Generation& generation, std::span<const rand::Stretch> stretches, const Memory& memory);

  std::list<Kept> all_;  // the one used last first
};

}  // namespace rouse::library::cuda
