#include <cstring>

#include "schemas/wire/slot_wait.h"
#include "server/executor/session.h"

namespace rouse::executor {
namespace {

// cudaDevAttrMaxSharedMemoryPerBlockOptin (CUDA Runtime API, cudaDeviceAttr)
constexpr std::size_t kMaxSharedOptinAttribute = 97;
constexpr std::uint64_t kLargestElement = 16;  // bytes that a thread loads at once

wire::DecodeStatus refuse(const std::string& field, std::uint64_t value, const std::string& limit) {
  return wire::Rejection{field + " = " + std::to_string(value) + ": " + limit};
}

template <class Shape>
std::string describe(const Shape& shape) {
  return std::to_string(shape.x) + "x" + std::to_string(shape.y) + "x" + std::to_string(shape.z);
}

}  // namespace

wire::DecodeStatus Session::on(const wire::ModuleBind& command, std::span<const std::uint64_t> addresses) {
  const auto installed = installed_.find(command.moduleId);
  if (installed == installed_.end())
    return refuse("ModuleBind.moduleId", command.moduleId, "no such module is loaded for this session");
  if (command.module.index >= kMaxModuleInstances)
    return refuse("ModuleBind.module.index", command.module.index,
                  "above the limit " + std::to_string(kMaxModuleInstances - 1));
  const memory::DeviceProperties& device = surroundings_.device.properties();
  const std::string field = "ModuleBind.variableAddresses";
  const std::string limit = device.placesVariables ? " variables that this device does not place itself" : " variables";
  // A device that places variables reaches the others in host memory only.
  const wire::Where where = device.placesVariables ? wire::Where::host : wire::Where::any;
  std::size_t given = 0;
  for (const memory::VariableDescription& variable : installed->second->description().variables) {
    if (device.places(variable)) continue;
    const std::size_t i = given++;
    if (i >= addresses.size()) continue;
    const std::string which = field + "[" + std::to_string(i) + "]";
    if (!isAligned(addresses[i], variable.alignment))
      return refuse(which, addresses[i], "not a multiple of " + std::to_string(variable.alignment));
    if (variable.bytes != 0 && !rangeMapped({addresses[i], variable.bytes}, wire::Access::write, where))
      return refuse(which, addresses[i], std::to_string(variable.bytes) + (where == wire::Where::host ? " bytes there are not mapped host memory" : " bytes there are not mapped"));
  }
  if (addresses.size() != given) return refuse(field, addresses.size(), "the module has " + std::to_string(given) + limit);
  start(Bind{command.module, command.moduleId, installed->second, {addresses.begin(), addresses.end()}});
  return {};
}

// Initial values are written at once, not on a stream: behind everything that may still use the memory.
bool Session::resume(Bind& command) {
  if (!presence_.here()) return false;
  if (fenced_) {
    if (!context_->idle()) return false;
    fenced_ = false;
  }
  Status prepared;
  if (!prepare(command, prepared)) return false;
  BoundModule bound{command.moduleId, command.image, nullptr};
  auto instance = prepared ? context_->instantiate(command.image, command.addresses) : prepared.error();
  if (instance)
    bound.instance = std::move(*instance);
  else
    latch_.latch(instance.error().code, instance.error().message);
  enterVariables(bound);
  modules_.insert(command.module, std::move(bound));
  return true;
}

// False: not yet. Who has asked for an instance may find that another session has taken it, and asks again.
bool Session::prepare(Bind& command, Status& prepared) {
  if (surroundings_.loader == nullptr) return true;
  if (command.preparation) {
    if (!command.preparation->done.load(std::memory_order_acquire)) return false;
    prepared = command.preparation->status;
    command.preparation.reset();
    if (!prepared) return true;
  }
  if (command.image->instanceReady()) return true;
  command.preparation = surroundings_.loader->prepare(command.image);
  return false;
}

void Session::on(const wire::ModuleUnbind& command) { start(Unbind{command.module}); }

bool Session::resume(Unbind& command) {
  if (!context_->idle()) return false;
  fenced_ = false;
  forgetVariables(modules_.take(command.module));
  return true;
}

void Session::enterVariables(const BoundModule& module) {
  if (!module.instance) return;
  const auto& variables = module.image->description().variables;
  for (std::uint32_t i = 0; i < variables.size(); ++i)
    if (surroundings_.device.properties().places(variables[i])) variableRanges_.insert({module.instance->variableAddress(i), variables[i].bytes});
}

void Session::forgetVariables(const BoundModule& module) {
  if (!module.instance) return;
  const auto& variables = module.image->description().variables;
  for (std::uint32_t i = 0; i < variables.size(); ++i)
    if (surroundings_.device.properties().places(variables[i])) variableRanges_.erase({module.instance->variableAddress(i), variables[i].bytes});
}

wire::DecodeStatus Session::on(const wire::VariableAddress& command) {
  const BoundModule& bound = modules_.at(command.module);
  const auto& variables = bound.image->description().variables;
  if (command.variable >= variables.size())
    return refuse("VariableAddress.variable", command.variable,
                  "the module has " + std::to_string(variables.size()) + " variables");
  wire::Slot& slot = segment_.slot(command.slot);
  slot.payload.store(bound.instance ? bound.instance->variableAddress(command.variable) : 0, std::memory_order_relaxed);
  wire::signal(slot, command.value, bound.instance ? CudaError::success : CudaError::invalidKernelImage);
  return {};
}

// A launch names what its parameters point to, wherever in them, and the variables of its module.
void Session::attend(memory::Stream& stream, const BoundModule& module, const memory::KernelDescription& kernel, std::span<const std::byte> parameters) {
  presence_.beginOperation();
  const bool exactly = presence_.arriving();
  const bool onDemand = surroundings_.device.properties().arrivesOnDemand;
  if (exactly && (!allObjectsKnown_ || !(onDemand || kernel.reachesOnlyParameters))) {
    presence_.useEverything(*context_, stream);
    return;
  }
  // Pointers lie at multiples of their size, but for packed structures.
  const std::size_t step = exactly ? 1 : sizeof(std::uint64_t);
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= parameters.size(); at += step) {
    std::uint64_t word;
    std::memcpy(&word, parameters.data() + at, sizeof word);
    if (!deviceWindow_.contains(word)) continue;
    attendAddress(stream, word);
    // An array's end is as good a parameter as its beginning, and some numbers elements from 1.
    if (exactly && !onDemand)
      for (const std::uint64_t near : {word - 1, word + kLargestElement})
        if (const AddressRange object = objects_.at(near); !object.empty()) presence_.use(*context_, stream, reachable(near, object));
  }
  const auto& variables = module.image->description().variables;
  for (std::uint32_t i = 0; i < variables.size(); ++i)
    presence_.use(*context_, stream, {module.instance->variableAddress(i), variables[i].bytes});
}

void Session::attendAddress(memory::Stream& stream, std::uint64_t address) {
  const AddressRange object = objects_.at(address);
  presence_.use(*context_, stream, object.empty() ? AddressRange{address, 1} : reachable(address, object));
}

// What may be used of an object by way of this address. Of addresses that the program has reserved, and maps memory at piece by piece, that is what is
// mapped around it without a gap; and since such a piece may hold all that the program has, its order of use is learnt by the granule.
AddressRange Session::reachable(std::uint64_t address, AddressRange object) const {
  const AddressRange granules = granulesOf(object);
  if (extents_.contains(granules.base, granules.bytes)) return object;
  const AddressRange mapped = extents_.around(address, granules);
  return presence_.arriving() && !mapped.empty() ? mapped : AddressRange{address, 1};
}

wire::DecodeStatus Session::on(const wire::Launch& command, std::span<const std::byte> parameters) {
  const BoundModule& bound = modules_.at(command.module);
  const auto& kernels = bound.image->description().kernels;
  if (command.function >= kernels.size()) [[unlikely]]
    return refuse("Launch.function", command.function, "the module has " + std::to_string(kernels.size()) + " kernels");
  const memory::KernelDescription& kernel = kernels[command.function];
  if (parameters.size() != kernel.parameterBytes) [[unlikely]]
    return refuse("Launch.parameters", parameters.size(),
                  kernel.name + " takes exactly " + std::to_string(kernel.parameterBytes) + " bytes");
  const ClusterShape cluster = ClusterShape::unpack(command.cluster);
  if (!cluster.valid()) [[unlikely]]
    return refuse("Launch.cluster", command.cluster, "at most " + std::to_string(kMostClusterBlocks) + " blocks, and none or all of the dimensions");
  ++launches_;
  if (surroundings_.discardLaunches) return {};

  // Limits that programs may well pass: reported as CUDA reports them.
  const std::uint32_t threads = command.block.x * command.block.y * command.block.z;
  if (threads > kernel.maxThreadsPerBlock) [[unlikely]] {
    latch_.latch(CudaError::launchOutOfResources, kernel.name + ": " + std::to_string(threads) +
                                                      " threads a block, the limit is " +
                                                      std::to_string(kernel.maxThreadsPerBlock));
    return {};
  }
  const auto& attributes = surroundings_.device.properties().attributes;
  const std::uint64_t shared = std::uint64_t{kernel.staticSharedBytes} + command.sharedBytes;
  if (attributes.size() > kMaxSharedOptinAttribute && attributes[kMaxSharedOptinAttribute] > 0 &&
      shared > static_cast<std::uint64_t>(attributes[kMaxSharedOptinAttribute])) [[unlikely]] {
    latch_.latch(CudaError::invalidValue, kernel.name + ": " + std::to_string(shared) +
                                              " bytes of shared memory, the limit is " +
                                              std::to_string(attributes[kMaxSharedOptinAttribute]));
    return {};
  }
  const ClusterShape& own = kernel.cluster.none() ? cluster : kernel.cluster;
  if ((!cluster.none() && cluster != own) || (own.none() && kernel.clusterMustBeSet) || !own.divides(command.grid.x, command.grid.y, command.grid.z)) [[unlikely]] {
    latch_.latch(CudaError::invalidClusterSize, kernel.name + ": a grid of " + describe(command.grid) + " blocks in clusters of " + describe(cluster) +
                                                    (kernel.cluster.none() ? "" : ", it is compiled for " + describe(own)));
    return {};
  }
  if (!bound.instance) [[unlikely]] {
    latch_.latch(CudaError::invalidKernelImage, kernel.name + ": its module could not be instantiated");
    return {};
  }
  memory::Stream& stream = streams_->forWork(command.stream, parameters.size());
  if (presence_.attentive()) [[unlikely]]
    attend(stream, bound, kernel, parameters);
  context_->launch(stream,
                   {.module = bound.instance.get(),
                    .function = command.function,
                    .grid = {command.grid.x, command.grid.y, command.grid.z},
                    .block = {command.block.x, command.block.y, command.block.z},
                    .sharedBytes = command.sharedBytes,
                    .cooperative = (command.flags & 1) != 0,
                    .cluster = cluster,
                    .parameters = parameters});
  return {};
}

}  // namespace rouse::executor
