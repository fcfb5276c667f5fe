#include "test/cuda-double/simulation.h"

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

namespace rouse::cuda_double::simulation {
namespace {

std::optional<std::uint64_t> number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (*end != '\0') {
    // Half a simulation would test nothing, and nobody would notice.
    std::fprintf(stderr, "cuda-double: %s=%s is not a decimal number\n", name, text);
    std::abort();
  }
  return value;
}

std::string text(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

int devices() { return static_cast<int>(number("ROUSE_DOUBLE_DEVICES").value_or(1)); }
int driverVersion() { return static_cast<int>(number("ROUSE_DOUBLE_DRIVER_VERSION").value_or(CUDA_VERSION)); }
std::uint64_t memoryBytes() { return number("ROUSE_DOUBLE_MEMORY_BYTES").value_or(std::uint64_t{1} << 30); }
std::optional<std::uint64_t> freeBytes() { return number("ROUSE_DOUBLE_FREE_BYTES"); }
bool exclusive() { return number("ROUSE_DOUBLE_EXCLUSIVE").value_or(0) != 0; }
bool peers() { return number("ROUSE_DOUBLE_PEERS").value_or(0) != 0; }
bool prohibited() { return number("ROUSE_DOUBLE_PROHIBITED").value_or(0) != 0; }
bool singleUnmap() { return number("ROUSE_DOUBLE_SINGLE_UNMAP").value_or(0) != 0; }
std::optional<std::uint64_t> pinnedBytes() { return number("ROUSE_DOUBLE_PINNED_BYTES"); }
std::uint64_t faultLaunch() { return number("ROUSE_DOUBLE_FAULT_LAUNCH").value_or(0); }
unsigned workers() { return static_cast<unsigned>(number("ROUSE_DOUBLE_WORKERS").value_or(2)); }

std::string cpuDevice() { return text("ROUSE_DOUBLE_CPU_DEVICE"); }
std::string unknownCall() { return text("ROUSE_DOUBLE_UNKNOWN_CALL"); }

}  // namespace rouse::cuda_double::simulation
