// CUDA Runtime API, "Library Management": modules that a program loads from memory or from a file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "client-shim/cudart/code_image.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

constexpr off_t kMaxFileBytes = off_t{1} << 32;

cudaError_t findLibrary(cudaLibrary_t handle, CodeModule** library) {
  *library = ModuleRegistry::get().findModule(handle);
  return *library != nullptr ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

// Where a compiler's errors go (cudaJitErrorLogBuffer).
struct ErrorLog {
  char* buffer = nullptr;
  std::size_t bytes = 0;
  void** written = nullptr;  // the value, not what it points to, becomes how many bytes were, without the null: as an H100's driver 580 says it

  // As much of it as there is room for, and a null at its end.
  void write(std::string_view text) const {
    if (buffer == nullptr || bytes == 0) return;
    const std::size_t length = std::min(text.size(), bytes - 1);
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
    if (written != nullptr) *written = reinterpret_cast<void*>(length);  // NOLINT(performance-no-int-to-ptr)
  }
};

// What a compiler of the driver would be told. Code generation is the server's affair, so those about it are without
// effect; its log of errors has the server's words, that of what it does stays empty; anything unknown is refused.
cudaError_t readJitOptions(const cudaJitOption* options, void** values, unsigned count, ErrorLog* log) {
  if (count > 0 && (options == nullptr || values == nullptr)) return cudaErrorInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    switch (options[i]) {
      case cudaJitInfoLogBuffer:
        break;
      case cudaJitErrorLogBuffer:
        log->buffer = static_cast<char*>(values[i]);
        break;
      case cudaJitErrorLogBufferSizeBytes:
        // In: the size of the buffer, 32 bits of it. Out: what was written to it.
        log->bytes = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(values[i]));
        log->written = &values[i];
        values[i] = nullptr;
        break;
      case cudaJitInfoLogBufferSizeBytes:
        values[i] = nullptr;
        break;
      case cudaJitWallTime:
        std::memset(&values[i], 0, sizeof(values[i]));
        break;
      case cudaJitMaxRegisters:
      case cudaJitThreadsPerBlock:
      case cudaJitOptimizationLevel:
      case cudaJitFallbackStrategy:
      case cudaJitGenerateDebugInfo:
      case cudaJitLogVerbose:
      case cudaJitGenerateLineInfo:
      case cudaJitCacheMode:
      case cudaJitPositionIndependentCode:
      case cudaJitMinCtaPerSm:
      case cudaJitMaxThreadsPerBlock:
      case cudaJitOverrideDirectiveValues:
        break;
      default:
        return cudaErrorInvalidValue;
    }
  }
  return cudaSuccess;
}

cudaError_t readLibraryOptions(const cudaLibraryOption* options, unsigned count) {
  if (count > 0 && options == nullptr) return cudaErrorInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    // The code is always copied; that the program keeps it, too, does no harm.
    if (options[i] == cudaLibraryBinaryIsPreserved) continue;
    return options[i] == cudaLibraryHostUniversalFunctionAndDataTable ? cudaErrorNotSupported : cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

// Loads at once on the current device, so that what is wrong with the code is known here.
cudaError_t addLibrary(cudaLibrary_t* handle, std::vector<std::byte> image, const ErrorLog& log) {
  CodeModule* library = ModuleRegistry::get().add(std::make_unique<CodeModule>(std::move(image)));
  client::Module* loaded = nullptr;
  std::string why;
  if (const cudaError_t error = library->load(currentDevice(), &loaded, &why); error != cudaSuccess) {
    ModuleRegistry::get().remove(library);
    if (!why.empty()) log.write(why);
    return error;
  }
  *handle = reinterpret_cast<cudaLibrary_t>(library);
  return cudaSuccess;
}

cudaError_t readFile(const char* path, std::vector<std::byte>* content) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cudaErrorFileNotFound;
  cudaError_t error = cudaSuccess;
  struct stat status{};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    error = cudaErrorFileNotFound;
  } else if (status.st_size == 0 || status.st_size > kMaxFileBytes) {
    error = cudaErrorInvalidKernelImage;
  } else {
    content->resize(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < content->size()) {
      const ssize_t got = ::read(fd, content->data() + done, content->size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    if (done != content->size()) error = cudaErrorOperatingSystem;
  }
  ::close(fd);
  return error;
}

cudaError_t findVariable(cudaLibrary_t handle, const char* name, bool managed, void** address, std::size_t* bytes) {
  CodeModule* library = nullptr;
  client::Module* loaded = nullptr;
  if (const cudaError_t error = findLibrary(handle, &library); error != cudaSuccess) return error;
  if (const cudaError_t error = library->load(currentDevice(), &loaded); error != cudaSuccess) return error;
  const client::Variable* variable = loaded->findVariable(name);
  if (variable == nullptr || (variable->space == client::VariableSpace::managed) != managed)
    return cudaErrorSymbolNotFound;
  if (address != nullptr) *address = reinterpret_cast<void*>(variable->address);  // NOLINT(performance-no-int-to-ptr)
  if (bytes != nullptr) *bytes = variable->bytes;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* jitOptions,
                                void** jitOptionsValues, unsigned int numJitOptions, cudaLibraryOption* libraryOptions,
                                void**, unsigned int numLibraryOptions) {
  ErrorLog log;
  if (const cudaError_t error = readJitOptions(jitOptions, jitOptionsValues, numJitOptions, &log); error != cudaSuccess)
    return error;
  if (const cudaError_t error = readLibraryOptions(libraryOptions, numLibraryOptions); error != cudaSuccess)
    return error;
  std::vector<std::byte> joined;
  std::span<const std::byte> image;
  int magic = 0;
  std::memcpy(&magic, code, 1);
  const auto* wrapper = static_cast<const FatbinWrapper*>(code);
  // One byte decides whether it is worth looking at four: PTX may be shorter.
  const bool wrapped = magic == (FatbinWrapper::kMagic & 0xff) && std::memcmp(code, &FatbinWrapper::kMagic, 4) == 0;
  const cudaError_t error = wrapped ? wrappedImage(*wrapper, &joined, &image) : imageExtent(code, &image);
  if (error != cudaSuccess) return error;
  return addLibrary(library, {image.begin(), image.end()}, log);
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* fileName, cudaJitOption* jitOptions,
                                    void** jitOptionsValues, unsigned int numJitOptions,
                                    cudaLibraryOption* libraryOptions, void**, unsigned int numLibraryOptions) {
  ErrorLog log;
  if (const cudaError_t error = readJitOptions(jitOptions, jitOptionsValues, numJitOptions, &log); error != cudaSuccess)
    return error;
  if (const cudaError_t error = readLibraryOptions(libraryOptions, numLibraryOptions); error != cudaSuccess)
    return error;
  std::vector<std::byte> content;
  if (const cudaError_t error = readFile(fileName, &content); error != cudaSuccess) return error;
  return addLibrary(library, std::move(content), log);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  CodeModule* found = nullptr;
  if (const cudaError_t error = findLibrary(library, &found); error != cudaSuccess) return error;
  ModuleRegistry::get().remove(found);
  return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* pKernel, cudaLibrary_t library, const char* name) {
  CodeModule* found = nullptr;
  client::Module* loaded = nullptr;
  if (const cudaError_t error = findLibrary(library, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = found->load(currentDevice(), &loaded); error != cudaSuccess) return error;
  Function* function = found->functionNamed(*loaded, name);
  if (function == nullptr) return cudaErrorSymbolNotFound;
  *pKernel = reinterpret_cast<cudaKernel_t>(function);
  return cudaSuccess;
}

cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t lib) {
  CodeModule* library = nullptr;
  client::Module* loaded = nullptr;
  if (const cudaError_t error = findLibrary(lib, &library); error != cudaSuccess) return error;
  if (const cudaError_t error = library->load(currentDevice(), &loaded); error != cudaSuccess) return error;
  *count = static_cast<unsigned>(loaded->kernels().size());
  return cudaSuccess;
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int numKernels, cudaLibrary_t lib) {
  CodeModule* library = nullptr;
  client::Module* loaded = nullptr;
  if (const cudaError_t error = findLibrary(lib, &library); error != cudaSuccess) return error;
  if (const cudaError_t error = library->load(currentDevice(), &loaded); error != cudaSuccess) return error;
  unsigned filled = 0;
  for (const auto& kernel : loaded->kernels()) {
    if (filled == numKernels) break;
    kernels[filled++] = reinterpret_cast<cudaKernel_t>(library->functionNamed(*loaded, kernel->name));
  }
  return cudaSuccess;
}

cudaError_t cudaLibraryGetGlobal(void** dptr, size_t* bytes, cudaLibrary_t library, const char* name) {
  return findVariable(library, name, false, dptr, bytes);
}

cudaError_t cudaLibraryGetManaged(void** dptr, size_t* bytes, cudaLibrary_t library, const char* name) {
  return findVariable(library, name, true, dptr, bytes);
}

}  // namespace rouse::cudart::impl
