#include "test/cuda-double/library.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "server/fatbin/format.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;  // fatBinaryCtl.h of the toolkit
constexpr std::uint32_t kDefaultShared = 48 << 10;
// cuModuleGetGlobal promises no alignment; drivers give 256 bytes.
constexpr std::uint64_t kVariableAlignment = 256;

struct Wrapper {
  std::uint32_t magic, version;
  const void* data;
  const void* const* parts;  // of version 2: further fatbins, then a null pointer
};

std::size_t sizeOf(const void* code) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, code, sizeof magic);
  if (magic == fatbin::kMagic) {
    fatbin::ContainerHeader header{};
    std::memcpy(&header, code, sizeof header);
    return header.headerBytes + header.entryBytes;
  }
  if (std::memcmp(code, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr header{};
    std::memcpy(&header, code, sizeof header);
    return header.e_shoff + std::size_t{header.e_shentsize} * header.e_shnum;
  }
  return std::strlen(static_cast<const char*>(code));
}

std::vector<std::byte> bytesOf(const void* code) {
  const auto append = [](std::vector<std::byte>& all, const void* from) {
    const auto* begin = static_cast<const std::byte*>(from);
    all.insert(all.end(), begin, begin + sizeOf(from));
  };
  std::vector<std::byte> all;
  Wrapper wrapper{};
  std::memcpy(&wrapper.magic, code, sizeof wrapper.magic);
  if (wrapper.magic != kWrapperMagic) {
    append(all, code);
    return all;
  }
  std::memcpy(&wrapper, code, sizeof wrapper);
  append(all, wrapper.data);
  if (wrapper.version == 2)
    for (const void* const* part = wrapper.parts; *part != nullptr; ++part) append(all, *part);
  return all;
}

}  // namespace

const memory::ModuleDescription Library::kNothing;

CUresult Library::load(Gpu& gpu, const void* code, Context* owner, CUlibrary& handle, std::string* log) {
  auto image = gpu.device->load(bytesOf(code));
  if (!image) {
    note(image.error().message);
    if (log != nullptr) *log = image.error().message;
    const auto result = static_cast<CUresult>(image.error().code);
    if (owner != nullptr || result == CUDA_ERROR_NO_BINARY_FOR_GPU) return result;
    auto broken = std::make_shared<Library>();
    broken->gpu_ = &gpu;
    broken->failure_ = result;
    handle = state().libraries.add(std::move(broken));
    return CUDA_SUCCESS;
  }
  auto library = std::make_shared<Library>();
  library->gpu_ = &gpu;
  library->owner_ = owner;
  library->image_ = std::move(image).value();
  const auto& kernels = library->description().kernels;
  for (std::uint32_t index = 0; index < kernels.size(); ++index) {
    auto kernel = std::make_shared<Kernel>();
    kernel->library = library;
    kernel->index = index;
    kernel->description = &kernels[index];
    kernel->maxDynamicShared = kDefaultShared - std::min(kDefaultShared, kernels[index].staticSharedBytes);
    library->kernels_.push_back(state().kernels.add(std::move(kernel)));
  }
  handle = state().libraries.add(std::move(library));
  return CUDA_SUCCESS;
}

CUresult Library::unload(CUlibrary handle, bool module) {
  const auto library = state().libraries.find(handle, module ? "module" : "library");
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (library->isModule() != module) {
    return violation(CUDA_ERROR_INVALID_HANDLE, "unknown-handle",
                     module ? "a library, no module" : "a module, no library");
  }
  // What is queued holds the instance, but its variables' memory goes.
  bool busy = false;
  {
    std::lock_guard lock(library->mutex_);
    for (const auto& [context, instance] : library->instances_) busy |= instance.module.use_count() > 1;
  }
  if (busy) return violation(CUDA_ERROR_INVALID_VALUE, "in-use", "queued launches use the module");
  for (const CUkernel kernel : library->kernels_) state().kernels.remove(kernel, "kernel");
  state().libraries.remove(handle, "library");
  return CUDA_SUCCESS;
}

Library::~Library() {
  for (auto& [context, instance] : instances_) {
    instance.module.reset();
    if (instance.memory != 0) state().memory.freeForModule(instance.memory);
  }
}

Library::Instance* Library::instanceIn(Context& context) {
  if (const auto found = instances_.find(&context); found != instances_.end()) return &found->second;
  if (&context.gpu != gpu_) {
    note("a library that was loaded on another device: the double keeps them apart");
    return nullptr;
  }
  Instance instance;
  std::uint64_t bytes = 0;
  for (const auto& variable : description().variables) {
    bytes = roundUp(bytes, std::max<std::uint64_t>(variable.alignment, kVariableAlignment));
    instance.addresses.push_back(bytes);
    bytes += variable.bytes;
  }
  if (bytes != 0) {
    instance.memory = state().memory.allocateForModule(*gpu_, bytes);
    if (instance.memory == 0) {
      note("no memory for " + std::to_string(bytes) + " bytes of variables");
      return nullptr;
    }
    for (std::uint64_t& address : instance.addresses) address += instance.memory;
  }
  std::lock_guard lock(gpu_->deviceMutex);
  auto made = context.device->instantiate(image_, instance.addresses);
  if (!made) {
    note(made.error().message);
    return nullptr;
  }
  instance.module = std::move(made).value();
  return &instances_.emplace(&context, std::move(instance)).first->second;
}

std::shared_ptr<memory::ModuleInstance> Library::in(Context& context) {
  std::lock_guard lock(mutex_);
  Instance* instance = instanceIn(context);
  return instance != nullptr ? instance->module : nullptr;
}

CUresult Library::variable(Context& context, const char* name, bool managed, CUdeviceptr* address, size_t* bytes) {
  const auto& variables = description().variables;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name != name || (variables[i].space == memory::VariableSpace::managed) != managed) continue;
    std::lock_guard lock(mutex_);
    Instance* instance = instanceIn(context);
    if (instance == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    if (address != nullptr) *address = instance->addresses[i];
    if (bytes != nullptr) *bytes = variables[i].bytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

void Library::leave(Context& context) {
  std::lock_guard lock(mutex_);
  const auto found = instances_.find(&context);
  if (found == instances_.end()) return;
  found->second.module.reset();
  if (found->second.memory != 0) state().memory.freeForModule(found->second.memory);
  instances_.erase(found);
}

}  // namespace rouse::cuda_double
