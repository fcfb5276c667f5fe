#include "schemas/wire/stream_copy.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <vector>

namespace rouse::test {

TEST_CASE("a copy past the caches copies what it was told to and nothing beside it, at any place") {
  constexpr std::size_t kMost = 20'000, kEdge = 64;
  std::vector<unsigned char> from(kMost + 2 * kEdge);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 256);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{1023}, std::size_t{1024}, std::size_t{1025}, std::size_t{4096}, kMost}) {
    for (const std::size_t target : {0, 1, 32, 63}) {
      const std::size_t source = (target * 5 + 3) % kEdge;
      std::vector<unsigned char> to(kMost + 2 * kEdge, 0xcc), expected = to;
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), bytes, expected.begin() + static_cast<std::ptrdiff_t>(target));
      wire::streamCopy(to.data() + target, from.data() + source, bytes);
      INFO(bytes << " bytes to " << target);
      CHECK(to == expected);
    }
  }
}

TEST_CASE("pieces one behind the other go past the caches once what came before fills them") {
  constexpr std::uint64_t kPiece = 128 << 10, kBase = 1 << 20;
  wire::CopyRun run;
  std::uint64_t done = 0;
  for (; done + kPiece < wire::kStreamCopyBytes; done += kPiece) CHECK_FALSE(run.next(kBase + done, kPiece));
  CHECK(run.next(kBase + done, kPiece));
  CHECK(run.next(kBase + done + kPiece, kPiece));
  done += 2 * kPiece;

  SECTION("not a small one, though the run goes on") {
    CHECK_FALSE(run.next(kBase + done, 4));
    CHECK(run.next(kBase + done + 4, kPiece));
  }
  SECTION("not to where the run does not go on") {
    CHECK_FALSE(run.next(kBase, kPiece));
    CHECK_FALSE(run.next(kBase + kPiece, kPiece));
  }
}

}  // namespace rouse::test
