// For any processor.
#include "schemas/rand/numbers/loops_body.h"

namespace rouse::rand {

const Loops kLoopsAny = kLoopsHere;

}  // namespace rouse::rand
