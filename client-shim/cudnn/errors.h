// Statuses, and what cudnnGetLastErrorString tells of them.
#pragma once

#include <cudnn.h>

#include <new>

#include "schemas/base/cuda_error.h"

namespace rouse::cudnn {

// Keeps `text` (literal, or copied up to 255 bytes) as the calling thread's last error, and returns `status`.
cudnnStatus_t fail(cudnnStatus_t status, const char* text) noexcept;
// A served function that cannot do what it is asked for: counted under its name, as unsupported names are.
cudnnStatus_t refuse(const char* function, const char* why) noexcept;
// Of what the runtime says to a queued call.
cudnnStatus_t toStatus(CudaError error) noexcept;

// A thread's last error, which is then forgotten; empty if there was none.
void takeLastError(char* message, std::size_t bytes) noexcept;

template <class Body>
cudnnStatus_t guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
  } catch (...) {
    return fail(CUDNN_STATUS_INTERNAL_ERROR, "an error of the library's own");
  }
}

}  // namespace rouse::cudnn
