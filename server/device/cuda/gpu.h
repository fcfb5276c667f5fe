// One GPU as all parts of the back end see it: the driver, the context, whether it is lost.
//
// Threads. The executor's thread and the watcher (watcher.h) share everything below `mutex`; whoever calls a function
// that says "locked" holds it. Module loads run on other threads and take it only to report that the GPU is lost.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "memory/device.h"
#include "server/device/cuda/driver/load.h"
#include "server/device/cuda/kernel_text.h"
#include "server/device/cuda/local_memory.h"
#include "server/device/cuda/side_calls.h"
#include "server/library/cuda/real_libraries.h"

namespace rouse::cuda {

class Lanes;

class Gpu {
 public:
  // Initialises the driver and takes the GPU's primary context: the one that NVIDIA's own libraries use, too, so that
  // they can work on the same memory. Errors say what is in the way and what to do about it.
  static Result<std::shared_ptr<Gpu>> open(std::uint32_t ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;

  const Driver& driver() const { return *driver_; }
  CUdevice device() const { return device_; }
  // "GPU 0 (NVIDIA H200, 0000:3b:00.0)"
  const std::string& name() const { return name_; }
  int attribute(CUdevice_attribute attribute) const;  // 0: the driver does not know it

  // Binds the context to the calling thread, which nothing else in this process does. A load and a comparison when it
  // is.
  void makeCurrent() const;

  // A result that no caller can be told of: reported to the context, and to all when the GPU is lost. Locked. True:
  // success.
  bool good(CUresult result, const char* call, Lanes* whose, std::string_view what = {});
  // The same for functions that return a Status; loses the GPU when the result says so.
  Status status(CUresult result, const char* call, std::string_view what = {});
  // One behind the other, at least one, each by a cuMemMap of its own. Locked.
  Status unmap(std::span<const AddressRange> mappings);
  // Any thread, locked.
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  Status health() const;
  // Tells every context. CUDA: after such an error no context of the process works on this GPU any more. Locked.
  void lose(Error error);

  // Contexts that live. Locked.
  std::vector<Lanes*> contexts;
  // Registered host memory of the server's own (memory/device.h, useHost()). Locked.
  AddressRange homes;
  // Of physical memory that was made, and of host memory that was pinned: any thread.
  std::atomic<std::uint64_t> allocations{0}, pinnings{0}, allocatedBytes{0};
  // Ends while the context lives.
  library::cuda::RealLibraries libraries;
  // Locked.
  KernelText text;
  // Locked.
  LocalMemory localMemory;
  // What is given back while others' kernels run, in order; and first calls of libraries.
  SideCalls disposal{*this, 1}, libraryCalls{*this, 8};
  mutable std::mutex mutex;

 private:
  explicit Gpu(std::unique_ptr<Driver> driver);

  std::unique_ptr<Driver> driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::uint64_t serial_ = 0;  // unlike handles never used again
  std::string name_;
  std::atomic<bool> lost_{false};
  bool unmapsTogether_ = true;  // until the driver has refused it. Locked.
  Error loss_{CudaError::success, {}};
};

}  // namespace rouse::cuda
