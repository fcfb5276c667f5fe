// Calls of cuBLAS on the CPU device, without the device: memory that is the test's own, and the job of a call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "schemas/blas/check.h"
#include "server/library/cpu/prepare.h"

namespace rouse::library {

// Some vectors of the test's own.
class Memory final : public MappedMemory {
 public:
  bool contains(AddressRange range) const override {
    return std::any_of(ranges.begin(), ranges.end(), [&](AddressRange each) { return each.contains(range); });
  }
  template <class T>
  std::uint64_t add(std::vector<T>& values) {
    const auto address = reinterpret_cast<std::uint64_t>(values.data());
    ranges.push_back({address, values.size() * sizeof(T)});
    return address;
  }
  std::vector<AddressRange> ranges;
};

inline auto prepare(blas::Function function, const blas::Call& call, const MappedMemory& memory) {
  return cpu::prepare(blas::kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)), memory);
}

// All pieces, in an order that the number says; 0: as they are counted.
inline void runAll(Job& job, unsigned order = 0) {
  std::vector<std::uint64_t> pieces(job.pieces());
  for (std::uint64_t i = 0; i < pieces.size(); ++i) pieces[i] = i;
  if (order != 0) std::shuffle(pieces.begin(), pieces.end(), std::mt19937(order));
  for (const std::uint64_t piece : pieces) job.run(piece);
}

}  // namespace rouse::library
