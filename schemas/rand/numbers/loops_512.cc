// With AVX-512.
#include "schemas/rand/numbers/loops_body.h"

namespace rouse::rand {

const Loops kLoops512 = kLoopsHere;

}  // namespace rouse::rand
