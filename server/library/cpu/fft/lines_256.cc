// With AVX2 and FMA: 8 floats or 4 doubles.
#define ROUSE_LINES rouse_pocketfft_256
#include "server/library/cpu/fft/lines_loops.h"

namespace rouse::library::cpu {

const MakeLines kLines256 = makeLines;

}  // namespace rouse::library::cpu
