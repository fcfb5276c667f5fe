// What launches and events cost their caller, and how soon they are over.
#include "bench/probe/measurements.h"
#include "bench/probe/samples.h"

namespace rouse::probe {
namespace {

constexpr char kEmpty[] = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry empty()\n{\n  ret;\n}\n";
constexpr int kBatch = 200;  // a batch fits into a driver's queue

}  // namespace

void measureLaunches(const Emit& emit, int ordinal, double seconds) {
  const Gpu gpu(ordinal);
  const Context context(gpu);
  const auto& driver = gpu.driver();
  const Stream stream(gpu), second(gpu);
  const Library library(gpu, kEmpty);
  const CUfunction empty = library.function("empty");
  const auto launch = [&] { gpu.check(driver.cuLaunchKernel(empty, 1, 1, 1, 32, 1, 1, 0, stream.get(), nullptr, nullptr), "cuLaunchKernel"); };
  const Cap cap{seconds / 10, 200};
  // Only the calls are timed; what they queue is waited for in between.
  const auto calls = [&](const char* name, auto&& call) {
    std::vector<double> samples;
    const double end = bench::now() + cap.seconds;
    for (int run = -1; run < cap.samples && (run < 1 || bench::now() < end); ++run) {
      const double begin = bench::now();
      for (int i = 0; i < kBatch; ++i) call();
      if (run >= 0) samples.push_back(bench::now() - begin);
      stream.synchronize();
      second.synchronize();
    }
    emit(cost(name, samples, kBatch));
  };
  calls("launch, the call", launch);
  emit(cost("launch, until it is over", repeat({cap.seconds, 2000}, [&] { launch(); stream.synchronize(); })));
  emit(cost("launches back to back", repeat(cap, [&] {
              for (int i = 0; i < kBatch; ++i) launch();
              stream.synchronize();
            }), kBatch));

  CUevent event = nullptr;
  gpu.check(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  try {
    calls("event record", [&] { gpu.check(driver.cuEventRecord(event, stream.get()), "cuEventRecord"); });
    calls("event query", [&] { gpu.check(driver.cuEventQuery(event), "cuEventQuery"); });
    calls("stream wait for an event", [&] { gpu.check(driver.cuStreamWaitEvent(second.get(), event, 0), "cuStreamWaitEvent"); });
  } catch (...) {
    driver.cuEventDestroy(event);
    throw;
  }
  gpu.check(driver.cuEventDestroy(event), "cuEventDestroy");
}

}  // namespace rouse::probe
