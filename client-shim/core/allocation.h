// What the client knows of a piece of memory that is not ordinary pageable memory.
#pragma once

#include <cstdint>

#include "schemas/base/range.h"

namespace rouse::client {

// What memory that a program gets begins at a multiple of, and what blocks are rounded up to: what textures of plain memory begin at on every GPU there is
// (CUDA Driver API, cuTexObjectCreate: CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT), and so what CUDA's own allocations do.
inline constexpr std::uint64_t kAllocationUnit = 512;

enum class MemoryKind : std::uint8_t {
  pageable,    // nothing of ours
  device,      // in a device window
  pinned,      // in the host window: cudaMallocHost, cudaHostAlloc
  managed,     // in the host window: cudaMallocManaged, __managed__ variables
  registered,  // the program's own pages, remapped onto the host window: cudaHostRegister
};

struct Allocation {
  MemoryKind kind = MemoryKind::pageable;
  bool variable = false;          // belongs to a module: not the program's to free
  bool imported = false;          // another process's (cudaIpcOpenMemHandle): not to free, either
  bool mapped = false;            // by cuMemMap (VirtualMemory): ends with cuMemUnmap alone; range is all that is mapped around it without a gap
  std::uint32_t deviceIndex = 0;  // whose it is; for host kinds the device that was current when it was made
  std::uint32_t flags = 0;        // as the program gave them (cudaHostAlloc*, cudaHostRegister*, cudaMemAttach*)
  std::uint64_t pool = 0;         // handle of the memory pool it came from, or 0
  std::uint64_t stream = 0;       // handle of the stream a pooled block was last allocated on
  AddressRange range{};           // as the program sees it; for registered memory the range it registered
  std::uint64_t deviceBase =
      0;                       // where range.base is for kernels and copy commands; the same but for registered memory
  std::uint64_t hostBase = 0;  // where range.base is for the program's own code; 0 for device memory
  std::uint64_t bufferId = 0;  // unique among all allocations of the process, never used again

  std::uint64_t deviceAddress(std::uint64_t address) const { return deviceBase + (address - range.base); }
};

}  // namespace rouse::client
