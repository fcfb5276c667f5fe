// What a stream holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "memory/device.h"
#include "schemas/wire/layout.h"
#include "server/device/cpu/marker.h"
#include "server/device/cpu/module_instance.h"
#include "server/device/cpu/runtime/access_check.h"
#include "server/device/link_board.h"

namespace rouse::cpu {

// Of those that may go over a modelled link: when they were queued, in nanoseconds of the monotonic clock; without links not set.
struct CopyOperation {
  memory::CopyShape shape;
  std::int64_t queuedAt = 0;
};

struct InlineCopyOperation {
  std::uint64_t destination;
  std::vector<std::byte> bytes;
  std::int64_t queuedAt = 0;
};

struct FillOperation {
  memory::FillShape shape;
};

struct FingerprintOperation {
  std::shared_ptr<const memory::FingerprintKey> key;
  AddressRange granules;
  memory::PageFingerprint* out;
};

struct LaunchOperation {
  std::shared_ptr<const BoundModule> module;
  std::uint32_t function;
  memory::Dim3 grid, block;
  std::uint32_t sharedBytes;
  ClusterShape cluster;
  bool cooperative;
  std::vector<std::byte> parameters;
  std::shared_ptr<const Allocations> allowed{};  // null: accesses are not checked
};

struct LibraryOperation {
  std::uint32_t library, function;
  std::vector<std::byte> parameters;
};

struct SignalOperation {
  wire::Slot* slot;
  std::uint64_t value;
  bool timestamp;
};

struct SlotWaitOperation {
  const wire::Slot* slot;
  std::uint64_t value;
};

// Granules that are expected (visits.h), all over one way.
struct RestoreOperation {
  std::vector<std::uint64_t> addresses;
  device::LinkDirection way = device::LinkDirection::toDevice;
  std::int64_t queuedAt = 0;
};

// A granule that was copied (visits.h) moves to the device's memory at `offset`.
struct SettleOperation {
  std::uint64_t address;
  std::uint64_t offset;
};

struct RecordOperation {
  std::shared_ptr<Marker> marker;
};

struct EventWaitOperation {
  std::shared_ptr<Marker> marker;
};

using Operation = std::variant<CopyOperation, InlineCopyOperation, FillOperation, FingerprintOperation, LaunchOperation, LibraryOperation,
                               SignalOperation, SlotWaitOperation, RestoreOperation, SettleOperation, RecordOperation, EventWaitOperation>;

}  // namespace rouse::cpu
