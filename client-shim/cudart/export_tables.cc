// cudaGetExportTable: in every runtime, in no header. Here it is how the pool's other libraries find the attachment.
#include <cstring>

#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/library_host.h"
#include "client-shim/cudart/refuse.h"

namespace rouse::cudart::impl {

cudaError_t cudaGetExportTable(const void** ppExportTable, const cudaUUID_t* pExportTableId) {
  if (std::memcmp(pExportTableId->bytes, client::kLibraryHostId, sizeof client::kLibraryHostId) == 0) {
    *ppExportTable = &libraryHost();
    return cudaSuccess;
  }
  return static_cast<cudaError_t>(refuse(api::ApiId::cudaGetExportTable));
}

}  // namespace rouse::cudart::impl
