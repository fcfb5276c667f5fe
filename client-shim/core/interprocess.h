// Memory and events that this process shares with others of its tenant (cudaIpc*; DESIGN.md, "Between processes"). What is exported and
// who has it open the executor knows; here is what a program has got of it, so that opening twice is counted without asking and nothing is
// given out again that others may still use.
//
// Threads: any. Its lock comes before all others; requests to the daemon are made under it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "client-shim/core/event.h"
#include "schemas/base/cuda_error.h"
#include "schemas/base/range.h"
#include "schemas/wire/ipc_handle.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::client {

class Device;
class Session;

class Interprocess {
 public:
  explicit Interprocess(Session& session) : session_(session) {}

  // Of the allocation that holds the address, all of it; the same handle for as long as it lives. invalidValue: it is none of
  // cudaMalloc's. notSupported: this process can share nothing.
  CudaError exportMemory(std::uint64_t address, wire::IpcHandle* handle);
  // The exporter's address, which is this process's until closed as often as opened.
  CudaError openMemory(Device& device, const wire::IpcHandle& handle, std::uint64_t* address);
  // Waits for the device's work. invalidValue: nothing that is open begins there.
  CudaError closeMemory(std::uint64_t address);

  CudaError exportEvent(Event& event, wire::IpcHandle* handle);
  CudaError openEvent(Device& device, const wire::IpcHandle& handle, Event** event);

  // Of an exported allocation, once the program has freed it: it is given back when nobody has it any more.
  CudaError release(Device& device, std::uint64_t address);
  // Gives back what has been freed and has since been closed by all. True: anything.
  bool reclaim(Device& device);
  // An event that has become several processes' ends here.
  void eventDestroyed(const Event& event);
  // After a reset of the device nothing is exported or open.
  void forget(const Device& device);

 private:
  struct Exported {
    wire::IpcHandle handle;
    Device* device;
    bool freed = false;
  };
  struct Opened {
    wire::IpcHandle handle;
    Device* device;
    AddressRange range;
    std::uint64_t times = 1;
  };
  // A page of this process's slots that is an event's, and no event's at the moment.
  struct Page {
    std::uint32_t number;
    wire::OwnedFd memory;
    wire::IpcHandle last;  // of the event that had it; others may have that open still
    Device* device;
  };
  // One of another process's, opened so many times.
  struct OpenEvent {
    Device* device;
    wire::IpcHandle handle;
    std::uint32_t page;  // of ours
    std::uint64_t times;
  };
  using OpenEvents = std::map<std::pair<const Device*, decltype(wire::IpcHandle::secret)>, OpenEvent>;
  CudaError giveBack(std::map<std::uint64_t, Exported>::iterator freed, bool* inUse);
  bool reclaim(Device& device, std::size_t most);
  CudaError askForEvent(Device& device, const wire::IpcHandle& handle, std::uint32_t* page);
  void closeEvent(OpenEvents::iterator open);
  bool takePage(Page* page);
  bool takeNumber(std::uint32_t* number);
  void sparePages();
  void rest(Page page);

  Session& session_;
  std::mutex mutex_;
  std::map<std::uint64_t, Exported> exported_;  // by base
  std::map<std::uint64_t, Opened> opened_;      // by base
  std::deque<std::uint64_t> freed_;             // of exported_, the longest first
  std::deque<Page> resting_;
  std::map<std::uint32_t, Page> pages_;                                             // of living events of this process's, by number
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> importedPages_;  // exporter and its page -> ours
  OpenEvents openEvents_;
  std::vector<std::uint32_t> spare_;  // numbers of pages that are no event's, and no other process knows
};

}  // namespace rouse::client
