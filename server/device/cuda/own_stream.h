// A stream for a few copies of the device's own, which no function's work waits for.
#pragma once

#include "server/device/cuda/driver/load.h"

namespace rouse::cuda {

// One thread's, with the context bound.
class OwnStream {
 public:
  explicit OwnStream(const Driver& driver) : driver_(driver), created_(driver.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0)) {}
  ~OwnStream() {
    if (created_ == CUDA_SUCCESS) driver_.cuStreamDestroy(stream_);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  // What cuStreamCreateWithPriority said; unless success, nothing else of it may be used.
  CUresult created() const { return created_; }
  CUstream get() const { return stream_; }

 private:
  const Driver& driver_;
  CUstream stream_ = nullptr;
  CUresult created_;
};

}  // namespace rouse::cuda
