#include "server/library/cpu/dnn/vectors.h"

namespace rouse::library::cpu {

const VectorLoops* vectorLoops() {
  static const VectorLoops* const found = __builtin_cpu_supports("avx512f")                                    ? &kVectors512
                                          : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kVectors256
                                                                                                               : nullptr;
  return found;
}

}  // namespace rouse::library::cpu
