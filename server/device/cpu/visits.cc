#include "server/device/cpu/visits.h"

namespace rouse::cpu {

Status Visits::open(device::AddressWindow& window, int fd) {
  auto watch = WriteWatch::create(window.range());
  if (!watch) return std::move(watch).error();
  watch_ = std::move(watch).value();
  window_ = &window;
  fd_ = fd;
  return {};
}

Status Visits::arrived(std::uint64_t address, std::uint64_t offset) {
  watch_->begin(address);
  return window_->map({address, kGranuleBytes}, fd_, offset, device::AddressWindow::Access::readOnly);
}

}  // namespace rouse::cpu
