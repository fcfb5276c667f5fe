// CUDA Runtime API, "Memory Management": variables of modules.
#include "client-shim/cudart/copy_kind.h"
#include "client-shim/cudart/graph/capture_work.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

cudaError_t findVariable(const void* symbol, const client::Variable** variable) {
  Symbol* found = ModuleRegistry::get().findSymbol(symbol);
  return found != nullptr ? found->resolve(currentDevice(), variable) : cudaErrorInvalidSymbol;
}

// The bytes [offset, offset + count) of a variable.
cudaError_t findBytes(const void* symbol, std::size_t count, std::size_t offset, void** address) {
  const client::Variable* variable = nullptr;
  if (const cudaError_t error = findVariable(symbol, &variable); error != cudaSuccess) return error;
  if (offset > variable->bytes || count > variable->bytes - offset) return cudaErrorInvalidValue;
  *address = reinterpret_cast<void*>(variable->address + offset);  // NOLINT(performance-no-int-to-ptr)
  return cudaSuccess;
}

cudaError_t toSymbol(const void* symbol, const void* src, std::size_t count, std::size_t offset, cudaMemcpyKind kind,
                     cudaStream_t handle, client::Completion completion) {
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  client::CopyKind direction{};
  client::Stream* stream = nullptr;
  void* address = nullptr;
  if (const cudaError_t error = copyKind(kind, &direction); error != cudaSuccess) return error;
  if (const cudaError_t error = findStream(handle, &stream); error != cudaSuccess) return error;
  if (const cudaError_t error = findBytes(symbol, count, offset, &address); error != cudaSuccess) return error;
  if (graph::anyCapture()) {
    bool done = false;
    const cudaError_t error = graph::captureCopy(*stream, graph::flatCopy(address, src, count, kind), completion, &done);
    if (error != cudaSuccess || done) return error;
  }
  return toCuda(client::copy(*stream, address, src, count, direction, completion));
}

cudaError_t fromSymbol(void* dst, const void* symbol, std::size_t count, std::size_t offset, cudaMemcpyKind kind,
                       cudaStream_t handle, client::Completion completion) {
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  client::CopyKind direction{};
  client::Stream* stream = nullptr;
  void* address = nullptr;
  if (const cudaError_t error = copyKind(kind, &direction); error != cudaSuccess) return error;
  if (const cudaError_t error = findStream(handle, &stream); error != cudaSuccess) return error;
  if (const cudaError_t error = findBytes(symbol, count, offset, &address); error != cudaSuccess) return error;
  if (graph::anyCapture()) {
    bool done = false;
    const cudaError_t error = graph::captureCopy(*stream, graph::flatCopy(dst, address, count, kind), completion, &done);
    if (error != cudaSuccess || done) return error;
  }
  return toCuda(client::copy(*stream, dst, address, count, direction, completion));
}

}  // namespace

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count, size_t offset, cudaMemcpyKind kind,
                               cudaStream_t defaultStream) {
  return toSymbol(symbol, src, count, offset, kind, defaultStream, client::Completion::finished);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return toSymbol(symbol, src, count, offset, kind, stream, client::Completion::queued);
}

cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                                 cudaStream_t defaultStream) {
  return fromSymbol(dst, symbol, count, offset, kind, defaultStream, client::Completion::finished);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return fromSymbol(dst, symbol, count, offset, kind, stream, client::Completion::queued);
}

cudaError_t cudaGetSymbolAddress(void** devPtr, const void* symbol) { return findBytes(symbol, 0, 0, devPtr); }

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  const client::Variable* variable = nullptr;
  if (const cudaError_t error = findVariable(symbol, &variable); error != cudaSuccess) return error;
  *size = variable->bytes;
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
