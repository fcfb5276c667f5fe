// A function's host window in this process: pieces of its memfd at their fixed addresses, each pinned when it is
// declared.
//
// Locked, all of it.
#pragma once

#include <map>
#include <memory>

#include "server/device/address_window.h"
#include "server/device/cuda/gpu.h"

namespace rouse::cuda {

class HostWindow {
 public:
  // `fd`: borrowed; -1: the context has no host memory.
  static Result<std::unique_ptr<HostWindow>> create(std::shared_ptr<Gpu> gpu, AddressRange window, int fd);
  ~HostWindow();

  Status map(AddressRange range);
  Status unmap(AddressRange range);

  bool contains(std::uint64_t address) const { return window_->range().contains(address); }
  // Bytes from `address` to the end of the piece that it was pinned with, which a copy must not pass; 0: not pinned.
  std::uint64_t pinnedFrom(std::uint64_t address) const;

 private:
  HostWindow(std::shared_ptr<Gpu> gpu, std::unique_ptr<device::AddressWindow> window, int fd)
      : gpu_(std::move(gpu)), window_(std::move(window)), fd_(fd) {}

  std::shared_ptr<Gpu> gpu_;
  std::unique_ptr<device::AddressWindow> window_;
  int fd_;
  std::map<std::uint64_t, std::uint64_t> pinned_;  // base -> bytes
};

}  // namespace rouse::cuda
