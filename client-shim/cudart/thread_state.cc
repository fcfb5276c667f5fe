#include "client-shim/cudart/thread_state.h"

namespace rouse::cudart {

constinit thread_local ThreadState threadState __attribute__((tls_model("initial-exec")));

}  // namespace rouse::cudart
