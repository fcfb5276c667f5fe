// What the double pretends to be, from the environment. Looked at when it matters, so that a test may change it between
// contexts; README.md lists the variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rouse::cuda_double::simulation {

int devices();                               // ROUSE_DOUBLE_DEVICES, 1
int driverVersion();                         // ROUSE_DOUBLE_DRIVER_VERSION, that of cuda.h
std::uint64_t memoryBytes();                 // ROUSE_DOUBLE_MEMORY_BYTES, 1 GiB; of each device, fixed at cuInit
std::optional<std::uint64_t> freeBytes();    // ROUSE_DOUBLE_FREE_BYTES: others hold the rest
bool exclusive();                            // ROUSE_DOUBLE_EXCLUSIVE=1: another process has the device
bool peers();                                // ROUSE_DOUBLE_PEERS=1: devices say that they reach each other
bool prohibited();                           // ROUSE_DOUBLE_PROHIBITED=1: its compute mode lets nobody have it
bool singleUnmap();  // ROUSE_DOUBLE_SINGLE_UNMAP: several mappings are not unmapped in one call
std::optional<std::uint64_t> pinnedBytes();  // ROUSE_DOUBLE_PINNED_BYTES: host memory that may be registered
std::string unknownCall();    // ROUSE_DOUBLE_UNKNOWN_CALL: a function that says CUDA_ERROR_UNKNOWN and does nothing; empty: none
std::uint64_t faultLaunch();  // ROUSE_DOUBLE_FAULT_LAUNCH=n: the n-th launch in a context faults; 0: none
unsigned workers();           // ROUSE_DOUBLE_WORKERS, 2: threads that run kernels
std::string cpuDevice();      // ROUSE_DOUBLE_CPU_DEVICE: path of librouse-device-cpu.so, or empty

}  // namespace rouse::cuda_double::simulation
