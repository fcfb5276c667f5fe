// What an unsupported function does: it says so, and is counted where the daemon can see it.
#pragma once

#include "schemas/api/api_ids.h"

namespace rouse::cudart {

// Returns cudaErrorNotSupported, which becomes the thread's last error. Never throws.
int refuse(api::ApiId name) noexcept;

}  // namespace rouse::cudart
