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
  struct Block {
    std::uint32_t number;
    std::vector<std::uint32_t> granules;
  };
  std::vector<Block> blocks;             // what is wanted last first
  struct Mapping {
    memory::Extent granules;
    std::uint32_t seen;
  };
  std::vector<Mapping> mappings;  // so are they
  for (std::size_t i = 0; i < std::min(left_.size(), kLookAhead); ++i) {
    const std::uint32_t granule = left_[left_.size() - 1 - i], chunk = extents_.chunk(addressOf(granule));
    if (chunk == memory::kNoChunk || memory_.kept(owner_, {chunk, kGranuleBytes})) continue;
    const std::uint32_t number = chunk / memory::Placement::kLargeBlock;
    auto block = std::ranges::find(blocks, number, &Block::number);
    if (block == blocks.end()) block = blocks.insert(block, {number, {}});
    block->granules.push_back(granule);
    const auto has = [&](const Mapping& mapping) { return granule - mapping.granules.first < mapping.granules.count; };
    auto mapping = std::ranges::find_if(mappings, has);
    if (mapping == mappings.end()) mapping = mappings.insert(mapping, {togetherWith(granule), 0});
    ++mapping->seen;
  }
  std::set<std::uint32_t> chosen;
  for (const Block& block : blocks) {
    if (chosen.size() >= count || count - chosen.size() < memory::Placement::kLargeBlock / 2) break;
    if (memory_.unusedOf(block.number) + block.granules.size() == memory::Placement::kLargeBlock) chosen.insert(block.granules.begin(), block.granules.end());
  }
  // No mapping is of chunks of several blocks. One that reaches further back, or that others keep some of, goes in its turn.
  std::erase_if(mappings, [&](const Mapping& mapping) { return mapping.seen != mapping.granules.count || chosen.contains(mapping.granules.first); });
  while (!mappings.empty() && chosen.size() < count) {
    const std::size_t missing = count - chosen.size();
    const auto best = std::ranges::min_element(mappings, [&](const Mapping& a, const Mapping& b) {
      const bool fits = a.seen <= missing, otherFits = b.seen <= missing;
      return fits != otherFits ? fits : fits ? a.seen > b.seen : a.seen < b.seen;
    });
    for (std::uint32_t i = 0; i < best->seen; ++i) chosen.insert(best->granules.first + i);
    mappings.erase(best);
  }
  return chosen;
}

Status Resting::giveUp(std::size_t count) {
  assert(context_ != nullptr && count != 0);
  if (!arranged_) arrange();
  std::set<std::uint32_t> going;
  if (memory_.mapsTogether()) going = chooseWhole(count);
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
