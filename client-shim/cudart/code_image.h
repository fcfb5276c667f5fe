// Where the device code of a registered fatbin or of a loaded library lies, and how long it is: exactly what is
// shipped.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

namespace rouse::cudart {

// What nvcc puts into .nvFatBinSegment and hands to __cudaRegisterFatBinary (fatbinary_section.h).
struct FatbinWrapper {
  static constexpr int kMagic = 0x466243b1;
  int magic;
  int version;  // 1; 2: `prelinked` is an array of further fatbins that ends with a null pointer
  const void* data;
  const void* prelinked;
};

// One fatbin, ELF image or PTX text begins at `data`, which the program says is readable: its extent by its own
// headers. cudaErrorInvalidKernelImage if it is none of them.
cudaError_t imageExtent(const void* data, std::span<const std::byte>* image);

// Everything that a wrapper refers to. `joined` holds the bytes if they do not lie in one piece already.
cudaError_t wrappedImage(const FatbinWrapper& wrapper, std::vector<std::byte>* joined,
                         std::span<const std::byte>* image);

}  // namespace rouse::cudart
