// Every name that is not supported says so, and is counted where the daemon looks.
#include <dlfcn.h>

#include <string>

#include "schemas/api/api_ids.h"
#include "test/cudart/fixture.h"

using rouse::test::Fixture;
using rouse::test::server;

TEST_CASE_METHOD(Fixture, "unsupported names return cudaErrorNotSupported and are counted", "[cudart][unsupported]") {
  int unsupported = 0;
  for (std::uint32_t id = 0; id < rouse::api::kApiNameCount; ++id) {
    if (rouse::api::kApiSupported[id]) continue;
    const std::string name(rouse::api::kApiNames[id]);
    CAPTURE(name);
    void* function = ::dlsym(RTLD_DEFAULT, name.c_str());
    REQUIRE(function != nullptr);
    const std::uint32_t before = server().unsupportedCalls(id);
    // Whatever the arguments are, nothing is done with them.
    if (name == "__cudaRegisterUnifiedTable") {
      reinterpret_cast<void (*)()>(function)();
    } else {
      CHECK(reinterpret_cast<cudaError_t (*)()>(function)() == cudaErrorNotSupported);
    }
    CHECK(cudaGetLastError() == cudaErrorNotSupported);
    CHECK(server().unsupportedCalls(id) == before + 1);
    ++unsupported;
  }
  CHECK(unsupported > 50);
}

TEST_CASE_METHOD(Fixture, "supported names are not counted", "[cudart][unsupported]") {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(cudaSetDevice(50) == cudaErrorInvalidDevice);
  CHECK(server().unsupportedCalls(static_cast<std::uint32_t>(rouse::api::ApiId::cudaGetDeviceCount)) == 0);
  CHECK(server().unsupportedCalls(static_cast<std::uint32_t>(rouse::api::ApiId::cudaSetDevice)) == 0);
  (void)cudaGetLastError();
}
