// What a device's granules look like after models have come and gone for a long time, and what an allocation costs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rouse::bench {

// Who leaves when the next model does not fit.
enum class Churn {
  lru,          // the model used longest ago; models are used at random
  random,       // any model
  byGroup,      // as lru, but models arrive in groups of 1 to 8 granules, several models at a time, taking turns
  pieces,       // as random, but one departure in four gives back a random part of its granules only
  singles,      // no models: single granules of many owners, given back at random. The worst there is
};

struct PlacementRun {
  Churn churn = Churn::lru;
  bool firstFit = false;           // the naive allocator in the place of ours
  std::uint32_t granules = 40960;  // 80 GiB
  double use = 0.9;                // models leave until the next one fits below this share
  std::uint64_t steps = 1'000'000; // allocations and frees
  std::uint64_t seed = 1;
};

struct PlacementFigures {
  // Share of free granules outside free aligned blocks of Placement::kLargeBlock, sampled after each arrival within 3%
  // of `use`, once the device has been full.
  double fragmentationMean = 0, fragmentationMax = 0;
  double extentsPerAllocation = 0;
  // One allocate(), clock reads (some 25 ns) included.
  double allocateNsP50 = 0, allocateNsP99 = 0;
  std::uint64_t allocations = 0, refused = 0;
};

PlacementFigures measurePlacement(const PlacementRun& run);
const char* name(Churn churn);

// Granules of the models that come and go: parameters of the networks of Torpor's Table 4 (torchvision's, BERT large for
// Bert-qa) and Table 1's footprint of Stable Diffusion.
const std::vector<std::uint32_t>& modelGranules();

}  // namespace rouse::bench
