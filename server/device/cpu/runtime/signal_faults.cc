#include "server/device/cpu/runtime/signal_faults.h"

#include <ucontext.h>

#include <cstdio>
#include <mutex>

#include "server/device/cpu/runtime/block.h"
#include "server/device/cpu/runtime/context_switch.h"
#include "server/device/cpu/runtime/sanitizer.h"
#include "server/device/cpu/runtime/visits.h"

#ifdef ROUSE_TSAN
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*) noexcept;  // the C library's own
#endif

namespace rouse::cpu {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction previous[4];

struct sigaction& previousFor(int signal) {
  int index = 0;
  while (kSignals[index] != signal) ++index;
  return previous[index];
}

bool onStackOf(const Fiber& fiber, std::uint64_t pointer) {
  // A stack pointer may already lie in the guard, or beyond it, when a large frame is made.
  const auto base = reinterpret_cast<std::uint64_t>(fiber.stack.base) - kStackGuardBytes;
  return pointer - base < fiber.stack.bytes + kStackGuardBytes;
}

void continueAtLanding(ucontext_t& context, Runner& runner, const Fault& fault) {
  context.uc_mcontext.gregs[REG_RSP] = reinterpret_cast<greg_t>(runner.landing(fault));
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&rouse_restore_stack);
}

__attribute__((no_sanitize("address", "thread"))) void passOn(int signal, siginfo_t* info, void* context) {
  struct sigaction& before = previousFor(signal);
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
    // The instruction runs again and has its default effect. (A fault cannot be ignored.)
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
  } else {
    before.sa_handler(signal);
  }
}

__attribute__((no_sanitize("address", "thread"))) void onFault(int signal, siginfo_t* info, void* opaque) {
  // The processor's error code: bit 1 is set where the access was a write (Intel SDM, volume 3, "Page-Fault Exceptions").
  const bool write = (static_cast<ucontext_t*>(opaque)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
  if (signal == SIGSEGV && info->si_code == SEGV_ACCERR &&
      Visits::onFault(reinterpret_cast<std::uint64_t>(info->si_addr), write))
    return;
  Runner* runner = Runner::active();
  Fiber* fiber = runner != nullptr ? runner->current() : nullptr;
  // Sent by somebody (si_code <= 0) rather than raised by an instruction: not ours.
  if (fiber == nullptr || info->si_code <= 0) return passOn(signal, info, opaque);
  auto& context = *static_cast<ucontext_t*>(opaque);
  Fault fault;
  fault.signal = signal;
  fault.code = info->si_code;
  fault.address = reinterpret_cast<std::uint64_t>(info->si_addr);
  fault.guardHit = signal == SIGSEGV && info->si_code != SI_KERNEL &&
                   (fiber->stack.guards(fault.address) ||
                    !onStackOf(*fiber, static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP])));
  continueAtLanding(context, *runner, fault);
}

ROUSE_UNINSTRUMENTED void leaveStoppedKernel(Runner& runner, int signal, ucontext_t& context) {
  Fiber* fiber = runner.current();
  if (fiber == nullptr) return;
  // Wherever its stack pointer is: a kernel may have moved it (stackrestore).
  if (!fiber->block->grid().stopped()) return;
  Fault fault;
  fault.signal = signal;
  continueAtLanding(context, runner, fault);
}

ROUSE_UNINSTRUMENTED void onInterrupt(int signal, siginfo_t*, void* opaque) {
  Runner* runner = Runner::active();
  if (runner == nullptr || !runner->inKernelCode()) return;
  leaveStoppedKernel(*runner, signal, *static_cast<ucontext_t*>(opaque));
}

// ThreadSanitizer keeps a signal that no instruction raised until its thread calls the C library: a kernel that never
// calls would not be stopped. So its runtime is gone around: outside kernel code the handler does nothing, and calls
// nothing of it.
void handleInterrupts(const struct sigaction& action) {
#ifdef ROUSE_TSAN
  __sigaction(interruptSignal(), &action, nullptr);
#else
  sigaction(interruptSignal(), &action, nullptr);
#endif
}

}  // namespace

int interruptSignal() { return SIGRTMIN + 7; }

void installFaultHandlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    action.sa_sigaction = &onFault;
    for (int index = 0; index < 4; ++index) sigaction(kSignals[index], &action, &previous[index]);
    action.sa_flags |= SA_RESTART;
    action.sa_sigaction = &onInterrupt;
    handleInterrupts(action);
  });
}

Error describe(const Fault& fault, bool misalignedBefore) {
  char text[96];
  const auto address = static_cast<unsigned long long>(fault.address);
  if (fault.guardHit) {
    return {CudaError::hardwareStackError, "stack overflow (cudaLimitStackSize)"};
  }
  switch (fault.signal) {
    case SIGILL:
      return {CudaError::illegalInstruction, "illegal instruction"};
    case SIGFPE:
      return {CudaError::launchFailure, "arithmetic exception"};
    case SIGBUS:
      if (fault.code == BUS_ADRALN) {
        std::snprintf(text, sizeof text, "misaligned access to 0x%llx", address);
        return {CudaError::misalignedAddress, text};
      }
      break;
    case SIGSEGV:
      // The processor gives no address for a misaligned vector access, nor for one that is not canonical.
      if (fault.code == SI_KERNEL) {
        if (misalignedBefore) return {CudaError::misalignedAddress, "misaligned access"};
        return {CudaError::illegalAddress, "illegal access to an address that no device has"};
      }
      break;
    default:
      break;
  }
  std::snprintf(text, sizeof text, "illegal access to 0x%llx", address);
  return {CudaError::illegalAddress, text};
}

}  // namespace rouse::cpu
