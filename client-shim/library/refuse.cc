#include "client-shim/library/refuse.h"

#include <cublas_api.h>

#include <cstdio>

#include "client-shim/library/host.h"
#include "schemas/api/library_names.h"

namespace rouse::library {

int refuse(std::uint32_t name) noexcept {
  if (const client::LibraryHost* host = client::libraryHost()) {
    host->countUnsupported(name);
    char text[128];
    std::snprintf(text, sizeof text, "%s is not supported", name < api::kAllNameCount ? api::kAllNames[name].data() : "?");
    host->warn(text);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace rouse::library
