// What it costs to begin: the driver, a context; and addresses of our own choosing.
#include <optional>

#include "bench/probe/measurements.h"
#include "bench/probe/samples.h"
#include "memory/address_plan.h"

namespace rouse::probe {

void measureContext(const Emit& emit, int ordinal, double seconds) {
  std::optional<Gpu> gpu;
  const double begin = bench::now();
  gpu.emplace(ordinal);
  emit(cost("driver loaded and initialised", {bench::now() - begin}));
  std::vector<double> created, destroyed;
  const double end = bench::now() + seconds * 0.7;
  do {
    std::optional<Context> context;
    const double create = bench::now();
    context.emplace(*gpu);
    created.push_back(bench::now() - create);
    const double destroy = bench::now();
    context.reset();
    destroyed.push_back(bench::now() - destroy);
  } while (created.size() < 5 && bench::now() < end);
  emit(cost("context created", created));
  emit(cost("context destroyed", destroyed));
}

// Where the daemon puts the windows of functions. A driver may answer with another address: then stable addresses do not work.
void measureReservations(const Emit& emit, int ordinal, double seconds) {
  const Gpu gpu(ordinal);
  const Context context(gpu);
  const AddressRange range = memory::AddressPlan::defaultRange();
  for (const std::size_t bytes : {std::size_t{1} << 30, std::size_t{64} << 30, std::size_t{256} << 30}) {
    nlohmann::json line{{"name", "reservation at a fixed address"}, {"bytes", bytes}};
    try {
      bool granted = true;
      const auto times = repeat({seconds / 6, 20}, [&] {
        CUdeviceptr address = 0;
        gpu.check(gpu.driver().cuMemAddressReserve(&address, bytes, 0, range.base, 0), "cuMemAddressReserve");
        granted = granted && address == range.base;
        gpu.check(gpu.driver().cuMemAddressFree(address, bytes), "cuMemAddressFree");
      });
      if (granted) {
        line.update(cost("reservation at a fixed address", times));
      } else {
        line["error"] = "the driver gave another address than the one asked for";
      }
    } catch (const Failure& failure) {
      line["error"] = failure.what();
    }
    emit(line);
  }
}

}  // namespace rouse::probe
