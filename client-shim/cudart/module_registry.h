// All device code that the program has told us of, and the way from the program's addresses to it.
//
// Threads: any. The look-ups on the launch path take no lock.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "client-shim/core/device.h"
#include "client-shim/cudart/code_module.h"
#include "client-shim/cudart/pointer_map.h"

namespace rouse::cudart {

class ModuleRegistry {
 public:
  // Made at the first registration, never destroyed: programs unregister from exit handlers.
  static ModuleRegistry& get() {
    static ModuleRegistry& registry = *new ModuleRegistry;
    return registry;
  }

  CodeModule* add(std::unique_ptr<CodeModule> module);
  // Its handles and addresses are no longer found; its instances are unloaded.
  void remove(CodeModule* module);
  // Null unless the handle is of a module that was added and not removed.
  CodeModule* findModule(const void* handle) const { return modules_.find(handle); }

  void addFunction(CodeModule* module, const void* hostFunction, std::string_view name);
  void addFunctionHandle(Function* function);
  void addSymbol(CodeModule* module, const void* hostVariable, void** managedPointer, std::string_view name);
  void addSymbolAddress(const void* address, Symbol* symbol);

  // By the address of a host stub, or a cudaKernel_t or cudaFunction_t.
  Function* findFunction(const void* key) const { return functions_.find(key); }
  // By the address of a host shadow variable or of a managed variable.
  Symbol* findSymbol(const void* key) const { return symbols_.find(key); }

  // After a reset of the device: all instances there are gone.
  void forgetDevice(std::uint32_t deviceIndex);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<CodeModule>> all_;
  std::vector<std::unique_ptr<CodeModule>> removed_;  // kept for those who still hold a stale handle
  PointerMap<CodeModule> modules_;
  PointerMap<Function> functions_;
  PointerMap<Symbol> symbols_;
};

// What is no kernel's address is taken for a handle (cudaKernel_t, cudaFunction_t), and is none: cudaErrorInvalidResourceHandle, as CUDA 13
// has it. cudaErrorInvalidDeviceFunction for null.
inline cudaError_t noKernel(const void* key) { return key == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidResourceHandle; }

// The kernel behind a launch's function pointer on a device.
inline cudaError_t findKernel(const void* key, client::Device& device, client::Kernel** kernel) {
  Function* function = ModuleRegistry::get().findFunction(key);
  if (function == nullptr) [[unlikely]]
    return noKernel(key);
  *kernel = function->kernels[device.index()].load(std::memory_order_acquire);
  return *kernel != nullptr ? cudaSuccess : function->resolve(device, kernel);
}

}  // namespace rouse::cudart
