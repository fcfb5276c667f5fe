// Where restored granules appear in one context's window, and which of them have been written (memory/device.h, restore()).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/device/address_window.h"
#include "server/device/cpu/runtime/write_watch.h"

namespace rouse::cpu {

class Visits {
 public:
  // Before the context's first work. `window` outlives it; `fd` is the device's memory.
  Status open(device::AddressWindow& window, int fd);

  // The bytes of a granule lie in the device's memory at the offset: it is mapped and watched. Any thread.
  Status arrived(std::uint64_t address, std::uint64_t offset);
  // After the context's last work.
  void close() { watch_.reset(); }
  // --- The executor's thread, nobody using the granules ---
  void left(AddressRange granules) { watch_->end(granules); }
  void takeWritten(std::vector<std::uint64_t>& addresses) { watch_->take(addresses); }

 private:
  device::AddressWindow* window_ = nullptr;
  int fd_ = -1;
  std::unique_ptr<WriteWatch> watch_;
};

}  // namespace rouse::cpu
