// CUDA Driver API, "Module Management": the linker, as compilers at run time use it to have PTX compiled (Numba), or put together (nvrtc with -rdc=true). What it makes is code as modules take it, and
// not machine code, since what the pool's devices are is theirs to know: the part that was given, or parts of PTX one behind the other, which the CPU device's compiler links by their names
// (a GPU's driver takes only one, and says so). That it can be loaded is found out when it is completed.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/cuda/jit_options.h"
#include "client-shim/library/refuse.h"

namespace rouse::cuda::impl {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

struct Link {
  JitOptions jit;
  void** values = nullptr;  // the program's, where it is told what was written to its logs
  std::string code;
  bool isText = false;  // PTX, of one part or several
  bool completed = false;
};

// Made at the first use, never destroyed: programs call from exit handlers.
struct Links {
  std::mutex mutex;
  std::vector<std::unique_ptr<Link>> all;
};
Links& links() {
  static Links& links = *new Links;
  return links;
}

// Calls for one link are the program's to keep apart, as with CUDA.
Link* find(CUlinkState state) {
  const std::lock_guard lock(links().mutex);
  for (const auto& link : links().all)
    if (link.get() == reinterpret_cast<Link*>(state)) return link.get();
  return nullptr;
}

// The device runtime's library (libcudadevrt.a), which is a driver's own code: what there is of it the pool's devices bring themselves. An archive (ar(5)) whose one object it is.
bool isDeviceRuntime(std::string_view archive) {
  constexpr std::string_view kMagic = "!<arch>\n", kObject = "cuda_device_runtime.o/";
  constexpr std::size_t kHeaderBytes = 60, kNameBytes = 16, kSizeAt = 48, kSizeBytes = 10;
  bool found = false;
  if (!archive.starts_with(kMagic)) return false;
  archive.remove_prefix(kMagic.size());
  std::string_view longNames;
  while (archive.size() >= kHeaderBytes) {
    std::size_t bytes = 0, at = 0;
    const std::string_view size = archive.substr(kSizeAt, kSizeBytes);
    if (std::from_chars(size.data(), size.data() + size.size(), bytes).ec != std::errc() || bytes > archive.size() - kHeaderBytes) return false;
    std::string_view name = archive.substr(0, kNameBytes);
    const std::string_view content = archive.substr(kHeaderBytes, bytes);
    if (name.starts_with("// ")) {
      longNames = content;
    } else if (!name.starts_with("/ ") && !name.starts_with("/SYM64/")) {
      // Names of more than 15 characters lie in a member of their own.
      if (name[0] != '/' || std::from_chars(name.data() + 1, name.data() + name.size(), at).ec != std::errc() || at > longNames.size()) return false;
      if (!longNames.substr(at).starts_with(kObject)) return false;
      found = true;
    }
    archive.remove_prefix(std::min(archive.size(), kHeaderBytes + bytes + bytes % 2));
  }
  return found;
}

CUresult add(Link& link, CUjitInputType type, std::string_view data) {
  if (link.completed || data.empty()) return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_JIT_INPUT_LIBRARY && isDeviceRuntime(data)) return CUDA_SUCCESS;
  if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY) {
    library::refuse("cuLinkAddData", "machine code, an object or an archive: PTX and fatbins are taken");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const bool isText = type == CU_JIT_INPUT_PTX;
  if (!link.code.empty() && !(isText && link.isText)) {
    library::refuse("cuLinkAddData", "a fatbin beside other parts: several are PTX");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (isText) data = data.substr(0, data.find('\0'));
  if (data.empty()) return CUDA_ERROR_INVALID_PTX;
  if (data.size() > kMostBytes - link.code.size()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!link.code.empty()) link.code += '\n';
  link.code += data;
  link.isText = isText;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuLinkCreate_v2(unsigned int numOptions, CUjit_option* options, void** optionValues, CUlinkState* stateOut) try {
  if (stateOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto link = std::make_unique<Link>();
  if (const CUresult error = link->jit.read(numOptions, options, optionValues); error != CUDA_SUCCESS) return error;
  link->values = optionValues;
  const std::lock_guard lock(links().mutex);
  *stateOut = reinterpret_cast<CUlinkState>(links().all.emplace_back(std::move(link)).get());
  return CUDA_SUCCESS;
} catch (const std::bad_alloc&) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// Options for one part are hints for its compilation: those that modules know are taken, and have no effect.
CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size, const char*, unsigned int numOptions, CUjit_option* options, void** optionValues) try {
  Link* const link = find(state);
  if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  JitOptions jit;
  if (const CUresult error = jit.read(numOptions, options, optionValues); error != CUDA_SUCCESS) return error;
  return add(*link, type, {static_cast<const char*>(data), size});
} catch (const std::bad_alloc&) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned int numOptions, CUjit_option* options, void** optionValues) try {
  Link* const link = find(state);
  if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  JitOptions jit;
  if (const CUresult error = jit.read(numOptions, options, optionValues); error != CUDA_SUCCESS) return error;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  return add(*link, type, std::string(std::istreambuf_iterator<char>(file), {}));
} catch (const std::bad_alloc&) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuLinkComplete(CUlinkState state, void** cubinOut, size_t* sizeOut) {
  Link* const link = find(state);
  if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (cubinOut == nullptr || link->code.empty()) return CUDA_ERROR_INVALID_VALUE;
  if (!link->completed) {
    cudaLibrary_t library = nullptr;
    const CUresult error = call([&] { return cudaLibraryLoadData(&library, link->code.c_str(), link->jit.options(), link->jit.values(), link->jit.count(), nullptr, nullptr, 0); });
    link->jit.write(link->values);
    if (error != CUDA_SUCCESS) return error;
    (void)call([&] { return cudaLibraryUnload(library); });
    link->completed = true;
  }
  *cubinOut = link->code.data();
  if (sizeOut != nullptr) *sizeOut = link->code.size() + 1;  // with the null at its end
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  const std::lock_guard lock(links().mutex);
  return std::erase_if(links().all, [&](const auto& link) { return link.get() == reinterpret_cast<Link*>(state); }) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace rouse::cuda::impl
