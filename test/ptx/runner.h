// Runs kernels one thread after another, on the test's own thread: enough for kernels that do not wait for each other.
// The runtime's functions that generated code calls are doubles, which record what they were asked and throw nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/device/cpu/program.h"
#include "test/ptx/module_storage.h"

namespace rouse::test {

struct Size3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

// What the kernel asked of the runtime since the last launch.
struct Journal {
  std::string printed;  // formats given to vprintf
  std::uint32_t barriers = 0, yields = 0, warpOperations = 0;
  bool trapped = false, asserted = false, misaligned = false, endless = false;
  std::uint32_t misalignedBits = 0;  // accumulated by accesses that do not stop
};

enum class Path { entry, loop };

// A translated module with storage for its variables.
class LoadedModule {
 public:
  // Fails the test if the text does not translate.
  explicit LoadedModule(std::string_view ptx);

  cpu::Program& program() { return *program_; }
  std::uint32_t kernel(std::string_view name) const;
  std::byte* variable(std::string_view name);
  const cpu::KernelCode& code(std::string_view kernel);

  // Arguments as they lie in the parameter block, which is checked against the kernel's layout.
  Journal launch(std::string_view kernel, Size3 grid, Size3 block, const std::vector<std::vector<std::byte>>& arguments,
                 std::uint32_t dynamicShared = 0, Path path = Path::entry);

 private:
  std::unique_ptr<cpu::Program> program_;
  std::unique_ptr<ModuleStorage> storage_;
};

template <class T>
std::vector<std::byte> argument(const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  return {bytes, bytes + sizeof value};
}

template <class... T>
std::vector<std::vector<std::byte>> arguments(const T&... values) {
  return {argument(values)...};
}

}  // namespace rouse::test
