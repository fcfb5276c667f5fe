// The entry point of the back end (memory/device.h).
#include <cstdio>
#include <cstdlib>

#include "server/device/cpu/device.h"

// Returns a C++ object, by design: both sides are built together.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif

extern "C" __attribute__((visibility("default"))) rouse::Result<std::unique_ptr<rouse::memory::Device>>
rouse_open_device(const rouse::memory::DeviceOptions& options) {
  // Read by OpenBLAS when it is loaded (library_loader.h): the device's own workers divide its work. Here, while there are no other threads.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  std::shared_ptr<rouse::cpu::CompileService> service;
  if (options.compileApart) {
    auto started = rouse::cpu::CompileService::start();
    if (started) service = std::move(*started);
    else std::fprintf(stderr, "rouse-executor: %s: kernels are compiled in this process, without limits\n", started.error().message.c_str());
  }
  return rouse::cpu::CpuDevice::open(options, std::move(service));
}
