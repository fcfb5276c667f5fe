// The kernels of `rouse-bench swap`, as PTX: made by `nvcc -ptx -arch=sm_75 -O3` (13.0) from the source in the comment, names shortened.
//
// A block reads a part of its own, and each word as often as it uses it: what a core has in its cache it reads from there, as a matrix product does.
#pragma once

namespace rouse::bench {

// typedef unsigned long long u64;
// // The highest bit keeps times from looking like addresses.
// __device__ u64 timer() { u64 t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t | 1ull << 63; }
// __device__ u64 part(const unsigned* word, u64 words, u64 x, unsigned stride, unsigned phase, unsigned uses) {
//   const u64 read = words > phase ? (words - phase + stride - 1) / stride : 0, each = (read + gridDim.x - 1) / gridDim.x;
//   const u64 first = blockIdx.x * each, last = first + each < read ? first + each : read;
//   u64 sum = 0;
//   #pragma unroll 1
//   for (u64 n = first + threadIdx.x; n < last; n += blockDim.x) {
//     const u64 i = phase + n * stride;
//     #pragma unroll 1
//     for (unsigned use = 0; use < uses; ++use) sum += *(volatile const unsigned*)(word + i) * (x + i);
//   }
//   return sum;
// }
// extern "C" __global__ void layer(const unsigned* weight, u64 weights, const unsigned* bias, u64 biases, unsigned stride,
//                                  unsigned phase, unsigned uses, const u64* in, u64* out, u64* times) {
//   u64 begin = 0;
//   if (times) begin = timer();
//   const u64 x = *in;
//   const u64 sum = part(weight, weights, x, stride, phase, uses) + part(bias, biases, x + weights, stride, phase, uses);
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
  .param .u32 p6,
  .param .u64 p7,
  .param .u64 p8,
  .param .u64 p9
)
{
  .reg .pred %p<19>;
  .reg .b32 %r<29>;
  .reg .b64 %rd<122>;
  ld.param.u64 %rd58, [p0];
  ld.param.u64 %rd59, [p1];
  ld.param.u64 %rd60, [p2];
  ld.param.u64 %rd61, [p3];
  ld.param.u32 %r5, [p4];
  ld.param.u32 %r6, [p5];
  ld.param.u32 %r7, [p6];
  ld.param.u64 %rd62, [p7];
  ld.param.u64 %rd63, [p8];
  ld.param.u64 %rd64, [p9];
  setp.eq.s64 %p1, %rd64, 0;
  mov.u64 %rd108, 0;
  mov.u64 %rd107, %rd108;
  @%p1 bra $L__BB0_2;
  mov.u64 %rd66, %globaltimer;
  or.b64 %rd107, %rd66, -9223372036854775808;
$L__BB0_2:
  cvta.to.global.u64 %rd68, %rd62;
  ld.global.u64 %rd3, [%rd68];
  cvt.u64.u32 %rd4, %r6;
  setp.ge.u64 %p2, %rd4, %rd59;
  @%p2 bra $L__BB0_6;
  cvt.u64.u32 %rd5, %r5;
  add.s64 %rd69, %rd59, %rd5;
  add.s64 %rd70, %rd69, -1;
  sub.s64 %rd6, %rd70, %rd4;
  and.b64 %rd71, %rd6, -4294967296;
  setp.eq.s64 %p3, %rd71, 0;
  @%p3 bra $L__BB0_5;
  div.u64 %rd108, %rd6, %rd5;
  bra.uni $L__BB0_6;
$L__BB0_5:
  cvt.u32.u64 %r8, %rd5;
  cvt.u32.u64 %r9, %rd6;
  div.u32 %r10, %r9, %r8;
  cvt.u64.u32 %rd108, %r10;
$L__BB0_6:
  mov.u32 %r11, %nctaid.x;
  cvt.u64.u32 %rd10, %r11;
  add.s64 %rd11, %rd10, -1;
  add.s64 %rd12, %rd11, %rd108;
  and.b64 %rd72, %rd12, -4294967296;
  setp.eq.s64 %p4, %rd72, 0;
  @%p4 bra $L__BB0_8;
  div.u64 %rd109, %rd12, %rd10;
  bra.uni $L__BB0_9;
$L__BB0_8:
  cvt.u32.u64 %r12, %rd10;
  cvt.u32.u64 %r13, %rd12;
  div.u32 %r14, %r13, %r12;
  cvt.u64.u32 %rd109, %r14;
$L__BB0_9:
  mov.u32 %r15, %ctaid.x;
  cvt.u64.u32 %rd16, %r15;
  mul.lo.s64 %rd74, %rd109, %rd16;
  add.s64 %rd75, %rd74, %rd109;
  min.u64 %rd17, %rd75, %rd108;
  mov.u32 %r16, %tid.x;
  cvt.u64.u32 %rd18, %r16;
  add.s64 %rd110, %rd74, %rd18;
  setp.ge.u64 %p5, %rd110, %rd17;
  mov.u64 %rd115, 0;
  mov.u64 %rd114, %rd115;
  @%p5 bra $L__BB0_16;
  mov.u32 %r17, %ntid.x;
  cvt.u64.u32 %rd20, %r17;
  setp.eq.s32 %p6, %r7, 0;
  @%p6 bra $L__BB0_15;
  cvta.to.global.u64 %rd21, %rd58;
  cvt.u64.u32 %rd22, %r5;
  mov.u64 %rd114, 0;
$L__BB0_12:
  .pragma "nounroll";
  mul.lo.s64 %rd77, %rd110, %rd22;
  add.s64 %rd78, %rd77, %rd4;
  shl.b64 %rd79, %rd78, 2;
  add.s64 %rd25, %rd21, %rd79;
  add.s64 %rd26, %rd78, %rd3;
  mov.u32 %r27, 0;
$L__BB0_13:
  .pragma "nounroll";
  ld.volatile.global.u32 %rd80, [%rd25];
  mul.lo.s64 %rd81, %rd26, %rd80;
  add.s64 %rd114, %rd81, %rd114;
  add.s32 %r27, %r27, 1;
  setp.lt.u32 %p7, %r27, %r7;
  @%p7 bra $L__BB0_13;
  add.s64 %rd110, %rd110, %rd20;
  setp.lt.u64 %p8, %rd110, %rd17;
  @%p8 bra $L__BB0_12;
  bra.uni $L__BB0_16;
$L__BB0_15:
  .pragma "nounroll";
  add.s64 %rd110, %rd110, %rd20;
  setp.lt.u64 %p9, %rd110, %rd17;
  mov.u64 %rd114, %rd115;
  @%p9 bra $L__BB0_15;
$L__BB0_16:
  setp.ge.u64 %p10, %rd4, %rd61;
  @%p10 bra $L__BB0_20;
  cvt.u64.u32 %rd33, %r5;
  add.s64 %rd84, %rd61, %rd33;
  add.s64 %rd85, %rd84, -1;
  sub.s64 %rd34, %rd85, %rd4;
  and.b64 %rd86, %rd34, -4294967296;
  setp.eq.s64 %p11, %rd86, 0;
  @%p11 bra $L__BB0_19;
  div.u64 %rd115, %rd34, %rd33;
  bra.uni $L__BB0_20;
$L__BB0_19:
  cvt.u32.u64 %r19, %rd33;
  cvt.u32.u64 %r20, %rd34;
  div.u32 %r21, %r20, %r19;
  cvt.u64.u32 %rd115, %r21;
$L__BB0_20:
  add.s64 %rd38, %rd11, %rd115;
  and.b64 %rd87, %rd38, -4294967296;
  setp.eq.s64 %p12, %rd87, 0;
  @%p12 bra $L__BB0_22;
  div.u64 %rd116, %rd38, %rd10;
  bra.uni $L__BB0_23;
$L__BB0_22:
  cvt.u32.u64 %r22, %rd10;
  cvt.u32.u64 %r23, %rd38;
  div.u32 %r24, %r23, %r22;
  cvt.u64.u32 %rd116, %r24;
$L__BB0_23:
  mul.lo.s64 %rd89, %rd116, %rd16;
  add.s64 %rd90, %rd89, %rd116;
  min.u64 %rd42, %rd90, %rd115;
  add.s64 %rd117, %rd89, %rd18;
  setp.ge.u64 %p13, %rd117, %rd42;
  mov.u64 %rd121, 0;
  @%p13 bra $L__BB0_30;
  mov.u32 %r25, %ntid.x;
  cvt.u64.u32 %rd44, %r25;
  setp.eq.s32 %p14, %r7, 0;
  @%p14 bra $L__BB0_29;
  add.s64 %rd45, %rd3, %rd59;
  cvta.to.global.u64 %rd46, %rd60;
  cvt.u64.u32 %rd47, %r5;
  mov.u64 %rd121, 0;
$L__BB0_26:
  .pragma "nounroll";
  mul.lo.s64 %rd92, %rd117, %rd47;
  add.s64 %rd93, %rd92, %rd4;
  shl.b64 %rd94, %rd93, 2;
  add.s64 %rd50, %rd46, %rd94;
  add.s64 %rd51, %rd45, %rd93;
  mov.u32 %r28, 0;
$L__BB0_27:
  .pragma "nounroll";
  ld.volatile.global.u32 %rd95, [%rd50];
  mul.lo.s64 %rd96, %rd51, %rd95;
  add.s64 %rd121, %rd96, %rd121;
  add.s32 %r28, %r28, 1;
  setp.lt.u32 %p15, %r28, %r7;
  @%p15 bra $L__BB0_27;
  add.s64 %rd117, %rd117, %rd44;
  setp.lt.u64 %p16, %rd117, %rd42;
  @%p16 bra $L__BB0_26;
  bra.uni $L__BB0_30;
$L__BB0_29:
  .pragma "nounroll";
  add.s64 %rd117, %rd117, %rd44;
  setp.lt.u64 %p17, %rd117, %rd42;
  @%p17 bra $L__BB0_29;
$L__BB0_30:
  add.s64 %rd98, %rd121, %rd114;
  cvta.to.global.u64 %rd99, %rd63;
  atom.global.add.u64 %rd100, [%rd99], %rd98;
  @%p1 bra $L__BB0_32;
  cvta.to.global.u64 %rd102, %rd64;
  atom.global.min.u64 %rd103, [%rd102], %rd107;
  mov.u64 %rd101, %globaltimer;
  or.b64 %rd104, %rd101, -9223372036854775808;
  add.s64 %rd105, %rd102, 8;
  atom.global.max.u64 %rd106, [%rd105], %rd104;
$L__BB0_32:
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
