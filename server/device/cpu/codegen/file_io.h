// All of it, to and from a file, whatever calls it takes. False: that was not to be had.
#pragma once

#include <cstddef>

namespace rouse::cpu::codegen {

bool writeAll(int file, const void* bytes, std::size_t count);
bool readAll(int file, void* bytes, std::size_t count);

}  // namespace rouse::cpu::codegen
