// What each call of the driver's memory management costs, by chunk size.
#include "bench/probe/measurements.h"
#include "bench/probe/samples.h"

namespace rouse::probe {
namespace {

constexpr std::size_t kSizes[] = {std::size_t{2} << 20, std::size_t{4} << 20, std::size_t{16} << 20, std::size_t{64} << 20,
                                  std::size_t{256} << 20, std::size_t{1} << 30};
constexpr int kSamples = 50;

// The calls in the order of a chunk's life.
struct Times {
  std::vector<double> create, map, access, unmap, release;
};

void life(const Gpu& gpu, CUdeviceptr address, std::size_t bytes, Times& times) {
  const auto& driver = gpu.driver();
  const auto timed = [&](std::vector<double>& into, const char* call, auto&& body) {
    const double begin = bench::now();
    const CUresult result = body();
    into.push_back(bench::now() - begin);
    gpu.check(result, call);
  };
  const CUmemAllocationProp prop = allocation(gpu);
  const CUmemAccessDesc desc = readWrite(gpu);
  CUmemGenericAllocationHandle handle = 0;
  timed(times.create, "cuMemCreate", [&] { return driver.cuMemCreate(&handle, bytes, &prop, 0); });
  timed(times.map, "cuMemMap", [&] { return driver.cuMemMap(address, bytes, 0, handle, 0); });
  timed(times.access, "cuMemSetAccess", [&] { return driver.cuMemSetAccess(address, bytes, &desc, 1); });
  timed(times.unmap, "cuMemUnmap", [&] { return driver.cuMemUnmap(address, bytes); });
  timed(times.release, "cuMemRelease", [&] { return driver.cuMemRelease(handle); });
}

}  // namespace

void measureMemoryCalls(const Emit& emit, int ordinal, double seconds) {
  const Gpu gpu(ordinal);
  const Context context(gpu);
  const std::size_t room = freeBytes(gpu) / 2;
  for (const std::size_t bytes : kSizes) {
    if (bytes > room) {
      emit({{"name", "cuMemCreate"}, {"bytes", bytes}, {"skipped", "too little free memory on the GPU"}});
      continue;
    }
    CUdeviceptr address = 0;
    gpu.check(gpu.driver().cuMemAddressReserve(&address, bytes, 0, 0, 0), "cuMemAddressReserve");
    Times times;
    life(gpu, address, bytes, times);
    times = {};
    const double end = bench::now() + seconds / (std::size(kSizes) + 1);
    do {
      life(gpu, address, bytes, times);
    } while (times.create.size() < kSamples && bench::now() < end);
    gpu.check(gpu.driver().cuMemAddressFree(address, bytes), "cuMemAddressFree");
    const auto one = [&](const char* name, const std::vector<double>& samples) {
      nlohmann::json line = cost(name, samples);
      line["bytes"] = bytes;
      emit(line);
    };
    one("cuMemCreate", times.create);
    one("cuMemMap", times.map);
    one("cuMemSetAccess", times.access);
    one("cuMemUnmap", times.unmap);
    one("cuMemRelease", times.release);
  }
}

}  // namespace rouse::probe
