// What a cudnnHandle_t stands for: local state, of which each call carries what it depends on.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <mutex>

#include "client-shim/library/handle_base.h"

namespace rouse::cudnn {

struct Handle : library::HandleBase {
  std::uint64_t stream = 0;  // cudaStream_t
  // Where the executor answers what only NVIDIA's library knows: one question at a time.
  std::mutex answerMutex;
  void* answer = nullptr;
};

// Null: it is none, or has been destroyed. The object stays readable as long as the process lives.
Handle* findHandle(cudnnHandle_t handle);

}  // namespace rouse::cudnn
