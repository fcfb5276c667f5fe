#include "server/executor/guest.h"

#include <algorithm>
#include <cstdlib>

namespace rouse::executor {

Guest::Guest(std::uint64_t number, PhysicalMemory& memory, bool rules)
    : number_(number), owner_(ownerOf(number)), memory_(memory), rules_(rules) {
  if (!memory_.enroll(owner_, memory::Tenure::visits)) std::abort();  // with nothing promised
}

Guest::~Guest() = default;

Status Guest::account() {
  const std::uint64_t needed = std::max(promised_, bytes());
  if (needed > reserved_) {
    if (Status status = memory_.reserve(owner_, needed - reserved_); !status) return status;
  } else if (needed < reserved_) {
    memory_.giveBack(owner_, reserved_ - needed);
  }
  reserved_ = needed;
  return {};
}

Status Guest::promise(std::uint64_t bytes, memory::Tenure tenure) {
  if (!isAligned(bytes, kGranuleBytes))
    return Error{CudaError::invalidValue, "a guest's promise of " + std::to_string(bytes) + " bytes: not a multiple of 2 MiB"};
  const bool visits = tenure == memory::Tenure::visits;
  if (visits != visits_) {
    if (Status status = memory_.enroll(owner_, tenure); !status) return status;
    visits_ = visits;
  }
  const std::uint64_t before = std::exchange(promised_, bytes);
  const Status status = account();
  if (!status) promised_ = before;
  return status;
}

void Guest::holdAbsent(std::uint64_t bytes) {
  promised_ = bytes;
  if (!account()) std::abort();  // of an empty device
  memory_.takeFirst(owner_, bytes / kGranuleBytes, chunks_);
}

Status Guest::takeFrom(Guest& other, std::uint64_t bytes) {
  const std::size_t count = bytes / kGranuleBytes;
  if (!isAligned(bytes, kGranuleBytes) || count > other.heldChunks() || bytes > promised_)
    return Error{CudaError::invalidValue, "guest " + std::to_string(number_) + " has " + std::to_string(bytes) + " bytes of the " +
                                              std::to_string(other.heldChunks() * kGranuleBytes) + " that are elsewhere, and was promised " +
                                              std::to_string(promised_)};
  for (std::size_t i = 0; i < count; ++i) {
    chunks_.push_back(other.chunks_.front());
    memory_.handOver(other.owner_, owner_, chunks_.back());
    other.chunks_.erase(other.chunks_.begin());
  }
  other.promised_ = std::min(other.promised_, other.bytes());
  return other.account();
}

void Guest::want(std::uint64_t bytes) {
  wanted_ = std::min(roundDown(bytes, kGranuleBytes), promised_);
  if (rules_ && wantedChunks() != 0) shares.waitingSince = 1;
}

std::uint64_t Guest::wantedChunks() const {
  const std::uint64_t have = heldChunks() * kGranuleBytes;
  return admitted_ || leaving_ || wanted_ <= have ? 0 : (wanted_ - have) / kGranuleBytes;
}

Status Guest::giveBack(std::uint64_t bytes) {
  if (!isAligned(bytes, kGranuleBytes) || bytes / kGranuleBytes > heldChunks())
    return Error{CudaError::invalidValue, "guest " + std::to_string(number_) + " gives " + std::to_string(bytes) + " bytes back, and has " +
                                              std::to_string(heldChunks() * kGranuleBytes)};
  returning_ += bytes / kGranuleBytes;
  return {};
}

void Guest::leave() {
  leaving_ = true;
  admitted_ = false;
  wanted_ = promised_ = 0;
  returning_ = chunks_.size();
}

bool Guest::active() {
  return std::exchange(fresh_, false);
}

Result<bool> Guest::turn(std::uint64_t lacking, std::uint64_t now, const Told& told) {
  busy_ = now - activeAt_ < kQuietNs && activeAt_ != 0;
  bool did = false;
  if (returning_ != 0 && now >= retryAt_) {
    const auto last = std::span(chunks_).last(std::min<std::size_t>(kChunksPerTurn, returning_));
    std::ranges::sort(last, {}, &memory::Chunk::id);  // neighbours together
    const auto supplied = memory_.supply(owner_, last);
    if (!supplied) return supplied.error();
    if (*supplied != last.size()) retryAt_ = now + kRetryNs;  // somebody else has it just now
    const auto first = chunks_.end() - static_cast<std::ptrdiff_t>(last.size());
    chunks_.erase(first, first + static_cast<std::ptrdiff_t>(*supplied));
    returning_ -= *supplied;
    did = *supplied != 0;
    if (!account()) std::abort();  // less than before
  }
  if (admitted_) {
    const std::size_t before = chunks_.size();
    const std::uint64_t have = heldChunks() * kGranuleBytes;
    // What is still being returned counts for the pool.
    const std::uint64_t left = std::min(wanted_ > have ? wanted_ - have : 0, reserved_ - bytes()) / kGranuleBytes;
    if (Status status = memory_.withdraw(owner_, std::min<std::size_t>(left, kChunksPerTurn), chunks_); !status) return status.error();
    const std::size_t taken = chunks_.size() - before;
    if (taken != 0) told.grant({number_, taken * kGranuleBytes});
    // Whoever rested there has failed, and is to end: there are too few until then.
    admitted_ = taken != 0 && taken != left;
    did = true;
  }
  const std::uint64_t held = heldChunks();
  const std::uint64_t call = leaveAsked_ && !leaving_ ? (held - std::min(held, lacking)) * kGranuleBytes : kNoCall;
  if (std::exchange(call_, call) != call) told.call({number_, call});
  return did;
}

}  // namespace rouse::executor
