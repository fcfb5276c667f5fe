#include "server/executor/homes.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace rouse::executor {
namespace {

memory::FingerprintKey randomKey() {
  std::uint64_t bits[2];
  if (::getentropy(bits, sizeof bits) != 0) std::abort();  // not for so few (getentropy(3))
  return {bits[0], bits[1]};
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
  std::unique_ptr<Homes> homes(new Homes(static_cast<std::byte*>(base), bytes / kGranuleBytes, randomKey()));
  if (Status status = device.useHost({homes->base_, bytes}); !status) return status.error();
  return homes;
}

Homes::Homes(std::byte* base, std::uint64_t granules, const memory::FingerprintKey& key)
    : base_(base), key_(key), total_(granules) {
  free_.reserve(granules);
  for (std::uint64_t slot = granules; slot-- > 0;) free_.push_back(static_cast<Slot>(slot));
}

Homes::~Homes() { ::munmap(base_, total_ * kGranuleBytes); }

Status Homes::promise(memory::OwnerId owner, std::uint64_t granules) {
  if (granules > total_ - promised_)
    return Error{CudaError::memoryAllocation, "host store: " + std::to_string(granules * kGranuleBytes) +
                                                  " bytes more: " + std::to_string(promisableBytes()) + " left of " +
                                                  std::to_string(totalBytes())};
  accounts_[owner].promised += granules;
  promised_ += granules;
  return {};
}

void Homes::giveBack(memory::OwnerId owner, std::uint64_t granules) {
  Account& account = accounts_[owner];
  assert(granules <= account.promised - account.taken);
  account.promised -= granules;
  promised_ -= granules;
}

Homes::Slot Homes::take(memory::OwnerId owner) {
  Account& account = accounts_[owner];
  assert(account.taken < account.promised && !free_.empty());
  ++account.taken;
  const Slot slot = free_.back();
  free_.pop_back();
  return slot;
}

void Homes::drop(memory::OwnerId owner, Slot slot) {
  --accounts_[owner].taken;
  free_.push_back(slot);
}

void Homes::release(memory::OwnerId owner) {
  const auto account = accounts_.find(owner);
  if (account == accounts_.end()) return;
  assert(account->second.taken == 0);
  promised_ -= account->second.promised;
  accounts_.erase(account);
}

}  // namespace rouse::executor
