// Blocks of checked code: what a thread may access, and what happens to one that does not keep to it.
#include <algorithm>

#include "schemas/wire/texture.h"
#include "server/device/ptx/module.h"
#include "server/device/cpu/runtime/block.h"

namespace rouse::cpu {
namespace {

// Addresses behind the beginning of shared memory that are nothing else (shared_memory.h).
constexpr std::uint64_t kSharedAddresses = std::uint64_t{4} << 30;
// Around the word that a cooperative grid meets at (BlockContext::gridWorkspace).
constexpr std::uint64_t kWorkspaceBytes = 8;

bool within(std::uint64_t base, std::uint64_t size, const Access& access) {
  return access.bytes <= size && access.address - base <= size - access.bytes;
}

bool inFrames(const CheckedFrame* frame, const Access& access) {
  for (; frame != nullptr; frame = frame->outer) {
    const auto* const pieces = reinterpret_cast<const CheckedRange*>(frame + 1);
    if (std::any_of(pieces, pieces + frame->count, [&](const CheckedRange& piece) { return within(piece.base, piece.bytes, access); })) return true;
  }
  return false;
}

bool isLive(const Allocations& allocations, const Access& access) {
  const AddressRange* const found = allocations.at(access.address);
  return found != nullptr && within(found->base, found->bytes, access);
}

// Of a level of memory that is no array: from the first texel to the last.
std::uint64_t extentOf(const wire::TextureObject& object, const wire::TextureLevel& level) {
  const std::uint64_t rows = std::max<std::uint32_t>(level.height, 1);
  return (rows - 1) * level.pitch + std::uint64_t{level.width} * object.channels * object.channelBits / 8;
}

// The description, and the memory that it names. `access` becomes what is not to be accessed.
bool mayFetch(const Allocations& allocations, Access& access) {
  access.bytes = offsetof(wire::TextureObject, level) + sizeof(wire::TextureLevel);
  if (access.address % alignof(wire::TextureObject) != 0 || !isLive(allocations, access)) return false;
  const auto& object = *reinterpret_cast<const wire::TextureObject*>(access.address);
  const std::uint32_t levels = std::clamp(object.levels, 1u, wire::kMaxTextureLevels);
  access.bytes = offsetof(wire::TextureObject, level) + levels * sizeof(wire::TextureLevel);
  if (!isLive(allocations, access)) return false;
  for (std::uint32_t k = 0; k < levels; ++k) {
    const Access memory{object.level[k].base, object.linear != 0 ? extentOf(object, object.level[k]) : 1, access.site, access.what};
    if (isLive(allocations, memory)) continue;
    access = memory;
    return false;
  }
  return true;
}

}  // namespace

bool Block::inShared(const Access& access, std::uint64_t offset) const {
  const Access shifted{offset, access.bytes, access.site, access.what};
  return within(0, context_.sharedBytes, shifted) ||
         within(reservedSharedOffset(context_.sharedBytes), grid_->options().code.reservedSharedBytes, shifted);
}

bool Block::mayAccess(const ThreadContext& thread, Access& access) {
  const GridOptions& options = grid_->options();
  if (access.verb() == AccessVerb::texture) return mayFetch(*options.check->allocations, access);
  if (!access.aligned()) return false;
  const auto remember = [&](std::uint64_t base, std::uint64_t bytes) {
    if (access.range() < kCheckedRanges) checkedRanges_[access.range()] = {base, bytes};
    return true;
  };
  const auto space = static_cast<ptx::Space>(access.space());
  if (space == ptx::Space::shared) return inShared(access, access.address);
  if (space == ptx::Space::local) return inFrames(thread.frames, access);
  if (const AddressRange* const found = options.check->allocations->at(access.address))
    return within(found->base, found->bytes, access) && remember(found->base, found->bytes);
  if (space == ptx::Space::constant) return false;
  if (space == ptx::Space::generic) {
    const auto shared = reinterpret_cast<std::uint64_t>(context_.shared);
    if (within(shared, context_.sharedBytes, access)) return remember(shared, context_.sharedBytes);
    if (inShared(access, access.address - shared) || inFrames(thread.frames, access)) return true;
  }
  if (access.verb() == AccessVerb::read && within(reinterpret_cast<std::uint64_t>(grid_->parameters()), options.parameters.size(), access)) return true;
  if (context_.gridWorkspace != 0 && within(context_.gridWorkspace, kWorkspaceBytes, access)) return true;
  // Not remembered: it may be freed while the block runs.
  const AddressRange heap = options.heap != nullptr ? options.heap->at(access.address) : AddressRange{};
  return !heap.empty() && within(heap.base, heap.bytes, access);
}

void Block::endInvalid(Fiber* self, const Access& access) {
  ending_ = self;
  invalid_ = access;
  runner_.leaveForGood(self);
}

void Block::reportInvalid(Fiber* ended) {
  const GridOptions& options = grid_->options();
  InvalidAccess invalid{.access = invalid_, .space = invalid_.space(), .kernel = options.kernel, .sharedBytes = context_.sharedBytes};
  if (static_cast<ptx::Space>(invalid.space) == ptx::Space::generic) {
    const auto bottom = reinterpret_cast<std::uint64_t>(ended->stack.base), shared = reinterpret_cast<std::uint64_t>(context_.shared);
    if (invalid_.address - bottom < ended->stack.bytes) invalid.space = static_cast<std::uint32_t>(ptx::Space::local);
    if (invalid_.address - shared < kSharedAddresses) invalid.space = static_cast<std::uint32_t>(ptx::Space::shared);
  }
  std::copy_n(context_.ctaid, 3, invalid.block);
  std::copy_n(ended->context.tid, 3, invalid.thread);
  if (options.heap != nullptr) invalid.heapBlock = options.heap->before(invalid_.address);
  if (options.check->count() && options.output != nullptr) options.output->onOutput(describe(invalid, *options.check), true);
  grid_->failInTheEnd(invalid_.aligned() ? CudaError::illegalAddress : CudaError::misalignedAddress, where(&ended->context) + summary(invalid));
  threadEnded(ended);
  runner_.abandon(ended);
}

}  // namespace rouse::cpu
