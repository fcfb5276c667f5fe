// Reads functions.d/*.toml.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "server/functions/spec.h"

namespace rouse::functions {

// All that is wrong with it, each "FILE:LINE: key: what".
using FileErrors = std::vector<std::string>;
std::variant<FunctionSpec, FileErrors> readFunctionFile(const std::filesystem::path&);

struct FunctionFiles {
  std::vector<FunctionSpec> specs;  // by name
  struct Broken {
    std::string name;
    FileErrors errors;
  };
  std::vector<Broken> broken;
  std::string unread;  // why the folder could not be read; then nothing is known of any function
};
// Of a folder; one that is not there has none.
FunctionFiles readFunctionFiles(const std::filesystem::path& folder);

}  // namespace rouse::functions
