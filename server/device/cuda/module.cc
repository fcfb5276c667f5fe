#include "server/device/cuda/module.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "server/device/cuda/driver/error.h"
#include "server/device/cuda/managed_variables.h"
#include "server/device/cuda/module_ties.h"
#include "server/device/cuda/own_stream.h"
#include "server/device/cuda/parameter_kernels.h"
#include "server/device/cuda/printing_kernels.h"
#include "server/device/cuda/ptx_version.h"
#include "server/device/cuda/variable_names.h"
#include "server/fatbin/fatbin.h"

namespace rouse::cuda {
namespace {

constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 20;
// Of shared memory, what a kernel may have without asking (CUDA Programming Guide, "Shared Memory" of the compute capabilities).
constexpr std::uint32_t kDefaultShared = 48 << 10;

std::uint32_t attributeOf(const Driver& driver, CUfunction_attribute attribute, CUkernel kernel, CUdevice device) {
  int value = 0;
  return driver.cuKernelGetAttribute(&value, attribute, kernel, device) == CUDA_SUCCESS && value > 0
             ? static_cast<std::uint32_t>(value)
             : 0;
}

// From any thread: a module that cannot be loaded is nobody's fault but its own, a GPU that is lost is known soon
// enough.
Status loadStatus(const Driver& driver, CUresult result, std::string_view call, std::string_view what = {}) {
  return check(driver, result, call, what);
}

}  // namespace

// --- Libraries

namespace {

// What nvcc hands to the runtime for a program that was compiled in parts, and the runtime to the driver (fatbinary_section.h): the linked
// code, and each part, which the driver links again for a GPU that the linked code is not for.
class LinkedParts {
 public:
  explicit LinkedParts(const std::vector<std::span<const std::byte>>& containers) {
    for (std::size_t i = 1; i < containers.size(); ++i) parts_.push_back(containers[i].data());
    parts_.push_back(nullptr);
    wrapper_.data = containers[0].data();
    wrapper_.parts = parts_.data();
  }
  LinkedParts(const LinkedParts&) = delete;
  LinkedParts& operator=(const LinkedParts&) = delete;
  const void* wrapper() const { return &wrapper_; }

 private:
  struct {
    std::int32_t magic = 0x466243b1, version = 2;
    const void* data = nullptr;
    const void* parts = nullptr;
  } wrapper_;
  std::vector<const void*> parts_;
};

}  // namespace

Result<std::unique_ptr<LoadedLibrary>> LoadedLibrary::load(std::shared_ptr<Gpu> gpu, const std::string& module) {
  gpu->makeCurrent();
  const Driver& driver = gpu->driver();
  std::array<char, 8192> log{};
  std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values{log.data(), nullptr};
  std::unique_ptr<LoadedLibrary> library(new LoadedLibrary(std::move(gpu)));
  const auto given = [&](const void* code) {
    log.fill(0);
    values[1] = reinterpret_cast<void*>(log.size());  // NOLINT(performance-no-int-to-ptr): the driver writes there how much of it it has filled
    const CUresult result =
        driver.cuLibraryLoadData(&library->library_, code, options.data(), values.data(), options.size(), nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) library->library_ = nullptr;
    return result;
  };
  // Code that cannot be compiled, or is none, is taken all the same, and the library has no kernels then (driver 580, with eager loading too);
  // asking for its module tells.
  const auto taken = [&](const void* code) {
    const CUresult result = given(code);
    CUmodule ignored = nullptr;
    return result != CUDA_SUCCESS ? result : driver.cuLibraryGetModule(&ignored, library->library_);
  };
  CUresult result = taken(module.data());
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
    const auto parts = fatbin::containers(std::as_bytes(std::span(module)));
    if (parts.ok() && parts->size() > 1) {
      library->unload();
      result = taken(LinkedParts(*parts).wrapper());
    }
  }
  if (result != CUDA_SUCCESS)
    return loadStatus(driver, result, "cuLibraryLoadData", std::string(log.data(), ::strnlen(log.data(), log.size()))).error();
  return library;
}

LoadedLibrary::~LoadedLibrary() { unload(); }

void LoadedLibrary::unload() {
  if (library_ == nullptr) return;
  gpu_->disposal.begin([&driver = gpu_->driver(), library = library_]() -> Status {
    driver.cuLibraryUnload(library);
    return {};
  });
  library_ = nullptr;
}

Result<memory::ModuleDescription> LoadedLibrary::describe(std::span<const std::string> names,
                                                          std::span<const ManagedVariable> managed) {
  const Driver& driver = gpu_->driver();
  memory::ModuleDescription description;
  unsigned count = 0;
  Status status = loadStatus(driver, driver.cuLibraryGetKernelCount(&count, library_), "cuLibraryGetKernelCount");
  if (!status) return status.error();
  std::vector<CUkernel> kernels(count);
  if (count != 0)
    status = loadStatus(driver, driver.cuLibraryEnumerateKernels(kernels.data(), count, library_),
                        "cuLibraryEnumerateKernels");
  if (!status) return status.error();
  for (const CUkernel kernel : kernels) {
    memory::KernelDescription made;
    const char* name = nullptr;
    if (status = loadStatus(driver, driver.cuKernelGetName(&name, kernel), "cuKernelGetName"); !status)
      return status.error();
    made.name = name;
    std::size_t offset = 0, bytes = 0;
    for (std::size_t i = 0; driver.cuKernelGetParamInfo(kernel, i, &offset, &bytes) == CUDA_SUCCESS; ++i) {
      made.parameters.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes)});
      made.parameterBytes = std::max(made.parameterBytes, static_cast<std::uint32_t>(offset + bytes));
    }
    const auto attribute = [&](CUfunction_attribute which) {
      return attributeOf(driver, which, kernel, gpu_->device());
    };
    made.staticSharedBytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    made.localBytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    made.constantBytes = attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    made.maxThreadsPerBlock = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    made.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
    made.ptxVersion = attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
    made.binaryVersion = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    made.cluster = {attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT), attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)};
    if (!made.cluster.valid()) return Error{CudaError::notSupported, made.name + ": clusters of more than " + std::to_string(kMostClusterBlocks) + " blocks"};
    made.clusterMustBeSet = made.cluster.none() && attribute(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) != 0;
    description.kernels.push_back(std::move(made));
  }
  const auto found = [&](const std::string& name, const std::string& called, memory::VariableSpace space) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    const CUresult result = driver.cuLibraryGetGlobal(&address, &bytes, library_, name.c_str());
    if (result != CUDA_SUCCESS) return result;
    // Its alignment is what it happens to have: nobody else places it, and managed ones get more (client-shim/core/host_heap.h).
    description.variables.push_back({called, bytes, 1u << std::min(std::countr_zero(address), 8), space});
    return result;
  };
  for (const std::string& name : names) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    if (driver.cuLibraryGetManaged(&address, &bytes, library_, name.c_str()) == CUDA_SUCCESS)
      return Error{CudaError::notSupported, "managed variable " + name +
                                                ": machine code reaches it only where the driver places it, which is where the program's "
                                                "own process cannot use it; let nvcc add PTX (-arch=sm_80, say, does), use cudaMallocManaged, or "
                                                "__device__ and copies"};
    (void)found(name, name, memory::VariableSpace::global);
  }
  for (const ManagedVariable& variable : managed) {
    status = loadStatus(driver, found(managedValue(variable.name), variable.name, memory::VariableSpace::managed), "cuLibraryGetGlobal", variable.name);
    if (!status) return status.error();
    if (variable.zeros != 0) description.variables.back().bytes = variable.zeros;
  }
  return description;
}

Status LoadedLibrary::bind(const memory::ModuleDescription& description) {
  const Driver& driver = gpu_->driver();
  gpu_->makeCurrent();
  for (const memory::KernelDescription& wanted : description.kernels) {
    CUkernel kernel = nullptr;
    if (Status status = loadStatus(driver, driver.cuLibraryGetKernel(&kernel, library_, wanted.name.c_str()),
                                   "cuLibraryGetKernel", wanted.name);
        !status)
      return status;
    CUfunction function = nullptr;
    Status loaded = loadStatus(driver, driver.cuKernelGetFunction(&function, kernel), "cuKernelGetFunction", wanted.name);
    if (loaded) loaded = loadStatus(driver, driver.cuFuncLoad(function), "cuFuncLoad", wanted.name);
    if (!loaded) return loaded;
    kernels_.push_back(kernel);
    shared_.push_back(kDefaultShared);
    largeClusters_.push_back(false);
  }
  for (const memory::VariableDescription& wanted : description.variables) {
    if (wanted.space == memory::VariableSpace::managed) continue;
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    if (Status status = loadStatus(driver, driver.cuLibraryGetGlobal(&address, &bytes, library_, wanted.name.c_str()),
                                   "cuLibraryGetGlobal", wanted.name);
        !status)
      return status;
    variables_.push_back(address);
  }
  return {};
}

Status LoadedLibrary::allowShared(std::uint32_t index, const memory::KernelDescription& kernel, std::uint32_t dynamicBytes) {
  const std::uint32_t bytes = kernel.staticSharedBytes + dynamicBytes;
  if (bytes <= shared_[index]) return {};
  const Status status = gpu_->status(gpu_->driver().cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(dynamicBytes),
                                                                         kernels_[index], gpu_->device()),
                                     "cuKernelSetAttribute", kernel.name);
  if (status) shared_[index] = bytes;
  return status;
}

Status LoadedLibrary::allowCluster(std::uint32_t index, const memory::KernelDescription& kernel, const ClusterShape& cluster) {
  if (cluster.blocks() <= kPortableClusterBlocks && kernel.cluster.blocks() <= kPortableClusterBlocks) return {};
  if (largeClusters_[index]) return {};
  const Status status = gpu_->status(gpu_->driver().cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernels_[index], gpu_->device()),
                                     "cuKernelSetAttribute", kernel.name);
  if (status) largeClusters_[index] = true;
  return status;
}

Status LoadedLibrary::place(const memory::ModuleDescription& description, std::span<const ManagedVariable> managed,
                            std::span<const std::uint64_t> addresses) {
  if (managed.size() != addresses.size())
    return Error{CudaError::invalidValue, std::to_string(addresses.size()) + " addresses for " + std::to_string(managed.size()) + " managed variables"};
  if (addresses.empty()) return {};
  const Driver& driver = gpu_->driver();
  gpu_->makeCurrent();
  const OwnStream stream(driver);
  if (Status status = loadStatus(driver, stream.created(), "cuStreamCreateWithPriority"); !status) return status;
  const auto global = [&](const std::string& name, CUdeviceptr* address) {
    std::size_t bytes = 0;
    return loadStatus(driver, driver.cuLibraryGetGlobal(address, &bytes, library_, name.c_str()), "cuLibraryGetGlobal", name);
  };
  const auto copied = [&](CUresult result, const char* call, std::string_view what) {
    if (Status status = loadStatus(driver, result, call, what); !status) return status;
    return loadStatus(driver, driver.cuStreamSynchronize(stream.get()), "cuStreamSynchronize", what);
  };
  CUdeviceptr there = 0;
  // Ours, since the program's memory may be pinned in pieces that a copy of the driver's must not pass.
  std::vector<std::byte> part;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::uint64_t bytes = description.variables[variables_.size()].bytes;
    auto* const here = reinterpret_cast<std::byte*>(addresses[i]);  // NOLINT(performance-no-int-to-ptr): the window's addresses are the program's
    variables_.push_back(addresses[i]);
    if (managed[i].zeros != 0) {
      std::memset(here, 0, bytes);
      continue;
    }
    if (Status status = global(managedValue(managed[i].name), &there); !status) return status;
    for (std::uint64_t at = 0; at < bytes; at += part.size()) {
      part.resize(std::min<std::uint64_t>(bytes - at, kPartBytes));
      if (Status status = copied(driver.cuMemcpyDtoHAsync(part.data(), there + at, part.size(), stream.get()), "cuMemcpyDtoHAsync", managed[i].name); !status) return status;
      std::memcpy(here + at, part.data(), part.size());
    }
  }
  if (Status status = global(std::string(kManagedPlaces), &there); !status) return status;
  return copied(driver.cuMemcpyHtoDAsync(there, addresses.data(), addresses.size_bytes(), stream.get()), "cuMemcpyHtoDAsync", kManagedPlaces);
}

// --- Images

namespace {

// The module's PTX, changed, where it has managed variables. Without PTX the driver is asked for them (describe()).
Result<ManagedText> managedOf(std::span<const std::byte> module, std::span<const ModuleImage> images, std::uint32_t capability) {
  const auto has = [](const ModuleImage& image) { return image.ptx && image.content.find(".managed") != std::string::npos; };
  if (std::none_of(images.begin(), images.end(), has)) return ManagedText{};
  auto text = fatbin::selectPtx(module, capability);
  if (!text) return ManagedText{};
  const std::size_t begin = text->find(".version");
  if (begin != std::string::npos && text->find(".version", begin + 1) != std::string::npos)
    return Error{CudaError::notSupported,
                 "managed variables of a program that was compiled in parts (nvcc -rdc=true) cannot be used on a GPU; use cudaMallocManaged, or "
                 "__device__ and copies"};
  return reachManagedThroughTable(*text);
}

}  // namespace

Result<std::shared_ptr<memory::Image>> CudaImage::load(std::shared_ptr<Gpu> gpu, std::span<const std::byte> module,
                                                       std::uint32_t capability) {
  auto images = imagesFor(module, capability);
  if (!images) return std::move(images).error();
  auto managed = managedOf(module, *images, capability);
  if (!managed) return std::move(managed).error();
  std::string lowered;  // what version its PTX was of
  // The driver finds the end of PTX by its NUL.
  auto image = std::make_shared<CudaImage>();
  image->gpu_ = gpu;
  if (managed->variables.empty()) {
    image->module_.assign(reinterpret_cast<const char*>(module.data()), module.size());
  } else {
    int driverVersion = 0;
    (void)gpu->driver().cuDriverGetVersion(&driverVersion);
    lowered = lowerPtxVersion(managed->ptx, driverVersion);
    image->module_ = managed->ptx;
    *images = {{true, std::move(managed->ptx)}};
  }
  std::vector<NamedVariable> names = variableNames(*images);
  if (!managed->variables.empty()) std::erase_if(names, [](const NamedVariable& variable) { return isOfManaged(variable.name); });
  auto library = LoadedLibrary::load(gpu, image->module_);
  if (!library && !lowered.empty()) {
    Error error = library.error();
    error.message += "; with __managed__ variables only its PTX can be used, which is " + lowered + ", later than what the driver of " + gpu->name() +
                     " compiles; compile for an older toolkit, or install a newer driver";
    return error;
  }
  if (!library) return std::move(library).error();
  std::vector<std::string> all;
  for (const NamedVariable& variable : names) all.push_back(variable.name);
  auto description = (*library)->describe(all, managed->variables);
  if (!description) return std::move(description).error();
  for (memory::VariableDescription& variable : description->variables) {
    if (variable.space == memory::VariableSpace::managed) continue;
    const auto named = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.name == variable.name; });
    if (named->constant) variable.space = memory::VariableSpace::constant;
  }
  const ParameterKernels contained = parameterKernels(module, capability);
  for (memory::KernelDescription& kernel : description->kernels) kernel.reachesOnlyParameters = contained.contains(kernel.name, kernel.ptxVersion);
  const PrintingKernels printing = printingKernels(*images);
  for (const memory::KernelDescription& kernel : description->kernels)
    image->prints_.push_back(printing.prints(kernel.name));
  image->ties_ = moduleTies(*images);
  image->description_ = std::move(*description);
  image->managed_ = std::move(managed->variables);
  if (Status status = (*library)->bind(image->description_); !status) return status.error();
  if (image->description_.variables.empty()) {
    image->shared_ = std::move(*library);
    std::string().swap(image->module_);
  } else {
    image->ready_.push_back(std::move(*library));
  }
  return std::shared_ptr<memory::Image>(std::move(image));
}

Result<std::shared_ptr<LoadedLibrary>> CudaImage::loadInstance() const {
  auto library = LoadedLibrary::load(gpu_, module_);
  if (!library) return std::move(library).error();
  if (Status status = (*library)->bind(description_); !status) return status.error();
  return std::shared_ptr<LoadedLibrary>(std::move(*library));
}

bool CudaImage::instanceReady() const {
  const std::lock_guard lock(mutex_);
  return shared_ || !ready_.empty();
}

Status CudaImage::prepareInstance() {
  if (shared_) return {};
  auto library = loadInstance();
  if (!library) return library.error();
  const std::lock_guard lock(mutex_);
  ready_.push_back(std::move(*library));
  return {};
}

Result<std::shared_ptr<LoadedLibrary>> CudaImage::instance(std::span<const std::uint64_t> addresses) {
  std::shared_ptr<LoadedLibrary> library = shared_;
  if (const std::lock_guard lock(mutex_); !ready_.empty()) {
    library = std::move(ready_.back());
    ready_.pop_back();
  }
  if (!library) {
    auto loaded = loadInstance();
    if (!loaded) return std::move(loaded).error();
    library = std::move(*loaded);
  }
  if (managed_.empty() && addresses.empty()) return library;
  if (Status status = library->place(description_, managed_, addresses); !status) return status.error();
  return library;
}

}  // namespace rouse::cuda
