// What a module of device code says of itself: all a client needs to launch its kernels and to place its variables, and
// all an executor needs to check what the client then asks for. Made by the back end that loads the module, sent to
// the client once (control.capnp, ModuleInfo).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/base/cluster.h"

namespace rouse::memory {

struct ParameterLayout {
  std::uint32_t offset = 0;  // bytes from the beginning of the parameter block
  std::uint32_t bytes = 0;
};

struct KernelDescription {
  std::string name;  // mangled, as in the module
  std::vector<ParameterLayout> parameters;
  std::uint32_t parameterBytes = 0;  // of the whole block
  std::uint32_t staticSharedBytes = 0;
  std::uint32_t localBytes = 0;  // per thread
  std::uint32_t constantBytes = 0;
  std::uint32_t maxThreadsPerBlock = 1024;
  std::uint32_t registers = 0;
  std::uint32_t ptxVersion = 0;     // major * 10 + minor of the target architecture
  std::uint32_t binaryVersion = 0;  // likewise
  ClusterShape cluster{};                  // as compiled (__cluster_dims__); none: as the launch says
  bool clusterMustBeSet = false;           // it runs in clusters, and its launch must say how large they are
  bool reachesOnlyParameters = false;  // of the program's memory, what addresses in its parameters lead to; false: not known
};

enum class VariableSpace : std::uint8_t { global = 0, constant = 1, managed = 2 };

struct VariableDescription {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t alignment = 1;
  VariableSpace space = VariableSpace::global;
};

struct ModuleDescription {
  std::vector<KernelDescription> kernels;
  std::vector<VariableDescription> variables;
};

}  // namespace rouse::memory
