// The files that are part of the program. Made by CMake.
#pragma once

#include <span>
#include <string_view>

namespace rouse::sim {

struct Embedded {
  std::string_view name;  // without its folder and extension
  std::string_view text;
};

Embedded embeddedModels();
std::span<const Embedded> embeddedNodes();

}  // namespace rouse::sim
