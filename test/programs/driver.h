// The driver API as programs reach it that open libcuda.so.1 by name, each function by the name that the library exports. What is included here
// declares them all, with the versions that cuda.h hides behind macros elsewhere.
#pragma once

#define __CUDA_API_VERSION_INTERNAL

#include "check.h"

#include <cuda.h>
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <unistd.h>

#include <csignal>

namespace driver {

// The call that is under way, or was last: named when the program is killed in it, as a driver's can be that trusts what it is given.
inline const char* volatile called = "nothing of the driver's";

inline void died(int number) {
  const char* const name = called;
  (void)!write(STDOUT_FILENO, "killed in ", 10);
  (void)!write(STDOUT_FILENO, name, std::strlen(name));
  (void)!write(STDOUT_FILENO, " or behind it\n", 14);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

inline const bool watched = std::signal(SIGSEGV, died) != SIG_ERR;

inline void* library() {
  static void* const opened = dlopen("libcuda.so.1", RTLD_NOW);
  if (opened == nullptr) {
    std::printf("%s\n", dlerror());
    std::exit(1);
  }
  return opened;
}

template <class Function>
Function found(const char* name) {
  called = name;
  auto function = reinterpret_cast<Function>(dlsym(library(), name));
  if (function == nullptr) {
    std::printf("libcuda.so.1 has no %s\n", name);
    std::exit(1);
  }
  return function;
}

inline void expect(CUresult got, CUresult wanted, const char* what, const char* file, int line) {
  if (got == wanted) return;
  std::printf("%s:%d: %s: %d instead of %d\n", file, line, what, static_cast<int>(got), static_cast<int>(wanted));
  ++check::failures;
}

// PTX of kernels that the programs here load; `bias` is a variable of the module.
inline const char* const source = R"(
.version 7.0
.target sm_70
.address_size 64

.visible .global .align 4 .u32 bias = 1000;

.visible .entry scale(.param .u64 data, .param .u32 n, .param .u32 factor)
{
  .reg .pred %p<2>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<5>;

  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [n];
  ld.param.u32 %r7, [factor];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r6, [%rd4];
  ld.global.u32 %r8, [bias];
  mad.lo.s32 %r9, %r6, %r7, %r8;
  st.global.u32 [%rd4], %r9;
done:
  ret;
}

.visible .entry nothing()
{
  ret;
}
)";

}  // namespace driver

#define CALL(name, ...) driver::found<decltype(&name)>(#name)(__VA_ARGS__)
#define DRIVER(name, ...) driver::expect(CALL(name, __VA_ARGS__), CUDA_SUCCESS, #name, __FILE__, __LINE__)
#define DRIVER_ERROR(wanted, name, ...) driver::expect(CALL(name, __VA_ARGS__), wanted, #name, __FILE__, __LINE__)
