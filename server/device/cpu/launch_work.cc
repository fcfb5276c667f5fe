#include "server/device/cpu/launch_work.h"

#include <algorithm>

#include "server/device/cpu/properties.h"
#include "server/device/cpu/runtime/residency.h"
#include "server/device/cpu/runtime/shared_memory.h"

namespace rouse::cpu {
namespace {

// Beyond that a kernel's threads are fibers.
constexpr std::uint64_t kMostFrameBytes = std::uint64_t{16} << 20;
// A GPU holds more blocks than a processor of few cores says that it does, and programs with a fixed number of them that wait for one another count on that.
constexpr std::uint32_t kLeastMultiprocessors = 12;

class Share;

class LaunchWork final : public Work, public std::enable_shared_from_this<LaunchWork> {
 public:
  LaunchWork(GridOptions options, std::shared_ptr<const BoundModule> module, std::shared_ptr<StreamQueue> stream)
      : module_(std::move(module)),
        stream_(std::move(stream)),
        context_(stream_->sharedContext()),
        grid_(std::make_shared<Grid>(std::move(options))) {}

  const std::shared_ptr<Grid>& grid() const { return grid_; }
  bool shared() const override { return true; }
  int priority() const override { return stream_->priority(); }
  Turn run(Worker& worker) override;
  bool wants(const Worker& worker) const override;
  // Called by a worker after it ended blocks.
  void completeIfOver(Worker& worker);

 private:
  // Of checked code, which has failed otherwise than by an access that is known as invalid.
  void reportStopped(const Error& failure);

  const std::shared_ptr<const BoundModule> module_;
  const std::shared_ptr<StreamQueue> stream_;
  const std::shared_ptr<ContextState> context_;
  const std::shared_ptr<Grid> grid_;
};

// The blocks of a launch that one worker has begun.
class Share final : public Residue {
 public:
  Share(std::shared_ptr<LaunchWork> launch, Worker& worker)
      : launch_(std::move(launch)), residency_(worker.runner(), *launch_->grid(), worker.pool().size()) {}

  Turn run(Worker& worker) override {
    switch (residency_.run(worker.others())) {
      case Residency::Progress::more:
        return Turn::more;
      case Residency::Progress::spinning:
        return Turn::spinning;
      case Residency::Progress::done:
        break;
    }
    launch_->completeIfOver(worker);
    return Turn::done;
  }
  bool belongsTo(const LaunchWork& launch) const { return launch_.get() == &launch; }

 private:
  std::shared_ptr<LaunchWork> launch_;
  Residency residency_;
};

Work::Turn LaunchWork::run(Worker& worker) {
  if (!grid_->claimable()) {
    completeIfOver(worker);
    return Turn::taken;
  }
  auto share = std::make_unique<Share>(shared_from_this(), worker);
  if (share->run(worker) != Residue::Turn::done) worker.keep(std::move(share));
  return grid_->claimable() ? Turn::more : Turn::taken;
}

// A worker has one share at most; it goes on with that one by itself.
bool LaunchWork::wants(const Worker& worker) const {
  return !worker.holds([&](const Residue& residue) { return static_cast<const Share&>(residue).belongsTo(*this); });
}

void LaunchWork::completeIfOver(Worker& worker) {
  if (!grid_->takeCompletion()) return;
  context_->removeGrid(*grid_);
  if (const Error failure = grid_->failure(); failure.code != CudaError::success) {
    if (grid_->options().check != nullptr && grid_->stopped()) reportStopped(failure);
    context_->fault(failure.code, failure.message);
  }
  stream_->completed(worker);
}

void LaunchWork::reportStopped(const Error& failure) {
  if (context_->dead() != CudaError::success || !grid_->options().check->count()) return;
  context_->onOutput("========= A kernel has failed: " + failure.message + "\n=========\n", true);
}

std::string describe(const ClusterShape& shape) { return std::to_string(shape.x) + "x" + std::to_string(shape.y) + "x" + std::to_string(shape.z); }

// The clusters that it runs in; `cluster` none: it does not. False: it cannot, and has been reported.
bool findCluster(const LaunchOperation& operation, const memory::KernelDescription& kernel, ContextState& context, ClusterShape& cluster) {
  cluster = operation.cluster.none() ? kernel.cluster : operation.cluster;
  const bool isOther = !kernel.cluster.none() && cluster != kernel.cluster;
  if (!isOther && !(cluster.none() && kernel.clusterMustBeSet) && cluster.valid() && cluster.divides(operation.grid.x, operation.grid.y, operation.grid.z)) return true;
  context.fault(CudaError::invalidClusterSize, "kernel " + kernel.name + ": clusters of " + describe(cluster) + " blocks" + (isOther ? ", it is compiled for " + describe(kernel.cluster) : ""));
  return false;
}

bool check(const LaunchOperation& operation, const memory::KernelDescription& kernel, std::uint32_t staticShared,
           std::uint64_t resident, ContextState& context) {
  const auto refuse = [&](CudaError error, const std::string& what) {
    context.fault(error, "kernel " + kernel.name + ": " + what);
    return false;
  };
  const std::uint64_t threads = std::uint64_t{operation.block.x} * operation.block.y * operation.block.z;
  const std::uint64_t blocks = std::uint64_t{operation.grid.x} * operation.grid.y * operation.grid.z;
  const std::uint32_t most = std::min(kernel.maxThreadsPerBlock, kMaxThreadsPerBlock);
  if (threads == 0 || blocks == 0) return refuse(CudaError::invalidConfiguration, "empty grid or block");
  if (threads > most) {
    return refuse(CudaError::launchOutOfResources,
                  "block of " + std::to_string(threads) + " threads, limit " + std::to_string(most));
  }
  const std::uint64_t shared = std::uint64_t{staticShared} + operation.sharedBytes;
  if (shared > kMaxSharedBytes) {
    return refuse(CudaError::launchOutOfResources,
                  std::to_string(shared) + " bytes of shared memory, limit " + std::to_string(kMaxSharedBytes));
  }
  if (operation.parameters.size() != kernel.parameterBytes) {
    return refuse(CudaError::invalidValue, std::to_string(operation.parameters.size()) +
                                               " bytes of parameters, needs " + std::to_string(kernel.parameterBytes));
  }
  if (operation.cooperative && blocks > resident) {
    return refuse(CudaError::cooperativeLaunchTooLarge,
                  "cooperative grid of " + std::to_string(blocks) + " blocks, limit " + std::to_string(resident));
  }
  return true;
}

}  // namespace

bool startLaunch(const LaunchOperation& operation, const std::shared_ptr<StreamQueue>& stream) {
  ContextState& context = stream->context();
  const auto& kernels = operation.module->image->description().kernels;
  if (operation.function >= kernels.size()) {
    context.fault(CudaError::invalidDeviceFunction, "kernel " + std::to_string(operation.function) +
                                                        " of a module with " + std::to_string(kernels.size()));
    return false;
  }
  const memory::KernelDescription& kernel = kernels[operation.function];
  Program& program = operation.module->image->program();
  ClusterShape cluster;
  if (!findCluster(operation, kernel, context, cluster)) return false;
  // A cluster of one block, and one whose blocks know nothing of it, needs nothing.
  if (cluster.blocks() <= 1 || !program.usesClusters(operation.function)) cluster = {};
  if (!cluster.none() && operation.allowed != nullptr) {
    context.fault(CudaError::notSupported, "kernel " + kernel.name + ": clusters of several blocks, where accesses are checked");
    return false;
  }
  const auto code = operation.allowed != nullptr ? program.compile(operation.function, Code::checked)
                    : !cluster.none()            ? program.compile(operation.function, Code::clustered)
                                                 : program.compileFor(operation.function, operation.block);
  if (!code) {
    context.fault(code.error().code, "kernel " + kernel.name + ": " + code.error().message);
    return false;
  }
  const std::uint32_t threads = operation.block.x * operation.block.y * operation.block.z;
  const std::uint64_t resident =
      residentBlocks(multiprocessorsOf(context.pool.size()), threads, code->staticSharedBytes + operation.sharedBytes);
  if (!check(operation, kernel, code->staticSharedBytes, resident, context)) return false;

  GridOptions options;
  options.kernel = kernel.name;
  options.code = *code;
  // What all threads keep at barriers should stay in the caches.
  if (std::uint64_t{options.code.frameBytes} * threads > kMostFrameBytes) options.code.loop = nullptr;
  options.grid = operation.grid;
  options.block = operation.block;
  options.cluster = cluster;
  options.dynamicSharedBytes = operation.sharedBytes;
  options.stackLimitBytes = context.stackLimitBytes;
  options.gridId = context.nextGridId.fetch_add(1, std::memory_order_relaxed);
  options.cooperative = operation.cooperative;
  if (cluster.none()) options.firstSetsAlong = code->firstSetsAlong;
  // Cooperative ones ask how many there can be, and are refused beyond that.
  const std::uint32_t multiprocessors = operation.cooperative ? multiprocessorsOf(context.pool.size()) : std::max(context.pool.size(), kLeastMultiprocessors);
  options.residentBlocks = residentBlocks(multiprocessors, threads, code->staticSharedBytes + operation.sharedBytes);
  options.parameters = operation.parameters;
  options.variables = operation.module->addresses.data();
  options.heap = &context.heap;
  options.output = &context;
  if (operation.allowed != nullptr) {
    // The launch holds the module, and the stream the context, for longer than anybody asks.
    options.check = std::make_shared<LaunchCheck>(LaunchCheck{.allocations = operation.allowed,
                                                             .site = [image = operation.module->image](std::uint32_t site) { return image->program().site(site); },
                                                             .count = [&context] { return context.countInvalid(); }});
  }
  auto work = std::make_shared<LaunchWork>(std::move(options), operation.module, stream);
  context.addGrid(work->grid());
  const std::uint64_t useful = std::min<std::uint64_t>(work->grid()->blocks(), context.pool.size());
  context.pool.submit(work, static_cast<std::uint32_t>(useful - 1));
  return true;
}

}  // namespace rouse::cpu
