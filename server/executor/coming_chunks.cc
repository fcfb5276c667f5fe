#include "server/executor/coming_chunks.h"

#include <algorithm>
#include <cassert>
#include <span>

#include "memory/chunk_fit.h"

namespace rouse::executor {

void ComingChunks::begin(const swap::TransferPlan& plan) {
  assert(chunks_.size() == gone_ && unready_.empty());
  addresses_.clear();
  chunks_.clear();
  gone_ = 0;
  for (const AddressRange& piece : plan.pieces)
    for (std::uint64_t at = piece.base; at != piece.end(); at += kGranuleBytes) addresses_.push_back(at);
}

bool ComingChunks::take(std::size_t count) {
  assert(count <= left());
  const std::size_t first = chunks_.size();
  if (first - gone_ >= count) return true;
  const std::size_t missing = count - (first - gone_);
  memory_.takeAny(owner_, first == 0 ? missing : std::min(std::max(missing, takenTogether_), addresses_.size() - first), chunks_);
  fit(first);
  return chunks_.size() - gone_ >= count;
}

void ComingChunks::fit(std::size_t first) {
  struct Place {
    std::uint64_t address;
    std::size_t wanted;
  };
  std::vector<Place> places;
  for (std::size_t i = first; i < chunks_.size(); ++i) places.push_back({addresses_[i], i});
  std::ranges::sort(places, {}, &Place::address);
  std::vector<std::uint64_t> ascending;
  for (const Place& place : places) ascending.push_back(place.address);
  std::vector<memory::Chunk> fitted(chunks_.begin() + static_cast<std::ptrdiff_t>(first), chunks_.end());
  memory::fitChunks(fitted, ascending);

  const auto joins = [&](std::size_t i) {
    return ascending[i] == ascending[i - 1] + kGranuleBytes && fitted[i].id == fitted[i - 1].id + 1 && fitted[i].id % memory::Placement::kLargeBlock != 0;
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    chunks_[places[i].wanted] = fitted[i];
    if (i == 0 || !joins(i))
      unready_.push_back({places[i].wanted, ascending[i], fitted[i].id, 1});
    else {
      ++unready_.back().count;
      unready_.back().wanted = std::min(unready_.back().wanted, places[i].wanted);
    }
  }
  std::ranges::sort(unready_, std::ranges::greater(), &Piece::wanted);
}

void ComingChunks::ready(std::size_t count, std::vector<Granule>& to) {
  const std::size_t before = to.size();
  if (!unready_.empty() && unready_.back().wanted < gone_ + count) {
    for (; !unready_.empty() && unready_.back().wanted < gone_ + std::max(count, kReadyAhead); unready_.pop_back()) {
      const Piece& piece = unready_.back();
      for (std::uint32_t i = 0; i < piece.count; ++i) to.push_back({piece.base + i * kGranuleBytes, {piece.firstChunk + i, kGranuleBytes}});
    }
  }
  std::ranges::sort(std::span(to).subspan(before), {}, &Granule::address);
}

ComingChunks::Granule ComingChunks::go() {
  assert(gone_ < chunks_.size());
  const Granule granule{addresses_[gone_], chunks_[gone_]};
  ++gone_;
  return granule;
}

void ComingChunks::end() {
  for (; gone_ < chunks_.size(); ++gone_) memory_.put(owner_, chunks_[gone_]);
  addresses_.clear();
  chunks_.clear();
  unready_.clear();
  gone_ = 0;
}

}  // namespace rouse::executor
