#include "memory/chunk_fit.h"

#include <cassert>
#include <queue>
#include <vector>

#include "memory/aligned_pieces.h"

namespace rouse::memory {
namespace {

// By size; of one size, the first first.
struct Smaller {
  bool operator()(const Extent& a, const Extent& b) const { return a.count != b.count ? a.count < b.count : a.first > b.first; }
};
using Largest = std::priority_queue<Extent, std::vector<Extent>, Smaller>;

}  // namespace

void fitChunks(std::span<Chunk> chunks, std::span<const std::uint64_t> addresses) {
  assert(chunks.size() == addresses.size());
  Largest pieces;  // of chunks, by id
  for (std::size_t i = 0; i < chunks.size();) {
    const std::uint32_t first = chunks[i].id;
    std::uint32_t run = 1;
    while (i + run < chunks.size() && chunks[i + run].id == first + run) ++run;
    i += run;
    forEachAlignedPiece({first, run}, [&](Extent piece) { pieces.push(piece); });
  }
  Largest places;  // by index
  for (std::uint32_t i = 0; i < addresses.size();) {
    std::uint32_t run = 1;
    while (i + run < addresses.size() && addresses[i + run] == addresses[i] + run * kGranuleBytes) ++run;
    places.push({i, run});
    i += run;
  }
  while (!pieces.empty()) {
    Extent piece = pieces.top(), place = places.top();
    pieces.pop();
    if (piece.count > place.count) {
      piece.count /= 2;
      pieces.push(piece);
      pieces.push({piece.first + piece.count, piece.count});
      continue;
    }
    places.pop();
    for (std::uint32_t i = 0; i < piece.count; ++i) chunks[place.first + i] = {piece.first + i, kGranuleBytes};
    if (place.count != piece.count) places.push({place.first + piece.count, place.count - piece.count});
  }
}

}  // namespace rouse::memory
