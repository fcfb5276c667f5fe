#include "memory/chunk_contents.h"

#include <algorithm>
#include <cassert>

namespace rouse::memory {

void ChunkContents::name(std::uint32_t chunk, Holder holder, ContentId content) {
  Named& named = chunks_[chunk];
  assert(content != kNoContent && (named.holders.empty() || holds(chunk, holder.owner)));
  if (named.content == content) return;
  std::vector<std::uint32_t>& same = named_[content];
  if (same.size() >= kMostNamed) {
    if (named.holders.size() < 2) unname(chunk);
    return;
  }
  same.push_back(chunk);
  forgetName(chunk);
  named.content = content;
  if (named.holders.empty()) named.holders.push_back(holder);
}

void ChunkContents::forgetName(std::uint32_t chunk) {
  const auto same = named_.find(chunks_[chunk].content);
  if (same == named_.end()) return;
  std::erase(same->second, chunk);
  if (same->second.empty()) named_.erase(same);
  chunks_[chunk].content = kNoContent;
}

void ChunkContents::unname(std::uint32_t chunk) {
  assert(chunks_[chunk].holders.size() < 2);
  forgetName(chunk);
  chunks_[chunk].holders.clear();
}

void ChunkContents::share(std::uint32_t chunk, Holder holder) {
  Named& named = chunks_[chunk];
  assert(named.content != kNoContent && !named.holders.empty() && !holds(chunk, holder.owner));
  if (named.holders.size() == 1) {
    shared_.insert(chunk);
    count(named.holders.front().owner, 1);
  }
  named.holders.push_back(holder);
  count(holder.owner, 1);
}

std::size_t ChunkContents::leave(std::uint32_t chunk, OwnerId owner) {
  Named& named = chunks_[chunk];
  const auto found = std::ranges::find(named.holders, owner, &Holder::owner);
  if (found == named.holders.end()) return named.holders.size();
  if (named.holders.size() == 1) {
    unname(chunk);
    return 0;
  }
  count(owner, -1);
  named.holders.erase(found);
  if (named.holders.size() == 1) {
    shared_.erase(chunk);
    count(named.holders.front().owner, -1);
  }
  return named.holders.size();
}

bool ChunkContents::holds(std::uint32_t chunk, OwnerId owner) const {
  return std::ranges::find(chunks_[chunk].holders, owner, &Holder::owner) != chunks_[chunk].holders.end();
}

std::span<const std::uint32_t> ChunkContents::find(ContentId content) const {
  const auto same = named_.find(content);
  return same == named_.end() ? std::span<const std::uint32_t>{} : same->second;
}

std::uint32_t ChunkContents::sharedChunks(OwnerId owner) const {
  const auto found = sharedBy_.find(owner);
  return found == sharedBy_.end() ? 0 : found->second;
}

void ChunkContents::count(OwnerId owner, int change) {
  std::uint32_t& shared = sharedBy_[owner];
  shared += static_cast<std::uint32_t>(change);
  if (shared == 0) sharedBy_.erase(owner);
}

}  // namespace rouse::memory
