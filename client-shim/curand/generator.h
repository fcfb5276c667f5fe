// What a curandGenerator_t stands for: local state, all of which each call carries. Nothing of it is on the server.
#pragma once

#include <curand.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

#include "client-shim/library/host.h"
#include "schemas/rand/position.h"

namespace rouse::curand {

struct Generator {
  std::mutex mutex;     // of what follows: who makes numbers also moves on
  bool onHost = false;  // curandCreateGeneratorHost: numbers are made here
  std::uint32_t device = 0;
  std::uint64_t stream = 0;  // cudaStream_t
  rand::Type type{};
  rand::Ordering ordering{};
  std::uint64_t seed = 0;
  std::uint32_t dimensions = 0;
  rand::Position position;
};

// Null: there is no such generator. Whoever uses one while another thread destroys it has it until it is done.
std::shared_ptr<Generator> findGenerator(curandGenerator_t handle);
// Throws std::bad_alloc. No handle is used again.
curandGenerator_t addGenerator(std::shared_ptr<Generator> generator);
bool dropGenerator(curandGenerator_t handle);

curandStatus_t toStatus(CudaError error);
// `function` is counted where it is not supported.
curandStatus_t toStatus(const rand::Check& check, const char* function);

// No exception leaves the library.
template <class Body>
curandStatus_t guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return CURAND_STATUS_ALLOCATION_FAILED;
  } catch (...) {
    return CURAND_STATUS_INTERNAL_ERROR;
  }
}

// change(generator), with nobody else using it.
template <class Change>
curandStatus_t with(curandGenerator_t handle, Change&& change) noexcept {
  return guarded([&] {
    const std::shared_ptr<Generator> generator = findGenerator(handle);
    if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
    const std::lock_guard lock(generator->mutex);
    return change(*generator);
  });
}

}  // namespace rouse::curand
