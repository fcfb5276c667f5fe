// What a forwarded library (libcublas, libcublasLt, libcudnn, libcufft, libcurand, libcusparse, libcusolver) needs of the runtime that the process is attached through. One process has one
// attachment, libcudart.so.13's; a library asks that for this interface by its number, through cudaGetExportTable, and so exports and
// imports nothing that the toolkit's libraries do not.
//
// Any thread. Nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/base/cuda_error.h"

namespace rouse::client {

// Of the kinds of objects that have handles here: so that one library knows another's.
enum class HandleKind : std::uint32_t { blas = 1, blasLt = 2, dnn = 3, dnnDescriptor = 4, dnnBackend = 5,
                                        solver = 6, solverParameters = 7, syevj = 8, gesvdj = 9,
                                        sparseSolver = 10, csrqr = 11, csrchol = 12, csrqrHost = 13, csrcholHost = 14, csrluHost = 15 };

class LibraryHost {
 public:
  // Attaches if need be, and tells the calling thread's device.
  virtual CudaError attach(std::uint32_t* device) const = 0;

  // A call is written to the device's ring; it runs in the stream's order. While the stream is captured it becomes a node of the graph
  // instead, which does what these parameters say at each launch. `stream`: a cudaStream_t; null: the device's legacy stream.
  // invalidResourceHandle: there is no such stream, or it is another device's. The device's latched error, if there is one, or what the
  // capture says (streamCapture…): then nothing has been queued; a latched error stays for the runtime's next call to report.
  virtual CudaError submit(std::uint32_t device, std::uint64_t stream, std::uint32_t library, std::uint32_t function,
                           std::span<const std::byte> parameters) const = 0;
  // The same, and blocks until the stream has got behind it; then the latched error, if any, which stays. streamCaptureUnsupported: the
  // stream is captured, and so cannot be waited for; the capture is invalidated.
  virtual CudaError submitAndWait(std::uint32_t device, std::uint64_t stream, std::uint32_t library, std::uint32_t function,
                                  std::span<const std::byte> parameters) const = 0;
  // The call as the only node of a graph (cudaGraph_t): of one that has none, or with `update` instead of what such a node did. invalidValue:
  // it is no graph, it is being captured, it has other nodes, or its call is another device's or function's.
  virtual CudaError putInGraph(std::uint32_t device, const void* graph, bool update, std::uint32_t library, std::uint32_t function,
                               std::span<const std::byte> parameters) const = 0;

  // Memory that both sides see at one address (cudaMallocHost), for results. Null: there is none left.
  virtual void* allocateShared(std::size_t bytes) const = 0;

  // Opaque handles: never 0, and never again the same. find(): null unless it is live and of one of the kinds (bits 1 << kind).
  virtual std::uint64_t makeHandle(HandleKind kind, void* object) const = 0;
  virtual void* findHandle(std::uint64_t handle, std::uint32_t kinds) const = 0;
  // What it stood for; null: it was not live, or of another kind. Of several callers one gets it.
  virtual void* dropHandle(std::uint64_t handle, HandleKind kind) const = 0;

  // A name of schemas/api/library_names.h has been called, and is not served.
  virtual void countUnsupported(std::uint32_t name) const = 0;
  virtual void warn(const char* text) const = 0;
  virtual std::uint32_t computeCapability(std::uint32_t device) const = 0;  // 10 × major + minor
  virtual std::uint32_t dnnVersion(std::uint32_t device) const = 0;  // of the cuDNN that its calls go to; 0: none of NVIDIA's

 protected:
  ~LibraryHost() = default;
};

constexpr std::uint32_t kindBit(HandleKind kind) { return 1u << static_cast<std::uint32_t>(kind); }

// Of this interface, and its version: all libraries come from one build.
inline constexpr unsigned char kLibraryHostId[16] = {'r', 'o', 'u', 's', 'e', ' ', 'l', 'i', 'b', 'h', 'o', 's', 't', ' ', '0', '3'};

// Null, with a line on standard error the first time: the process has another libcudart.
const LibraryHost* libraryHost();

}  // namespace rouse::client
