// A function's host window in this process: pieces of its memfd at their fixed addresses, each pinned when it is
// declared. A piece that is taken away is named no more at once; the driver lets it go when it can (side_calls.h), and until then it stays mapped, as does the
// window. Whoever maps the same addresses before that waits.
//
// Locked, all of it.
#pragma once

#include <map>
#include <memory>
#include <vector>

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

  AddressRange range() const { return window_->range(); }
  bool contains(std::uint64_t address) const { return window_->range().contains(address); }
  // Bytes from `address` to the end of the piece that it was pinned with, which a copy must not pass; 0: not pinned.
  std::uint64_t pinnedFrom(std::uint64_t address) const;

 private:
  HostWindow(std::shared_ptr<Gpu> gpu, std::shared_ptr<device::AddressWindow> window, int fd)
      : gpu_(std::move(gpu)), window_(std::move(window)), fd_(fd) {}
  std::shared_ptr<SideCalls::Call> letGo(AddressRange range);

  std::shared_ptr<Gpu> gpu_;
  std::shared_ptr<device::AddressWindow> window_;  // also of pieces that are to be let go
  int fd_;
  std::map<std::uint64_t, std::uint64_t> pinned_;  // base -> bytes
  struct Leaving {
    AddressRange range;
    std::shared_ptr<SideCalls::Call> disposal;
  };
  std::vector<Leaving> leaving_;  // some have been let go since
};

}  // namespace rouse::cuda
