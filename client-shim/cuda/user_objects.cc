// CUDA Driver API, "Graph Management": objects of the program's that graphs keep.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {

CUresult cuUserObjectCreate(CUuserObject* object_out, void* ptr, CUhostFn destroy, unsigned int initialRefcount, unsigned int flags) {
  return call([&] { return cudaUserObjectCreate(object_out, ptr, destroy, initialRefcount, flags); });
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
  return call([&] { return cudaUserObjectRetain(object, count); });
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
  return call([&] { return cudaUserObjectRelease(object, count); });
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags) {
  return call([&] { return cudaGraphRetainUserObject(graph, object, count, flags); });
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
  return call([&] { return cudaGraphReleaseUserObject(graph, object, count); });
}

}  // namespace rouse::cuda::impl
