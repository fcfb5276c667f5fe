// Images of several planes, and what both convolutional networks do with them.
#pragma once

#include <cstddef>

#include "bench/functions/reference/reference.h"

namespace networks::reference {

struct Planes {
  std::size_t count = 0, height = 0, width = 0;
  Numbers numbers{};  // by plane, row, column

  Planes() = default;
  Planes(std::size_t count, std::size_t height, std::size_t width) : count(count), height(height), width(width), numbers(count * height * width) {}
  double& at(std::size_t plane, std::size_t y, std::size_t x) { return numbers[(plane * height + y) * width + x]; }
  double at(std::size_t plane, std::size_t y, std::size_t x) const { return numbers[(plane * height + y) * width + x]; }
};

// `filter`: out x in x side x side; beyond the edges there are zeros.
Planes convolved(const Planes&, const Numbers& filter, std::size_t out, std::size_t side, std::size_t stride, std::size_t pad);
// The greatest of each window; what lies beyond the edges does not count.
Planes greatest(const Planes&, std::size_t side, std::size_t stride, std::size_t pad);
void rectify(Planes&);

}  // namespace networks::reference
