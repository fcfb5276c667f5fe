// Device-side waits for counters in host memory, and writes to them: how the streams of the pool talk to its programs.
#include <atomic>
#include <new>

#include "bench/probe/measurements.h"
#include "bench/probe/samples.h"

namespace rouse::probe {
namespace {

using Counter = std::atomic<std::uint64_t>;
constexpr double kPatience = 2;  // seconds until a counter counts as lost

void await(const Counter& counter, std::uint64_t value, const char* what) {
  const double end = bench::now() + kPatience;
  while (counter.load(std::memory_order_acquire) < value) {
    if (bench::now() > end) throw Failure(std::string(what) + ": the value did not arrive within 2 s");
  }
}

}  // namespace

void measureWaits(const Emit& emit, int ordinal, double seconds) {
  const Gpu gpu(ordinal);
  const Context context(gpu);
  const auto& driver = gpu.driver();
  const PinnedMemory page(gpu, 4096);
  auto* released = new (page.get()) Counter(0);         // the host writes, the device waits
  auto* reached = new (page.get() + 1024) Counter(0);   // the device writes, the host waits
  const CUdeviceptr base = page.deviceAddress();
  const Stream stream(gpu);
  std::uint64_t round = 0;

  const Cap cap{seconds / 4, 2000};
  emit(cost("write-value, from the call until the host sees it", repeat(cap, [&] {
              ++round;
              gpu.check(driver.cuStreamWriteValue64(stream.get(), base + 1024, round, CU_STREAM_WRITE_VALUE_DEFAULT), "cuStreamWriteValue64");
              await(*reached, round, "cuStreamWriteValue64");
            })));

  std::vector<double> waits;
  const double end = bench::now() + cap.seconds;
  for (int run = -1; run < cap.samples && (run < 1 || bench::now() < end); ++run) {
    ++round;
    gpu.check(driver.cuStreamWaitValue64(stream.get(), base, round, CU_STREAM_WAIT_VALUE_GEQ), "cuStreamWaitValue64");
    gpu.check(driver.cuStreamWriteValue64(stream.get(), base + 1024, round, CU_STREAM_WRITE_VALUE_DEFAULT), "cuStreamWriteValue64");
    // Until the stream waits; nothing tells when it does.
    for (const double until = bench::now() + 50e-6; bench::now() < until;) {
    }
    if (reached->load() >= round) throw Failure("cuStreamWaitValue64 did not wait");
    const double begin = bench::now();
    released->store(round, std::memory_order_release);
    await(*reached, round, "cuStreamWaitValue64");
    if (run >= 0) waits.push_back(bench::now() - begin);
  }
  stream.synchronize();
  emit(cost("wait-value, from the host's store to the stream's answer", waits));
}

}  // namespace rouse::probe
