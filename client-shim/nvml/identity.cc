// NVML, "Device Queries": what a GPU is called, and where it is.
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "client-shim/nvml/call.h"
#include "client-shim/nvml/implementations.h"
#include "schemas/base/pci_address.h"

namespace rouse::nvml::impl {
namespace {

// By the product's name: nothing else is known of it.
constexpr struct {
  std::string_view begins;
  nvmlBrandType_t brand;
} kBrands[] = {{"Tesla ", NVML_BRAND_TESLA},          {"Quadro RTX ", NVML_BRAND_QUADRO_RTX}, {"Quadro ", NVML_BRAND_QUADRO},  {"NVIDIA GeForce ", NVML_BRAND_GEFORCE},
               {"GeForce ", NVML_BRAND_GEFORCE},      {"NVIDIA TITAN ", NVML_BRAND_TITAN},    {"TITAN ", NVML_BRAND_TITAN},    {"NVIDIA RTX ", NVML_BRAND_NVIDIA_RTX},
               {"NVIDIA ", NVML_BRAND_NVIDIA}};

PciAddress addressOf(const client::ManagedGpu& gpu) {
  PciAddress address;
  parsePciAddress(gpu.pciAddress, &address);
  return address;
}

// Those of before NVML 9 are shorter: what is behind pciSubSystemId is not the library's to write.
nvmlReturn_t giveOldPci(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  nvmlPciInfo_t all;
  const nvmlReturn_t status = impl::nvmlDeviceGetPciInfo_v3(device, pci == nullptr ? nullptr : &all);
  if (status == NVML_SUCCESS) std::memcpy(pci, &all, offsetof(nvmlPciInfo_t, busId));
  return status;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  return withGpu(device, [&](const client::ManagedGpu& gpu, std::uint32_t) { return give(gpu.name, name, length); }, name);
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t* type) {
  return withGpu(device, [&](const client::ManagedGpu& gpu, std::uint32_t) {
    *type = NVML_BRAND_UNKNOWN;
    for (const auto& [begins, brand] : kBrands) {
      if (!std::string_view(gpu.name).starts_with(begins)) continue;
      *type = brand;
      break;
    }
    return NVML_SUCCESS;
  }, type);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  return withGpu(device, [&](const client::ManagedGpu& gpu, std::uint32_t) { return give(gpu.uuid, uuid, length); }, uuid);
}

// There is no /dev/nvidia…: the place among the process's own.
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* number) { return impl::nvmlDeviceGetIndex(device, number); }

nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned* board) {
  return withGpu(device, [&](const client::ManagedGpu& gpu, std::uint32_t) {
    const PciAddress address = addressOf(gpu);
    *board = address.domain << 16 | address.bus << 8 | address.device;
    return NVML_SUCCESS;
  }, board);
}

// As cudaDeviceProp::isMultiGpuBoard says.
nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned* several) {
  return withGpu(device, [&](const client::ManagedGpu&, std::uint32_t) {
    *several = 0;
    return NVML_SUCCESS;
  }, several);
}

nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t one, nvmlDevice_t other, int* same) {
  return withGpus(one, other, [&](std::uint32_t first, std::uint32_t second) {
    *same = first == second ? 1 : 0;
    return NVML_SUCCESS;
  }, same);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return withGpu(device, [&](const client::ManagedGpu& gpu, std::uint32_t) {
    const PciAddress address = addressOf(gpu);
    *pci = {};
    std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", address.domain & 0xffff, address.bus & 0xff, address.device & 0xff);
    std::snprintf(pci->busId, sizeof pci->busId, NVML_DEVICE_PCI_BUS_ID_FMT, address.domain, address.bus, address.device);
    pci->domain = address.domain;
    pci->bus = address.bus;
    pci->device = address.device;
    pci->pciDeviceId = gpu.pciDevice;
    pci->pciSubSystemId = gpu.pciSubsystem;
    return NVML_SUCCESS;
  }, pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t* pci) { return giveOldPci(device, pci); }
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* pci) { return giveOldPci(device, pci); }

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* pci) {
  return withGpu(device, [&](const client::ManagedGpu&, std::uint32_t) {
    if (pci->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlPciInfo_t plain;
    if (const nvmlReturn_t status = impl::nvmlDeviceGetPciInfo_v3(device, &plain); status != NVML_SUCCESS) return status;
    *pci = {.version = nvmlPciInfoExt_v1, .domain = plain.domain, .bus = plain.bus, .device = plain.device, .pciDeviceId = plain.pciDeviceId,
            .pciSubSystemId = plain.pciSubSystemId, .baseClass = 3, .subClass = 2, .busId = {}};  // a display controller, of no kind that shows anything
    std::memcpy(pci->busId, plain.busId, sizeof pci->busId);
    return NVML_SUCCESS;
  }, pci);
}

}  // namespace rouse::nvml::impl
