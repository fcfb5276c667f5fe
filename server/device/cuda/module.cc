#include "server/device/cuda/module.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "server/device/cuda/driver/error.h"
#include "server/device/cuda/module_ties.h"
#include "server/device/cuda/printing_kernels.h"
#include "server/device/cuda/variable_names.h"
#include "server/fatbin/fatbin.h"

namespace rouse::cuda {
namespace {

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
  gpu_->makeCurrent();
  gpu_->driver().cuLibraryUnload(library_);
  library_ = nullptr;
}

Result<memory::ModuleDescription> LoadedLibrary::describe(std::span<const std::string> names) {
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
    description.kernels.push_back(std::move(made));
  }
  for (const std::string& name : names) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    if (driver.cuLibraryGetManaged(&address, &bytes, library_, name.c_str()) == CUDA_SUCCESS)
      return Error{CudaError::notSupported, "managed variable " + name +
                                                ": the driver places it where the program's own process cannot use it; "
                                                "use cudaMallocManaged, or __device__ and copies"};
    if (driver.cuLibraryGetGlobal(&address, &bytes, library_, name.c_str()) != CUDA_SUCCESS) continue;
    memory::VariableDescription made;
    made.name = name;
    made.bytes = bytes;
    // What it happens to have: nobody else places it.
    made.alignment = 1u << std::min(std::countr_zero(address), 8);
    description.variables.push_back(std::move(made));
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
  }
  for (const memory::VariableDescription& wanted : description.variables) {
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

// --- Images

Result<std::shared_ptr<memory::Image>> CudaImage::load(std::shared_ptr<Gpu> gpu, std::span<const std::byte> module,
                                                       std::uint32_t capability) {
  auto images = imagesFor(module, capability);
  if (!images) return std::move(images).error();
  const std::vector<NamedVariable> names = variableNames(*images);
  // The driver finds the end of PTX by its NUL.
  auto image = std::make_shared<CudaImage>();
  image->gpu_ = gpu;
  image->module_.assign(reinterpret_cast<const char*>(module.data()), module.size());
  auto library = LoadedLibrary::load(gpu, image->module_);
  if (!library) return std::move(library).error();
  std::vector<std::string> all;
  for (const NamedVariable& variable : names) all.push_back(variable.name);
  auto description = (*library)->describe(all);
  if (!description) return std::move(description).error();
  for (memory::VariableDescription& variable : description->variables) {
    const auto named = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.name == variable.name; });
    if (named->constant) variable.space = memory::VariableSpace::constant;
  }
  const PrintingKernels printing = printingKernels(*images);
  for (const memory::KernelDescription& kernel : description->kernels)
    image->prints_.push_back(printing.prints(kernel.name));
  image->ties_ = moduleTies(*images);
  image->description_ = std::move(*description);
  image->shared_ = std::move(*library);
  if (Status status = image->shared_->bind(image->description_); !status) return status.error();
  if (image->description_.variables.empty()) std::string().swap(image->module_);
  return std::shared_ptr<memory::Image>(std::move(image));
}

Result<std::shared_ptr<LoadedLibrary>> CudaImage::instance() {
  if (description_.variables.empty()) return shared_;
  if (shared_) return std::exchange(shared_, nullptr);
  auto library = LoadedLibrary::load(gpu_, module_);
  if (!library) return std::move(library).error();
  if (Status status = (*library)->bind(description_); !status) return status.error();
  return std::shared_ptr<LoadedLibrary>(std::move(*library));
}

Status CudaInstance::allowShared(std::uint32_t function, std::uint32_t dynamicBytes) {
  const std::uint32_t bytes = kernel(function).staticSharedBytes + dynamicBytes;
  if (bytes <= allowed_[function]) return {};
  const Status status = gpu_->status(
      gpu_->driver().cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          static_cast<int>(dynamicBytes), library_->kernel(function), gpu_->device()),
      "cuKernelSetAttribute", kernel(function).name);
  if (status) allowed_[function] = bytes;
  return status;
}

}  // namespace rouse::cuda
