// Where the variables of a translated module lie, with their first values.
#pragma once

#include <memory>
#include <vector>

#include "server/device/cpu/program.h"

namespace rouse::test {

class ModuleStorage {
 public:
  // Fails the test if a function whose address a variable holds does not compile.
  explicit ModuleStorage(cpu::Program&);

  // BlockContext::variables.
  const std::vector<std::uint64_t>& addresses() const { return addresses_; }

 private:
  std::vector<std::unique_ptr<std::byte[]>> storage_;
  std::vector<std::uint64_t> addresses_;
};

}  // namespace rouse::test
