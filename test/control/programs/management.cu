// Uses NVML: functions that the pool serves, and one that it does not.
#include <nvml.h>

int main() {
  nvmlDevice_t device;
  unsigned mode = 0;
  nvmlInit();
  nvmlDeviceGetHandleByIndex(0, &device);
  nvmlDeviceGetPowerUsage(device, &mode);
  return nvmlShutdown();
}
