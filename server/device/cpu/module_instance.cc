#include "server/device/cpu/module_instance.h"

#include <algorithm>
#include <cstring>

#include "server/device/cpu/properties.h"
#include "server/fatbin/fatbin.h"

namespace rouse::cpu {
namespace {

// The registers that a kernel is said to use: this processor spills instead, so occupancy is never limited by them.
constexpr std::uint32_t kRegisters = 32;

Result<std::uint64_t> targetOf(const Relocation& relocation, Program& program,
                               std::span<const std::uint64_t> addresses, Code code) {
  if (relocation.target == Relocation::Target::function) return program.functionAddress(relocation.index, code);
  if (relocation.index >= addresses.size()) {
    return Error{CudaError::invalidPtx, "initial value refers to variable " + std::to_string(relocation.index) +
                                            " of " + std::to_string(addresses.size())};
  }
  return addresses[relocation.index];
}

Status writeVariable(const InitialValue& value, std::uint64_t bytes, std::uint64_t address, Program& program,
                     std::span<const std::uint64_t> addresses, Code code) {
  auto* memory = reinterpret_cast<std::byte*>(address);
  const std::uint64_t given = std::min<std::uint64_t>(value.bytes.size(), bytes);
  if (given != 0) std::memcpy(memory, value.bytes.data(), given);
  std::memset(memory + given, 0, bytes - given);
  for (const Relocation& relocation : value.relocations) {
    if (relocation.offset > bytes || bytes - relocation.offset < sizeof(std::uint64_t)) {
      return Error{CudaError::invalidPtx, "initial value has an address at byte " + std::to_string(relocation.offset) +
                                              " of " + std::to_string(bytes)};
    }
    auto target = targetOf(relocation, program, addresses, code);
    if (!target) return std::move(target).error();
    const std::uint64_t word = *target + static_cast<std::uint64_t>(relocation.addend);
    std::memcpy(memory + relocation.offset, &word, sizeof word);
  }
  return {};
}

}  // namespace

CpuImage::CpuImage(std::unique_ptr<Program> program)
    : program_(std::move(program)), description_(program_->description()) {
  for (memory::KernelDescription& kernel : description_.kernels) {
    if (kernel.registers == 0) kernel.registers = kRegisters;
    if (kernel.ptxVersion == 0) kernel.ptxVersion = kCapability;
    if (kernel.binaryVersion == 0) kernel.binaryVersion = kCapability;
  }
}

Result<std::shared_ptr<memory::Image>> loadImage(std::span<const std::byte> module, Compilation how) {
  auto ptx = fatbin::selectPtx(module, kCapability, fatbin::Newer::accept);
  if (!ptx) return std::move(ptx).error();
  auto program = Program::translate(*ptx, std::move(how));
  if (!program) return std::move(program).error();
  auto image = std::make_shared<CpuImage>(std::move(program).value());
  // Now, where it may be slow: instantiate() runs on the executor's thread.
  for (const InitialValue& value : image->program().initialValues()) {
    for (const Relocation& relocation : value.relocations) {
      if (relocation.target != Relocation::Target::function) continue;
      if (auto address = image->program().functionAddress(relocation.index); !address)
        return std::move(address).error();
    }
  }
  return std::shared_ptr<memory::Image>(std::move(image));
}

namespace {

Result<std::shared_ptr<BoundModule>> place(std::shared_ptr<memory::Image> image, std::span<const std::uint64_t> addresses) {
  auto bound = std::make_shared<BoundModule>();
  bound->image = std::static_pointer_cast<CpuImage>(std::move(image));
  bound->addresses.assign(addresses.begin(), addresses.end());
  const std::size_t variables = bound->image->description().variables.size();
  if (addresses.size() != variables || bound->image->program().initialValues().size() != variables) {
    return Error{CudaError::invalidValue, "module has " + std::to_string(variables) + " variables, " +
                                              std::to_string(addresses.size()) + " addresses given"};
  }
  return bound;
}

}  // namespace

Result<std::unique_ptr<memory::ModuleInstance>> bindModule(std::shared_ptr<memory::Image> image,
                                                           std::span<const std::uint64_t> addresses, Code code) {
  auto placed = place(std::move(image), addresses);
  if (!placed) return std::move(placed).error();
  BoundModule& bound = **placed;
  const auto& variables = bound.image->description().variables;
  const auto& values = bound.image->program().initialValues();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (auto status = writeVariable(values[i], variables[i].bytes, addresses[i], bound.image->program(), addresses, code);
        !status) {
      return Error{status.error().code, "variable " + variables[i].name + ": " + status.error().message};
    }
  }
  return std::unique_ptr<memory::ModuleInstance>(std::make_unique<CpuModuleInstance>(std::move(*placed)));
}

Result<std::unique_ptr<memory::ModuleInstance>> adoptModule(std::shared_ptr<memory::Image> image,
                                                            std::span<const std::uint64_t> addresses) {
  auto placed = place(std::move(image), addresses);
  if (!placed) return std::move(placed).error();
  return std::unique_ptr<memory::ModuleInstance>(std::make_unique<CpuModuleInstance>(std::move(*placed)));
}

}  // namespace rouse::cpu
