// One fake server with two devices for the whole executable: a process attaches once. Every test starts from devices
// that have just been reset.
#pragma once

#include <cuda_runtime.h>

#include <catch2/catch.hpp>

#include "test/client/fake_server.h"

namespace rouse::test {

FakeServer& server();

class Fixture {
 public:
  Fixture();
  ~Fixture();
};

// The kernels of the one module that the fake server knows, as compiler-generated code would name them: addresses of
// stubs.
using Stub = void (*)();
void fillWords();
void addOne();
void fault();
void print();
void sleepMicros();

// What nvcc makes of variables of that module.
extern int deviceVariableShadow[16];
extern int constantVariableShadow[16];
extern int* managedVariable;

// Registers a module with all of these. `text` is its code; the server accepts what begins with "good".
void** registerModule(const char* text = "good module\n");

inline const void* kernelOf(Stub stub) { return reinterpret_cast<const void*>(stub); }

// Launches `addOne` on `words` words.
cudaError_t launchAddOne(void* words, std::uint64_t count, cudaStream_t stream = nullptr);
// Latches an asynchronous error on the current device.
cudaError_t launchFault(cudaError_t error);
cudaError_t launchSleep(std::uint32_t microseconds, cudaStream_t stream = nullptr);

}  // namespace rouse::test
