#include "client-shim/library/host.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

// In every runtime, and in no header (see cudart.toml).
extern "C" cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t* id);

namespace rouse::client {
namespace {

const LibraryHost* ask() {
  cudaUUID_t id;
  std::memcpy(id.bytes, kLibraryHostId, sizeof id.bytes);
  const void* table = nullptr;
  if (cudaGetExportTable(&table, &id) == cudaSuccess && table != nullptr) return static_cast<const LibraryHost*>(table);
  std::fprintf(stderr, "rouse: this process has a libcudart.so.13 that is not of the pool's (of this version): its libraries cannot be used\n");
  return nullptr;
}

}  // namespace

const LibraryHost* libraryHost() {
  static const LibraryHost* const host = ask();
  return host;
}

}  // namespace rouse::client
