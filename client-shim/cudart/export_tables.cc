// cudaGetExportTable: in every runtime, in no header. Here it is how the pool's other libraries find the attachment, and how a program finds
// out that the runtime is this one.
#include <cstring>

#include "client-shim/cudart/driver_host.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/library_host.h"
#include "client-shim/cudart/management_host.h"
#include "client-shim/cudart/refuse.h"

namespace rouse::cudart::impl {
namespace {

// Its table is a text, "rouse". Any other runtime refuses the number (test/programs/check.h, throughRouse).
constexpr unsigned char kRuntimeId[16] = {'r', 'o', 'u', 's', 'e', ' ', 'r', 'u', 'n', 't', 'i', 'm', 'e'};

}  // namespace

cudaError_t cudaGetExportTable(const void** ppExportTable, const cudaUUID_t* pExportTableId) {
  if (std::memcmp(pExportTableId->bytes, client::kLibraryHostId, sizeof client::kLibraryHostId) == 0) {
    *ppExportTable = &libraryHost();
    return cudaSuccess;
  }
  if (std::memcmp(pExportTableId->bytes, client::kDriverHostId, sizeof client::kDriverHostId) == 0) {
    *ppExportTable = &driverHost();
    return cudaSuccess;
  }
  if (std::memcmp(pExportTableId->bytes, client::kManagementHostId, sizeof client::kManagementHostId) == 0) {
    *ppExportTable = &managementHost();
    return cudaSuccess;
  }
  if (std::memcmp(pExportTableId->bytes, kRuntimeId, sizeof kRuntimeId) == 0) {
    *ppExportTable = "rouse";
    return cudaSuccess;
  }
  return static_cast<cudaError_t>(refuse(api::ApiId::cudaGetExportTable));
}

}  // namespace rouse::cudart::impl
