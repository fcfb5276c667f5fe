#include "server/device/cuda/driver/error.h"

#include <string>

namespace rouse::cuda {

bool isFatal(CUresult result) {
  switch (result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_MPS_RPC_FAILURE:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

Error driverError(const Driver& driver, CUresult result, std::string_view call, std::string_view what) {
  std::string message(call);
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.cuGetErrorName(result, &name) == CUDA_SUCCESS && name != nullptr) {
    message += std::string(": ") + name;
    if (driver.cuGetErrorString(result, &text) == CUDA_SUCCESS && text != nullptr)
      message += std::string(" (") + text + ")";
  } else {
    message += ": result " + std::to_string(result) + ", unknown to the driver";
  }
  if (!what.empty()) message.append(": ").append(what);
  return {toCudaError(result), std::move(message)};
}

Status check(const Driver& driver, CUresult result, std::string_view call, std::string_view what) {
  if (result == CUDA_SUCCESS) return {};
  return driverError(driver, result, call, what);
}

}  // namespace rouse::cuda
