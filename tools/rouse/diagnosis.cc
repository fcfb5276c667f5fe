#include "tools/rouse/diagnosis.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "schemas/api/library_names.h"
#include "schemas/wire/owned_fd.h"
#include "server/fatbin/fatbin.h"
#include "tools/rouse/elf_file.h"

namespace rouse::cli {
namespace {

constexpr std::string_view kRuntime = "libcudart.so.";
constexpr std::string_view kServedRuntime = "libcudart.so.13";

// Libraries of which the pool has its own.
constexpr std::string_view kForwarded[] = {"libcublas.so.", "libcublasLt.so.", "libcudnn.so.", "libcudnn_", "libcufft.so.",
                                            "libcusparse.so.",
                                            "libcurand.so.",
                                           "libcusolver.so.",
                                           "libnvidia-ml.so.",
                                           "libcuda.so."};
constexpr std::string_view kServed[] = {"libcublas.so.13",
                                        "libcublasLt.so.13",
                                        "libcudnn.so.9",
                                        "libcudnn_ops.so.9",
                                        "libcudnn_cnn.so.9",
                                        "libcudnn_adv.so.9",
                                        "libcudnn_graph.so.9",
                                        "libcudnn_ext.so.9",
                                        "libcudnn_heuristic.so.9",
                                        "libcudnn_engines_precompiled.so.9",
                                        "libcudnn_engines_runtime_compiled.so.9",
                                        "libcudnn_engines_tensor_ir.so.9",
                                        "libcufft.so.12",
                                        "libcurand.so.10",
                                        "libcusparse.so.12",
                                        "libcusolver.so.12",
                                        "libnvidia-ml.so.1",
                                        "libcuda.so.1"};

// Libraries that reach the driver by themselves, past the runtime, when they are to work on a device. They are loaded as they are, and report then, each in
// its own way, that there is no driver.
constexpr std::string_view kNotForwarded[] = {"libcufftw.so", "libcusparseLt", "libcusolverMg", "libnccl.so", "libcupti",
                                              "libcutensor", "libnpp",      "libnvshmem", "libcufile"};

// Compilers: they work on the processor, and what they make is loaded by the runtime.
constexpr std::string_view kCompilers[] = {"libnvrtc", "libnvJitLink", "libnvvm", "libnvptxcompiler"};

bool among(std::string_view library, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view each) { return library.starts_with(each); });
}

// What only the toolkit's runtime itself contains, stripped or not: the name of its shared memory. Put together when it
// is needed, so that this program does not contain it.
std::string staticMarker() { return std::string("/cudart") + ".shm."; }

// A file mapped to be read.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path) {
    const wire::OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status{};
    if (!fd || ::fstat(fd.get(), &status) != 0) return Error{CudaError::invalidValue, std::strerror(errno)};
    if (!S_ISREG(status.st_mode)) return Error{CudaError::invalidValue, "not a regular file"};
    if (status.st_size == 0) return Error{CudaError::invalidValue, "the file is empty"};
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* base = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (base == MAP_FAILED) return Error{CudaError::invalidValue, std::strerror(errno)};
    return MappedFile(static_cast<std::byte*>(base), bytes);
  }
  MappedFile(MappedFile&& other) noexcept : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (base_ != nullptr) ::munmap(base_, bytes_);
  }
  std::span<const std::byte> bytes() const { return {base_, bytes_}; }

 private:
  MappedFile(std::byte* base, std::size_t bytes) : base_(base), bytes_(bytes) {}
  std::byte* base_;
  std::size_t bytes_;
};

bool contains(std::span<const std::byte> bytes, std::string_view text) {
  return ::memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
}

bool isPoolName(std::string_view name) {
  return name.starts_with("cuda") || name.starts_with("__cuda") || name.starts_with("cublas") || name.starts_with("cudnn") || name.starts_with("cufft") ||
         name.starts_with("curand") ||
         name.starts_with("cusparse") ||
         name.starts_with("cusolver") || name.starts_with("nvml");
}

void examineRuntime(const ElfFile& elf, std::span<const std::byte> bytes, Diagnosis& found) {
  std::string runtime;
  for (const std::string& library : elf.needed) {
    const bool known = library.starts_with(kRuntime) || among(library, kForwarded) || among(library, kNotForwarded) || among(library, kCompilers);
    if (known) found.cudaLibraries.push_back(library);
    if (library.starts_with(kRuntime)) runtime = library;
  }
  if (runtime == kServedRuntime) {
    found.runtime = Runtime::shared;
  } else if (!runtime.empty()) {
    found.runtime = Runtime::otherMajor;
    found.problems.push_back("It needs " + runtime + "; the pool serves " + std::string(kServedRuntime) + ".");
    found.hints.push_back("Build it with the CUDA 13 toolkit.");
  } else if (!elf.soname.starts_with(kRuntime) && contains(bytes, staticMarker())) {
    found.runtime = Runtime::statically;
    found.problems.push_back(
        "The CUDA runtime is linked into it: it would look for a GPU of its own and never find the pool.");
    found.hints.push_back("Link it with `nvcc -cudart shared` (CMake: set CUDA_RUNTIME_LIBRARY to Shared).");
  }
  for (const std::string& library : found.cudaLibraries) {
    if (library.starts_with(kRuntime) || std::ranges::find(kServed, library) != std::end(kServed)) continue;
    if (among(library, kForwarded)) {
      found.problems.push_back("It needs " + library + "; the pool serves the libraries of CUDA 13, and cuDNN 9.");
      found.hints.push_back("Build it with the CUDA 13 toolkit, and with cuDNN 9 if it uses that.");
      continue;
    }
    if (among(library, kNotForwarded))
      found.remarks.push_back("It needs " + library + ", which goes to the driver directly and is not forwarded: what it calls there for work on a device fails with that library's own error.");
  }
}

void examineImports(const ElfFile& elf, Diagnosis& found) {
  const bool served = found.runtime == Runtime::shared || std::ranges::any_of(found.cudaLibraries, [](const std::string& library) {
    return std::ranges::find(kServed, library) != std::end(kServed);
  });
  if (!served) return;
  for (const std::string& name : elf.imports) {
    // The driver's names begin as other libraries' do: those that are known say whose they are.
    const auto known = std::ranges::find(api::kAllNames, name);
    if (known == api::kAllNames.end() && !isPoolName(name)) continue;
    found.imports.push_back(name);
    if (known == api::kAllNames.end()) {
      found.unknown.push_back(name);
    } else if (!api::kAllSupported[static_cast<std::size_t>(known - api::kAllNames.begin())]) {
      found.unsupported.push_back(name);
    }
  }
  if (!found.unknown.empty()) {
    found.problems.push_back("It imports " + std::to_string(found.unknown.size()) + " names that " +
                             std::string(kServedRuntime) + " and the pool's other libraries do not have: it will not start.");
  }
}

// NVIDIA's GPUs compile PTX of their architecture or an older one, and run cubins of their major one that are not newer.
bool runsOn(const fatbin::Entry& entry, std::uint32_t gpu) {
  if (entry.reach == fatbin::Reach::exact || entry.architecture > gpu) return entry.architecture == gpu;
  return entry.architecture / 10 == gpu / 10 || (entry.kind == fatbin::EntryKind::ptx && entry.reach == fatbin::Reach::later);
}

// Those of the pool's GPUs that some of the code is for.
std::set<std::uint32_t> examineDeviceCode(const ElfFile& elf, const PoolDevices& pool, Diagnosis& found) {
  std::set<std::uint32_t> served;
  for (const auto section : elf.fatbins) {
    auto entries = fatbin::entries(section);
    if (!entries) {
      found.problems.push_back("Its device code cannot be read: " + entries.error().message + ".");
      continue;
    }
    for (const fatbin::Entry& entry : *entries) {
      (entry.kind == fatbin::EntryKind::ptx ? found.ptx : found.cubins).insert(entry.architecture);
      for (const std::uint32_t gpu : pool.gpus) {
        if (runsOn(entry, gpu)) served.insert(gpu);
      }
    }
  }
  return served;
}

// Of a list of GPUs' architectures: sm_75, sm_90.
std::string listed(const std::set<std::uint32_t>& architectures) {
  std::string text;
  for (const std::uint32_t architecture : architectures) text += (text.empty() ? "sm_" : ", sm_") + std::to_string(architecture);
  return text;
}

// Whether the pool's devices can run the device code; where they are not known, what would be needed.
void compareWithPool(const PoolDevices& pool, const std::set<std::uint32_t>& served, Diagnosis& found) {
  if (found.ptx.empty() && found.cubins.empty()) return;
  if (found.ptx.empty() && (pool.cpu || pool.gpus.empty())) {
    const std::string what = "Its device code has no PTX: only GPUs of the listed architectures can run it, the CPU device cannot";
    if (pool.cpu)
      found.problems.push_back(what + ", which is what this pool has.");
    else
      found.remarks.push_back(what + ".");
    found.hints.push_back("Compile it with PTX, for example `nvcc -gencode arch=compute_75,code=compute_75`.");
  }
  std::set<std::uint32_t> without;
  for (const std::uint32_t gpu : pool.gpus) {
    if (!served.contains(gpu)) without.insert(gpu);
  }
  if (without.empty()) return;
  const std::string what = "Its device code has nothing for GPUs of " + listed(without) + ", which this pool has";
  if (without == pool.gpus)
    found.problems.push_back(what + ".");
  else
    found.remarks.push_back(what + " beside others: there its kernels cannot be launched.");
  found.hints.push_back("Compile it with PTX of an architecture that is not newer than the GPUs'.");
}

}  // namespace

Diagnosis diagnose(const std::string& file, const PoolDevices& pool) {
  Diagnosis found;
  found.file = file;
  auto mapped = MappedFile::open(file);
  auto elf = mapped ? readElf(mapped->bytes()) : Result<ElfFile>(mapped.error());
  if (!elf) {
    found.verdict = Verdict::no;
    found.problems.push_back("It cannot be examined: " + elf.error().message + ".");
    return found;
  }
  examineRuntime(*elf, mapped->bytes(), found);
  examineImports(*elf, found);
  compareWithPool(pool, examineDeviceCode(*elf, pool, found), found);
  const bool cuda = found.runtime != Runtime::none || !found.cudaLibraries.empty() || !elf->fatbins.empty();
  if (cuda && elf->machine != EM_X86_64) found.problems.push_back("It is not for x86-64.");
  if (!found.problems.empty()) {
    found.verdict = Verdict::no;
  } else if (!found.unsupported.empty() || !found.remarks.empty()) {
    found.verdict = Verdict::partly;
  } else if (cuda) {
    found.verdict = Verdict::runs;
  }
  if (!found.unsupported.empty()) {
    found.hints.push_back(
        "Calls that are not supported return cudaErrorNotSupported, or the library's own status for that; `rouse status --unsupported` counts them while it runs.");
  }
  return found;
}

}  // namespace rouse::cli
