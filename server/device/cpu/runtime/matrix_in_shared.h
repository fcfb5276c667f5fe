// Products with matrices that lie in shared memory, as wgmma.mma_async has them (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"): a warp's part,
// 16 rows of D. Made of products of 16 by 8 (matrix.h), with the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/device/cpu/runtime/matrix.h"

namespace rouse::cpu {

// A matrix in shared memory by its descriptor ("Matrix Descriptor Format"; "Shared Memory Matrix Layout" has the layouts). Its units are of 16 bytes; eight of them, of eight
// rows or columns, are together, and the two strides lead from one such eight to the next.
class SharedMatrix {
 public:
  SharedMatrix(std::uint64_t descriptor, const std::byte* shared);

  // K-major: 16 bytes along k of one row, the first or the second.
  const std::byte* alongK(std::uint32_t row, std::uint32_t unit) const;
  // M-major or N-major: of eight rows, the elements (of 16 bits) at one k.
  const std::byte* acrossK(std::uint32_t eightRows, std::uint32_t k) const;

 private:
  const std::byte* at(std::uint32_t offset) const;

  const std::byte* shared_;
  std::uint32_t start_, leading_, stride_;  // bytes
  std::uint32_t base_;                      // where the pattern of exchanged units begins, in lines of 128 bytes
  std::uint32_t bits_;                      // 16 << bits_ bytes are beside each other, whose units are exchanged by as many bits; 0: none are
};

void multiplyShared(const MatrixOperation&, const LaneRegisters&);
void multiplyShared(const MatrixOperation&, const WarpRegisters&);

}  // namespace rouse::cpu
