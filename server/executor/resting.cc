#include "server/executor/resting.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace rouse::executor {

void Resting::begin(memory::Context& context, std::uint64_t without) {
  assert(context_ == nullptr);
  context_ = &context;
  count_ = extents_.backedBytes() / kGranuleBytes - without;
  arranged_ = false;
  memory_.rest(owner_, *this);
}

void Resting::offer(std::uint64_t bytes) {
  const std::uint64_t granules = (bytes + kGranuleBytes - 1) / kGranuleBytes;
  offered_ = bytes == 0 ? kAll : offered_ == kAll ? granules : offered_ + granules;
}

void Resting::hold() {
  assert(context_ != nullptr && !held_);
  memory_.wake(owner_);
  held_ = true;
}

void Resting::yield() {
  if (!held_) return;
  held_ = false;
  memory_.rest(owner_, *this);
}

void Resting::end() {
  memory_.wake(owner_);
  held_ = false;
  context_ = nullptr;
  count_ = 0;
  offered_ = kAll;
  left_.clear();
  kept_.clear();
  fault_.reset();
}

void Resting::arrange() {
  const std::uint64_t base = extents_.window().base;
  std::vector<std::uint32_t> all;
  all.reserve(extents_.backedBytes() / kGranuleBytes);
  extents_.forEach([&](std::uint64_t address, std::uint32_t chunk) {
    if (chunk != memory::kNoChunk) all.push_back(static_cast<std::uint32_t>((address - base) / kGranuleBytes));
  });
  left_ = order_.arrange(all);
  arranged_ = true;
}

Status Resting::giveUp(std::size_t count) {
  assert(context_ != nullptr && count != 0);
  if (!arranged_) arrange();
  std::set<std::uint32_t> going;
  while (!left_.empty() && going.size() < count) {
    const std::uint32_t granule = left_.back();
    left_.pop_back();
    const std::uint32_t chunk = extents_.chunk(addressOf(granule));
    if (chunk == memory::kNoChunk || going.contains(granule)) continue;
    if (memory_.kept(owner_, {chunk, kGranuleBytes})) {
      kept_.push_back(granule);
      continue;
    }
    const AddressRange together = context_->together({addressOf(granule), kGranuleBytes});
    const auto first = static_cast<std::uint32_t>((together.base - extents_.window().base) / kGranuleBytes);
    for (std::uint32_t i = 0; i < together.bytes / kGranuleBytes; ++i) going.insert(first + i);
  }
  if (offered_ != kAll) offered_ -= std::min<std::uint64_t>(offered_, going.size());
  for (auto at = going.begin(); at != going.end();) {
    AddressRange run{addressOf(*at), 0};
    for (auto next = *at; at != going.end() && *at == next; ++at, ++next) run.bytes += kGranuleBytes;
    if (Status status = unmap(run); !status) return status;
    for (std::uint64_t granule = run.base; granule != run.end(); granule += kGranuleBytes)
      memory_.surrender(owner_, takeOut(granule));
  }
  return {};
}

Status Resting::lose(std::uint64_t address) {
  assert(context_ != nullptr);
  if (Status status = unmap({address, kGranuleBytes}); !status) return status;
  memory_.put(owner_, takeOut(address));
  return {};
}

void Resting::reconsider() {
  left_.insert(left_.end(), kept_.begin(), kept_.end());
  kept_.clear();
}

Status Resting::unmap(AddressRange range) {
  Status status = context_->unmap(range);
  if (!status) fault_ = status.error();
  return status;
}

memory::Chunk Resting::takeOut(std::uint64_t address) {
  --count_;
  const memory::Chunk chunk{extents_.chunk(address), kGranuleBytes};
  extents_.setChunk(address, memory::kNoChunk);
  return chunk;
}

}  // namespace rouse::executor
