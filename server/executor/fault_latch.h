// The first failure of a session's asynchronous commands, where its program looks for it (layout.h, DeviceStatus). Any
// thread.
#pragma once

#include <mutex>
#include <string_view>

#include "schemas/base/cuda_error.h"
#include "schemas/wire/layout.h"

namespace rouse::executor {

class FaultLatch {
 public:
  explicit FaultLatch(wire::DeviceStatus& status) : status_(status) {}

  // Keeps the error unless there is one already that the program has not been told of. A sticky one stays.
  void latch(CudaError error, std::string_view message);
  void clear();
  // Another executor kept this one last. What the program has been told stays.
  void continueAfter(CudaError last);

  // The last one kept, also after the program has taken it from the segment.
  CudaError last() const;

 private:
  wire::DeviceStatus& status_;
  mutable std::mutex mutex_;
  CudaError last_ = CudaError::success;
};

}  // namespace rouse::executor
