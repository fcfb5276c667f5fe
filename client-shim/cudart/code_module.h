// A piece of device code that the program has: a fatbin registered by compiler-generated code, or a library it loaded
// itself. It reaches a device at the first use of one of its kernels or variables there (CUDA's lazy loading).
//
// Threads: any. Registration is serialised by ModuleRegistry; loading by the module's own mutex, which may be held for
// a round trip to the daemon. Lock order: a module's mutex, then the registry's.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client-shim/core/module.h"
#include "client-shim/cudart/code_image.h"
#include "schemas/wire/layout.h"

namespace rouse::cudart {

class CodeModule;

// A kernel whatever the device: what cudaKernel_t, cudaFunction_t and the address of a host stub stand for. Never
// moves; lives as long as the process, so that a stale handle is found to be stale.
struct Function {
  CodeModule* module = nullptr;
  std::string name;                    // mangled
  const void* hostFunction = nullptr;  // null: of a library
  std::array<std::atomic<client::Kernel*>, wire::kMaxDevices> kernels{};
  std::atomic<int> sharedCarveout{cudaSharedmemCarveoutDefault};
  std::atomic<int> clusterScheduling{cudaClusterSchedulingPolicyDefault};

  // The kernel on this device; loads its module if that has not happened. cudaErrorInvalidDeviceFunction if the
  // module's code for this device does not have it, else why loading failed.
  cudaError_t resolve(client::Device& device, client::Kernel** kernel);
};

// A variable of a module, known to the program by the address of its host shadow.
struct Symbol {
  CodeModule* module = nullptr;
  std::string name;
  const void* hostVariable = nullptr;
  void** managedPointer = nullptr;  // where the program reads a managed variable's address

  // cudaErrorInvalidSymbol if the module has no such variable.
  cudaError_t resolve(client::Device& device, const client::Variable** variable);
};

class CodeModule {
 public:
  // The wrapper and what it refers to stay where they are until the module is unregistered.
  explicit CodeModule(const FatbinWrapper* wrapper) : wrapper_(wrapper) {}
  // A library's code, kept here.
  explicit CodeModule(std::vector<std::byte> image) : image_(std::move(image)) {}

  // The module on this device, loaded if need be. A failure of the code itself is remembered, a lack of memory is not.
  // `why`: where not null, the daemon's words when it refuses the code now.
  cudaError_t load(client::Device& device, client::Module** module, std::string* why = nullptr);

  // Registration: before anything of it is used.
  Function* addFunction(const void* hostFunction, std::string_view name);
  Symbol* addSymbol(const void* hostVariable, void** managedPointer, std::string_view name);
  bool hasManagedVariables() const { return hasManaged_; }

  // The kernel of this name, given a handle at the first time it is asked for. Null if there is none on this device.
  Function* functionNamed(const client::Module& loaded, std::string_view name);

  // Forgets the instance on this device, after the device's reset or to unload it.
  void unload(std::uint32_t deviceIndex);
  void unloadEverywhere();

  const std::vector<std::unique_ptr<Function>>& functions() const { return functions_; }
  const std::vector<std::unique_ptr<Symbol>>& symbols() const { return symbols_; }

 private:
  cudaError_t loadFrom(client::Device& device, std::unique_ptr<client::Module>* module, std::string* why);
  Function* makeFunction(const void* hostFunction, std::string_view name);
  // Whether variables get their place in the host window by this module.
  bool bringsManaged(const client::Module& module) const;
  void placeManaged(const client::Module& module);

  struct Instance {
    std::atomic<client::Module*> loaded{nullptr};
    std::unique_ptr<client::Module> module;
    cudaError_t failure = cudaSuccess;
  };

  const FatbinWrapper* wrapper_ = nullptr;
  std::vector<std::byte> image_;
  bool hasManaged_ = false;
  std::mutex mutex_;  // guards what follows, except where it is atomic
  std::array<Instance, wire::kMaxDevices> instances_;
  std::vector<std::unique_ptr<Function>> functions_;
  std::vector<std::unique_ptr<Symbol>> symbols_;
  // By their mangled names: where the first device to load the module put the managed variables.
  std::unordered_map<std::string, std::uint64_t> managedPlaces_;
};

}  // namespace rouse::cudart
