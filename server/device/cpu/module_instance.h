// A translated module, and what it becomes in one context.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "memory/device.h"
#include "server/device/cpu/program.h"

namespace rouse::cpu {

class CpuImage final : public memory::Image {
 public:
  explicit CpuImage(std::unique_ptr<Program> program);

  const memory::ModuleDescription& description() const override { return description_; }
  // Code lies where this process has put it.
  std::string ties() const override {
    return program_->handlesCodeAddresses() ? "its kernels handle addresses of functions" : "";
  }
  Program& program() { return *program_; }

 private:
  std::unique_ptr<Program> program_;
  memory::ModuleDescription description_;
};

// What queued launches hold on to.
struct BoundModule {
  std::shared_ptr<CpuImage> image;
  std::vector<std::uint64_t> addresses;  // of the variables
};

class CpuModuleInstance final : public memory::ModuleInstance {
 public:
  explicit CpuModuleInstance(std::shared_ptr<const BoundModule> bound) : bound_(std::move(bound)) {}
  const std::shared_ptr<const BoundModule>& bound() const { return bound_; }
  std::uint64_t variableAddress(std::uint32_t variable) const override { return bound_->addresses.at(variable); }

 private:
  std::shared_ptr<const BoundModule> bound_;
};

// Finds the PTX, checks and translates it, and compiles what addresses of functions in variables need.
Result<std::shared_ptr<memory::Image>> loadImage(std::span<const std::byte> module, Compilation how = {});

// Writes the variables' initial values to their addresses. `code`: what addresses of functions among them lead to.
Result<std::unique_ptr<memory::ModuleInstance>> bindModule(std::shared_ptr<memory::Image> image,
                                                           std::span<const std::uint64_t> addresses, Code code = Code::plain);
// The same, but they have values.
Result<std::unique_ptr<memory::ModuleInstance>> adoptModule(std::shared_ptr<memory::Image> image,
                                                            std::span<const std::uint64_t> addresses);

}  // namespace rouse::cpu
