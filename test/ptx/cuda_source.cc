#include "test/ptx/cuda_source.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

namespace rouse::test {

std::string cudaSource(std::string_view name, std::string_view variant) {
  const std::string path = std::string(ROUSE_PTX_DIR) + "/" + std::string(name) + "." + std::string(variant) + ".ptx";
  std::ifstream file(path);
  if (!file) FAIL("no " << path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace rouse::test
