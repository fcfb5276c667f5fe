// Bandwidth between pinned host memory and the GPU by block size: each way alone, and both at once. Blocks follow one another on a stream as
// the groups of a swap do.
#include <algorithm>

#include "bench/probe/measurements.h"
#include "bench/probe/samples.h"

namespace rouse::probe {
namespace {

constexpr std::size_t kSizes[] = {std::size_t{4} << 10, std::size_t{64} << 10, std::size_t{256} << 10, std::size_t{1} << 20,
                                  std::size_t{2} << 20, std::size_t{4} << 20,  std::size_t{16} << 20,  std::size_t{64} << 20,
                                  std::size_t{256} << 20};
constexpr std::size_t kMost = std::size_t{256} << 20;
constexpr std::size_t kSample = std::size_t{64} << 20;  // bytes a sample moves at least, but no more blocks than kBlocks
constexpr std::size_t kBlocks = 256;

struct Buffers {
  CUdeviceptr device;
  char* host;
};

}  // namespace

void measureCopies(const Emit& emit, int ordinal, double seconds) {
  const Gpu gpu(ordinal);
  const Context context(gpu);
  const auto granule = std::size_t{2} << 20;
  const std::size_t room = std::clamp(freeBytes(gpu) / 4 / granule * granule, granule, kMost);
  const DeviceMemory deviceIn(gpu, room), deviceOut(gpu, room);
  const PinnedMemory hostIn(gpu, room), hostOut(gpu, room);
  const Stream in(gpu), out(gpu);
  const auto& driver = gpu.driver();

  for (const std::size_t bytes : kSizes) {
    if (bytes > room) {
      emit({{"name", "copies"}, {"bytes", bytes}, {"skipped", "too little free memory on the GPU"}});
      continue;
    }
    const std::size_t blocks = std::clamp(kSample / bytes, std::size_t{1}, std::min(kBlocks, room / bytes));
    const auto toDevice = [&] {
      for (std::size_t i = 0; i < blocks; ++i) {
        gpu.check(driver.cuMemcpyHtoDAsync(deviceIn.address() + i * bytes, hostIn.get() + i * bytes, bytes, in.get()), "cuMemcpyHtoDAsync");
      }
    };
    const auto toHost = [&] {
      for (std::size_t i = 0; i < blocks; ++i) {
        gpu.check(driver.cuMemcpyDtoHAsync(hostOut.get() + i * bytes, deviceOut.address() + i * bytes, bytes, out.get()), "cuMemcpyDtoHAsync");
      }
    };
    const Cap cap{seconds / (3 * std::size(kSizes) + 3), 30};
    const auto one = repeat(cap, [&] { toDevice(); in.synchronize(); });
    emit(rate("copy host to device", bytes, blocks * bytes, one));
    const auto other = repeat(cap, [&] { toHost(); out.synchronize(); });
    emit(rate("copy device to host", bytes, blocks * bytes, other));
    const auto both = repeat(cap, [&] { toDevice(); toHost(); in.synchronize(); out.synchronize(); });
    emit(rate("copy both ways at once", bytes, 2 * blocks * bytes, both));
  }
}

}  // namespace rouse::probe
