#include "server/device/cuda/fingerprint_kernel.h"

namespace rouse::cuda {
namespace {

constexpr const char* kName = "rouse_fingerprint";
constexpr unsigned kThreads = 512;  // fingerprint.cu

static_assert(sizeof(memory::PageFingerprint) == sizeof(memory::fingerprints::Sealed));

}  // namespace

Result<std::shared_ptr<FingerprintKernel>> FingerprintKernel::load(std::shared_ptr<Gpu> gpu) {
  auto library = LoadedLibrary::load(std::move(gpu), kFingerprintPtx);
  if (!library) return std::move(library).error();
  memory::ModuleDescription description;
  description.kernels.emplace_back().name = kName;
  if (Status status = (*library)->bind(description); !status) return status.error();
  return std::shared_ptr<FingerprintKernel>(new FingerprintKernel(std::move(*library)));
}

CUresult FingerprintKernel::launch(const Driver& driver, CUstream stream, std::uint64_t pages, std::uint32_t count,
                                   std::uint64_t out, const memory::FingerprintKey& key) const {
  memory::fingerprints::Keys keys = key.expanded();
  void* parameters[] = {&pages, &out, &keys};  // copied by the call
  CUlaunchConfig config{};
  config.gridDimX = count;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kThreads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  return driver.cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(library_->kernel(0)), parameters, nullptr);
}

}  // namespace rouse::cuda
