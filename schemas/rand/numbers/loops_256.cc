// With AVX2.
#include "schemas/rand/numbers/loops_body.h"

namespace rouse::rand {

const Loops kLoops256 = kLoopsHere;

}  // namespace rouse::rand
