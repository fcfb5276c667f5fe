#include "client-shim/cublaslt/calls.h"

#include "client-shim/library/host.h"

namespace rouse::cublaslt {
namespace {

std::int64_t boundedSize(std::uint64_t value) { return value > static_cast<std::uint64_t>(blas::kMostElements) ? blas::kMostElements + 1 : static_cast<std::int64_t>(value); }

}  // namespace

const library::HandleBase* findHandle(cublasLtHandle_t handle) {
  const client::LibraryHost* host = handle != nullptr ? client::libraryHost() : nullptr;
  if (host == nullptr) return nullptr;
  return static_cast<const library::HandleBase*>(
      host->findHandle(reinterpret_cast<std::uint64_t>(handle), kindBit(client::HandleKind::blas) | kindBit(client::HandleKind::blasLt)));
}

blas::LtMatrix matrixOf(const Layout& layout, const void* address) {
  return {.address = reinterpret_cast<std::uint64_t>(address),
          .rows = boundedSize(layout.rows),
          .columns = boundedSize(layout.columns),
          .spacing = layout.spacing,
          .stride = layout.stride,
          .type = narrow<blas::Type>(layout.type),
          .order = narrow<blas::Order>(layout.order)};
}

cublasStatus_t submit(const library::HandleBase& handle, cudaStream_t stream, std::uint32_t function, const blas::Operands& operands, std::span<const std::byte> parameters) {
  for (const blas::Range& range : operands.all())
    if (range.address == 0) return CUBLAS_STATUS_INVALID_VALUE;
  switch (client::libraryHost()->submit(handle.device, reinterpret_cast<std::uint64_t>(stream), blas::kLtLibrary, function, parameters)) {
    case CudaError::success:
      return CUBLAS_STATUS_SUCCESS;
    case CudaError::memoryAllocation:
      return CUBLAS_STATUS_ALLOC_FAILED;
    case CudaError::invalidResourceHandle:
      return CUBLAS_STATUS_INVALID_VALUE;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

}  // namespace rouse::cublaslt
