#include "server/device/cuda/host_window.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "server/device/cuda/pinned_memory.h"

namespace rouse::cuda {
namespace {

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }  // NOLINT(performance-no-int-to-ptr)

}  // namespace

Result<std::unique_ptr<HostWindow>> HostWindow::create(std::shared_ptr<Gpu> gpu, AddressRange range, int fd) {
  auto window = device::AddressWindow::reserve(range, "host window");
  if (!window) {
    gpu->disposal.wait();  // it may be one that is to be let go
    window = device::AddressWindow::reserve(range, "host window");
  }
  if (!window) return std::move(window).error();
  int own = -1;
  if (fd >= 0) {
    own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
      return Error{CudaError::initializationError,
                   std::string("descriptor of the host window: ") + std::strerror(errno)};
  }
  return std::unique_ptr<HostWindow>(new HostWindow(std::move(gpu), std::move(*window), own));
}

HostWindow::~HostWindow() {
  for (const auto& [base, bytes] : pinned_) letGo({base, bytes});
  if (fd_ >= 0) ::close(fd_);
}

Status HostWindow::map(AddressRange range) {
  if (fd_ < 0) return Error{CudaError::invalidValue, "the context has no host memory"};
  for (const Leaving& leaving : leaving_)
    if (leaving.range.overlaps(range)) leaving.disposal->wait();
  if (Status status = window_->map(range, fd_, range.base - window_->range().base); !status) return status;
  if (Status status = registerHost(*gpu_, pointer(range.base), range.bytes, "memory of the program"); !status) {
    (void)window_->unmap(range);
    return status;
  }
  pinned_[range.base] = range.bytes;
  return {};
}

Status HostWindow::unmap(AddressRange range) {
  const auto found = pinned_.find(range.base);
  if (found == pinned_.end() || found->second != range.bytes)
    return Error{CudaError::invalidValue, "unmapping host memory that is not mapped as it is named"};
  pinned_.erase(found);
  std::erase_if(leaving_, [](const Leaving& leaving) { return leaving.disposal->over(); });
  leaving_.push_back({range, letGo(range)});
  return {};
}

std::shared_ptr<SideCalls::Call> HostWindow::letGo(AddressRange range) {
  return unregisterLater(*gpu_, pointer(range.base), [window = window_, range] { (void)window->unmap(range); });
}

std::uint64_t HostWindow::pinnedFrom(std::uint64_t address) const {
  auto after = pinned_.upper_bound(address);
  if (after == pinned_.begin()) return 0;
  --after;
  const AddressRange range{after->first, after->second};
  return range.contains(address) ? range.end() - address : 0;
}

}  // namespace rouse::cuda
