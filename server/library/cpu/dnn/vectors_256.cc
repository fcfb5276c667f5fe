// With AVX2 and FMA: 16 registers of 8 floats.
#include "server/library/cpu/dnn/vectors_loops.h"

namespace rouse::library::cpu {

const VectorLoops kVectors256 = Loops<8>::made<6>();

}  // namespace rouse::library::cpu
