// Directions of Sobol' sequences, from the primitive polynomials and initial numbers of Joe and Kuo ("Constructing Sobol sequences with better
// two-dimensional projections", 2008: new-joe-kuo-6), and what scrambles them. All dimensions are below kMostDimensions. Pure; any thread.
//
// Unscrambled ones are cuRAND's. What NVIDIA scrambles with is published nowhere; ours is a lower triangular matrix and a shift for each dimension (Matousek's
// scrambling), of numbers of Philox: as equally distributed, and other points.
#pragma once

#include <array>
#include <cstdint>

namespace rouse::rand {

using Directions = std::array<std::uint64_t, 64>;

// The first of 32-bit sequences are the upper halves of the first 32.
Directions directionsOf(std::uint32_t dimension, bool scrambled);
std::uint64_t shiftOf(std::uint32_t dimension, bool scrambled);  // likewise; 0 of what is not scrambled

}  // namespace rouse::rand
