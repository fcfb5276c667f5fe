// Memory for libraries, over a driver of the test's own that counts what is there, and refuses what it is told to.
#include "server/device/cuda/work_memory.h"

#include <catch2/catch.hpp>
#include <string>

using namespace rouse;
using namespace rouse::cuda;

namespace {

struct There {
  int reserved = 0, made = 0, mapped = 0, open = 0;
  std::uint64_t bytes = 0;
  std::string refuses;
} there;

CUresult said(const char* call) { return there.refuses == call ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS; }

Driver counting() {
  Driver driver{};
  driver.cuGetErrorName = [](CUresult, const char** name) { return *name = "CUDA_ERROR_OUT_OF_MEMORY", CUDA_SUCCESS; };
  driver.cuGetErrorString = [](CUresult, const char** text) { return *text = "out of memory", CUDA_SUCCESS; };
  driver.cuMemAddressReserve = [](CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long) {
    if (const CUresult result = said("cuMemAddressReserve"); result != CUDA_SUCCESS) return result;
    *address = 0x7000'0000;
    there.bytes = bytes;
    ++there.reserved;
    return CUDA_SUCCESS;
  };
  driver.cuMemAddressFree = [](CUdeviceptr address, std::size_t bytes) {
    CHECK((address == 0x7000'0000 && bytes == there.bytes && there.mapped == 0));
    --there.reserved;
    return CUDA_SUCCESS;
  };
  driver.cuMemCreate = [](CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* property, unsigned long long) {
    if (const CUresult result = said("cuMemCreate"); result != CUDA_SUCCESS) return result;
    CHECK((bytes == there.bytes && property->location.type == CU_MEM_LOCATION_TYPE_DEVICE && property->location.id == 3));
    *handle = 5;
    ++there.made;
    return CUDA_SUCCESS;
  };
  driver.cuMemRelease = [](CUmemGenericAllocationHandle handle) {
    CHECK(handle == 5);
    --there.made;
    return CUDA_SUCCESS;
  };
  driver.cuMemMap = [](CUdeviceptr address, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle, unsigned long long) {
    if (const CUresult result = said("cuMemMap"); result != CUDA_SUCCESS) return result;
    CHECK((address == 0x7000'0000 && bytes == there.bytes));
    ++there.mapped;
    return CUDA_SUCCESS;
  };
  driver.cuMemUnmap = [](CUdeviceptr, std::size_t bytes) {
    CHECK(bytes == there.bytes);
    --there.mapped;
    return CUDA_SUCCESS;
  };
  driver.cuMemSetAccess = [](CUdeviceptr, std::size_t, const CUmemAccessDesc* access, std::size_t count) {
    if (const CUresult result = said("cuMemSetAccess"); result != CUDA_SUCCESS) return result;
    CHECK((count == 1 && access->location.id == 3 && access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    ++there.open;
    return CUDA_SUCCESS;
  };
  return driver;
}

}  // namespace

TEST_CASE("libraries' memory is made of whole granules, and is gone when it is given back") {
  there = {};
  const Driver driver = counting();
  LibraryMemory memory(driver, 3);
  const auto taken = memory.take(5 << 20);
  REQUIRE(taken.ok());
  CHECK(*taken == 0x7000'0000);
  CHECK(there.bytes == 6 << 20);
  CHECK((there.reserved == 1 && there.made == 0 && there.mapped == 1 && there.open == 1));  // the mapping keeps what was made
  memory.give(*taken, 5 << 20);
  CHECK((there.reserved == 0 && there.mapped == 0));
}

TEST_CASE("where a step of it fails, nothing stays behind") {
  const Driver driver = counting();
  for (const char* call : {"cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess"}) {
    there = {};
    there.refuses = call;
    LibraryMemory memory(driver, 3);
    const auto taken = memory.take(1);
    REQUIRE(!taken.ok());
    CHECK(taken.error().code == CudaError::memoryAllocation);
    CHECK(taken.error().message.find(call) == 0);
    CHECK((there.reserved == 0 && there.made == 0 && there.mapped == 0 && there.open == 0));
  }
}
