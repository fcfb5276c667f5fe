// All that the double's process-wide C functions share. Never destroyed: threads outlive static objects.
//
// Locks: contextMutex, then VirtualMemory's, then a Gpu's deviceMutex; those of streams, contexts and handle tables are
// leaves.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "test/cuda-double/context.h"
#include "test/cuda-double/gpu.h"
#include "test/cuda-double/handle_table.h"
#include "test/cuda-double/library.h"
#include "test/cuda-double/texture_objects.h"
#include "test/cuda-double/virtual_memory.h"

namespace rouse::cuda_double {

struct State {
  bool initialized() const { return initialized_.load(); }
  // Opens the devices, once.
  CUresult initialize();
  // Null, with a violation, when there is no such device.
  Gpu* gpu(CUdevice device);

  std::mutex contextMutex;
  HandleTable<CUcontext, Context, HandleKind::context> contexts;
  HandleTable<CUstream, Stream, HandleKind::stream> streams;
  HandleTable<CUevent, Event, HandleKind::event> events;
  HandleTable<CUlibrary, Library, HandleKind::library> libraries;
  HandleTable<CUkernel, Kernel, HandleKind::kernel> kernels;
  HandleTable<CUarray, Array, HandleKind::array> arrays;
  HandleTable<CUmipmappedArray, MipmappedArray, HandleKind::mipmapped> mipmappedArrays;
  TextureObjects textures;
  VirtualMemory memory;

 private:
  std::atomic<bool> initialized_{false};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
};

State& state();

extern thread_local CUcontext currentContext;
// The current context, which the entry point has found live.
std::shared_ptr<Context> here();
// The stream of a call, if it is live and of the current context; null, with a violation, otherwise.
std::shared_ptr<Stream> streamOf(CUstream handle);

const char* errorName(CUresult result);

}  // namespace rouse::cuda_double
