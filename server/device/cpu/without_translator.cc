// For a build without the PTX translator: everything but modules works.
#include "server/device/cpu/program.h"

namespace rouse::cpu {

Result<std::unique_ptr<Program>> Program::translate(std::string_view) {
  return Error{CudaError::notSupported, "this build of the CPU device has no PTX translator"};
}

}  // namespace rouse::cpu
