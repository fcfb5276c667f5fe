#include "memory/topology.h"

#include <algorithm>

namespace rouse::memory {
namespace {

constexpr double kGiga = 1e9, kCopySeconds = 4e-6;
constexpr LinkKind kKinds[] = {
    {"pcie3x4", 3.0 * kGiga, kCopySeconds},   {"pcie3x8", 6.0 * kGiga, kCopySeconds},   {"pcie3x16", 12.0 * kGiga, kCopySeconds},
    {"pcie4x4", 6.5 * kGiga, kCopySeconds},   {"pcie4x8", 13.0 * kGiga, kCopySeconds},  {"pcie4x16", 26.0 * kGiga, kCopySeconds},
    {"pcie5x4", 13.85 * kGiga, kCopySeconds}, {"pcie5x8", 27.7 * kGiga, kCopySeconds},  {"pcie5x16", 55.4 * kGiga, kCopySeconds},
};

}  // namespace

std::span<const LinkKind> linkKinds() { return kKinds; }

const LinkKind* findLinkKind(std::string_view name) {
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const LinkKind& one) { return one.name == name; });
  return kind == std::end(kKinds) ? nullptr : kind;
}

Result<Topology> Topology::uniform(std::size_t gpus, std::string_view kind) {
  const LinkKind* known = findLinkKind(kind);
  if (known == nullptr) {
    std::string names;
    for (const LinkKind& one : kKinds) names += std::string(names.empty() ? "" : ", ") + one.name;
    return Error{CudaError::invalidValue, "link '" + std::string(kind) + "' is not known (known are: " + names + ")"};
  }
  if (gpus == 0 || gpus > kMaxGpus)
    return Error{CudaError::invalidValue, std::to_string(gpus) + " GPUs: there must be 1 to " + std::to_string(kMaxGpus)};
  Topology topology;
  topology.name_ = kind;
  for (std::size_t i = 0; i < gpus; ++i) {
    const std::string name = "gpu" + std::to_string(i);
    const LinkId in = topology.addLink(name + " in", known->bytesPerSecond, known->latencySeconds);
    const LinkId out = topology.addLink(name + " out", known->bytesPerSecond, known->latencySeconds);
    topology.gpus_.push_back({in, out, std::nullopt});
  }
  return topology;
}

LinkId Topology::addLink(std::string name, double bytesPerSecond, double latencySeconds) {
  links_.push_back({std::move(name), bytesPerSecond, latencySeconds});
  return static_cast<LinkId>(links_.size() - 1);
}

std::vector<LinkId> Topology::fromHost(std::size_t gpu) const {
  const Gpu& to = gpus_.at(gpu);
  if (!to.behind) return {to.in};
  return {switches_[*to.behind].in, to.in};
}

std::vector<LinkId> Topology::toHost(std::size_t gpu) const {
  const Gpu& from = gpus_.at(gpu);
  if (!from.behind) return {from.out};
  return {from.out, switches_[*from.behind].out};
}

std::vector<LinkId> Topology::betweenGpus(std::size_t from, std::size_t to) const {
  if (const Nvlink* direct = nvlink(from, to)) return {direct->link};
  if (shareSwitch(from, to)) return {gpus_[from].out, gpus_[to].in};
  std::vector<LinkId> path = toHost(from);
  for (const LinkId link : fromHost(to)) path.push_back(link);
  return path;
}

bool Topology::hasNvlink(std::size_t from, std::size_t to) const { return nvlink(from, to) != nullptr; }

double Topology::bytesPerSecond(std::span<const LinkId> path) const {
  double least = 0;
  for (const LinkId link : path)
    if (least == 0 || links_[link].bytesPerSecond < least) least = links_[link].bytesPerSecond;
  return least;
}

bool Topology::shareSwitch(std::size_t a, std::size_t b) const {
  return gpus_.at(a).behind && gpus_.at(a).behind == gpus_.at(b).behind;
}

const Topology::Nvlink* Topology::nvlink(std::size_t from, std::size_t to) const {
  const auto found = std::find_if(nvlinks_.begin(), nvlinks_.end(),
                                  [&](const Nvlink& one) { return one.from == from && one.to == to; });
  return found == nvlinks_.end() ? nullptr : &*found;
}

}  // namespace rouse::memory
