// The shapes of what a verb names, from the numbers of a call. Pure; any thread.
#pragma once

#include <cstdint>

#include "schemas/blas/call.h"
#include "schemas/blas/functions.h"

namespace rouse::blas {

struct Matrix {
  std::int64_t rows = 0, columns = 0;
};

// rows -1: it has no such operand. A vector is its length in rows. Of a band the rows are its diagonals.
struct Shapes {
  Matrix a{-1, 0}, b{-1, 0}, c{-1, 0};
  std::int64_t x = -1, y = -1;
  bool writesA = false, writesB = false, writesX = false, writesY = false;
  bool packedA = false, packedB = false;  // a triangle without gaps, which has no leading dimension
};

Shapes shapesOf(Verb verb, const Call& call);

constexpr bool isLevel1(Verb verb) { return verb >= Verb::axpy; }
// What is cut into batches only: getrf and after, up to the vectors.
constexpr bool isFactorisation(Verb verb) { return verb >= Verb::getrf && verb <= Verb::gels; }
// Its vectors are nothing but scalars, and there is no length.
constexpr bool isPlaneRotation(Verb verb) { return verb == Verb::rotg || verb == Verb::rotmg; }

}  // namespace rouse::blas
