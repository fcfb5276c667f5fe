#include "server/executor/store_view.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace rouse::executor {

Result<std::unique_ptr<StoreView>> StoreView::open(const wire::OwnedFd& file) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0)
    return Error{CudaError::invalidValue, std::string("host store: ") + std::strerror(errno)};
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  void* base = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (base == MAP_FAILED)
    return Error{CudaError::memoryAllocation,
                 "host store: mapping all of its " + std::to_string(bytes) + " bytes: " + std::strerror(errno)};
  return std::unique_ptr<StoreView>(new StoreView(static_cast<const std::byte*>(base), bytes));
}

StoreView::~StoreView() { ::munmap(const_cast<std::byte*>(base_), bytes_); }

}  // namespace rouse::executor
