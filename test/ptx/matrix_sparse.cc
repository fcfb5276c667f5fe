#include "test/ptx/matrix_sparse.h"

#include <algorithm>

namespace rouse::test {
namespace {

// What one choice of a lane's metadata is about: a row, and which of its choices it is.
struct Choice {
  unsigned row, choice;
};

// PTX ISA, "Sparse matrix storage" and the figures of "Matrix Fragments for sparse mma": t is the lane's number among the contributing ones of its four, g those four's, j counts choices from the lowest bit.
Choice placeOf(Element element, unsigned g, unsigned t, unsigned j) {
  switch (bitsOf(element)) {
    case 32:
      return {j < 4 ? g : g + 8, t * 4 + j % 4};
    case 16:
      return {j < 8 ? g : g + 8, t * 8 + j % 8};
    default:
      return {t % 2 == 0 ? g : g + 8, t / 2 * 16 + j};
  }
}

unsigned bitsOfChoice(Element element) { return bitsOf(element) == 32 ? 4 : 2; }
// Elements that one choice is of.
unsigned together(Element element) { return bitsOf(element) == 4 ? 2 : 1; }

unsigned contributing(Element element, unsigned k) { return 16 * (k / 2 / together(element)) * bitsOfChoice(element) / 32 / 8; }

}  // namespace

unsigned selectorsOf(Element element, unsigned k) { return 4 / contributing(element, k); }

SparseRows randomSparseRows(Element element, unsigned k, unsigned selector, std::mt19937_64& random) {
  SparseRows made;
  const unsigned choices = k / 2 / together(element);
  std::array<std::vector<unsigned>, 16> chosen;
  for (auto& row : chosen) {
    while (row.size() < choices) {
      if (bitsOf(element) == 32) {
        row.push_back(static_cast<unsigned>(random() % 2));
        continue;
      }
      const unsigned first = static_cast<unsigned>(random() % 3), second = first + 1 + static_cast<unsigned>(random() % (3 - first));
      row.push_back(first), row.push_back(second);
    }
  }
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned i = 0; i < k / 2; ++i) {
      const unsigned choice = i / together(element);
      made.columns[row].push_back(bitsOf(element) == 32 ? 2 * i + chosen[row][i] : (choice / 2 * 4 + chosen[row][choice]) * together(element) + i % together(element));
    }
  }
  const unsigned lanes = contributing(element, k);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    made.metadata[lane] = static_cast<std::uint32_t>(random());
    const unsigned t = lane % 4;
    if (t / lanes != selector) continue;
    std::uint32_t word = 0;
    for (unsigned j = 0; j < 32 / bitsOfChoice(element); ++j) {
      const Choice place = placeOf(element, lane / 4, t % lanes, j);
      const unsigned value = chosen[place.row][place.choice];
      word |= (bitsOf(element) == 32 ? (value == 0 ? 0b0100U : 0b1110U) : value) << j * bitsOfChoice(element);
    }
    made.metadata[lane] = word;
  }
  return made;
}

}  // namespace rouse::test
