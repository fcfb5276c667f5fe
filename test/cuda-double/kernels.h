// What cuKernel… and cuFunc… have in common.
#pragma once

#include <cuda.h>

namespace rouse::cuda_double {

class Gpu;

CUresult kernelName(CUkernel handle, const char** name);
CUresult parameterInfo(CUkernel handle, size_t index, size_t* offset, size_t* size);
CUresult kernelAttribute(CUkernel handle, CUfunction_attribute attribute, int* value);
CUresult setKernelAttribute(const Gpu& gpu, CUkernel handle, CUfunction_attribute attribute, int value);
// cuLibraryGetKernel, cuLibraryEnumerateKernels and their like for modules.
CUresult kernelOf(CUlibrary handle, const char* name, CUkernel* kernel);
CUresult kernelCount(CUlibrary handle, unsigned* count);
CUresult enumerateKernels(CUlibrary handle, CUkernel* kernels, unsigned count);

}  // namespace rouse::cuda_double
