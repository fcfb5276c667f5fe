#include "server/device/cpu/device.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "server/device/cpu/context.h"
#include "server/device/cpu/link.h"
#include "server/device/cpu/module_instance.h"
#include "server/device/cpu/properties.h"
#include "server/device/cpu/runtime/signal_faults.h"
#include "server/device/cpu/stream_queue.h"

namespace rouse::cpu {

CpuDevice::CpuDevice(std::unique_ptr<PhysicalMemory> memory, std::unique_ptr<LinkUse> links, std::uint32_t ordinal,
                     std::uint32_t workers, Compilation compilation)
    : ordinal_(ordinal),
      memory_(std::move(memory)),
      properties_(describeDevice(ordinal, memory_->chunks().size() * kGranuleBytes, workers)),
      pool_(workers),
      links_(std::move(links)),
      compilation_(std::move(compilation)) {}

Result<std::unique_ptr<memory::Device>> CpuDevice::open(const memory::DeviceOptions& options, std::shared_ptr<CompileService> service) {
  const std::uint32_t workers =
      options.workers != 0 ? options.workers : std::max(std::thread::hardware_concurrency(), 1u);
  auto memory = PhysicalMemory::create(options.memoryBytes, options.absentBytes);
  if (!memory) return std::move(memory).error();
  std::unique_ptr<LinkUse> links;
  if (options.linksFd >= 0) {
    auto board = device::LinkBoard::attach(options.linksFd, options.ordinal);
    if (!board) return std::move(board).error();
    links = std::make_unique<LinkUse>(std::move(board).value());
  }
  Compilation compilation{.service = std::move(service), .leavesOut = true};
  if (!options.codeCache.empty()) {
    auto cache = CodeCache::open(options.codeCache, options.codeCacheBytes);
    // Kernels are compiled anew each time, then: slower, and no reason not to serve.
    if (!cache) std::fprintf(stderr, "rouse-executor: %s: compiled kernels are not kept\n", cache.error().message.c_str());
    else compilation.cache = std::move(*cache);
  }
  installFaultHandlers();
  std::unique_ptr<CpuDevice> device(
      new CpuDevice(std::move(memory).value(), std::move(links), options.ordinal, workers, std::move(compilation)));
  memory::LinkDescription& link = device->properties_.link;
  if (options.measureLink) link = device->links_ != nullptr ? device->links_->describe() : measureLink();
  if (device->links_ != nullptr) {
    link.peers = describePeers(device->links_->board(), options.ordinal);
    link.nvlinks = static_cast<std::uint32_t>(std::ranges::count_if(link.peers, &memory::LinkPeer::access));
    if (const auto shared = device->links_->board().sharedWay()) {
      link.sharedWay = "link " + std::to_string(shared->link);
      link.sharedBytesPerSecond = static_cast<std::uint64_t>(shared->bytesPerSecond);
    }
  }
  return std::unique_ptr<memory::Device>(std::move(device));
}

Result<std::unique_ptr<memory::Context>> CpuDevice::createContext(const memory::ContextOptions& options,
                                                                  memory::ContextObserver& observer) {
  return CpuContext::create(options, *memory_,
                            std::make_shared<ContextState>(pool_, slotWaits_, links_.get(), observer, options.deviceWindow, options.check));
}

Result<memory::SharedChunks> CpuDevice::exportChunks(std::span<const memory::Chunk> chunks) {
  memory::SharedChunks shared{.device = properties_.uuid, .places = {}, .fds = {}};
  for (const memory::Chunk& chunk : chunks) {
    if (Status status = memory_->check(chunk); !status) return status.error();
    shared.places.push_back({0, memory_->offsetOf(chunk)});
  }
  auto file = memory_->readOnly();
  if (!file) return std::move(file).error();
  shared.fds.push_back(std::move(*file));
  return shared;
}

Result<std::vector<std::unique_ptr<memory::PeerChunk>>> CpuDevice::importChunks(memory::SharedChunks chunks) {
  device::LinkDirection way = device::LinkDirection::toDevice;
  if (links_ != nullptr) {
    const auto& peers = properties_.link.peers;  // all GPUs but this one
    const auto peer = std::ranges::find(peers, chunks.device, &memory::LinkPeer::uuid);
    auto gpu = static_cast<std::uint32_t>(peer - peers.begin());
    if (peer != peers.end() && links_->board().has(device::fromGpu(gpu += gpu >= ordinal_))) way = device::fromGpu(gpu);
  }
  return peers_.import(chunks, way);
}

Result<std::shared_ptr<memory::Image>> CpuDevice::load(std::span<const std::byte> module) { return loadImage(module, compilation_); }

bool CpuDevice::poll(bool& waiting) {
  const auto ready = slotWaits_.takeReady();
  for (const auto& stream : ready) stream->resumeHere();
  waiting = !slotWaits_.empty();
  return !ready.empty();
}

}  // namespace rouse::cpu
