// The suite's kernels, loaded into a bench, and launches of them.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "test/conformance/backend.h"

namespace rouse::conformance {

std::vector<std::byte> kernelsFatbin(const std::string& name = "kernels.fatbin");
std::shared_ptr<memory::Image> loadKernels(memory::Device& device, const std::string& name = "kernels.fatbin");

class Kernels {
 public:
  // Loads and instantiates kernels.cu; its variables go to fresh device memory.
  explicit Kernels(Bench& bench);
  // An instance of what has been loaded.
  Kernels(Bench& bench, std::shared_ptr<memory::Image> image);

  std::uint32_t function(const std::string& name) const;
  std::uint64_t variable(const std::string& name) const;
  const memory::ModuleDescription& description() const { return image_->description(); }

  struct Shape {
    memory::Dim3 grid{}, block{};
    std::uint32_t sharedBytes = 0;
    bool cooperative = false;
    ClusterShape cluster{};
  };
  template <class... Arguments>
  void launch(memory::Stream& stream, const std::string& name, const Shape& shape, Arguments... arguments) {
    const auto& kernel = image_->description().kernels[function(name)];
    REQUIRE(kernel.parameters.size() == sizeof...(arguments));
    std::vector<std::byte> block(kernel.parameterBytes);
    std::size_t index = 0;
    (place(block, kernel.parameters[index++], arguments), ...);
    start(stream, function(name), shape, block);
  }

 private:
  template <class T>
  static void place(std::vector<std::byte>& block, const memory::ParameterLayout& layout, const T& value) {
    REQUIRE(layout.bytes == sizeof value);
    std::memcpy(block.data() + layout.offset, &value, sizeof value);
  }
  void start(memory::Stream& stream, std::uint32_t function, const Shape& shape, const std::vector<std::byte>& block);

  Bench& bench_;
  std::shared_ptr<memory::Image> image_;
  std::vector<std::uint64_t> addresses_;
  std::unique_ptr<memory::ModuleInstance> instance_;
};

}  // namespace rouse::conformance
