// A child of a process that uses devices gets an error from every call that would reach one, and does no harm.
#include <sys/wait.h>
#include <unistd.h>

#include "test/cudart/fixture.h"

using rouse::test::Fixture;

TEST_CASE_METHOD(Fixture, "a forked child cannot use its parent's devices", "[cudart][fork]") {
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 4096) == cudaSuccess);
  const pid_t child = ::fork();
  if (child == 0) {
    void* more = nullptr;
    int count = 0;
    bool right = cudaMalloc(&more, 16) == cudaErrorInitializationError;
    right = right && cudaGetLastError() == cudaErrorInitializationError;
    right = right && cudaDeviceSynchronize() == cudaErrorInitializationError;
    right = right && cudaGetDeviceCount(&count) == cudaErrorInitializationError;
    right = right && cudaRuntimeGetVersion(&count) == cudaSuccess;
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(cudaMemset(memory, 0, 4096) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}
