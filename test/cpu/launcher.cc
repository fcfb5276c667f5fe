#include "test/cpu/launcher.h"

#include <sched.h>

#include <cstring>
#include <thread>
#include <vector>

#include "server/device/cpu/runtime/residency.h"
#include "server/device/cpu/runtime/signal_faults.h"

namespace rouse::cpu {

Error launch(const Launch& request, const void* parameters, std::size_t bytes) {
  installFaultHandlers();
  GridOptions options;
  options.kernel = "test";
  options.code.entry = request.entry;
  options.code.loop = request.loop;
  options.code.rows = request.rows;
  options.code.mayPoll = request.mayPoll;
  options.code.localBytes = request.localBytes;
  options.grid = request.grid;
  options.block = request.block;
  options.cluster = request.cluster;
  options.firstSetsAlong = request.firstSetsAlong;
  options.dynamicSharedBytes = request.sharedBytes;
  options.residentBlocks = request.residentBlocks;
  options.variables = request.variables;
  options.heap = request.heap;
  options.output = request.output;
  options.check = request.check;
  options.parameters.resize(bytes);
  std::memcpy(options.parameters.data(), parameters, bytes);
  Grid grid(std::move(options));
  const auto work = [&] {
    Runner runner;
    Residency residency(runner, grid, request.workers);
    static const std::atomic<std::uint32_t> others{0};
    for (;;) {
      const auto progress = residency.run(others);
      if (progress == Residency::Progress::done) break;
      if (progress == Residency::Progress::spinning) sched_yield();
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < request.workers; ++i) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  CHECK(grid.takeCompletion());
  return grid.failure();
}

}  // namespace rouse::cpu
