#include <cinttypes>
#include <cstdio>

#include "schemas/wire/slot_wait.h"
#include "server/executor/session.h"

namespace rouse::executor {
namespace {

// Mapping a chunk is a system call or two; this many a turn keep the neighbours' rings moving.
constexpr std::size_t kChunksPerTurn = 64;

wire::DecodeStatus refuse(const char* command, AddressRange range, const char* why, AddressRange window) {
  char text[256];
  std::snprintf(text, sizeof text,
                "%s: range [0x%" PRIx64 ", +%" PRIu64 ") %s; the window is [0x%" PRIx64 ", +%" PRIu64 ")", command,
                range.base, range.bytes, why, window.base, window.bytes);
  return wire::Rejection{text};
}

}  // namespace

Status Session::reserve(std::uint64_t bytes) {
  Status status = quota_.reserve(bytes);
  if (!status) return status;
  status = surroundings_.memory.reserve(id_, bytes);
  if (status) {
    status = presence_.promise(bytes);
    if (!status) surroundings_.memory.giveBack(id_, bytes);
  }
  // Nothing of it is mapped, so it can be given back.
  if (!status && !quota_.giveBack(bytes)) std::abort();
  return status;
}

void Session::unreserve(std::uint64_t bytes) {
  if (!quota_.giveBack(bytes)) std::abort();
  surroundings_.memory.giveBack(id_, bytes);
  presence_.giveBack(bytes);
}

wire::DecodeStatus Session::on(const wire::MemReserve& command) {
  const Status status = reserve(command.bytes);
  if (status && surroundings_.promises != nullptr) {
    start(Reserve{command.bytes, command.value, command.slot, surroundings_.promises->more(command.bytes)});
    return {};
  }
  publishMemory();
  wire::signal(segment_.slot(command.slot), command.value, status.error().code);
  return {};
}

bool Session::resume(Reserve& command) {
  if (!surroundings_.promises->answered(command.question)) return false;
  const Status status = surroundings_.promises->last();
  if (!status) {
    unreserve(command.bytes);
    surroundings_.promises->takeBack(command.bytes);
  }
  publishMemory();
  wire::signal(segment_.slot(command.slot), command.value, status.error().code);
  return true;
}

wire::DecodeStatus Session::on(const wire::MemReturn& command) {
  if (Status status = quota_.giveBack(command.bytes); !status)
    return wire::Rejection{"MemReturn.bytes: " + status.error().message};
  surroundings_.memory.giveBack(id_, command.bytes);
  presence_.giveBack(command.bytes);
  if (surroundings_.promises != nullptr) surroundings_.promises->less(command.bytes);
  return {};
}

wire::DecodeStatus Session::on(const wire::MemMap& command) {
  const AddressRange range{command.base, command.bytes};
  if (!deviceWindow_.contains(range)) return refuse("MemMap", range, "is not in the device window", deviceWindow_);
  if (!extents_.none(range)) return refuse("MemMap", range, "is mapped in part already", deviceWindow_);
  if (Status status = quota_.map(command.bytes); !status)
    return wire::Rejection{"MemMap.bytes: " + status.error().message};
  start(Map{range});
  return {};
}

bool Session::resume(Map& command) {
  // Who waits for memory comes before who asks for more.
  if (surroundings_.contended && !admitted_) return false;
  auto chunks =
      surroundings_.memory.take(id_, std::min<std::size_t>(command.left.bytes / kGranuleBytes, kChunksPerTurn));
  if (!chunks) {
    condemn(chunks.error());
    return true;
  }
  if (!chunks->empty()) turnOver_ = true;
  // Entered first: whatever happens, the chunks go back with the extents.
  for (std::uint64_t at = command.left.base; const memory::Chunk& chunk : *chunks) {
    extents_.insert(at, chunk.id);
    at += kGranuleBytes;
  }
  if (!chunks->empty()) {
    if (Status status = context_->map(command.left.base, *chunks); !status && !fault_) condemn(status.error());
    const std::uint64_t bytes = chunks->size() * kGranuleBytes;
    command.left = {command.left.base + bytes, command.left.bytes - bytes};
  }
  if (!command.left.empty() && !fault_) return false;
  admitted_ = false;
  return true;
}

wire::DecodeStatus Session::on(const wire::Allocated& command) {
  const AddressRange range{command.base, command.bytes};
  if (check_ != 0) {
    if (Status status = allow(range); !status) return wire::Rejection{"Allocated: " + status.error().message};
    if (hostWindow_.contains(range)) return {};
  }
  if (!deviceWindow_.contains(range)) return refuse("Allocated", range, "is not in the device window", deviceWindow_);
  if (objects_.size() >= kMaxObjects) {
    allObjectsKnown_ = false;
    presence_.occupy(deviceWindow_);  // it may be anywhere in what is known as vacant
    return {};
  }
  if (!objects_.insert(range)) return refuse("Allocated", range, "overlaps another", deviceWindow_);
  presence_.occupy(granulesOf(range));
  return {};
}

// Ranges that are refused in what follows do no harm: the session ends.
Status Session::allow(AddressRange range) {
  if (objects_.size() + hostObjects_.size() >= kMaxObjects)
    return Error{CudaError::invalidValue, "more than " + std::to_string(kMaxObjects) + " allocations at once cannot be checked"};
  if (hostWindow_.contains(range) ? !hostObjects_.insert(range) : objects_.overlaps(range))
    return Error{CudaError::invalidValue, "it overlaps another"};
  context_->allow(range);
  return {};
}

wire::DecodeStatus Session::on(const wire::Freed& command) {
  const AddressRange range{command.base, command.bytes};
  if (check_ != 0) {
    context_->forbid(range);
    if (hostObjects_.erase(range)) return {};
  }
  if (!objects_.erase(range) && allObjectsKnown_)
    return refuse("Freed", range, "is not one that was Allocated", deviceWindow_);
  if (allObjectsKnown_) noteFreed(range);
  return {};
}

void Session::noteFreed(AddressRange object) {
  // Only its first and its last granule may have others.
  AddressRange vacant = granulesOf(object);
  if (objects_.overlaps({vacant.base, kGranuleBytes})) vacant = {vacant.base + kGranuleBytes, vacant.bytes - kGranuleBytes};
  if (!vacant.empty() && objects_.overlaps({vacant.end() - kGranuleBytes, kGranuleBytes})) vacant.bytes -= kGranuleBytes;
  presence_.vacate(vacant);
}

wire::DecodeStatus Session::on(const wire::MemUnmap& command) {
  const AddressRange range{command.base, command.bytes};
  if (!deviceWindow_.contains(range)) return refuse("MemUnmap", range, "is not in the device window", deviceWindow_);
  if (!extents_.all(range)) return refuse("MemUnmap", range, "is not wholly mapped", deviceWindow_);
  start(Unmap{range});
  return {};
}

bool Session::resume(Unmap& command) {
  // Also what has been exported since this waits: nobody is to open what is about to go.
  exports_.withdraw(command.range);
  if (!context_->idle() || !presence_.here() || exports_.uses(command.range) || !context_->unmappable(command.range)) return false;
  fenced_ = false;
  presence_.noteCopies(*context_);
  if (Status status = context_->unmap(command.range); !status) {
    condemn(status.error());
    return true;
  }
  for (std::uint64_t at = command.range.base; at != command.range.end(); at += kGranuleBytes) {
    presence_.forget(at);
    surroundings_.memory.put(id_, {extents_.erase(at), kGranuleBytes});
  }
  if (!quota_.unmap(command.range.bytes)) std::abort();
  return true;
}

}  // namespace rouse::executor
