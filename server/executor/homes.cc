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
                                           std::uint64_t bytes, std::function<void()> ring) {
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
  std::unique_ptr<Homes> homes(new Homes(static_cast<std::byte*>(base), offset, static_cast<std::uint32_t>(bytes / kGranuleBytes),
                                         randomKey(), curveOf(device), std::move(ring)));
  if (Status status = device.useHost({homes->base_, bytes}); !status) return status.error();
  return homes;
}

Homes::Homes(std::byte* base, std::uint64_t fileOffset, std::uint32_t granules, const memory::FingerprintKey& key,
             swap::BandwidthCurve curve, std::function<void()> ring)
    : base_(base), fileOffset_(fileOffset), key_(key), curve_(std::move(curve)), store_(granules), reader_(std::make_unique<HomeReader>(key_, std::move(ring))) {}

Homes::~Homes() {
  endReading();
  ::munmap(base_, totalBytes());
}

Status Homes::promise(memory::OwnerId owner, std::uint64_t granules) {
  // More than there can be is refused by the store, which counts in 32 bits.
  return store_.promise(owner, static_cast<std::uint32_t>(std::min<std::uint64_t>(granules, ~std::uint32_t{0})));
}

void Homes::giveBack(memory::OwnerId owner, std::uint64_t granules) {
  if (!store_.giveBack(owner, static_cast<std::uint32_t>(granules))) std::abort();  // checked by the session's quota
}

Homes::Slot Homes::take(memory::OwnerId owner, std::uint64_t address) {
  feed();
  return sharing_.take(owner, address);
}

Homes::Slot Homes::takeAt(memory::OwnerId owner, std::uint64_t address, std::uint64_t fileOffset) {
  if (fileOffset < fileOffset_ || fileOffset - fileOffset_ >= totalBytes()) return kNone;
  return sharing_.takeAt(owner, address, static_cast<memory::SlotId>((fileOffset - fileOffset_) / kGranuleBytes)).value_or(kNone);
}

std::byte* Homes::rewrite(Slot slot, const std::optional<memory::PageFingerprint>& print) {
  feed();
  return memory(sharing_.rewrite(slot, print));
}

void Homes::feed() {
  if (!store_.starved()) return;
  reader_->hurry();
  takeReadings();
}

bool Homes::turn() {
  if (!reader_) return false;
  if (reader_->ready()) takeReadings();
  if (!reader_->idle() || !sharing_.waiting()) return false;
  unsigned steps = kSteps;
  std::vector<HomeReader::Reading> readings;
  while (readings.size() < kReadings) {
    const std::optional<HomeSharing::Look> look = sharing_.next(steps);
    if (!look) break;
    looks_.push_back(*look);
    readings.push_back({.page = memory(look->slot), .other = look->equal ? memory(*look->equal) : nullptr});
  }
  if (readings.empty()) return sharing_.waiting();
  reader_->begin(std::move(readings));
  return false;
}

void Homes::takeReadings() {
  const std::vector<HomeReader::Reading> readings = reader_->take();
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (!readings[i].done)
      sharing_.leftOff(looks_[i]);
    else if (looks_[i].equal)
      sharing_.compared(looks_[i], readings[i].equal);
    else
      sharing_.printed(looks_[i], readings[i].print);
  }
  looks_.clear();
}

void Homes::endReading() {
  if (!reader_) return;
  if (!reader_->idle()) {
    reader_->hurry();
    takeReadings();
  }
  reader_.reset();
}

}  // namespace rouse::executor
