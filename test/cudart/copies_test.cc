// Copies, fills, and variables of modules.
#include <cstring>
#include <numeric>
#include <vector>

#include "test/cudart/fixture.h"

using rouse::test::Fixture;

namespace {

std::vector<unsigned char> counting(std::size_t bytes) {
  std::vector<unsigned char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 7 + i / 256);
  return data;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "bytes come back as they went", "[cudart][copies]") {
  const auto data = counting(3'000'000);
  std::vector<unsigned char> back(data.size());
  void *first = nullptr, *second = nullptr;
  REQUIRE(cudaMalloc(&first, data.size()) == cudaSuccess);
  REQUIRE(cudaMalloc(&second, data.size()) == cudaSuccess);
  REQUIRE(cudaMemcpy(first, data.data(), data.size(), cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(cudaMemcpy(second, first, data.size(), cudaMemcpyDefault) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(back.data(), second, data.size(), cudaMemcpyDeviceToHost, nullptr) == cudaSuccess);
  CHECK(back == data);  // into pageable memory a copy has ended when the call returns
}

TEST_CASE_METHOD(Fixture, "wrong directions and ranges are refused", "[cudart][copies]") {
  char host[64] = {};
  void* device = nullptr;
  REQUIRE(cudaMalloc(&device, 64) == cudaSuccess);
  CHECK(cudaMemcpy(device, host, 64, static_cast<cudaMemcpyKind>(17)) == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpy(device, host, 64, static_cast<cudaMemcpyKind>(-1)) == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpy(nullptr, host, 64, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device, host, 0, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemset(host, 0, 64) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy2D(device, 8, host, 8, 9, 2, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
  CHECK(cudaMemcpyAsync(device, host, 4, cudaMemcpyHostToDevice, reinterpret_cast<cudaStream_t>(0x123450)) ==
        cudaErrorInvalidResourceHandle);
}

TEST_CASE_METHOD(Fixture, "planes and boxes are copied row by row", "[cudart][copies]") {
  constexpr std::size_t kWidth = 30, kHeight = 11, kDepth = 5;
  const auto data = counting(kWidth * kHeight * kDepth);
  cudaPitchedPtr box{};
  REQUIRE(cudaMalloc3D(&box, make_cudaExtent(kWidth, kHeight, kDepth)) == cudaSuccess);
  cudaMemcpy3DParms up{};
  up.srcPtr = make_cudaPitchedPtr(const_cast<unsigned char*>(data.data()), kWidth, kWidth, kHeight);
  up.dstPtr = box;
  up.extent = make_cudaExtent(kWidth, kHeight, kDepth);
  up.kind = cudaMemcpyHostToDevice;
  REQUIRE(cudaMemcpy3D(&up) == cudaSuccess);

  // An inner box, from (3, 2, 1) to (1, 0, 0).
  std::vector<unsigned char> part(16 * 8 * 4, 0xee);
  cudaMemcpy3DParms down{};
  down.srcPtr = box;
  down.srcPos = make_cudaPos(3, 2, 1);
  down.dstPtr = make_cudaPitchedPtr(part.data(), 16, 16, 8);
  down.dstPos = make_cudaPos(1, 0, 0);
  down.extent = make_cudaExtent(10, 8, 4);
  down.kind = cudaMemcpyDeviceToHost;
  REQUIRE(cudaMemcpy3D(&down) == cudaSuccess);
  int wrong = 0;
  for (std::size_t z = 0; z < 4; ++z) {
    for (std::size_t y = 0; y < 8; ++y) {
      for (std::size_t x = 0; x < 16; ++x) {
        const bool copied = x >= 1 && x < 11;
        const unsigned char expected =
            copied ? data[((z + 1) * kHeight + y + 2) * kWidth + x - 1 + 3] : static_cast<unsigned char>(0xee);
        wrong += part[(z * 8 + y) * 16 + x] != expected;
      }
    }
  }
  CHECK(wrong == 0);

  std::vector<unsigned char> plane(kWidth * kHeight);
  REQUIRE(cudaMemcpy2D(plane.data(), kWidth, box.ptr, box.pitch, kWidth, kHeight, cudaMemcpyDeviceToHost) ==
          cudaSuccess);
  CHECK(std::equal(plane.begin(), plane.end(), data.begin()));
}

TEST_CASE_METHOD(Fixture, "an array that is none cannot be named in a copy", "[cudart][copies]") {
  cudaMemcpy3DParms parms{};
  parms.srcArray = reinterpret_cast<cudaArray_t>(0x1000);
  parms.extent = make_cudaExtent(1, 1, 1);
  parms.dstPtr = make_cudaPitchedPtr(&parms, 1, 1, 1);
  CHECK(cudaMemcpy3D(&parms) == cudaErrorInvalidResourceHandle);
  CHECK(cudaMemcpy3D(nullptr) == cudaErrorInvalidValue);
}

TEST_CASE_METHOD(Fixture, "devices copy to each other", "[cudart][copies]") {
  const auto data = counting(500'000);
  std::vector<unsigned char> back(data.size());
  void *here = nullptr, *there = nullptr;
  REQUIRE(cudaMalloc(&here, data.size()) == cudaSuccess);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  REQUIRE(cudaMalloc(&there, data.size()) == cudaSuccess);
  REQUIRE(cudaMemcpy(here, data.data(), data.size(), cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(cudaMemcpyPeer(there, 1, here, 0, data.size()) == cudaSuccess);
  REQUIRE(cudaMemcpy(back.data(), there, data.size(), cudaMemcpyDefault) == cudaSuccess);
  CHECK(back == data);
  CHECK(cudaMemcpyPeer(there, 2, here, 0, 1) == cudaErrorInvalidDevice);
}

TEST_CASE_METHOD(Fixture, "a batch copies each of its pieces", "[cudart][copies]") {
  const auto data = counting(4096);
  std::vector<unsigned char> back(data.size());
  void* device = nullptr;
  cudaStream_t stream = nullptr;
  REQUIRE(cudaMalloc(&device, data.size()) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  auto* base = static_cast<unsigned char*>(device);
  void* dsts[] = {base, base + 1000};
  const void* srcs[] = {data.data(), data.data() + 1000};
  std::size_t sizes[] = {1000, 3096};
  std::size_t first[] = {0};
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  REQUIRE(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, first, 1, stream) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(back.data(), device, data.size(), cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  CHECK(back == data);
  CHECK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, first, 1, nullptr) == cudaErrorInvalidValue);
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
  CHECK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, first, 1, stream) == cudaErrorInvalidValue);
}

TEST_CASE_METHOD(Fixture, "variables are reached by their host shadows", "[cudart][copies]") {
  static void** const handle = rouse::test::registerModule();
  REQUIRE(handle != nullptr);
  using rouse::test::constantVariableShadow;
  using rouse::test::deviceVariableShadow;

  std::size_t size = 0;
  CHECK(cudaGetSymbolSize(&size, deviceVariableShadow) == cudaSuccess);
  CHECK(size == 64);
  std::uint32_t word = 0;
  REQUIRE(cudaMemcpyFromSymbol(&word, constantVariableShadow, 4, 8, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(word == rouse::test::kVariableWord);
  word = 12345;
  REQUIRE(cudaMemcpyToSymbol(deviceVariableShadow, &word, 4, 60, cudaMemcpyHostToDevice) == cudaSuccess);
  void* address = nullptr;
  REQUIRE(cudaGetSymbolAddress(&address, deviceVariableShadow) == cudaSuccess);
  std::uint32_t words[16] = {};
  REQUIRE(cudaMemcpy(words, address, 64, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(words[0] == rouse::test::kVariableWord);
  CHECK(words[15] == 12345);

  CHECK(cudaMemcpyToSymbol(deviceVariableShadow, words, 64, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyToSymbol(deviceVariableShadow, words, 4, 0, cudaMemcpyDeviceToHost) ==
        cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpyFromSymbol(words, deviceVariableShadow, 4, 0, cudaMemcpyHostToDevice) ==
        cudaErrorInvalidMemcpyDirection);
  CHECK(cudaGetSymbolAddress(&address, &size) == cudaErrorInvalidSymbol);
  CHECK(cudaFree(address) == cudaErrorInvalidValue);  // not the program's to free
}
