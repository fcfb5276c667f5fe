// Registered host memory.
#include "test/cuda-double/implementations.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double::impl {

CUresult cuMemHostRegister(void* p, size_t bytesize, unsigned int Flags) {
  constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |
                              CU_MEMHOSTREGISTER_READ_ONLY;
  if ((Flags & ~kKnown) != 0) return violation(CUDA_ERROR_INVALID_VALUE, "flags", hex(Flags));
  if ((Flags & (CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY)) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (bytesize == 0) return violation(CUDA_ERROR_INVALID_VALUE, "empty-range", "0 bytes to register");
  return here()->registerHost({reinterpret_cast<std::uint64_t>(p), bytesize});
}

CUresult cuMemHostUnregister(void* p) {
  const CUresult result = here()->unregisterHost(reinterpret_cast<std::uint64_t>(p));
  if (result == CUDA_SUCCESS) here()->synchronize();  // as an H100's driver does (bench/results); so do others that give something back
  return result;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  if (Flags != 0) return violation(CUDA_ERROR_INVALID_VALUE, "flags", hex(Flags));
  const auto address = reinterpret_cast<std::uint64_t>(p);
  if (!here()->isRegistered({address, 1})) {
    return violation(CUDA_ERROR_INVALID_VALUE, "not-registered", hex(address));
  }
  *pdptr = address;
  return CUDA_SUCCESS;
}

}  // namespace rouse::cuda_double::impl
