// Turns a fault of kernel code into the end of its launch. The handlers are the process's, but act only on threads that
// are on a fiber at that moment; anything else goes to the handler that was there before. Accesses to
// visiting granules (visits.h) are let through on every thread.
#pragma once

#include <string>

#include "schemas/base/result.h"
#include "server/device/cpu/runtime/runner.h"

namespace rouse::cpu {

// Installs the handlers, once a process; any thread.
void installFaultHandlers();

// Sent by Runner::interrupt().
int interruptSignal();

// The CUDA error that CUDA reports for such a fault, and what happened, without where.
Error describe(const Fault& fault, bool misalignedBefore);

}  // namespace rouse::cpu
