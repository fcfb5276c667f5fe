// What has been stored, or read, since the last barrier that all of the block came to.
#pragma once

#include <array>

#include "test/ptx/model_kernel.h"

namespace rouse::test::model {

struct State {
  std::array<bool, kArrays> written{}, read{};
  std::array<bool, kLeaders> leadWritten{}, leadRead{};
  std::array<bool, kStrips> strip{};
  bool binsWritten = false, binsRead = false;
  std::array<bool, kSums> summed{}, sumRead{};
  void all() {
    summed.fill(true), sumRead.fill(true);
    written.fill(true), read.fill(true), leadWritten.fill(true), leadRead.fill(true), strip.fill(true);
    binsWritten = binsRead = true;
  }
  void add(const State& other) {
    for (unsigned k = 0; k < kArrays; ++k) written[k] |= other.written[k], read[k] |= other.read[k];
    for (unsigned k = 0; k < kLeaders; ++k) leadWritten[k] |= other.leadWritten[k], leadRead[k] |= other.leadRead[k];
    for (unsigned k = 0; k < kStrips; ++k) strip[k] |= other.strip[k];
    binsWritten |= other.binsWritten, binsRead |= other.binsRead;
    for (unsigned k = 0; k < kSums; ++k) summed[k] |= other.summed[k], sumRead[k] |= other.sumRead[k];
  }
};

}  // namespace rouse::test::model
