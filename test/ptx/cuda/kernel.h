// How the kernels of this folder are declared, and where a thread is.
#pragma once

#define KERNEL extern "C" __global__ void

__device__ unsigned linear() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ unsigned threads() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ unsigned global() { return blockIdx.x * threads() + linear(); }
