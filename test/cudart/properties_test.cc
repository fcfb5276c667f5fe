#include <catch2/catch.hpp>
#include <cstring>

#include "client-shim/cudart/device_attributes.h"
#include "client-shim/cudart/device_properties.h"

namespace {

// Every attribute has a value of its own.
rouse::client::DeviceInfo numberedDevice() {
  rouse::client::DeviceInfo info;
  info.name = "Rouse test device";
  info.uuid = "GPU-00112233-4455-6677-8899-aabbccddeeff";
  info.memoryBytes = std::uint64_t{5} << 30;
  info.computeMajor = 8;
  info.computeMinor = 6;
  for (int i = 0; i < cudaDevAttrMax; ++i) info.attributes.push_back(10000 + i);
  return info;
}

}  // namespace

TEST_CASE("properties are the attributes by another name", "[cudart][properties]") {
  const auto info = numberedDevice();
  cudaDeviceProp prop;
  std::memset(&prop, 0xff, sizeof(prop));
  rouse::cudart::fillProperties(info, &prop);
  CHECK(std::string(prop.name) == "Rouse test device");
  CHECK(prop.totalGlobalMem == std::size_t{5} << 30);
  CHECK(prop.major == 8);
  CHECK(prop.minor == 6);
  CHECK(prop.maxThreadsPerBlock == 10001);
  CHECK(prop.maxThreadsDim[2] == 10004);
  CHECK(prop.maxGridSize[1] == 10006);
  CHECK(prop.sharedMemPerBlock == 10008);
  CHECK(prop.warpSize == 10010);
  CHECK(prop.memPitch == 10011);
  CHECK(prop.regsPerBlock == 10012);
  CHECK(prop.multiProcessorCount == 10016);
  CHECK(prop.maxThreadsPerMultiProcessor == 10039);
  CHECK(prop.sharedMemPerBlockOptin == 10097);
  CHECK(prop.maxBlocksPerMultiProcessor == 10106);
  CHECK(prop.reservedSharedMemPerBlock == 10111);
  CHECK(prop.clusterLaunch == 10120);
  CHECK(prop.maxTexture3DAlt[2] == 10049);
  CHECK(prop.maxSurfaceCubemapLayered[1] == 10068);
  CHECK(prop.reserved[0] == 0);
}

TEST_CASE("what the library decides is not the device's to say", "[cudart][properties]") {
  const auto info = numberedDevice();
  cudaDeviceProp prop;
  rouse::cudart::fillProperties(info, &prop);
  CHECK(prop.unifiedAddressing == 1);
  CHECK(prop.canMapHostMemory == 1);
  CHECK(prop.managedMemory == 1);
  CHECK(prop.memoryPoolsSupported == 1);
  CHECK(prop.pageableMemoryAccess == 0);
  CHECK(prop.canUseHostPointerForRegisteredMem == 0);
  CHECK(prop.ipcEventSupported == 1);
}

TEST_CASE("a UUID is read from its text", "[cudart][properties]") {
  cudaDeviceProp prop;
  rouse::cudart::fillProperties(numberedDevice(), &prop);
  for (unsigned i = 0; i < sizeof(prop.uuid.bytes); ++i) {
    CHECK(static_cast<unsigned char>(prop.uuid.bytes[i]) == 0x11 * i);
  }
}

TEST_CASE("attributes a device does not know are 0", "[cudart][properties]") {
  const rouse::client::DeviceInfo empty;
  CHECK(rouse::cudart::deviceAttribute(empty, cudaDevAttrClockRate) == 0);
  CHECK(rouse::cudart::deviceAttribute(empty, cudaDevAttrOnlyPartialHostNativeAtomicSupported) == 0);
}
