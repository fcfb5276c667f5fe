// Arrays, which are rows of bytes here, and texture and surface objects: descriptions of them as the CPU device's kernels take them
// (schemas/wire/texture.h), whose addresses are the handles.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "schemas/wire/texture.h"

namespace rouse::cuda_double {

// One level.
class Array {
 public:
  Array(const CUDA_ARRAY3D_DESCRIPTOR& about, std::uint32_t texelBytes);

  const CUDA_ARRAY3D_DESCRIPTOR about;
  std::uint64_t rowBytes() const { return about.Width * texelBytes_; }
  std::uint64_t pitch() const { return pitch_; }
  std::uint64_t rows() const { return about.Height != 0 ? about.Height : 1; }
  std::uint64_t planes() const { return about.Depth != 0 ? about.Depth : 1; }
  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(bytes_.data()); }
  std::uint64_t size() const { return bytes_.size(); }
  bool level = false;  // of a mipmapped array, with which it ends

 private:
  std::uint32_t texelBytes_;
  std::uint64_t pitch_;
  std::vector<std::byte> bytes_;
};

struct MipmappedArray {
  std::vector<std::shared_ptr<Array>> levels;
  std::vector<CUarray> handles;
};

// Any thread.
class TextureObjects {
 public:
  std::uint64_t add(const wire::TextureObject& described, bool surface);
  // False, with a violation: there is none.
  bool remove(std::uint64_t object, bool surface);

 private:
  struct Entry {
    std::unique_ptr<wire::TextureObject> described;
    bool surface;
  };
  std::mutex mutex_;
  std::map<std::uint64_t, Entry> live_;
};

}  // namespace rouse::cuda_double
