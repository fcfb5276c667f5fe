// Where a generator is between calls: what a program's next call begins with. The client's; it is written into each call. Plain data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/rand/check.h"

namespace rouse::rand {

class Position {
 public:
  // At `offset`: as after so many results of which each takes one draw.
  void begin(Type type, Ordering ordering, std::uint64_t offset);
  // Where a call begins that has been checked.
  void begin(const Generation& generation, std::span<const Stretch> stretches);
  // Behind a call that has been checked. Throws std::bad_alloc, and has changed nothing then.
  void advance(const Generation& done);

  std::uint64_t step() const { return step_; }
  const std::vector<Stretch>& stretches() const { return stretches_; }

 private:
  void draw(std::vector<Stretch>& stretches, std::uint32_t from, std::uint32_t to, std::uint64_t draws) const;

  std::uint32_t lanes_ = 0;
  std::uint64_t step_ = 0;
  // In the order of lanes, and no two neighbours have drawn the same. Where calls of different kinds have left more than kMostStretches of them, all lanes go
  // on behind the one that has drawn most: nothing is drawn twice, and a program that does the same again gets the same.
  std::vector<Stretch> stretches_;
};

}  // namespace rouse::rand
