// What kernels of model_kernel.h have by families: statements (acts) that are a text with a function of all threads that come to it.
#pragma once

#include <functional>

#include "test/ptx/model_kernel.h"

namespace rouse::test::model {

// An act as the model does it: what its operands are, and what is to be its result, by the thread's number in the block.
struct Acting {
  const std::vector<std::uint32_t>& in;
  const std::vector<char>& here;
  unsigned threads, block;
  std::vector<std::vector<std::uint64_t>> x;
  std::vector<std::uint64_t> result;             // begins as what the variable was
  std::function<std::uint32_t(unsigned)> lanes;  // of the thread's warp that come with it, the thread among them
  std::function<void(const std::vector<char>&)> body;

  template <class One>
  void each(One one) const {
    for (unsigned t = 0; t < threads; ++t) {
      if (here[t] != 0) one(t);
    }
  }
  std::uint32_t word(unsigned operand, unsigned t) const { return static_cast<std::uint32_t>(x[operand][t]); }
};

// Text: $0, $1, ... are the operands (evaluated before), $r the variable, $m the mask of those that come, $body a body. Memory in it: `actOwn` (4 words of the thread's), `actStrip` (128 of its warp's),
// `actBlock` (4 of each thread's of the block), `actBarriers` (8: no block has more than 256 threads, so each warp may have one). Whoever uses what others do begins and ends with a barrier for those that it is for.
struct Act {
  enum class Who : std::uint8_t { thread, lanes, warp, block };  // who comes together: nobody, some of a warp with a mask, a warp, all
  Family family = Family::copies;
  Who who = Who::thread;
  std::vector<Level> operands{};  // words, and who has them alike
  Level result = Level::thread;   // who has it alike
  Level inBody = Level::thread;   // who comes together to its body, if it has one
  const char* text = nullptr;
  void (*make)(Acting&) = nullptr;

  bool hasBody() const { return std::string(text).find("$body") != std::string::npos; }
};
const std::vector<Act>& acts();
std::vector<Act> copyActs(), barrierActs();

// What texts of some families need before the kernels.
struct Prelude {
  std::vector<Family> families;
  const char* text;
};
const std::vector<Prelude>& preludes();

}  // namespace rouse::test::model
