#include "client-shim/cudart/refuse.h"

#include "client-shim/core/log.h"
#include "client-shim/core/process.h"
#include "client-shim/cudart/thread_state.h"

namespace rouse::cudart {

int refuse(api::ApiId name) noexcept {
  client::Process::get().countUnsupported(static_cast<std::uint32_t>(name));
  client::log(client::LogLevel::warn, "%s is not supported", api::apiName(name).data());
  threadState.lastError = cudaErrorNotSupported;
  return cudaErrorNotSupported;
}

}  // namespace rouse::cudart
