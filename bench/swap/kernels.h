// The kernels of `rouse-bench swap`, as PTX: made by `nvcc -ptx -arch=sm_75 -O3` (13.0) from the source in the comment, names shortened.
#pragma once

namespace rouse::bench {

// typedef unsigned long long u64;
// // The highest bit keeps times from looking like addresses.
// __device__ u64 timer() { u64 t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t | 1ull << 63; }
// extern "C" __global__ void layer(const unsigned* weight, u64 weights, const unsigned* bias, u64 biases, unsigned stride,
//                                  unsigned phase, const u64* in, u64* out, u64* times) {
//   u64 begin = 0;
//   if (times) begin = timer();
//   const u64 first = phase + (u64)(blockIdx.x * blockDim.x + threadIdx.x) * stride, step = (u64)gridDim.x * blockDim.x * stride;
//   const u64 x = *in;
//   u64 sum = 0;
//   #pragma unroll 1
//   for (u64 i = first; i < weights; i += step) sum += weight[i] * (x + i);
//   #pragma unroll 1
//   for (u64 i = first; i < biases; i += step) sum += bias[i] * (x + weights + i);
//   atomicAdd(out, sum);
//   if (times) {
//     atomicMin(times, begin);
//     atomicMax(times + 1, timer());
//   }
// }
// extern "C" __global__ void name8(const void* a, …, const void* h) {}
constexpr const char* kSwapPtx = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry layer(
  .param .u64 p0,
  .param .u64 p1,
  .param .u64 p2,
  .param .u64 p3,
  .param .u32 p4,
  .param .u32 p5,
  .param .u64 p6,
  .param .u64 p7,
  .param .u64 p8
)
{
  .reg .pred %p<7>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<60>;
  ld.param.u64 %rd19, [p0];
  ld.param.u64 %rd20, [p1];
  ld.param.u64 %rd21, [p2];
  ld.param.u64 %rd22, [p3];
  ld.param.u32 %r1, [p4];
  ld.param.u32 %r2, [p5];
  ld.param.u64 %rd23, [p6];
  ld.param.u64 %rd24, [p7];
  ld.param.u64 %rd25, [p8];
  setp.eq.s64 %p1, %rd25, 0;
  mov.u64 %rd59, 0;
  mov.u64 %rd53, %rd59;
  @%p1 bra $L__BB0_2;
  mov.u64 %rd27, %globaltimer;
  or.b64  %rd53, %rd27, -9223372036854775808;
$L__BB0_2:
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r4, %r3, %r5;
  cvt.u64.u32 %rd29, %r1;
  mul.wide.u32 %rd30, %r1, %r6;
  cvt.u64.u32 %rd31, %r2;
  add.s64 %rd57, %rd30, %rd31;
  mov.u32 %r7, %nctaid.x;
  mul.wide.u32 %rd32, %r7, %r3;
  mul.lo.s64 %rd4, %rd32, %rd29;
  cvta.to.global.u64 %rd33, %rd23;
  ld.global.u64 %rd5, [%rd33];
  setp.ge.u64 %p2, %rd57, %rd20;
  @%p2 bra $L__BB0_5;
  cvta.to.global.u64 %rd6, %rd19;
  mov.u64 %rd59, 0;
  mov.u64 %rd54, %rd57;
$L__BB0_4:
  .pragma "nounroll";
  shl.b64 %rd35, %rd54, 2;
  add.s64 %rd36, %rd6, %rd35;
  ld.global.u32 %rd37, [%rd36];
  add.s64 %rd38, %rd54, %rd5;
  mul.lo.s64 %rd39, %rd38, %rd37;
  add.s64 %rd59, %rd39, %rd59;
  add.s64 %rd54, %rd54, %rd4;
  setp.lt.u64 %p3, %rd54, %rd20;
  @%p3 bra $L__BB0_4;
$L__BB0_5:
  setp.ge.u64 %p4, %rd57, %rd22;
  @%p4 bra $L__BB0_8;
  add.s64 %rd12, %rd5, %rd20;
  cvta.to.global.u64 %rd13, %rd21;
$L__BB0_7:
  .pragma "nounroll";
  shl.b64 %rd40, %rd57, 2;
  add.s64 %rd41, %rd13, %rd40;
  ld.global.u32 %rd42, [%rd41];
  add.s64 %rd43, %rd12, %rd57;
  mul.lo.s64 %rd44, %rd43, %rd42;
  add.s64 %rd59, %rd44, %rd59;
  add.s64 %rd57, %rd57, %rd4;
  setp.lt.u64 %p5, %rd57, %rd22;
  @%p5 bra $L__BB0_7;
$L__BB0_8:
  cvta.to.global.u64 %rd45, %rd24;
  atom.global.add.u64 %rd46, [%rd45], %rd59;
  @%p1 bra $L__BB0_10;
  cvta.to.global.u64 %rd48, %rd25;
  atom.global.min.u64 %rd49, [%rd48], %rd53;
  mov.u64 %rd47, %globaltimer;
  or.b64  %rd50, %rd47, -9223372036854775808;
  add.s64 %rd51, %rd48, 8;
  atom.global.max.u64 %rd52, [%rd51], %rd50;
$L__BB0_10:
  ret;
}
.visible .entry name8(
  .param .u64 p0,
  .param .u64 p1,
  .param .u64 p2,
  .param .u64 p3,
  .param .u64 p4,
  .param .u64 p5,
  .param .u64 p6,
  .param .u64 p7
)
{
  ret;
}
)";

}  // namespace rouse::bench
