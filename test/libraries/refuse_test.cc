// What a refused call says and counts, before a runtime of the test's own.
#include "client-shim/library/refuse.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "client-shim/library/host.h"
#include "schemas/api/library_names.h"

namespace rouse {
namespace {

class Runtime final : public client::LibraryHost {
 public:
  CudaError attach(std::uint32_t*) const override { return CudaError::success; }
  CudaError submit(std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t, std::span<const std::byte>) const override {
    return CudaError::success;
  }
  CudaError submitAndWait(std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t, std::span<const std::byte>) const override {
    return CudaError::success;
  }
  CudaError putInGraph(std::uint32_t, const void*, bool, std::uint32_t, std::uint32_t, std::span<const std::byte>) const override {
    return CudaError::success;
  }
  void* allocateShared(std::size_t) const override { return nullptr; }
  std::uint64_t makeHandle(client::HandleKind, void*) const override { return 0; }
  void* findHandle(std::uint64_t, std::uint32_t) const override { return nullptr; }
  void* dropHandle(std::uint64_t, client::HandleKind) const override { return nullptr; }
  void countUnsupported(std::uint32_t name) const override { counted.push_back(name); }
  void warn(const char* text) const override { said.emplace_back(text); }
  std::uint32_t computeCapability(std::uint32_t) const override { return 80; }
  std::uint32_t dnnVersion(std::uint32_t) const override { return 0; }

  mutable std::vector<std::uint32_t> counted;
  mutable std::vector<std::string> said;
};

Runtime& runtime() {
  static Runtime one;
  return one;
}

}  // namespace

namespace client {
const LibraryHost* libraryHost() { return &runtime(); }
}  // namespace client

TEST_CASE("a served function that cannot do what it is asked is counted once, and says why in one line") {
  Runtime& seen = runtime();
  seen.counted.clear();
  seen.said.clear();
  library::refuse("cublasGemmEx", "a type");
  REQUIRE(seen.counted.size() == 1);
  CHECK(api::kAllNames[seen.counted[0]] == "cublasGemmEx");
  CHECK(seen.said == std::vector<std::string>{"cublasGemmEx: not supported: a type"});
}

TEST_CASE("a name that is not served is counted, and says so") {
  Runtime& seen = runtime();
  seen.counted.clear();
  seen.said.clear();
  const auto id = static_cast<std::uint32_t>(std::ranges::find(api::kAllNames, "cublasSgbmv_v2") - api::kAllNames.begin());
  library::refuse(id);
  CHECK(seen.counted == std::vector<std::uint32_t>{id});
  CHECK(seen.said == std::vector<std::string>{"cublasSgbmv_v2 is not supported"});
}

}  // namespace rouse
