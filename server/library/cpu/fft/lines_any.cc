// With what any processor of the architecture has.
#define ROUSE_LINES rouse_pocketfft_any
#include "server/library/cpu/fft/lines_loops.h"

namespace rouse::library::cpu {

const MakeLines kLinesAny = makeLines;

}  // namespace rouse::library::cpu
