// librouse-library-cpu.so, which lies beside this back end: opened at the first call of a library, once for the process.
#pragma once

#include "server/library/job.h"

namespace rouse::cpu {

// notSupported, with the reason, where it is missing. Any thread; the first call takes some milliseconds.
Result<library::Prepare> preparedBy();

}  // namespace rouse::cpu
