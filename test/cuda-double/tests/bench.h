// The driver API of the double, loaded as the CUDA device loads it, and a context to work in.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "schemas/base/range.h"
#include "server/device/cuda/driver/driver_table.h"

namespace rouse::cuda_double_test {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Loaded and initialized once, with two devices of 256 MiB.
const cuda::Driver& driver();
// What broke a rule before cuInit was called, by then.
const std::string& beforeInit();

// Addresses that nothing else takes by itself.
CUdeviceptr freeAddresses(std::uint64_t bytes);

// The rules broken since the last call of this, in order, "a, b"; forgotten with it.
std::string violated();
std::string lastViolation();
unsigned long long calls(const char* function);

// Restores the variable when it goes.
class Variable {
 public:
  Variable(const char* name, const std::string& value);
  ~Variable();

 private:
  const char* name_;
  std::string before_;
  bool had_;
};

CUmemAllocationProp onDevice(int ordinal = 0);

// A primary context, current, with a stream. Fails the test when a rule was broken that it did not ask about.
class Bench {
 public:
  Bench();
  ~Bench();

  CUcontext context = nullptr;
  CUstream stream = nullptr;
  // Mapped and accessible, at `at` when it is not 0; gone with the bench.
  CUdeviceptr allocate(std::uint64_t bytes, CUdeviceptr at = 0);
  // Page-aligned host memory; registered; gone with the bench.
  std::uint8_t* host(std::uint64_t bytes);
  CUlibrary library();
  CUkernel kernel(const char* name);
  CUresult launch(CUkernel kernel, unsigned grid, unsigned block, std::vector<void*> parameters, CUstream on = nullptr);
  void finish() { REQUIRE(driver().cuStreamSynchronize(stream) == CUDA_SUCCESS); }
  // Does at once what the destructor does.
  void end();

 private:
  struct Memory {
    CUdeviceptr address;
    std::uint64_t bytes;
    CUmemGenericAllocationHandle handle;
  };
  std::vector<Memory> memory_;
  std::vector<std::pair<void*, std::uint64_t>> host_;
  CUlibrary library_ = nullptr;
};

}  // namespace rouse::cuda_double_test
