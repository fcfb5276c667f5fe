#include "schemas/rand/numbers/mtgp.h"

// The parameters, of which there are 200 sets: their authors' (BSD), as each toolkit has them.
#include <curand_mtgp32dc_p_11213.h>

namespace rouse::rand {

static_assert(CURAND_NUM_MTGP32_PARAMS == Mtgp::kMostBlocks && MTGPDC_N == 351);

Mtgp::Mtgp(std::uint32_t block, std::uint64_t seed) : block_(block) {
  const mtgp32_params_fast& parameters = mtgp32dc_params_fast_11213[block];
  const std::uint32_t hidden = parameters.tbl[4] ^ parameters.tbl[8] << 16;
  std::uint32_t fill = hidden + (hidden >> 16);
  fill = (fill + (fill >> 8)) & 0xff;
  for (std::uint32_t i = 0; i < kWords; ++i) words_[i] = fill * 0x01010101u;
  words_[0] = static_cast<std::uint32_t>(seed ^ seed >> 32) + block + 1;
  words_[1] = hidden;
  for (std::uint32_t i = 1; i < kWords; ++i) words_[i] ^= 1812433253u * (words_[i - 1] ^ words_[i - 1] >> 30) + i;
}

void Mtgp::row(std::uint32_t* numbers) {
  const mtgp32_params_fast& parameters = mtgp32dc_params_fast_11213[block_];
  const auto position = static_cast<std::uint32_t>(parameters.pos);
  const auto word = [&](std::uint32_t offset) -> std::uint32_t& { return words_[(at_ + offset) % kRing]; };
  for (std::uint32_t i = 0; i < kMtgpRow; ++i) {
    std::uint32_t x = (word(i) & parameters.mask) ^ word(i + 1);
    x ^= x << parameters.sh1;
    const std::uint32_t y = x ^ word(i + position) >> parameters.sh2;
    word(i + kWords) = y ^ parameters.tbl[y & 15];
  }
  for (std::uint32_t i = 0; i < kMtgpRow; ++i) {
    std::uint32_t t = word(i + position - 1);
    t ^= t >> 16;
    t ^= t >> 8;
    numbers[i] = word(i + kWords) ^ parameters.tmp_tbl[t & 15];
  }
  at_ = (at_ + kMtgpRow) % kRing;
}

void Mtgp::skip(std::uint64_t rows) {
  std::uint32_t numbers[kMtgpRow];
  for (; rows != 0; --rows) row(numbers);
}

}  // namespace rouse::rand
