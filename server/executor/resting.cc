#include "server/executor/resting.h"

#include <algorithm>
#include <cassert>

namespace rouse::executor {

void Resting::begin(memory::Context& context) {
  assert(context_ == nullptr);
  context_ = &context;
  count_ = extents_.backedBytes() / kGranuleBytes;
  arranged_ = false;
  memory_.rest(owner_, *this);
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
  left_.clear();
  fault_.reset();
}

void Resting::arrange() {
  const std::uint64_t base = extents_.window().base;
  std::vector<std::uint32_t> all;
  all.reserve(extents_.backedBytes() / kGranuleBytes);
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    all.push_back(static_cast<std::uint32_t>((address - base) / kGranuleBytes));
  });
  left_ = order_.arrange(all);
  arranged_ = true;
}

Status Resting::giveUp(std::size_t count) {
  assert(context_ != nullptr && count != 0);
  if (!arranged_) arrange();
  const auto first = left_.end() - static_cast<std::ptrdiff_t>(std::min(count, left_.size()));
  std::sort(first, left_.end());
  for (auto at = first; at != left_.end();) {
    AddressRange run{extents_.window().base + *at * kGranuleBytes, 0};
    for (auto next = *at; at != left_.end() && *at == next; ++at, ++next) run.bytes += kGranuleBytes;
    if (Status status = context_->unmap(run); !status) {
      fault_ = status.error();
      return status;
    }
    for (std::uint64_t granule = run.base; granule != run.end(); granule += kGranuleBytes, --count_) {
      memory_.put(owner_, {extents_.chunk(granule), kGranuleBytes});
      extents_.setChunk(granule, memory::kNoChunk);
    }
  }
  left_.erase(first, left_.end());
  return {};
}

}  // namespace rouse::executor
