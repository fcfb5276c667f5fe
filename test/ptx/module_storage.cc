#include "test/ptx/module_storage.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

namespace rouse::test {

ModuleStorage::ModuleStorage(cpu::Program& program) {
  const auto& variables = program.description().variables;
  for (const auto& variable : variables) {
    const std::size_t alignment = std::max<std::size_t>(variable.alignment, 16);
    storage_.push_back(std::make_unique<std::byte[]>(variable.bytes + alignment));
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.back().get());
    addresses_.push_back((address + alignment - 1) / alignment * alignment);
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const cpu::InitialValue& value = program.initialValues()[i];
    auto* base = reinterpret_cast<std::byte*>(addresses_[i]);
    if (!value.bytes.empty()) std::memcpy(base, value.bytes.data(), value.bytes.size());
    for (const cpu::Relocation& relocation : value.relocations) {
      std::uint64_t target = 0;
      if (relocation.target == cpu::Relocation::Target::variable) {
        target = addresses_[relocation.index];
      } else {
        auto address = program.functionAddress(relocation.index);
        if (!address) FAIL(address.error().message);
        target = *address;
      }
      target += static_cast<std::uint64_t>(relocation.addend);
      std::memcpy(base + relocation.offset, &target, sizeof target);
    }
  }
}

}  // namespace rouse::test
