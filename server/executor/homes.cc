#include "server/executor/homes.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace rouse::executor {
namespace {

memory::FingerprintKey randomKey() {
  std::uint64_t bits[2];
  if (::getentropy(bits, sizeof bits) != 0) std::abort();  // not for so few (getentropy(3))
  return {bits[0], bits[1]};
}

// Where the device does not know, groups of 8 MiB: about where PCIe 3.0 to 5.0 reach 95% of their bandwidth.
swap::BandwidthCurve curveOf(const memory::Device& device) {
  if (auto curve = swap::BandwidthCurve::create(device.properties().link.toDevice)) return std::move(curve).value();
  return swap::BandwidthCurve::create({{std::uint64_t{2} << 20, 10'500'000'000}, {std::uint64_t{8} << 20, 11'900'000'000}})
      .value();
}

}  // namespace

Result<std::unique_ptr<Homes>> Homes::open(memory::Device& device, const wire::OwnedFd& file, std::uint64_t offset,
                                           std::uint64_t bytes) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0)
    return Error{CudaError::invalidValue, std::string("host store: ") + std::strerror(errno)};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (bytes < kGranuleBytes || !isAligned(offset, kGranuleBytes) || !isAligned(bytes, kGranuleBytes) || offset > size ||
      bytes > size - offset)
    return Error{CudaError::invalidValue, "host store: part [" + std::to_string(offset) + ", +" + std::to_string(bytes) +
                                              ") of " + std::to_string(size) + " bytes: not whole granules of " +
                                              std::to_string(kGranuleBytes) + " within"};
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), static_cast<off_t>(offset));
  if (base == MAP_FAILED)
    return Error{CudaError::memoryAllocation,
                 "host store: mapping " + std::to_string(bytes) + " bytes: " + std::strerror(errno)};
  std::unique_ptr<Homes> homes(new Homes(static_cast<std::byte*>(base), offset, static_cast<std::uint32_t>(bytes / kGranuleBytes), randomKey(), curveOf(device)));
  if (Status status = device.useHost({homes->base_, bytes}); !status) return status.error();
  return homes;
}

Homes::Homes(std::byte* base, std::uint64_t fileOffset, std::uint32_t granules, const memory::FingerprintKey& key,
             swap::BandwidthCurve curve)
    : base_(base), fileOffset_(fileOffset), key_(key), curve_(std::move(curve)), store_(granules) {}

Homes::~Homes() { ::munmap(base_, totalBytes()); }

Status Homes::promise(memory::OwnerId owner, std::uint64_t granules) {
  // More than there can be is refused by the store, which counts in 32 bits.
  return store_.promise(owner, static_cast<std::uint32_t>(std::min<std::uint64_t>(granules, ~std::uint32_t{0})));
}

void Homes::giveBack(memory::OwnerId owner, std::uint64_t granules) {
  if (!store_.giveBack(owner, static_cast<std::uint32_t>(granules))) std::abort();  // checked by the session's quota
}

Homes::Slot Homes::take(memory::OwnerId owner) { return store_.acquire(owner).value(); }

void Homes::drop(memory::OwnerId owner, Slot slot) {
  if (!store_.drop(owner, slot)) std::abort();
}

}  // namespace rouse::executor
