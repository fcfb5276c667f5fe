#include "client-shim/core/module.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "client-shim/core/command_queue.h"
#include "client-shim/core/control_connection.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_heap.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"

namespace rouse::client {

namespace {

constexpr std::size_t kMostVariables = 65000 / sizeof(std::uint64_t);  // commands.toml, ModuleBind's payload
constexpr std::uint32_t kDefaultSharedBytes = 48 << 10;  // what a kernel may have without asking, static and dynamic

// The bytes in a descriptor of their own, which the daemon reads.
wire::OwnedFd memfdOf(std::span<const std::byte> bytes) {
  wire::OwnedFd fd{::memfd_create("rouse-module", MFD_CLOEXEC)};
  while (fd && !bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return {};
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return fd;
}

}  // namespace

Kernel* Module::findKernel(std::string_view name) const {
  for (const auto& kernel : kernels_) {
    if (kernel->name == name) return kernel.get();
  }
  return nullptr;
}

const Variable* Module::findVariable(std::string_view name) const {
  for (const Variable& variable : variables_) {
    if (variable.name == name) return &variable;
  }
  return nullptr;
}

CudaError loadModule(Device& device, const ModuleSource& source, std::span<const ManagedPlace> places,
                     std::unique_ptr<Module>* module, std::string* why) try {
  if (const CudaError error = device.asyncError(); error != CudaError::success) return error;
  Session& session = device.session();
  wire::OwnedFd copy;
  std::uint64_t offset = source.offset, size = source.size;
  if (source.fd < 0) {
    copy = memfdOf(source.bytes);
    if (!copy) {
      log(LogLevel::error, "module of %zu bytes: memfd: %s", source.bytes.size(), std::strerror(errno));
      return CudaError::memoryAllocation;
    }
    offset = 0;
    size = source.bytes.size();
  }
  auto listing = session.connection().loadModule(device.index(), source.fd < 0 ? copy.get() : source.fd, offset, size);
  if (!listing) {
    log(LogLevel::error, "module of %llu bytes: %s", static_cast<unsigned long long>(size),
        listing.error().message.c_str());
    if (why != nullptr) *why = listing.error().message;
    (void)session.alive(device.index());
    return listing.error().code;
  }
  if (listing->variables.size() > kMostVariables) {
    log(LogLevel::error, "module with %zu variables, the limit is %zu", listing->variables.size(), kMostVariables);
    return CudaError::notSupported;
  }

  auto made = std::make_unique<Module>();
  made->device_ = &device;
  made->incarnation_ = device.incarnation();
  made->kernels_ = std::move(listing->kernels);
  made->variables_ = std::move(listing->variables);
  for (const auto& kernel : made->kernels_) {
    kernel->module = made.get();
    kernel->maxDynamicSharedBytes.store(kDefaultSharedBytes - std::min(kDefaultSharedBytes, kernel->staticSharedBytes),
                                        std::memory_order_relaxed);
  }

  auto abandon = [&](CudaError error) {
    for (const std::uint64_t address : made->owned_) (void)device.heap().releaseFor(address);
    for (const std::uint64_t address : made->ownedManaged_) (void)session.hostHeap().releaseVariable(address);
    return error;
  };
  // Managed variables that other devices use already: binding writes initial values, what they hold now is put back.
  struct Kept {
    std::byte* at;
    std::vector<std::byte> bytes;
  };
  std::vector<Kept> kept;
  std::vector<std::uint64_t> addresses;
  for (std::size_t i = 0; i < made->variables_.size(); ++i) {
    Variable& variable = made->variables_[i];
    if (!variable.isOurs(device.info())) continue;
    const std::uint64_t bytes = std::max<std::uint64_t>(variable.bytes, 1);
    CudaError error = CudaError::success;
    if (variable.space == VariableSpace::managed) {
      const auto place =
          std::find_if(places.begin(), places.end(), [&](const ManagedPlace& p) { return p.name == variable.name; });
      if (place != places.end()) {
        variable.address = place->address;
        auto* at = reinterpret_cast<std::byte*>(place->address);
        kept.push_back({at, {at, at + variable.bytes}});
      } else {
        error = session.hostHeap().allocateVariable(bytes, device.index(), &variable.address);
        if (error == CudaError::success) made->ownedManaged_.push_back(variable.address);
      }
    } else {
      const Allocation tags{.kind = MemoryKind::device, .variable = true, .deviceIndex = device.index()};
      error = device.heap().allocateFor(tags, bytes, std::max<std::uint64_t>(listing->alignments[i], kAllocationUnit),
                                        &variable.address);
      if (error == CudaError::success) made->owned_.push_back(variable.address);
    }
    if (error != CudaError::success) return abandon(error);
    addresses.push_back(variable.address);
  }

  {
    CommandQueue::Batch batch(device.queue());
    made->wire_ = device.takeModuleNumber();
    batch.put(wire::ModuleBind{.module = made->wire_, .moduleId = listing->moduleId},
              std::span<const std::uint64_t>(addresses));
    // So that a synchronisation of the legacy stream waits for it.
    batch.count(device.legacyStream());
  }
  if (addresses.size() != made->variables_.size()) {
    if (const CudaError error = made->findVariables(); error != CudaError::success) {
      (void)unloadModule(std::move(made));
      return error;
    }
  }
  if (!kept.empty()) {
    if (const CudaError error = device.legacyStream().synchronize(); error != CudaError::success) return abandon(error);
    for (const Kept& each : kept) std::memcpy(each.at, each.bytes.data(), each.bytes.size());
  }
  *module = std::move(made);
  return CudaError::success;
} catch (const std::bad_alloc&) {
  return CudaError::memoryAllocation;
}

CudaError Module::findVariables() {
  Session& session = device_->session();
  const auto lease = session.slots().take();
  if (!lease) return CudaError::memoryAllocation;
  Mark reply{lease->index, lease->value};
  CudaError error = CudaError::success;
  for (std::uint32_t i = 0; i < variables_.size() && error == CudaError::success; ++i) {
    Variable& variable = variables_[i];
    if (variable.isOurs(device_->info())) continue;
    ++reply.value;
    {
      CommandQueue::Batch batch(device_->queue());
      batch.put(wire::VariableAddress{.module = wire_, .value = reply.value, .slot = reply.slot, .variable = i});
      batch.flush();
    }
    error = session.wait(device_->index(), reply);
    if (error != CudaError::success) break;
    const wire::Slot& slot = session.slot(reply.slot);
    error = static_cast<CudaError>(slot.result.load(std::memory_order_relaxed));
    if (error != CudaError::success) break;
    variable.address = slot.payload.load(std::memory_order_relaxed);
    const Allocation tags{.kind = MemoryKind::device, .variable = true, .deviceIndex = device_->index()};
    error = device_->heap().adopt(tags, {variable.address, std::max<std::uint64_t>(variable.bytes, 1)});
    if (error == CudaError::success) {
      owned_.push_back(variable.address);
    } else {
      log(LogLevel::error, "variable %s: the device has put it at 0x%llx, where this program has memory of its own",
          variable.name.c_str(), static_cast<unsigned long long>(variable.address));
      error = CudaError::notSupported;
    }
  }
  session.slots().give({reply.slot, reply.value});
  return error;
}

CudaError unloadModule(std::unique_ptr<Module> module) {
  Device& device = module->device();
  for (const std::uint64_t address : module->ownedManaged_) {
    (void)device.session().hostHeap().releaseVariable(address);
  }
  if (module->incarnation_ != device.incarnation()) return CudaError::success;
  {
    CommandQueue::Batch batch(device.queue());
    batch.put(wire::ModuleUnbind{.module = module->wire_});
    device.giveModuleNumber(module->wire_);
  }
  for (const std::uint64_t address : module->owned_) (void)device.heap().releaseFor(address);
  return device.asyncError();
}

}  // namespace rouse::client
