// libFuzzer's own ways of changing bytes, and ours of changing PTX, in turn.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "test/ptx/mutate_ptx.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

std::string_view textOf(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned int seed) {
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string text = rouse::test::mutatePtx(textOf(data, size), seed, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t oneSize, const std::uint8_t* other, std::size_t otherSize,
                                                 std::uint8_t* out, std::size_t most, unsigned int seed) {
  const std::string text = rouse::test::crossPtx(textOf(one, oneSize), textOf(other, otherSize), seed, most);
  std::memcpy(out, text.data(), text.size());
  return text.size();
}
