#include "client-shim/core/interprocess.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "client-shim/core/command_queue.h"
#include "client-shim/core/control_connection.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_heap.h"
#include "client-shim/core/error_codes.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"
#include "client-shim/core/stream.h"
#include "schemas/wire/segment.h"
#include "schemas/wire/shared_event.h"

namespace rouse::client {
namespace {

// Of what others had open, how much is asked about before something new is taken.
constexpr std::size_t kTries = 4;
// Pages of others' events: so many are kept mapped, whether their events are open or not, before any is used for another's.
constexpr std::size_t kKeptPages = 512;

CudaError failed(const char* what, const Error& error) {
  log(LogLevel::info, "%s: %s", what, error.message.c_str());
  return error.code;
}

}  // namespace

// --- Memory

CudaError Interprocess::exportMemory(std::uint64_t address, wire::IpcHandle* handle) {
  const std::lock_guard lock(mutex_);
  Device* device = session_.deviceAt(address);
  Allocation found;
  if (device == nullptr || !device->memory().find(address, &found)) return CudaError::invalidValue;
  if (found.variable || found.imported || found.mapped || found.pool != 0) return CudaError::invalidValue;
  if (const auto known = exported_.find(found.range.base); known != exported_.end()) {
    *handle = known->second.handle;
    return CudaError::success;
  }
  // What has been written to the ring has been taken, and is mapped, before the executor is asked about it.
  device->heap().settleMappings();
  auto answer = session_.connection().ipc({.action = IpcAction::exportMemory, .deviceIndex = device->index(), .range = device->heap().blockAt(found.range.base)});
  if (!answer) return failed("cudaIpcGetMemHandle", answer.error());
  exported_[found.range.base] = {.handle = answer->handle, .device = device};
  device->heap().markExported(found.range.base);
  *handle = answer->handle;
  return CudaError::success;
}

CudaError Interprocess::openMemory(Device& device, const wire::IpcHandle& handle, std::uint64_t* address) {
  const std::lock_guard lock(mutex_);
  for (auto& [base, opened] : opened_) {
    if (opened.handle != handle) continue;
    ++opened.times;
    *address = base;
    return CudaError::success;
  }
  IpcRequest request{.action = IpcAction::openMemory, .deviceIndex = device.index(), .handle = handle};
  auto answer = session_.connection().ipc(request);
  if (!answer) return failed("cudaIpcOpenMemHandle", answer.error());
  const AddressRange range = answer->range;
  if (device.heap().adoptShared(range) != CudaError::success) {
    request.action = IpcAction::closeMemory;
    (void)session_.connection().ipc(request);
    log(LogLevel::error, "cudaIpcOpenMemHandle: this process has memory of its own at the %llu bytes from 0x%llx",
        static_cast<unsigned long long>(range.bytes), static_cast<unsigned long long>(range.base));
    return kMapBufferObjectFailed;
  }
  opened_[range.base] = {.handle = handle, .device = &device, .range = range};
  *address = range.base;
  return CudaError::success;
}

CudaError Interprocess::closeMemory(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = opened_.find(address);
  if (found == opened_.end()) return CudaError::invalidValue;
  Opened& opened = found->second;
  if (opened.times > 1) {
    --opened.times;
    return CudaError::success;
  }
  // What is queued may use it.
  if (const CudaError error = opened.device->waitForAll(); error != CudaError::success) return error;
  auto answer =
      session_.connection().ipc({.action = IpcAction::closeMemory, .deviceIndex = opened.device->index(), .handle = opened.handle});
  (void)opened.device->heap().releaseFor(address);
  opened_.erase(found);
  return answer ? CudaError::success : failed("cudaIpcCloseMemHandle", answer.error());
}

CudaError Interprocess::giveBack(std::map<std::uint64_t, Exported>::iterator freed, bool* inUse) {
  Exported& exported = freed->second;
  auto answer =
      session_.connection().ipc({.action = IpcAction::withdraw, .deviceIndex = exported.device->index(), .handle = exported.handle});
  *inUse = !answer || answer->inUse;
  if (*inUse) return answer ? CudaError::success : failed("cudaFree of exported memory", answer.error());
  const std::uint64_t address = freed->first;
  Device& device = *exported.device;
  exported_.erase(freed);
  return device.heap().releaseFor(address);
}

CudaError Interprocess::release(Device& device, std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = exported_.find(address);
  if (found == exported_.end() || found->second.freed || found->second.device != &device) return CudaError::invalidValue;
  bool inUse = false;
  if (const CudaError error = giveBack(found, &inUse); !inUse) return error;
  // Its addresses stay what they are for whoever has it open.
  found->second.freed = true;
  device.heap().retire(address);
  freed_.push_back(address);
  reclaim(device, kTries);
  return CudaError::success;
}

bool Interprocess::reclaim(Device& device, std::size_t most) {
  bool any = false;
  for (std::size_t tries = std::min(freed_.size(), most); tries != 0; --tries) {
    const std::uint64_t address = freed_.front();
    freed_.pop_front();
    const auto found = exported_.find(address);
    if (found == exported_.end()) continue;
    bool inUse = true;
    if (found->second.device == &device) (void)giveBack(found, &inUse);
    if (inUse) freed_.push_back(address);
    any = any || !inUse;
  }
  return any;
}

bool Interprocess::reclaim(Device& device) {
  const std::lock_guard lock(mutex_);
  return reclaim(device, freed_.size());
}

// --- Events

bool Interprocess::takePage(Page* page) {
  // Those that have rested longest; each has to be asked about.
  for (std::size_t tries = std::min(resting_.size(), kTries); tries != 0; --tries) {
    Page candidate = std::move(resting_.front());
    resting_.pop_front();
    if (wire::SharedEvent(&session_.slot(candidate.number * wire::kSharedEventSlots)).allReached()) {
      auto answer = session_.connection().ipc({.action = IpcAction::withdraw, .deviceIndex = candidate.device->index(), .handle = candidate.last});
      if (answer && !answer->inUse) {
        *page = std::move(candidate);
        return true;
      }
    }
    resting_.push_back(std::move(candidate));
  }
  auto memory = wire::createSealedMemfd("rouse-event", wire::kPageBytes);
  std::uint32_t number = 0;
  if (!memory || !takeNumber(&number)) return false;
  if (!session_.mapEvent(number, memory->get())) {
    spare_.push_back(number);
    return false;
  }
  *page = {.number = number, .memory = std::move(*memory), .last = {}, .device = nullptr};
  return true;
}

bool Interprocess::takeNumber(std::uint32_t* number) {
  if (spare_.empty() && importedPages_.size() >= kKeptPages) sparePages();
  if (!spare_.empty()) {
    *number = spare_.back();
    spare_.pop_back();
    return true;
  }
  const auto taken = session_.slots().takePage();
  if (taken) *number = *taken;
  return taken.has_value();
}

// What others' events are in that are open no more. Commands that name them have been done before anything else takes their place.
void Interprocess::sparePages() {
  std::set<std::uint32_t> used;
  for (const auto& [key, open] : openEvents_) used.insert(open.page);
  if (used.size() == importedPages_.size()) return;
  for (std::uint32_t index = 0; index < session_.deviceCount(); ++index)
    if (session_.device(index).waitForAll() != CudaError::success) return;
  std::erase_if(importedPages_, [&](const auto& imported) {
    if (used.contains(imported.second)) return false;
    spare_.push_back(imported.second);
    return true;
  });
}

void Interprocess::rest(Page page) {
  if (page.device != nullptr)
    resting_.push_back(std::move(page));
  else
    spare_.push_back(page.number);
}

CudaError Interprocess::exportEvent(Event& event, wire::IpcHandle* handle) {
  const std::lock_guard lock(mutex_);
  if (!event.options().interprocess || event.imported()) return CudaError::invalidResourceHandle;
  if (event.shared()) {
    *handle = event.handleForOthers();
    return CudaError::success;
  }
  Device& device = event.device();
  Page page;
  if (!takePage(&page)) return CudaError::memoryAllocation;
  auto answer = session_.connection().ipc({.action = IpcAction::exportEvent, .deviceIndex = device.index(), .page = page.number}, page.memory.get());
  if (!answer) {
    // One that was others' before is the same memory for good: they know it by its number.
    rest(std::move(page));
    return failed("cudaIpcGetEventHandle", answer.error());
  }
  page.last = answer->handle;
  page.device = &device;
  if (const CudaError error = event.share(page.number * wire::kSharedEventSlots, answer->handle, false); error != CudaError::success) {
    (void)session_.connection().ipc({.action = IpcAction::withdraw, .deviceIndex = device.index(), .handle = answer->handle});
    rest(std::move(page));
    return error;
  }
  const std::uint32_t number = page.number;
  pages_[number] = std::move(page);
  *handle = answer->handle;
  return CudaError::success;
}

CudaError Interprocess::openEvent(Device& device, const wire::IpcHandle& handle, Event** event) {
  const std::lock_guard lock(mutex_);
  auto open = openEvents_.find({&device, handle.secret});
  if (open == openEvents_.end()) {
    std::uint32_t page = 0;
    if (const CudaError error = askForEvent(device, handle, &page); error != CudaError::success) return error;
    open = openEvents_.try_emplace({&device, handle.secret}, OpenEvent{.device = &device, .handle = handle, .page = page, .times = 0}).first;
  }
  Event* made = nullptr;
  CudaError error = createEvent(device, {.disableTiming = true, .interprocess = true}, &made);
  if (error == CudaError::success && (error = made->share(open->second.page * wire::kSharedEventSlots, handle, true)) != CudaError::success)
    (void)destroyEvent(*made);  // which is nobody else's yet
  if (error == CudaError::success) {
    ++open->second.times;
    *event = made;
  } else if (open->second.times == 0) {
    closeEvent(open);
  }
  return error;
}

// Has it opened by the executor, and mapped here.
CudaError Interprocess::askForEvent(Device& device, const wire::IpcHandle& handle, std::uint32_t* page) {
  std::uint32_t fresh = 0;
  if (!takeNumber(&fresh)) return CudaError::memoryAllocation;
  IpcRequest request{.action = IpcAction::openEvent, .deviceIndex = device.index(), .page = fresh, .handle = handle};
  auto answer = session_.connection().ipc(request);
  // The exporter uses a page for one event after the other: it is known here already, then, and what commands say of it is still to come.
  const auto known = answer ? importedPages_.find({handle.sessionId, answer->page}) : importedPages_.end();
  if (known != importedPages_.end()) {
    spare_.push_back(fresh);
    *page = known->second;
    return CudaError::success;
  }
  if (answer && answer->memory && session_.mapEvent(fresh, answer->memory.get())) {
    *page = importedPages_[{handle.sessionId, answer->page}] = fresh;
    return CudaError::success;
  }
  spare_.push_back(fresh);
  // It may be open there: not all of this process's executors could map it, say.
  request.action = IpcAction::closeEvent;
  (void)session_.connection().ipc(request);
  return answer ? CudaError::memoryAllocation : failed("cudaIpcOpenEventHandle", answer.error());
}

void Interprocess::closeEvent(OpenEvents::iterator open) {
  const OpenEvent closed = open->second;
  openEvents_.erase(open);
  auto answer = session_.connection().ipc({.action = IpcAction::closeEvent, .deviceIndex = closed.device->index(), .handle = closed.handle});
  if (!answer) (void)failed("cudaEventDestroy", answer.error());
}

void Interprocess::eventDestroyed(const Event& event) {
  const std::lock_guard lock(mutex_);
  const wire::IpcHandle& handle = event.handleForOthers();
  if (event.imported()) {
    const auto open = openEvents_.find({&event.device(), handle.secret});
    if (open != openEvents_.end() && --open->second.times == 0) closeEvent(open);
    return;
  }
  auto page = pages_.extract(event.sharedSlot() / wire::kSharedEventSlots);
  if (page.empty()) return;
  auto answer = session_.connection().ipc({.action = IpcAction::withdraw, .deviceIndex = event.device().index(), .handle = handle});
  if (answer) resting_.push_back(std::move(page.mapped()));
}

void Interprocess::forget(const Device& device) {
  const std::lock_guard lock(mutex_);
  const auto ofDevice = [&](const auto& entry) { return entry.second.device == &device; };
  std::erase_if(freed_, [&](std::uint64_t address) { return exported_.contains(address) && exported_.at(address).device == &device; });
  std::erase_if(exported_, ofDevice);
  std::erase_if(opened_, ofDevice);
  std::erase_if(openEvents_, ofDevice);
  // Others may have what these pages were, as of an event that has been destroyed.
  for (auto page = pages_.begin(); page != pages_.end();) {
    const auto next = std::next(page);
    if (ofDevice(*page)) resting_.push_back(std::move(pages_.extract(page).mapped()));
    page = next;
  }
}

}  // namespace rouse::client
