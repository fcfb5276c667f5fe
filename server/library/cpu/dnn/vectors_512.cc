// With AVX-512: 32 registers of 16 floats.
#include "server/library/cpu/dnn/vectors_loops.h"

namespace rouse::library::cpu {

const VectorLoops kVectors512 = Loops<16>::made<14>();

}  // namespace rouse::library::cpu
