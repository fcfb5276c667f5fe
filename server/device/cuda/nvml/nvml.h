// What NVML knows of a GPU and the CUDA driver does not. Found at run time; a node without it is none the worse: then
// all of this is unknown.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory/link.h"
#include "server/device/cuda/nvml/api.h"

namespace rouse::cuda::nvml {

// A path here is opened instead of libnvidia-ml.so.1: the double of test/nvml-double.
inline constexpr const char* kLibraryVariable = "ROUSE_LIBNVML";

class Nvml {
 public:
  // Null: there is no such library, it lacks what everything else needs, or it does not start. The library stays
  // loaded.
  static std::unique_ptr<Nvml> open();
  ~Nvml();
  Nvml(const Nvml&) = delete;

  // "580.65.06"; empty: unknown.
  std::string driverVersion() const;

  // Fills in PCIe, NUMA, the nearest processors and NVLinks of the GPU at this address ("0000:3b:00.0"), and counts the
  // direct links to each of link.peers. What the library does not say, or what cannot be true, stays as it is.
  void describe(const std::string& pciAddress, memory::LinkDescription& link) const;

 private:
  explicit Nvml(const Functions& functions) : functions_(functions) {}
  void describeNvlinks(Device device, memory::LinkDescription& link) const;

  Functions functions_;
};

// "0-15,32-47" of a set of bits, from the first word's lowest on; empty when none is set.
std::string bitRanges(const std::vector<unsigned long>& set);

}  // namespace rouse::cuda::nvml
