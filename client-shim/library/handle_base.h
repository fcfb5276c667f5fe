// What handles of cuBLAS and cuBLASLt begin with: either library takes either's for a matrix product.
#pragma once

#include <cstdint>

namespace rouse::library {

struct HandleBase {
  std::uint32_t device = 0;  // the thread's when it was made
};

}  // namespace rouse::library
