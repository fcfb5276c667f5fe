// Modules: the driver takes fatbins as they are and says what is in them, but for the names of variables
// (variable_names.h). Of modules with managed variables it gets the PTX, changed (managed_variables.h).
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "server/device/cuda/gpu.h"
#include "server/device/cuda/managed_variables.h"

namespace rouse::cuda {

// Loaded code, the handles of its kernels and the places of its variables, in a description's order.
class LoadedLibrary {
 public:
  // `error` says what the driver's compiler said. Any thread.
  static Result<std::unique_ptr<LoadedLibrary>> load(std::shared_ptr<Gpu> gpu, const std::string& module);
  ~LoadedLibrary();
  LoadedLibrary(const LoadedLibrary&) = delete;

  // Of all kernels, of those `names` that are variables, and of all of `managed`. Any thread.
  Result<memory::ModuleDescription> describe(std::span<const std::string> names, std::span<const ManagedVariable> managed);
  // Finds everything that the description names but the managed variables, which have no places yet. Any thread.
  Status bind(const memory::ModuleDescription& description);
  // Gives the managed variables these addresses (one each; host memory that the GPU sees there) and their initial values. They are the description's
  // last ones. One thread.
  Status place(const memory::ModuleDescription& description, std::span<const ManagedVariable> managed, std::span<const std::uint64_t> addresses);

  CUkernel kernel(std::uint32_t index) const { return kernels_[index]; }
  std::uint64_t variable(std::uint32_t index) const { return variables_[index]; }
  // Dynamic shared memory beyond what every kernel may have has to be asked for. What was asked for stays, whoever asks for less: the kernel is
  // all instances' that share this. Locked.
  Status allowShared(std::uint32_t index, const memory::KernelDescription& kernel, std::uint32_t dynamicBytes);
  // The same of clusters that are larger than every GPU runs.
  Status allowCluster(std::uint32_t index, const memory::KernelDescription& kernel, const ClusterShape& cluster);

 private:
  explicit LoadedLibrary(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  void unload();

  std::shared_ptr<Gpu> gpu_;
  CUlibrary library_ = nullptr;
  std::vector<CUkernel> kernels_;
  std::vector<bool> largeClusters_;    // that may be larger than every GPU runs
  std::vector<std::uint32_t> shared_;  // that each may have, static and dynamic bytes together
  std::vector<std::uint64_t> variables_;
};

class CudaImage final : public memory::Image {
 public:
  // Any thread; slow where the driver has to compile PTX.
  static Result<std::shared_ptr<memory::Image>> load(std::shared_ptr<Gpu> gpu, std::span<const std::byte> module,
                                                     std::uint32_t capability);

  const memory::ModuleDescription& description() const override { return description_; }
  std::string ties() const override { return ties_; }
  // The kernel may print.
  bool prints(std::uint32_t function) const { return prints_[function]; }
  // Code is shared; variables are a function's own, so a module that has any is loaded for each instance: load() does so for the first,
  // prepareInstance() for each that follows.
  bool instanceReady() const override;
  Status prepareInstance() override;
  // Loads it where none is ready. `addresses`: of the managed variables. Executor's thread.
  Result<std::shared_ptr<LoadedLibrary>> instance(std::span<const std::uint64_t> addresses);

 private:
  Result<std::shared_ptr<LoadedLibrary>> loadInstance() const;

  std::shared_ptr<Gpu> gpu_;
  memory::ModuleDescription description_;
  std::vector<ManagedVariable> managed_;
  std::vector<bool> prints_;
  std::string ties_;
  std::string module_;  // kept while it may be loaded again
  std::shared_ptr<LoadedLibrary> shared_;  // null: it has variables
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<LoadedLibrary>> ready_;  // for instances to come
};

class CudaInstance final : public memory::ModuleInstance {
 public:
  CudaInstance(std::shared_ptr<CudaImage> image, std::shared_ptr<LoadedLibrary> library) : image_(std::move(image)), library_(std::move(library)) {}

  std::uint64_t variableAddress(std::uint32_t variable) const override { return library_->variable(variable); }

  const memory::KernelDescription& kernel(std::uint32_t function) const {
    return image_->description().kernels[function];
  }
  bool prints(std::uint32_t function) const { return image_->prints(function); }
  CUfunction function(std::uint32_t function) const { return reinterpret_cast<CUfunction>(library_->kernel(function)); }
  // As LoadedLibrary has it.
  Status allowShared(std::uint32_t function, std::uint32_t dynamicBytes) { return library_->allowShared(function, kernel(function), dynamicBytes); }
  Status allowCluster(std::uint32_t function, const ClusterShape& cluster) { return library_->allowCluster(function, kernel(function), cluster); }

 private:
  std::shared_ptr<CudaImage> image_;
  std::shared_ptr<LoadedLibrary> library_;
};

}  // namespace rouse::cuda
