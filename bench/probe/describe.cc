#include <array>
#include <cstdio>

#include "bench/probe/measurements.h"

namespace rouse::probe {

nlohmann::json describe(const Gpu& gpu) {
  const cuda::Driver& driver = gpu.driver();
  std::array<char, 128> name{}, pci{};
  gpu.check(driver.cuDeviceGetName(name.data(), name.size(), gpu.device()), "cuDeviceGetName");
  gpu.check(driver.cuDeviceGetPCIBusId(pci.data(), pci.size(), gpu.device()), "cuDeviceGetPCIBusId");
  CUuuid uuid{};
  gpu.check(driver.cuDeviceGetUuid(&uuid, gpu.device()), "cuDeviceGetUuid");
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  std::size_t bytes = 0;
  gpu.check(driver.cuDeviceTotalMem(&bytes, gpu.device()), "cuDeviceTotalMem");
  int major = 0, minor = 0, version = 0;
  gpu.check(driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu.device()), "cuDeviceGetAttribute");
  gpu.check(driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu.device()), "cuDeviceGetAttribute");
  gpu.check(driver.cuDriverGetVersion(&version), "cuDriverGetVersion");
  return {{"name", name.data()},
          {"uuid", text},
          {"pci", pci.data()},
          {"memory_bytes", bytes},
          {"compute", std::to_string(major) + "." + std::to_string(minor)},
          {"driver_version", std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10)},
          {"devices", gpu.count()},
          {"ordinal", gpu.ordinal()}};
}

const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {"context", 0.12, measureContext},          {"reservations", 0.06, measureReservations}, {"copies", 0.3, measureCopies},
      {"memory calls", 0.22, measureMemoryCalls}, {"launches", 0.08, measureLaunches},         {"waits", 0.08, measureWaits},
      {"beside a kernel", 0.14, measureBeside},
  };
  return all;
}

}  // namespace rouse::probe
