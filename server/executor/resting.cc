#include "server/executor/resting.h"

#include <algorithm>
#include <cassert>

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

memory::Extent Resting::togetherWith(std::uint32_t granule) const {
  const AddressRange together = context_->together({addressOf(granule), kGranuleBytes});
  return {static_cast<std::uint32_t>((together.base - extents_.window().base) / kGranuleBytes), static_cast<std::uint32_t>(together.bytes / kGranuleBytes)};
}

std::set<std::uint32_t> Resting::chooseWhole(std::size_t count) const {
  struct Part {
    std::uint32_t of;  // block or first granule
    std::vector<std::uint32_t> granules;
  };
  std::vector<Part> blocks, mappings;  // what is wanted last first
  const auto add = [](std::vector<Part>& parts, std::uint32_t of, std::uint32_t granule) {
    auto part = std::ranges::find(parts, of, &Part::of);
    if (part == parts.end()) part = parts.insert(part, {of, {}});
    part->granules.push_back(granule);
  };
  for (std::size_t i = 0; i < std::min(left_.size(), kLookAhead); ++i) {
    const std::uint32_t granule = left_[left_.size() - 1 - i], chunk = extents_.chunk(addressOf(granule));
    if (chunk == memory::kNoChunk || memory_.kept(owner_, {chunk, kGranuleBytes})) continue;
    add(blocks, chunk / memory::Placement::kLargeBlock, granule);
    add(mappings, togetherWith(granule).first, granule);
  }
  std::set<std::uint32_t> chosen;
  const auto choose = [&](const Part& part) { chosen.insert(part.granules.begin(), part.granules.end()); };
  for (const Part& block : blocks) {
    if (chosen.size() >= count || count - chosen.size() < memory::Placement::kLargeBlock / 2) break;
    if (memory_.unusedOf(block.of) + block.granules.size() == memory::Placement::kLargeBlock) choose(block);
  }
  std::erase_if(mappings, [&](const Part& part) { return chosen.contains(part.granules.front()); });
  while (!mappings.empty() && chosen.size() < count) {
    const std::size_t missing = count - chosen.size();
    const auto best = std::ranges::min_element(mappings, [&](const Part& a, const Part& b) {
      const std::size_t size = a.granules.size(), other = b.granules.size();
      const bool fits = size <= missing, otherFits = other <= missing;
      return fits != otherFits ? fits : fits ? size > other : size < other;
    });
    choose(*best);
    mappings.erase(best);
  }
  return chosen;
}

Status Resting::giveUp(std::size_t count) {
  assert(context_ != nullptr && count != 0);
  if (!arranged_) arrange();
  std::set<std::uint32_t> going = chooseWhole(count);
  while (!left_.empty() && going.size() < count) {
    const std::uint32_t granule = left_.back();
    left_.pop_back();
    const std::uint32_t chunk = extents_.chunk(addressOf(granule));
    if (chunk == memory::kNoChunk || going.contains(granule)) continue;
    if (memory_.kept(owner_, {chunk, kGranuleBytes})) {
      kept_.push_back(granule);
      continue;
    }
    const memory::Extent together = togetherWith(granule);
    for (std::uint32_t i = 0; i < together.count; ++i) going.insert(together.first + i);
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
