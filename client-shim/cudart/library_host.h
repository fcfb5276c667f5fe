// This runtime as the forwarded libraries see it.
#pragma once

#include "client-shim/library/host.h"

namespace rouse::cudart {

// Lives as long as the process.
const client::LibraryHost& libraryHost();

}  // namespace rouse::cudart
