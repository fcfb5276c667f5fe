#include "server/device/cpu/peer_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace rouse::cpu {
namespace {

Error refused(const std::string& what) { return {CudaError::invalidValue, "memory of another GPU: " + what}; }

}  // namespace

Result<std::shared_ptr<const PeerMemory>> PeerMemory::map(const wire::OwnedFd& file) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return refused(std::strerror(errno));
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return refused("the file is not sealed against shrinking");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  void* base = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (base == MAP_FAILED)
    return Error{CudaError::memoryAllocation, "memory of another GPU: mapping " + std::to_string(bytes) + " bytes: " + std::strerror(errno)};
  return std::shared_ptr<const PeerMemory>(
      new PeerMemory(static_cast<const std::byte*>(base), bytes, status.st_dev, status.st_ino));
}

PeerMemory::~PeerMemory() { ::munmap(const_cast<std::byte*>(base_), bytes_); }

Result<std::shared_ptr<const PeerMemory>> PeerMemories::map(const wire::OwnedFd& file) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return refused(std::strerror(errno));
  std::erase_if(mapped_, [](const auto& each) { return each.expired(); });
  for (const auto& each : mapped_)
    if (auto known = each.lock(); known && known->of(status.st_dev, status.st_ino)) return known;
  auto made = PeerMemory::map(file);
  if (made) mapped_.push_back(*made);
  return made;
}

Result<std::vector<std::unique_ptr<memory::PeerChunk>>> PeerMemories::import(const memory::SharedChunks& chunks,
                                                                             device::LinkDirection way) {
  std::vector<std::shared_ptr<const PeerMemory>> files;
  for (const wire::OwnedFd& fd : chunks.fds) {
    auto file = map(fd);
    if (!file) return std::move(file).error();
    files.push_back(std::move(*file));
  }
  std::vector<std::unique_ptr<memory::PeerChunk>> imported;
  imported.reserve(chunks.places.size());
  for (const memory::SharedChunks::Place& place : chunks.places) {
    if (place.descriptor >= files.size())
      return refused("descriptor " + std::to_string(place.descriptor) + " of " + std::to_string(files.size()));
    const std::byte* bytes = files[place.descriptor]->at(place.offset);
    if (bytes == nullptr) return refused("there is no granule at " + std::to_string(place.offset));
    imported.push_back(std::make_unique<CpuPeerChunk>(files[place.descriptor], bytes, way));
  }
  return imported;
}

}  // namespace rouse::cpu
