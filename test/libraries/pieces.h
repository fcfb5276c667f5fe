// A job's pieces, run as the device's workers might.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "server/library/job.h"

namespace rouse::library {

// In pieces, in the order of a seed.
inline void run(Job& job, unsigned seed = 0) {
  std::mt19937 random(seed);
  do {
    std::vector<std::uint64_t> pieces(job.pieces());
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = i;
    if (seed != 0) std::shuffle(pieces.begin(), pieces.end(), random);
    for (const std::uint64_t piece : pieces) job.run(piece);
  } while (job.advance());
}

}  // namespace rouse::library
