#include "client-shim/core/staging.h"

#include <vector>

#include "client-shim/core/device_info.h"
#include "client-shim/core/host_window.h"
#include "client-shim/core/session.h"
#include "client-shim/core/slot_wait_any.h"
#include "schemas/wire/futex.h"

namespace rouse::client {

Staging::Staging(Session& session)
    : session_(session), base_(session.hostWindow().pointer(session.hostWindow().range().base)) {}

std::uint64_t Staging::partFor(const DeviceInfo& info) { return info.leavesProcessors ? kPieceBytes : wire::kPartByProcessors; }

Staging::Piece Staging::take(std::uint32_t index) {
  entries_[index].held = true;
  return Piece(this, index);
}

Staging::Piece Staging::tryAcquire() {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t index = 0; index < kPieces; ++index) {
    const Entry& entry = entries_[index];
    if (!entry.held && (entry.mark.value == 0 || session_.reached(entry.mark))) return take(index);
  }
  return {};
}

Staging::Piece Staging::acquire(std::uint32_t deviceIndex) {
  std::vector<AwaitedSlot> awaited;
  for (;;) {
    if (Piece piece = tryAcquire()) return piece;
    if (!session_.probe(deviceIndex)) return {};
    awaited.clear();
    {
      std::unique_lock lock(mutex_);
      for (const Entry& entry : entries_) {
        if (!entry.held) awaited.push_back({&session_.slot(entry.mark.slot), entry.mark.value});
      }
      if (awaited.empty()) {
        released_.wait_for(lock, wire::kLivenessInterval);
        continue;
      }
    }
    waitForAny(awaited, nullptr, 0, wire::kLivenessInterval);
  }
}

void Staging::release(std::uint32_t index, Mark mark, std::uint32_t deviceIndex) {
  {
    const std::lock_guard lock(mutex_);
    entries_[index] = {false, mark, deviceIndex};
  }
  released_.notify_one();
}

void Staging::settle(std::uint32_t deviceIndex) {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (!entry.held && entry.deviceIndex == deviceIndex) entry.mark = {};
  }
}

}  // namespace rouse::client
