// Of a session, what it shares with other processes of its tenant.
//
// An importer uses its exporter's addresses: windows are unique on the node, and both are mapped in this process. So what is exported must be where
// it is for as long as an importer may touch it: the exporter is held on the device, as one that is pinned, keeps what it unmaps or
// resets until nobody has it, and, when its process ends, everything but that is given back and it waits for the last one. Both parties of an
// event are held: one could else wait on the device for what the other, which waits for its room, has not come to.
#include <algorithm>

#include "schemas/wire/shared_event.h"
#include "server/executor/session.h"

namespace rouse::executor {
namespace {

Error notServed(std::uint64_t id) {
  return {CudaError::notReady, "session " + std::to_string(id) + " is ending, or on its way to another GPU"};
}

}  // namespace

Result<wire::IpcHandle> Session::exportMemory(const wire::IpcHandle& handle, AddressRange range) {
  if (stage_ != Stage::serving) return notServed(id_);
  if (range.empty() || !deviceWindow_.contains(range) || !extents_.contains(range.base, range.bytes))
    return Error{CudaError::invalidValue, "export: the range is not mapped memory of session " + std::to_string(id_)};
  exports_.settle();
  return exports_.addMemory(handle, range);
}

Status Session::exportEvent(const wire::IpcHandle& handle, std::uint32_t page, wire::OwnedFd memory) {
  if (stage_ != Stage::serving) return notServed(id_);
  exports_.settle();
  if (Status status = mapEvent(page, memory.get(), true); !status) return status;
  return exports_.addEvent(handle, page, std::move(memory));
}

Status Session::mapEvent(std::uint32_t page, int fd, bool own) {
  if (stage_ != Stage::serving) return notServed(id_);
  const bool another = !eventPages_.contains(page);
  if (another && eventPages_.size() >= kMaxEventPages)
    return Error{CudaError::memoryAllocation, "events of several processes: " + std::to_string(kMaxEventPages) + " is the limit of a session"};
  if (another && surroundings_.eventPages >= kMaxEventPagesOfAll)
    return Error{CudaError::memoryAllocation, "events of several processes: " + std::to_string(kMaxEventPagesOfAll) + " is the limit of all processes on a GPU"};
  if (Status status = segment_.mapEvent(page, fd, wire::ForkedChild::inherits); !status) return status;
  eventPages_[page] = own;
  if (another) ++surroundings_.eventPages;
  return {};
}

bool Session::withdraw(const wire::IpcHandle& handle) { return exports_.withdraw(handle); }

std::shared_ptr<Export> Session::findExport(const wire::IpcHandle& handle) const { return serving() ? exports_.find(handle) : nullptr; }

Status Session::hold() {
  if (held_) return {};
  if (surroundings_.homes != nullptr && !pinned_)
    if (Status status = surroundings_.memory.enroll(id_, memory::Tenure::stays); !status) return status;
  held_ = true;
  if (presence_.here()) leaveAsked_ = sentAway_ = false;
  return {};
}

void Session::letGo() {
  held_ = false;
  if (surroundings_.homes != nullptr && !pinned_ && !surroundings_.memory.enroll(id_, memory::Tenure::visits)) std::abort();  // which always can be
}

Status Session::addImport(const std::shared_ptr<Export>& from) {
  if (stage_ != Stage::serving) return notServed(id_);
  if (Status status = imports_.add(from); !status) return status;
  if (from->memory()) context_->reach(from->range);
  return {};
}

bool Session::settleSharing() {
  bool did = false;
  if (imports_.ending() && context_->idle()) {
    std::vector<AddressRange> gone;
    imports_.settle(gone);
    for (const AddressRange range : gone) context_->unreach(range);
    did = true;
  }
  if (held_ && awaitedImports_ == 0 && !exports_.inUse() && !imports_.anyEvent()) {
    letGo();
    exports_.settle();
    did = true;
  }
  return did;
}

// Its program's last signals have been delivered; what it had only promised nobody will.
void Session::abandonEvents() {
  for (const auto& [page, own] : eventPages_)
    if (own) wire::SharedEvent(&segment_.slot(page * wire::kSharedEventSlots)).abandon(id_, CudaError::devicesUnavailable);
}

bool Session::keepsForOthers() {
  exports_.withdrawAll();
  if (!exports_.memoryInUse() || !presence_.here()) return false;
  if (stage_ == Stage::closing && !reduced_) reduced_ = reduce();
  return true;
}

// To the granules that others have. False: some of the others cannot go just now.
bool Session::reduce() {
  modules_.clear();
  std::vector<AddressRange> needless;
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    if (exports_.uses({address, kGranuleBytes})) return;
    if (needless.empty() || needless.back().end() != address) needless.push_back({address, 0});
    needless.back().bytes += kGranuleBytes;
  });
  presence_.noteCopies(*context_);
  bool all = true;
  for (const AddressRange range : needless) {
    if (!context_->unmappable(range)) {
      all = false;
      continue;
    }
    if (!context_->unmap(range)) continue;  // given back with the rest
    for (std::uint64_t at = range.base; at != range.end(); at += kGranuleBytes) {
      presence_.forget(at);
      surroundings_.memory.put(id_, {extents_.erase(at), kGranuleBytes});
    }
    if (!quota_.unmap(range.bytes)) std::abort();
  }
  if (const std::uint64_t spare = quota_.reserved() - quota_.mapped(); spare != 0) unreserve(spare);
  return all;
}

}  // namespace rouse::executor
