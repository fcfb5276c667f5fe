// This runtime as libnvidia-ml.so.1 sees it.
#pragma once

#include "client-shim/library/management_host.h"

namespace rouse::cudart {

// Lives as long as the process.
const client::ManagementHost& managementHost();

}  // namespace rouse::cudart
