#include "client-shim/library/host.h"

#include "client-shim/library/driver_host.h"
#include "client-shim/library/management_host.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

// In every runtime, and in no header (see cudart.toml).
extern "C" cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t* id);

namespace rouse::client {
namespace {

template <class Host>
const Host* ask(const unsigned char (&number)[16]) {
  cudaUUID_t id;
  std::memcpy(id.bytes, number, sizeof id.bytes);
  const void* table = nullptr;
  if (cudaGetExportTable(&table, &id) == cudaSuccess && table != nullptr) return static_cast<const Host*>(table);
  std::fprintf(stderr, "rouse: this process has a libcudart.so.13 that is not of the pool's (of this version): its libraries cannot be used\n");
  return nullptr;
}

}  // namespace

const LibraryHost* libraryHost() {
  static const LibraryHost* const host = ask<LibraryHost>(kLibraryHostId);
  return host;
}

const DriverHost* driverHost() {
  static const DriverHost* const host = ask<DriverHost>(kDriverHostId);
  return host;
}

const ManagementHost* managementHost() {
  static const ManagementHost* const host = ask<ManagementHost>(kManagementHostId);
  return host;
}

}  // namespace rouse::client
