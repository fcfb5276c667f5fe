// This runtime as libcuda.so.1 sees it.
#pragma once

#include "client-shim/library/driver_host.h"

namespace rouse::cudart {

const client::DriverHost& driverHost();

}  // namespace rouse::cudart
