// The CUDA runtime's error codes that cross a process boundary. Values are those of `cudaError_t` (CUDA Runtime API,
// "Data types used by CUDA Runtime"), so that the client library can return them as they are. The server does not
// include CUDA's headers: this enum is all it knows of them.
#pragma once

#include <cstdint>
#include <string_view>

namespace rouse {

enum class CudaError : std::uint32_t {
  success = 0,
  invalidValue = 1,
  memoryAllocation = 2,
  initializationError = 3,
  invalidConfiguration = 9,
  invalidPitchValue = 12,
  invalidSymbol = 13,
  invalidDevicePointer = 17,
  invalidMemcpyDirection = 21,
  insufficientDriver = 35,
  devicesUnavailable = 46,
  invalidDeviceFunction = 98,
  noDevice = 100,
  invalidDevice = 101,
  invalidKernelImage = 200,
  noKernelImageForDevice = 209,
  invalidPtx = 218,
  unsupportedPtxVersion = 222,
  jitCompilationDisabled = 223,
  invalidResourceHandle = 400,
  symbolNotFound = 500,
  notReady = 600,
  illegalAddress = 700,
  launchOutOfResources = 701,
  launchTimeout = 702,
  assertion = 710,
  hardwareStackError = 714,
  illegalInstruction = 715,
  misalignedAddress = 716,
  launchFailure = 719,
  cooperativeLaunchTooLarge = 720,
  notPermitted = 800,
  notSupported = 801,
  systemNotReady = 802,
  invalidClusterSize = 912,
  unknown = 999,
};

// As CUDA names it; empty: a code that is none of these.
constexpr std::string_view name(CudaError error) {
  switch (error) {
    case CudaError::success:
      return "cudaSuccess";
    case CudaError::invalidValue:
      return "cudaErrorInvalidValue";
    case CudaError::memoryAllocation:
      return "cudaErrorMemoryAllocation";
    case CudaError::initializationError:
      return "cudaErrorInitializationError";
    case CudaError::invalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case CudaError::invalidPitchValue:
      return "cudaErrorInvalidPitchValue";
    case CudaError::invalidSymbol:
      return "cudaErrorInvalidSymbol";
    case CudaError::invalidDevicePointer:
      return "cudaErrorInvalidDevicePointer";
    case CudaError::invalidMemcpyDirection:
      return "cudaErrorInvalidMemcpyDirection";
    case CudaError::insufficientDriver:
      return "cudaErrorInsufficientDriver";
    case CudaError::devicesUnavailable:
      return "cudaErrorDevicesUnavailable";
    case CudaError::invalidDeviceFunction:
      return "cudaErrorInvalidDeviceFunction";
    case CudaError::noDevice:
      return "cudaErrorNoDevice";
    case CudaError::invalidDevice:
      return "cudaErrorInvalidDevice";
    case CudaError::invalidKernelImage:
      return "cudaErrorInvalidKernelImage";
    case CudaError::noKernelImageForDevice:
      return "cudaErrorNoKernelImageForDevice";
    case CudaError::invalidPtx:
      return "cudaErrorInvalidPtx";
    case CudaError::unsupportedPtxVersion:
      return "cudaErrorUnsupportedPtxVersion";
    case CudaError::jitCompilationDisabled:
      return "cudaErrorJitCompilationDisabled";
    case CudaError::invalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case CudaError::symbolNotFound:
      return "cudaErrorSymbolNotFound";
    case CudaError::notReady:
      return "cudaErrorNotReady";
    case CudaError::illegalAddress:
      return "cudaErrorIllegalAddress";
    case CudaError::launchOutOfResources:
      return "cudaErrorLaunchOutOfResources";
    case CudaError::launchTimeout:
      return "cudaErrorLaunchTimeout";
    case CudaError::assertion:
      return "cudaErrorAssert";
    case CudaError::hardwareStackError:
      return "cudaErrorHardwareStackError";
    case CudaError::illegalInstruction:
      return "cudaErrorIllegalInstruction";
    case CudaError::misalignedAddress:
      return "cudaErrorMisalignedAddress";
    case CudaError::launchFailure:
      return "cudaErrorLaunchFailure";
    case CudaError::cooperativeLaunchTooLarge:
      return "cudaErrorCooperativeLaunchTooLarge";
    case CudaError::notPermitted:
      return "cudaErrorNotPermitted";
    case CudaError::notSupported:
      return "cudaErrorNotSupported";
    case CudaError::systemNotReady:
      return "cudaErrorSystemNotReady";
    case CudaError::invalidClusterSize:
      return "cudaErrorInvalidClusterSize";
    case CudaError::unknown:
      return "cudaErrorUnknown";
  }
  return {};
}

// True for errors after which CUDA leaves the context unusable until it is reset (CUDA Runtime API, descriptions of the
// codes: "The process must be terminated and relaunched").
constexpr bool isSticky(CudaError error) {
  switch (error) {
    case CudaError::illegalAddress:
    case CudaError::launchTimeout:
    case CudaError::assertion:
    case CudaError::hardwareStackError:
    case CudaError::illegalInstruction:
    case CudaError::misalignedAddress:
    case CudaError::launchFailure:
    case CudaError::devicesUnavailable:
    case CudaError::unknown:
      return true;
    default:
      return false;
  }
}

}  // namespace rouse
