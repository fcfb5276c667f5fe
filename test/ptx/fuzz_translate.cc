// The whole compiler on a hostile program: what is accepted becomes machine code, or is refused; never anything else. Nothing is run.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/device/cpu/program.h"

using namespace rouse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Long enough for kernels, short enough for many of them in a second.
  if (size > 16384) return 0;
  auto program = cpu::Program::translate({reinterpret_cast<const char*>(data), size}, {.leavesOut = true});
  if (!program) {
    if (program.error().code == CudaError::success || program.error().message.empty()) std::abort();
    return 0;
  }
  const auto& kernels = (*program)->description().kernels;
  for (std::uint32_t k = 0; k < kernels.size() && k < 4; ++k) {
    for (const cpu::Code kind : {cpu::Code::plain, cpu::Code::checked}) {
      const auto code = (*program)->compile(k, kind);
      if (!code && (code.error().code == CudaError::success || code.error().message.empty())) std::abort();
      if (code && code->entry == nullptr) std::abort();
    }
  }
  return 0;
}
