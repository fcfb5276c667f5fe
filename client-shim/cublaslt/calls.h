// From cuBLASLt's handles and descriptors to a command: what products and transforms share.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <span>

#include "client-shim/cublaslt/descriptors.h"
#include "client-shim/library/handle_base.h"

namespace rouse::cublaslt {

// Of cuBLAS or of cuBLASLt. Null: it is none.
const library::HandleBase* findHandle(cublasLtHandle_t handle);

// An enumeration's number; what does not fit is none.
template <class To>
To narrow(std::int64_t value) {
  return static_cast<To>(value >= 0 && value < 255 ? value : 254);
}

blas::LtMatrix matrixOf(const Layout& layout, const void* address);

// Null addresses: CUBLAS_STATUS_INVALID_VALUE. Queues; what happens later is the device's to tell.
cublasStatus_t submit(const library::HandleBase& handle, cudaStream_t stream, std::uint32_t function, const blas::Operands& operands, std::span<const std::byte> parameters);

}  // namespace rouse::cublaslt
