// The numbers of a generation, as cuRAND's generators for hosts make them. It is cut into pieces, of which each can be made by itself: how follows from the
// call alone, and results are the same to the last bit, whatever a processor does at once and who makes which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "schemas/rand/check.h"

namespace rouse::rand {

class Numbers {
 public:
  virtual ~Numbers() = default;
  virtual std::uint64_t pieces() const = 0;
  // Any thread, several at a time. `output`: where the generation's first result belongs.
  virtual void make(std::uint64_t piece, std::byte* output) const = 0;
};

// Of a generation that has been checked, whatever its address. Throws std::bad_alloc.
std::unique_ptr<Numbers> numbersOf(const Generation& generation, std::span<const Stretch> stretches);

}  // namespace rouse::rand
