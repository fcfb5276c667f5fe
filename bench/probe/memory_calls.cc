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

// Access to several mappings that lie one behind the other, and their end, in one call each.
void together(const Gpu& gpu, std::size_t count, double seconds, const Emit& emit) {
  const auto& driver = gpu.driver();
  constexpr std::size_t kBytes = kSizes[0];
  const CUmemAllocationProp prop = allocation(gpu);
  const CUmemAccessDesc desc = readWrite(gpu);
  CUdeviceptr address = 0;
  gpu.check(driver.cuMemAddressReserve(&address, count * kBytes, 0, 0, 0), "cuMemAddressReserve");
  std::vector<CUmemGenericAllocationHandle> handles(count);
  for (auto& handle : handles) gpu.check(driver.cuMemCreate(&handle, kBytes, &prop, 0), "cuMemCreate");
  std::vector<double> access, unmap;
  const double end = bench::now() + seconds;
  do {
    for (std::size_t i = 0; i < count; ++i) gpu.check(driver.cuMemMap(address + i * kBytes, kBytes, 0, handles[i], 0), "cuMemMap");
    const double begin = bench::now();
    gpu.check(driver.cuMemSetAccess(address, count * kBytes, &desc, 1), "cuMemSetAccess");
    const double mapped = bench::now();
    const CUresult result = driver.cuMemUnmap(address, count * kBytes);
    const double unmapped = bench::now();
    if (result != CUDA_SUCCESS) {
      emit({{"name", "cuMemUnmap of several"}, {"bytes", kBytes}, {"mappings", count}, {"skipped", "the driver unmaps one mapping a call"}});
      for (std::size_t i = 0; i < count; ++i) gpu.check(driver.cuMemUnmap(address + i * kBytes, kBytes), "cuMemUnmap");
      break;
    }
    access.push_back(mapped - begin);
    unmap.push_back(unmapped - mapped);
  } while (unmap.size() < kSamples && bench::now() < end);
  for (const auto handle : handles) gpu.check(driver.cuMemRelease(handle), "cuMemRelease");
  gpu.check(driver.cuMemAddressFree(address, count * kBytes), "cuMemAddressFree");
  if (unmap.empty()) return;
  for (const auto& [name, samples] : {std::pair{"cuMemSetAccess of several", &access}, std::pair{"cuMemUnmap of several", &unmap}}) {
    nlohmann::json line = cost(name, *samples);
    line["bytes"] = kBytes;
    line["mappings"] = count;
    emit(line);
  }
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
    const double end = bench::now() + seconds / (std::size(kSizes) + 4);
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
  for (const std::size_t count : {std::size_t{2}, std::size_t{8}, std::size_t{32}}) {
    if (count * kSizes[0] <= room) together(gpu, count, seconds / (std::size(kSizes) + 4), emit);
  }
}

}  // namespace rouse::probe
