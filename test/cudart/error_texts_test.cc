// Programs print and compare these texts: they are the toolkit's own.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <string>

#include "client-shim/cudart/implementations.h"
#include "schemas/base/cuda_error.h"

TEST_CASE("names and descriptions of all error codes are those of the toolkit's library", "[cudart][errors]") {
  void* toolkit = ::dlopen(ROUSE_TOOLKIT_CUDART, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(toolkit != nullptr);
  using Text = const char* (*)(cudaError_t);
  const auto name = reinterpret_cast<Text>(::dlsym(toolkit, "cudaGetErrorName"));
  const auto text = reinterpret_cast<Text>(::dlsym(toolkit, "cudaGetErrorString"));
  REQUIRE(name != nullptr);
  REQUIRE(text != nullptr);

  int known = 0, wrong = 0;
  for (int code = -1; code <= 10100; ++code) {
    const auto error = static_cast<cudaError_t>(code);
    const std::string theirName = name(error), theirText = text(error);
    if (theirName == rouse::cudart::impl::cudaGetErrorName(error) &&
        theirText == rouse::cudart::impl::cudaGetErrorString(error)) {
      known += theirName != "unrecognized error code";
      continue;
    }
    ++wrong;
    CHECK(theirName == rouse::cudart::impl::cudaGetErrorName(error));
    CHECK(theirText == rouse::cudart::impl::cudaGetErrorString(error));
  }
  CHECK(wrong == 0);
  CHECK(known > 120);
}

TEST_CASE("errors that the server knows have CUDA's names", "[cudart][errors]") {
  int named = 0;
  for (int code = 0; code <= 10100; ++code) {
    const std::string_view name = rouse::name(static_cast<rouse::CudaError>(code));
    if (name.empty()) continue;
    ++named;
    CHECK(name == rouse::cudart::impl::cudaGetErrorName(static_cast<cudaError_t>(code)));
  }
  CHECK(named >= 34);
  CHECK(rouse::name(rouse::CudaError::illegalAddress) == "cudaErrorIllegalAddress");
}
