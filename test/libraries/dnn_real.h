// Graphs on GPUs, before a double of cuDNN: what the tests of that share. Nothing here says that NVIDIA's library takes the calls.
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/library/cuda/real_libraries.h"
#include "test/libraries/dnn_graphs.h"
#include "test/libraries/taken.h"

namespace rouse::library::cuda {

inline std::vector<Taken> taken() { return takenOf(ROUSE_CUDNN_DOUBLE); }

// What was set in backend descriptors, by their kind.
struct Described {
  std::uint64_t kind = 0;
  std::map<std::uint64_t, Words> attributes;
  bool finished = false;
};
inline std::map<std::uint64_t, Described> described(const std::vector<Taken>& calls) {
  std::map<std::uint64_t, Described> all;
  for (const Taken& call : calls) {
    const Words& a = call.arguments;
    if (call.name == "cudnnBackendCreateDescriptor") all[a[0]].kind = a[1];
    if (call.name == "cudnnBackendSetAttribute") {
      CHECK(!all[a[0]].finished);
      all[a[0]].attributes[a[1]] = {a.begin() + 4, a.end()};
    }
    if (call.name == "cudnnBackendFinalize") all[a[0]].finished = true;
  }
  return all;
}
inline std::size_t countOf(const std::vector<Taken>& calls, const char* name) {
  return static_cast<std::size_t>(std::count_if(calls.begin(), calls.end(), [&](const Taken& each) { return each.name == name; }));
}
inline const Taken& the(const std::vector<Taken>& calls, const char* name) {
  REQUIRE(countOf(calls, name) == 1);
  return *std::find_if(calls.begin(), calls.end(), [&](const Taken& each) { return each.name == name; });
}

struct Real {
  Real() {
    ::setenv(kBlasVariable, ROUSE_CUBLAS_DOUBLE, 1);
    ::setenv(kDnnVariable, ROUSE_CUDNN_DOUBLE, 1);
    handle = libraries.take(reinterpret_cast<CUstream_st*>(0x77)).value();
    taken();
  }
  Status run(const dnn::GraphOf& g) { return libraries.call(*handle, dnn::kLibrary, dnn::kGraphFunction, dnn::putTogether(g.parts)); }
  RealLibraries libraries;
  Handle* handle = nullptr;
};

// Of the device, for libraries to work in.
struct Account {
  Words taken, given;
  bool empty = false;
  std::uint64_t next = 0x9000'0000;
};
class Memory final : public WorkMemory {
 public:
  explicit Memory(Account& account) : account_(account) {}
  Result<std::uint64_t> take(std::uint64_t bytes) override {
    if (account_.empty) return Error{CudaError::memoryAllocation, "none left"};
    account_.taken.push_back(bytes);
    return std::exchange(account_.next, account_.next + bytes);
  }
  void give(std::uint64_t address, std::uint64_t bytes) override { account_.given.insert(account_.given.end(), {address, bytes}); }

 private:
  Account& account_;
};

}  // namespace rouse::library::cuda
