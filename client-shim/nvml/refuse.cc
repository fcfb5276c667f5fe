#include "client-shim/nvml/refuse.h"

#include "client-shim/library/refuse.h"
#include "client-shim/nvml/library.h"

namespace rouse::nvml {

int refuse(std::uint32_t name, int status) noexcept {
  library::refuse(name);
  return Library::get().started() ? status : NVML_ERROR_UNINITIALIZED;
}

}  // namespace rouse::nvml
