// Machine code in this process: objects are linked against the runtime's functions and looked up by name. Knows nothing
// of PTX.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "server/device/cpu/codegen/unit.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace rouse::cpu::codegen {

// For the processor that this runs on. One compilation at a time for each.
std::unique_ptr<llvm::TargetMachine> hostTarget(Attempt);
// Whether that is one with AVX-512.
bool hostHasMasks();
// Which that is, with what it can do: code for another name must not run here.
const std::string& hostName();

// Machine code of the module, an object file.
Result<std::string> emitObject(llvm::Module&, llvm::TargetMachine&);

// One linking scope: a module of PTX and all that is compiled of it. Its code is freed with it. Any thread.
class Jit {
 public:
  static Result<std::unique_ptr<Jit>> create();
  ~Jit();

  Status add(std::string_view object);
  Result<std::uint64_t> find(const std::string& name);

 private:
  struct State;
  explicit Jit(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

}  // namespace rouse::cpu::codegen
