// NVML, "Device Queries": which GPUs there are, and handles of them by what they are known by.
#include <strings.h>

#include <cstring>
#include <iterator>

#include "client-shim/nvml/call.h"
#include "client-shim/nvml/implementations.h"
#include "schemas/base/pci_address.h"

namespace rouse::nvml::impl {
namespace {

// The first GPU of which `is` says so.
template <class Is>
nvmlReturn_t find(nvmlDevice_t* device, Is&& is) {
  Library& library = Library::get();
  std::uint32_t count = 0;
  if (const nvmlReturn_t status = library.count(&count); status != NVML_SUCCESS) return status;
  for (std::uint32_t index = 0; index < count; ++index) {
    client::ManagedGpu gpu;
    if (const nvmlReturn_t status = library.facts(index, &gpu); status != NVML_SUCCESS) return status;
    if (!is(gpu)) continue;
    *device = library.handle(index);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t check(const void* given, const void* device) {
  if (!Library::get().started()) return NVML_ERROR_UNINITIALIZED;
  return given == nullptr || device == nullptr ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  if (!Library::get().started()) return NVML_ERROR_UNINITIALIZED;
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return Library::get().count(count);
}

nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return impl::nvmlDeviceGetCount_v2(count); }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  std::uint32_t count = 0;
  if (const nvmlReturn_t status = Library::get().count(&count); status != NVML_SUCCESS) return status;
  if (device == nullptr || index >= count) return NVML_ERROR_INVALID_ARGUMENT;
  *device = Library::get().handle(index);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) { return impl::nvmlDeviceGetHandleByIndex_v2(index, device); }

// No GPU's is known.
nvmlReturn_t nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* device) {
  const nvmlReturn_t status = check(serial, device);
  return status == NVML_SUCCESS ? NVML_ERROR_NOT_FOUND : status;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  if (const nvmlReturn_t status = check(uuid, device); status != NVML_SUCCESS) return status;
  return find(device, [&](const client::ManagedGpu& gpu) { return ::strcasecmp(gpu.uuid, uuid) == 0; });
}

nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t* uuid, nvmlDevice_t* device) {
  if (const nvmlReturn_t status = check(uuid, device); status != NVML_SUCCESS) return status;
  if (uuid->version != nvmlUUID_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  switch (uuid->type) {
    case NVML_UUID_TYPE_ASCII:
      return find(device, [&](const client::ManagedGpu& gpu) { return ::strncasecmp(gpu.uuid, uuid->value.str, sizeof uuid->value.str) == 0; });
    case NVML_UUID_TYPE_BINARY:
      return find(device, [&](const client::ManagedGpu& gpu) { return std::memcmp(gpu.uuidBytes, uuid->value.bytes, sizeof gpu.uuidBytes) == 0; });
    default:
      return NVML_ERROR_INVALID_ARGUMENT;
  }
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* address, nvmlDevice_t* device) {
  if (const nvmlReturn_t status = check(address, device); status != NVML_SUCCESS) return status;
  PciAddress wanted;
  if (!parsePciAddress(address, &wanted)) return NVML_ERROR_INVALID_ARGUMENT;
  return find(device, [&](const client::ManagedGpu& gpu) {
    PciAddress its;
    return parsePciAddress(gpu.pciAddress, &its) && its == wanted;
  });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* address, nvmlDevice_t* device) { return impl::nvmlDeviceGetHandleByPciBusId_v2(address, device); }

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* to) {
  return withGpu(device, [&](const client::ManagedGpu&, std::uint32_t index) {
    *to = index;
    return NVML_SUCCESS;
  }, to);
}

}  // namespace rouse::nvml::impl
