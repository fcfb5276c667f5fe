// A node, and the models that run on it: what the simulator knows of hardware. Read from TOML; those of nodes/ and models.toml are
// part of the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory/topology.h"
#include "sched/time.h"
#include "schemas/base/result.h"

namespace rouse::sim {

struct Model {
  std::string name;
  std::uint64_t parameterBytes = 0;  // what a swap moves
  std::uint64_t memoryBytes = 0;     // of a GPU
  sched::Duration native{}, run{}, hostSwap{}, peerSwap{}, cold{}, deadline{};
};

struct Models {
  std::vector<Model> models;
  double percentile = 0.98;
  sched::Duration lastGroups{};
  const Model* find(std::string_view name) const;
};

struct Node {
  std::string name;
  memory::Topology topology;
  std::uint64_t functionMemory = 0;  // bytes of each GPU
  unsigned nativeFunctions = 0;      // that a GPU can hold, natively
};

// Errors name file, line and key.
Result<Models> parseModels(std::string_view text, const std::string& file);
Result<Node> parseNode(std::string_view text, const std::string& file);

// parseModels() of a file.
Result<Models> readModels(const std::string& path);

// A name of those that are part of the program, or a file.
Result<Node> findNode(const std::string& nameOrFile);
std::vector<std::string> nodeNames();
const Models& torporModels();

// How long a swap that nothing disturbs is in transfer, and what is left of it then, so that it takes what was measured: after the last
// byte nothing but the last groups' kernels where kernels are what takes long, the rest of the time where the transfer is.
struct SwapShape {
  sched::Duration afterTransfer{};  // from the last byte to the end, at least
  sched::Duration overRun{};        // by which the run is longer for having waited for groups, at least
};
// Where only a part has to come, of what is used last: what neither transfer nor run accounts for goes with the bytes (assumption).
SwapShape hostShape(const Model& model, const Models& models, double bytesPerSecond, std::uint64_t bytes);
SwapShape peerShape(const Model& model, const Models& models);

}  // namespace rouse::sim
