// The names of a module's variables, which the driver does not list: read from the machine code (the symbol table of
// the ELF file) or the PTX that it will use. What is found is only asked for: the driver knows where each is and how
// large, and if it is there at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "server/device/cuda/module_images.h"

namespace rouse::cuda {

struct NamedVariable {
  std::string name;
  bool constant = false;
  bool operator==(const NamedVariable&) const = default;
};

// Each once. Pure; the images come from clients.
std::vector<NamedVariable> variableNames(std::span<const ModuleImage> images);

// The parts of it.
std::vector<NamedVariable> variablesOfPtx(std::string_view text);
std::vector<NamedVariable> variablesOfElf(std::string_view file);

}  // namespace rouse::cuda
