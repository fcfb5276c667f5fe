// Tests of a library's client: memory on the first device of the pool that this process shares, and what comes to its executor.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string_view>
#include <vector>

#include "schemas/api/library_names.h"
#include "test/client/fake_server.h"

namespace rouse::test {

struct LibraryCalls {
  LibraryCalls() {
    server();
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    REQUIRE(cudaMalloc(&memory, 1 << 20) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  }
  ~LibraryCalls() {
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    (void)cudaFree(memory);
    CHECK(server().executor(0).rejection() == "");
  }
  LibraryCalls(const LibraryCalls&) = delete;

  static FakeServer& server() { return poolOfThisProcess(); }
  std::uint64_t count(wire::Opcode opcode) { return server().executor(0).count(opcode); }
  // The last that has come.
  template <class Call>
  Call last() {
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    const std::vector<std::byte> bytes = server().executor(0).lastLibraryCall();
    Call call;
    REQUIRE(bytes.size() == sizeof call);
    std::memcpy(&call, bytes.data(), sizeof call);
    return call;
  }
  template <class T = void>
  T* at(std::size_t bytes) {
    return reinterpret_cast<T*>(memory + bytes);
  }
  std::uint64_t address(std::size_t bytes) { return reinterpret_cast<std::uint64_t>(memory + bytes); }

  char* memory = nullptr;
};

// The number under which calls of a name are counted.
inline std::uint32_t idOf(std::string_view name) { return static_cast<std::uint32_t>(std::ranges::find(api::kAllNames, name) - api::kAllNames.begin()); }

}  // namespace rouse::test
