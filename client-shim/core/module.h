// A module of device code on one virtual device: offered to the daemon, its variables placed, bound.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client-shim/core/device_info.h"
#include "schemas/base/cuda_error.h"
#include "schemas/wire/layout.h"

namespace rouse::client {

class Device;
class Module;

struct Parameter {
  std::uint32_t offset = 0;  // bytes from the beginning of the parameter block
  std::uint32_t bytes = 0;
};

struct Kernel {
  Module* module = nullptr;
  std::uint32_t index = 0;  // in the module's description
  std::string name;         // mangled
  std::vector<Parameter> parameters;
  std::uint32_t parameterBytes = 0;  // of the whole block
  std::uint32_t staticSharedBytes = 0;
  std::uint32_t localBytes = 0;
  std::uint32_t constantBytes = 0;
  std::uint32_t maxThreadsPerBlock = 1024;
  std::uint32_t registers = 0;
  std::uint32_t ptxVersion = 0;
  std::uint32_t binaryVersion = 0;
  // Of the clusters that it runs in (schemas/base/cluster.h, packed): as compiled, or what the face has said meanwhile; 0: what a launch says.
  std::atomic<std::uint32_t> cluster{0};
  bool clusterIsCompiled = false, clusterMustBeSet = false;
  std::atomic<bool> mayExceedPortableClusters{false};
  // cudaFuncAttributeMaxDynamicSharedMemorySize: what a launch may ask for without more ado. The face changes it.
  std::atomic<std::uint32_t> maxDynamicSharedBytes{48 << 10};
};

enum class VariableSpace : std::uint8_t { global = 0, constant = 1, managed = 2 };

struct Variable {
  std::string name;
  std::uint64_t bytes = 0;
  VariableSpace space = VariableSpace::global;
  std::uint64_t address = 0;  // device window; managed: host window

  // Where it lies this process decides, not the device.
  bool isOurs(const DeviceInfo& device) const { return !device.placesVariables || space == VariableSpace::managed; }
};

// Where the code lies: in memory, or in an open file (borrowed for the call).
struct ModuleSource {
  std::span<const std::byte> bytes;
  int fd = -1;  // used when not negative
  std::uint64_t offset = 0, size = 0;
};

// A managed variable that has its place already, from the same module on another device.
struct ManagedPlace {
  std::string_view name;
  std::uint64_t address = 0;
};

class Module {
 public:
  Device& device() const { return *device_; }
  wire::Handle wireHandle() const { return wire_; }
  // Kernels do not move while the module lives. Lookup by mangled name: null if there is none.
  std::span<const std::unique_ptr<Kernel>> kernels() const { return kernels_; }
  std::span<const Variable> variables() const { return variables_; }
  Kernel* findKernel(std::string_view name) const;
  const Variable* findVariable(std::string_view name) const;

 private:
  friend CudaError loadModule(Device&, const ModuleSource&, std::span<const ManagedPlace>, std::unique_ptr<Module>*, std::string*);
  friend CudaError unloadModule(std::unique_ptr<Module>);
  // Asks where the device has put them; one round trip each.
  CudaError findVariables();

  Device* device_ = nullptr;
  std::uint64_t incarnation_ = 0;
  wire::Handle wire_{};
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<Variable> variables_;
  std::vector<std::uint64_t> owned_;         // device addresses to release
  std::vector<std::uint64_t> ownedManaged_;  // host window addresses to release
};

// Offers the module to the daemon (slow: a round trip, and translation at the first time on the node), places its
// variables, binds it. Fails with the daemon's code: invalidKernelImage, invalidPtx, noKernelImageForDevice,
// notSupported (the instruction and line are in the log), memoryAllocation. Initial values are written; those of
// managed variables with a given place are left as they are now. Managed places are owned by the module that was loaded
// without them. `why`: where not null, the daemon's words when it refuses the code.
CudaError loadModule(Device& device, const ModuleSource& source, std::span<const ManagedPlace> places,
                     std::unique_ptr<Module>* module, std::string* why = nullptr);

// Behind all work queued before. A module from before a reset of its device just ends.
CudaError unloadModule(std::unique_ptr<Module> module);

}  // namespace rouse::client
