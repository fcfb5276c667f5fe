// With AVX-512: 16 floats or 8 doubles.
#define ROUSE_LINES rouse_pocketfft_512
#include "server/library/cpu/fft/lines_loops.h"

namespace rouse::library::cpu {

const MakeLines kLines512 = makeLines;

}  // namespace rouse::library::cpu
