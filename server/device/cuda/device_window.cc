#include "server/device/cuda/device_window.h"

#include <cstdio>

#include "server/device/cuda/driver/error.h"

namespace rouse::cuda {
namespace {

std::string text(AddressRange range) {
  char digits[64];
  std::snprintf(digits, sizeof digits, "[0x%llx, +0x%llx)", static_cast<unsigned long long>(range.base),
                static_cast<unsigned long long>(range.bytes));
  return digits;
}

}  // namespace

Result<std::unique_ptr<DeviceWindow>> DeviceWindow::reserve(std::shared_ptr<Gpu> gpu, PhysicalMemory& memory,
                                                            AddressRange range) {
  gpu->makeCurrent();
  CUdeviceptr got = 0;
  const Driver& driver = gpu->driver();
  Status status = gpu->status(driver.cuMemAddressReserve(&got, range.bytes, 0, range.base, 0), "cuMemAddressReserve",
                              "device window " + text(range));
  if (!status) return status.error();
  // The address is a wish only (CUDA Driver API, cuMemAddressReserve).
  if (got != range.base) {
    driver.cuMemAddressFree(got, range.bytes);
    return Error{CudaError::initializationError, "device window " + text(range) + " is taken: the driver of " +
                                                     gpu->name() + " offers " + text({got, range.bytes}) + " instead"};
  }
  return std::unique_ptr<DeviceWindow>(new DeviceWindow(std::move(gpu), memory, range));
}

DeviceWindow::~DeviceWindow() {
  gpu_->makeCurrent();
  for (auto first = mapped_.begin(); first != mapped_.end();) {
    AddressRange run{first->first, 0};
    for (; first != mapped_.end() && first->first == run.end(); ++first) run.bytes += first->second.bytes;
    (void)gpu_->unmap(run);  // a lost GPU keeps nothing; that it is lost has been told
  }
  gpu_->good(gpu_->driver().cuMemAddressFree(range_.base, range_.bytes), "cuMemAddressFree", nullptr);
}

Status DeviceWindow::check(AddressRange range) const {
  if (!range.empty() && range_.contains(range) && isAligned(range.base, kGranuleBytes) &&
      isAligned(range.bytes, kGranuleBytes))
    return {};
  return Error{CudaError::invalidValue,
               "range " + text(range) + " is not one of whole granules in the device window " + text(range_)};
}

Status DeviceWindow::map(std::uint64_t address, memory::Chunk chunk) {
  if (Status status = memory_.check(chunk); !status) return status;
  const AddressRange range{address, chunk.bytes};
  if (Status status = check(range); !status) return status;
  if (mapped_.contains(address)) return Error{CudaError::invalidValue, "range " + text(range) + " is mapped already"};
  gpu_->makeCurrent();
  if (Status status = gpu_->status(gpu_->driver().cuMemMap(address, chunk.bytes, 0, memory_.handle(chunk), 0),
                                   "cuMemMap", text(range));
      !status)
    return status;
  mapped_[address] = fresh_[address] = chunk;
  return {};
}

Status DeviceWindow::mapOver(std::uint64_t address, memory::Chunk chunk) {
  if (Status status = map(address, chunk); !status) return status;
  memory_.setDirty(chunk, false);
  return {};
}

Status DeviceWindow::unmap(AddressRange range) {
  if (Status status = check(range); !status) return status;
  if (const std::uint64_t at = firstUnmapped(range); at != range.end())
    return Error{CudaError::invalidValue, "nothing is mapped at " + text({at, kGranuleBytes})};
  if (Status status = gpu_->unmap(range); !status) return status;
  mapped_.erase(mapped_.lower_bound(range.base), mapped_.lower_bound(range.end()));
  fresh_.erase(fresh_.lower_bound(range.base), fresh_.lower_bound(range.end()));
  return {};
}

std::uint64_t DeviceWindow::firstUnmapped(AddressRange granules) const {
  std::uint64_t at = granules.base;
  for (auto mapped = mapped_.lower_bound(at); at < granules.end() && mapped != mapped_.end() && mapped->first == at;
       ++mapped)
    at += mapped->second.bytes;
  return std::min(at, granules.end());
}

Status DeviceWindow::settle(const std::function<Status(AddressRange)>& zero) {
  CUmemAccessDesc access{};
  access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu_->device()};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  gpu_->makeCurrent();
  for (auto first = fresh_.begin(); first != fresh_.end();) {
    AddressRange run{first->first, 0};
    auto end = first;
    for (; end != fresh_.end() && end->first == run.end(); ++end) run.bytes += end->second.bytes;
    if (Status status =
            gpu_->status(gpu_->driver().cuMemSetAccess(run.base, run.bytes, &access, 1), "cuMemSetAccess", text(run));
        !status)
      return status;
    for (auto at = first; at != end;) {
      AddressRange dirty{at->first, 0};
      for (; at != end && memory_.dirty(at->second); ++at) dirty.bytes += at->second.bytes;
      if (dirty.empty())
        ++at;
      else if (Status status = zero(dirty); !status)
        return status;
    }
    for (; first != end; ++first) memory_.setDirty(first->second, false);
  }
  fresh_.clear();
  return {};
}

}  // namespace rouse::cuda
