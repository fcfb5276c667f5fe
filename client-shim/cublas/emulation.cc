// cuBLAS, how products are emulated in narrower numbers: kept, told, and sent along with calls. The CPU device emulates nothing.
#include "client-shim/cublas/implementations.h"
#include "client-shim/cublas/settings.h"

namespace rouse::cublas::impl {

cublasStatus_t cublasGetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t* strategy) {
  return read<cublasEmulationStrategy_t>(handle, strategy, [](const Handle& object) { return static_cast<cublasEmulationStrategy_t>(object.emulation.strategy); });
}

cublasStatus_t cublasSetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t strategy) {
  return with(handle, [&](Handle& object) {
    if (strategy != CUBLAS_EMULATION_STRATEGY_DEFAULT && strategy != CUBLAS_EMULATION_STRATEGY_PERFORMANT && strategy != CUBLAS_EMULATION_STRATEGY_EAGER)
      return CUBLAS_STATUS_INVALID_VALUE;
    object.emulation.strategy = static_cast<std::uint8_t>(strategy);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetEmulationSpecialValuesSupport(cublasHandle_t handle, cudaEmulationSpecialValuesSupport* mask) {
  return read<cudaEmulationSpecialValuesSupport>(handle, mask,
                                                 [](const Handle& object) { return static_cast<cudaEmulationSpecialValuesSupport>(object.emulation.specialValues); });
}

cublasStatus_t cublasSetEmulationSpecialValuesSupport(cublasHandle_t handle, cudaEmulationSpecialValuesSupport mask) {
  return with(handle, [&](Handle& object) {
    const auto bits = static_cast<unsigned>(mask);
    if (bits > CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT) return CUBLAS_STATUS_INVALID_VALUE;
    object.emulation.specialValues = static_cast<std::uint16_t>(bits);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetFixedPointEmulationMantissaControl(cublasHandle_t handle, cudaEmulationMantissaControl* control) {
  return read<cudaEmulationMantissaControl>(handle, control, [](const Handle& object) { return static_cast<cudaEmulationMantissaControl>(object.emulation.mantissaControl); });
}

cublasStatus_t cublasSetFixedPointEmulationMantissaControl(cublasHandle_t handle, cudaEmulationMantissaControl control) {
  return with(handle, [&](Handle& object) {
    if (control != CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC && control != CUDA_EMULATION_MANTISSA_CONTROL_FIXED) return CUBLAS_STATUS_INVALID_VALUE;
    object.emulation.mantissaControl = static_cast<std::uint8_t>(control);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int* count) {
  return read<int>(handle, count, [](const Handle& object) { return object.emulation.mostMantissaBits; });
}

cublasStatus_t cublasSetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int count) {
  return with(handle, [&](Handle& object) {
    if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;
    object.emulation.mostMantissaBits = count;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int* offset) {
  return read<int>(handle, offset, [](const Handle& object) { return object.emulation.mantissaBitOffset; });
}

cublasStatus_t cublasSetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int offset) {
  return with(handle, [&](Handle& object) {
    object.emulation.mantissaBitOffset = offset;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int** count) {
  return read<int*>(handle, count, [](const Handle& object) { return reinterpret_cast<int*>(object.emulation.mantissaBitCount); });
}

cublasStatus_t cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int* count) {
  return with(handle, [&](Handle& object) {
    object.emulation.mantissaBitCount = reinterpret_cast<std::uint64_t>(count);
    return CUBLAS_STATUS_SUCCESS;
  });
}

}  // namespace rouse::cublas::impl
