// The kernel of fingerprint.cu as the driver has it.
#pragma once

#include <memory>

#include "server/device/cuda/module.h"

namespace rouse::cuda {

// PTX for every GPU from compute capability 7.0 on (embed_ptx.cmake).
extern const char kFingerprintPtx[];

class FingerprintKernel {
 public:
  // Compiled here and now, unless the driver remembers it from last time.
  static Result<std::shared_ptr<FingerprintKernel>> load(std::shared_ptr<Gpu> gpu);

  // Of `count` pages from `pages` on, to `out`: memory that the GPU may write. Queued on the stream.
  CUresult launch(const Driver& driver, CUstream stream, std::uint64_t pages, std::uint32_t count, std::uint64_t out,
                  const memory::FingerprintKey& key) const;

 private:
  explicit FingerprintKernel(std::unique_ptr<LoadedLibrary> library) : library_(std::move(library)) {}
  std::unique_ptr<LoadedLibrary> library_;
};

}  // namespace rouse::cuda
