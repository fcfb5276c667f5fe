// A context's texture and surface objects, and the driver's arrays behind them.
//
// An array of the program's is memory of its device window, row by row, as everything is that it has; so it leaves the GPU and comes again as the rest does. Only
// kernels' fetches need an array of the driver's. It is made with the first object of it, of memory beside the functions', and follows the
// program's memory: what a copy writes there is copied on to the array behind it, in the same stream, and what a copy reads there comes from the array before it,
// once surfaces may have written to that. Nobody else can name that memory: kernels are given the object, not an address.
//
// Handles are the driver's, so whoever has some is tied to the GPU (memory::Context::ties()).
//
// Locked, all of it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "memory/device.h"
#include "server/device/cuda/lane.h"

namespace rouse::cuda {

class Textures {
 public:
  explicit Textures(Lanes& lanes) : lanes_(lanes) {}
  // Idle.
  ~Textures();
  Textures(const Textures&) = delete;

  // As memory::Context has them. What has been destroyed is until settle().
  Result<std::uint64_t> create(const wire::TextureRequest& request);
  Status destroy(std::uint64_t object);
  void forget(std::uint64_t base);
  bool any() const { return !objects_.empty() || !arrays_.empty() || !ended_.empty(); }
  // Idle: gives the driver what no work uses any more.
  void settle();

  // Around a copy that is pushed to the lane.
  void beforeCopy(Lane& lane, const memory::CopyShape& shape);
  void afterCopy(Lane& lane, const memory::CopyShape& shape);

 private:
  struct Array {
    wire::TextureObject about{};
    std::uint32_t flags = 0;
    CUarray flat = nullptr;            // or
    CUmipmappedArray whole = nullptr;  // of several levels
    std::vector<CUarray> levels;
    bool surfaces = false;  // there has been one: it may hold what its memory does not
  };
  struct Object {
    bool surface;
    std::shared_ptr<Array> array;  // null: of memory
  };

  Result<std::shared_ptr<Array>> arrayFor(const wire::TextureRequest& request);
  Status make(Array& array, bool mipmapped);
  // Queued: done when the context is idle again.
  Status upload(const Array& array);
  void release(Array& array);
  void end(std::uint64_t handle, Object& object);
  // Pushes what has to be copied between the array whose memory the box begins in, if any, and that memory.
  void follow(Lane& lane, bool toArray, std::uint64_t address, const memory::CopyShape& shape, std::uint64_t pitch);

  Lanes& lanes_;
  // By where their memory begins. One that its program has freed is its objects' alone.
  std::map<std::uint64_t, std::shared_ptr<Array>> arrays_;
  std::map<std::uint64_t, Object> objects_;
  std::map<std::uint64_t, Object> ended_;  // by their program, while queued work may use them
  std::shared_ptr<Lane> lane_;  // for what an array begins with
};

}  // namespace rouse::cuda
