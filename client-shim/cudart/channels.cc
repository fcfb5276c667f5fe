// CUDA Runtime API, "Texture Object Management": a channel descriptor is a plain value that headers build even in
// programs that use no texture.
#include "client-shim/cudart/implementations.h"

namespace rouse::cudart::impl {

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}

}  // namespace rouse::cudart::impl
