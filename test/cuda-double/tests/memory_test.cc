// Memory at fixed addresses, copies and fills: done, not pretended.
#include <unistd.h>

#include <numeric>

#include "test/cuda-double/tests/bench.h"

using namespace rouse;
using namespace rouse::cuda_double_test;

TEST_CASE("memory lies where it was asked for, and moves with its handle") {
  Bench bench;
  const CUdeviceptr asked = freeAddresses(64 * kMiB);
  const auto properties = onDevice();
  CUdeviceptr window = 0;
  REQUIRE(driver().cuMemAddressReserve(&window, 64 * kMiB, 0, asked, 0) == CUDA_SUCCESS);
  CHECK(window == asked);
  CUmemGenericAllocationHandle handle = 0;
  REQUIRE(driver().cuMemCreate(&handle, 4 * kMiB, &properties, 0) == CUDA_SUCCESS);
  CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  std::uint8_t* host = bench.host(4096);

  for (const CUdeviceptr at : {asked + 6 * kMiB, asked + 32 * kMiB}) {
    REQUIRE(driver().cuMemMap(at, 4 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
    REQUIRE(driver().cuMemSetAccess(at, 4 * kMiB, &access, 1) == CUDA_SUCCESS);
    if (at == asked + 6 * kMiB) {
      REQUIRE(driver().cuMemsetD32Async(at + 2 * kMiB, 0xcafe, 1024, bench.stream) == CUDA_SUCCESS);
    }
    std::memset(host, 0, 4096);
    REQUIRE(driver().cuMemcpyDtoHAsync(host, at + 2 * kMiB, 4096, bench.stream) == CUDA_SUCCESS);
    bench.finish();
    std::uint32_t last = 0;
    std::memcpy(&last, host + 4092, 4);
    CHECK(last == 0xcafe);
    REQUIRE(driver().cuMemUnmap(at, 4 * kMiB) == CUDA_SUCCESS);
  }
  CHECK(driver().cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(driver().cuMemAddressFree(window, 64 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("an address that is taken is only a hint") {
  Bench bench;
  CUdeviceptr first = 0, second = 0;
  const CUdeviceptr asked = freeAddresses(2 * kMiB);
  REQUIRE(driver().cuMemAddressReserve(&first, 2 * kMiB, 0, asked, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemAddressReserve(&second, 2 * kMiB, 0, asked, 0) == CUDA_SUCCESS);
  CHECK(first == asked);
  CHECK(second != first);
  CHECK(driver().cuMemAddressFree(first, 2 * kMiB) == CUDA_SUCCESS);
  CHECK(driver().cuMemAddressFree(second, 2 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("memory counts as taken until handle and mapping are gone") {
  Bench bench;
  std::size_t before = 0, now = 0, total = 0;
  REQUIRE(driver().cuMemGetInfo(&before, &total) == CUDA_SUCCESS);
  CHECK(total == 256 * kMiB);
  const auto properties = onDevice();
  CUdeviceptr window = 0;
  CUmemGenericAllocationHandle handle = 0;
  REQUIRE(driver().cuMemAddressReserve(&window, 8 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemCreate(&handle, 8 * kMiB, &properties, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemMap(window, 8 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemRelease(handle) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemGetInfo(&now, &total) == CUDA_SUCCESS);
  CHECK(now == before - 8 * kMiB);
  REQUIRE(driver().cuMemUnmap(window, 8 * kMiB) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemGetInfo(&now, &total) == CUDA_SUCCESS);
  CHECK(now == before);
  CHECK(driver().cuMemAddressFree(window, 8 * kMiB) == CUDA_SUCCESS);
  CHECK(driver().cuMemCreate(&handle, 512 * kMiB, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_CASE("memory that was made to be shared can be read by who has its descriptor, and lives as long as anybody's mapping of it") {
  Bench bench;
  constexpr auto kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemAllocationProp properties = onDevice();
  properties.requestedHandleTypes = kDescriptor;
  CUmemGenericAllocationHandle handle = 0, private_ = 0, imported = 0;
  REQUIRE(driver().cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_SUCCESS);
  const CUmemAllocationProp plain = onDevice();
  REQUIRE(driver().cuMemCreate(&private_, 2 * kMiB, &plain, 0) == CUDA_SUCCESS);
  int descriptor = -1;
  violated();
  CHECK(driver().cuMemExportToShareableHandle(&descriptor, private_, kDescriptor, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(violated() == "not-shareable");
  CHECK(driver().cuMemExportToShareableHandle(&descriptor, handle, kDescriptor, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(violated() == "flags");
  CHECK(driver().cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0) == CUDA_ERROR_NOT_SUPPORTED);
  REQUIRE(driver().cuMemExportToShareableHandle(&descriptor, handle, kDescriptor, 0) == CUDA_SUCCESS);

  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUdeviceptr own = 0, other = 0;
  REQUIRE(driver().cuMemAddressReserve(&own, 2 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemMap(own, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemSetAccess(own, 2 * kMiB, &access, 1) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemsetD8Async(own, 7, 2 * kMiB, bench.stream) == CUDA_SUCCESS);
  bench.finish();

  const auto os = [](int fd) { return reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)); };
  CHECK(driver().cuMemImportFromShareableHandle(&imported, os(-1), kDescriptor) == CUDA_ERROR_INVALID_VALUE);
  CHECK(driver().cuMemImportFromShareableHandle(&imported, os(0), kDescriptor) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(driver().cuMemImportFromShareableHandle(&imported, os(descriptor), kDescriptor) == CUDA_SUCCESS);
  close(descriptor);
  REQUIRE(driver().cuMemAddressReserve(&other, 2 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemMap(other, 2 * kMiB, 0, imported, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemRelease(imported) == CUDA_SUCCESS);
  CHECK(driver().cuMemSetAccess(other, 2 * kMiB, &access, 1) == CUDA_ERROR_NOT_SUPPORTED);  // it has been shared to be read
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  REQUIRE(driver().cuMemSetAccess(other, 2 * kMiB, &access, 1) == CUDA_SUCCESS);
  std::uint8_t* host = bench.host(4096);
  CHECK(driver().cuMemcpyDtoHAsync(host, other + kMiB, 4096, bench.stream) == CUDA_SUCCESS);
  bench.finish();
  CHECK(host[4095] == 7);
  CHECK(violated().empty());
  CHECK(driver().cuMemsetD8Async(other, 1, 16, bench.stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(violated() == "read-only");
  for (const CUdeviceptr at : {own, other}) {
    REQUIRE(driver().cuMemUnmap(at, 2 * kMiB) == CUDA_SUCCESS);
    REQUIRE(driver().cuMemAddressFree(at, 2 * kMiB) == CUDA_SUCCESS);
  }
  REQUIRE(driver().cuMemRelease(handle) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemRelease(private_) == CUDA_SUCCESS);
}

TEST_CASE("copies of every kind carry their bytes") {
  Bench bench;
  const CUdeviceptr device = bench.allocate(4 * kMiB);
  std::uint8_t* pinned = bench.host(2 * kMiB);
  std::iota(pinned, pinned + 2 * kMiB, std::uint8_t{3});

  SECTION("large, there, across and back") {
    REQUIRE(driver().cuMemcpyHtoDAsync(device, pinned, 2 * kMiB, bench.stream) == CUDA_SUCCESS);
    REQUIRE(driver().cuMemcpyDtoDAsync(device + 2 * kMiB, device, 2 * kMiB, bench.stream) == CUDA_SUCCESS);
    std::vector<std::uint8_t> expected(pinned, pinned + 2 * kMiB);
    bench.finish();
    std::memset(pinned, 0, 2 * kMiB);
    REQUIRE(driver().cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(pinned), device + 2 * kMiB, 2 * kMiB, bench.stream) ==
            CUDA_SUCCESS);
    bench.finish();
    CHECK(std::equal(expected.begin(), expected.end(), pinned));
  }
  SECTION("pageable memory: read and written when the call returns") {
    std::vector<std::uint8_t> source(70'000, 9), result(70'000);
    REQUIRE(driver().cuMemcpyHtoDAsync(device, source.data(), source.size(), bench.stream) == CUDA_SUCCESS);
    source.assign(source.size(), 1);
    REQUIRE(driver().cuMemcpyDtoHAsync(result.data(), device, result.size(), bench.stream) == CUDA_SUCCESS);
    CHECK(result == std::vector<std::uint8_t>(70'000, 9));
  }
  SECTION("rectangles and boxes") {
    REQUIRE(driver().cuMemsetD2D8Async(device, 64, 0x11, 48, 16, bench.stream) == CUDA_SUCCESS);
    CUDA_MEMCPY3D box{};
    box.srcMemoryType = CU_MEMORYTYPE_HOST;
    box.srcHost = pinned;
    box.srcPitch = 16;
    box.srcHeight = 4;
    box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box.dstDevice = device;
    box.dstPitch = 64;
    box.dstHeight = 8;
    box.dstXInBytes = 8;
    box.dstY = 1;
    box.WidthInBytes = 10;
    box.Height = 3;
    box.Depth = 2;
    REQUIRE(driver().cuMemcpy3DAsync(&box, bench.stream) == CUDA_SUCCESS);
    CUDA_MEMCPY2D rectangle{};
    rectangle.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    rectangle.srcDevice = device;
    rectangle.srcPitch = 64;
    rectangle.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    rectangle.dstDevice = reinterpret_cast<CUdeviceptr>(pinned) + kMiB;
    rectangle.dstPitch = 48;
    rectangle.WidthInBytes = 48;
    rectangle.Height = 16;
    REQUIRE(driver().cuMemcpy2DAsync(&rectangle, bench.stream) == CUDA_SUCCESS);
    bench.finish();
    std::size_t wrong = 0;
    for (std::size_t y = 0; y < 16; ++y) {
      for (std::size_t x = 0; x < 48; ++x) {
        std::uint8_t expected = 0x11;
        const std::size_t z = y / 8, row = y % 8;
        if (row >= 1 && row < 4 && x >= 8 && x < 18) expected = pinned[z * 64 + (row - 1) * 16 + (x - 8)];
        wrong += pinned[kMiB + y * 48 + x] != expected;
      }
    }
    CHECK(wrong == 0);
  }
  SECTION("fills of all widths") {
    REQUIRE(driver().cuMemsetD8Async(device, 0x5a, 3, bench.stream) == CUDA_SUCCESS);
    REQUIRE(driver().cuMemsetD16Async(device + 4, 0x1234, 2, bench.stream) == CUDA_SUCCESS);
    REQUIRE(driver().cuMemsetD2D16Async(device + 16, 8, 0xabcd, 2, 2, bench.stream) == CUDA_SUCCESS);
    REQUIRE(driver().cuMemsetD2D32Async(device + 32, 16, 0x01020304, 1, 2, bench.stream) == CUDA_SUCCESS);
    REQUIRE(driver().cuMemcpyDtoHAsync(pinned, device, 64, bench.stream) == CUDA_SUCCESS);
    bench.finish();
    const auto word = [&](std::size_t at) {
      std::uint32_t value = 0;
      std::memcpy(&value, pinned + at, 4);
      return value;
    };
    CHECK((word(0) & 0xffffff) == 0x5a5a5a);
    CHECK(word(4) == 0x12341234);
    CHECK(word(16) == 0xabcdabcd);
    CHECK(word(24) == 0xabcdabcd);
    CHECK(word(32) == 0x01020304);
    CHECK(word(48) == 0x01020304);
  }
}
