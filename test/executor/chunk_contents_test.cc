#include "memory/chunk_contents.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

namespace rouse::memory {
namespace {

std::vector<std::uint32_t> sorted(std::span<const std::uint32_t> chunks) {
  std::vector<std::uint32_t> all(chunks.begin(), chunks.end());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("a chunk is found by what it holds, for as long as somebody has it") {
  ChunkContents contents(4);
  contents.name(2, {7, 0x1000}, 5);
  contents.name(0, {8, 0x2000}, 5);
  REQUIRE(sorted(contents.find(5)) == std::vector<std::uint32_t>{0, 2});
  REQUIRE(contents.find(6).empty());
  contents.share(2, {9, 0x3000});
  REQUIRE((contents.holds(2, 7) && contents.holds(2, 9) && !contents.holds(2, 8)));
  REQUIRE((contents.sharedChunks(7) == 1 && contents.sharedChunks(9) == 1 && contents.sharedChunks(8) == 0));
  contents.name(2, {9, 0x3000}, 6);  // known under another name as well
  REQUIRE(sorted(contents.find(5)) == std::vector<std::uint32_t>{0});
  REQUIRE(sorted(contents.find(6)) == std::vector<std::uint32_t>{2});
  REQUIRE(contents.leave(2, 7) == 1);
  REQUIRE(contents.holders(2).front().address == 0x3000);
  REQUIRE(contents.shared().empty());
  REQUIRE(contents.leave(2, 7) == 1);
  REQUIRE(contents.leave(2, 9) == 0);
  REQUIRE(contents.find(6).empty());
  contents.unname(0);
  REQUIRE((contents.find(5).empty() && contents.holders(0).empty()));
}

TEST_CASE("of one content some chunks are enough") {
  ChunkContents contents(2 * ChunkContents::kMostNamed);
  for (std::uint32_t chunk = 0; chunk < 2 * ChunkContents::kMostNamed; ++chunk) contents.name(chunk, {chunk + 1, 0}, 3);
  REQUIRE(contents.find(3).size() == ChunkContents::kMostNamed);
  REQUIRE(contents.holders(ChunkContents::kMostNamed).empty());
  contents.leave(0, 1);
  contents.name(ChunkContents::kMostNamed, {1, 0}, 3);
  REQUIRE(contents.find(3).size() == ChunkContents::kMostNamed);
}

TEST_CASE("random names and holders are as a simple model has them") {
  constexpr std::uint32_t kChunks = 40;
  struct Model {
    ContentId content = 0;
    std::map<OwnerId, std::uint64_t> holders;
  };
  std::mt19937_64 random(11);
  ChunkContents contents(kChunks);
  std::vector<Model> model(kChunks);
  for (int i = 0; i < 60'000; ++i) {
    const auto chunk = static_cast<std::uint32_t>(random() % kChunks);
    Model& one = model[chunk];
    const OwnerId owner = 1 + random() % 6;
    const ContentId content = 1 + random() % 12;
    switch (random() % 4) {
      case 0: {
        if (!one.holders.empty() && !one.holders.contains(owner)) break;
        std::size_t same = 0;
        for (const Model& other : model) same += other.content == content;
        contents.name(chunk, {owner, static_cast<std::uint64_t>(i) * 4096}, content);
        if (one.content == content) break;
        if (same >= ChunkContents::kMostNamed) {
          if (one.holders.size() < 2) one = {};
          break;
        }
        one.content = content;
        if (one.holders.empty()) one.holders[owner] = static_cast<std::uint64_t>(i) * 4096;
        break;
      }
      case 1:
        if (one.holders.size() > 1) break;
        contents.unname(chunk);
        one = {};
        break;
      case 2:
        if (one.holders.empty() || one.holders.contains(owner)) break;
        contents.share(chunk, {owner, static_cast<std::uint64_t>(i) * 4096});
        one.holders[owner] = static_cast<std::uint64_t>(i) * 4096;
        break;
      default:
        one.holders.erase(owner);
        if (one.holders.empty()) one = {};
        REQUIRE(contents.leave(chunk, owner) == one.holders.size());
    }
    std::map<OwnerId, std::uint64_t> holders;
    for (const auto& holder : contents.holders(chunk)) REQUIRE(holders.emplace(holder.owner, holder.address).second);
    REQUIRE(holders == one.holders);
    std::vector<std::uint32_t> named;
    std::uint32_t shared = 0;
    std::size_t several = 0;
    for (std::uint32_t c = 0; c < kChunks; ++c) {
      if (model[c].content == content) named.push_back(c);
      several += model[c].holders.size() > 1;
      shared += model[c].holders.size() > 1 && model[c].holders.contains(owner);
    }
    REQUIRE(sorted(contents.find(content)) == named);
    REQUIRE(contents.sharedChunks(owner) == shared);
    REQUIRE(contents.shared().size() == several);
  }
}

}  // namespace rouse::memory
