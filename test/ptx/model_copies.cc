// Asynchronous copies, as kernels of model_kernel.h have them.
#include "test/ptx/model_families.h"

namespace rouse::test::model {
namespace {

using Who = Act::Who;
using W = std::uint32_t;

// Bytes of a word, of which only so many come.
W part(W word, unsigned bytes) { return bytes >= 4 ? word : bytes == 0 ? 0 : word & ((W{1} << (8 * bytes)) - 1); }

// Four words, of which only some bytes come: the others are zero.
void quad(Acting& a) {
  a.each([&](unsigned t) {
    const W at = (a.word(0, t) & 255) * 4, bytes = a.word(1, t) % 17;
    W all = 0;
    for (unsigned k = 0; k < 4; ++k) all = all * 3 + part(a.in[at + k], bytes > 4 * k ? bytes - 4 * k : 0);
    a.result[t] = all;
  });
}

// Each thread's own rounds, one copy ahead.
void ahead(Acting& a) {
  std::vector<char> going = a.here;
  std::vector<W> sums(a.threads);
  for (unsigned k = 0; k < 7; ++k) {
    a.each([&](unsigned t) {
      going[t] = k < (a.word(1, t) & 7);
      if (going[t] != 0) sums[t] = sums[t] * 3 + a.in[(a.word(0, t) + k * a.word(2, t)) & 1023];
    });
    a.body(going);
  }
  a.each([&](unsigned t) { a.result[t] = sums[t]; });
}

void pair(Acting& a) {
  a.each([&](unsigned t) {
    const W at = (a.word(0, t) & 511) * 2;
    a.result[t] = a.in[at] ^ a.in[at + 1] * 5 ^ a.in[a.word(1, t) & 1023];
  });
}

// What another of those that come has copied.
void ofMate(Acting& a) {
  a.each([&](unsigned t) {
    const W mask = a.lanes(t), from = mask & ~W{0} << (a.word(1, t) & 31);
    const unsigned mate = (t & ~31u) + static_cast<unsigned>(__builtin_ctz(from != 0 ? from : mask));
    a.result[t] = a.in[a.word(0, mate) & 1023];
  });
}

// Tiles for all, two ahead.
void tiles(Acting& a) {
  std::vector<W> sums(a.threads);
  for (unsigned k = 0; k < (a.word(0, 0) & 7); ++k) {
    a.each([&](unsigned t) { sums[t] = sums[t] * 5 + a.in[(a.word(1, (t + a.word(2, t)) % a.threads) + k * 37) & 1023]; });
    a.body(a.here);
  }
  a.each([&](unsigned t) { a.result[t] = sums[t]; });
}

// One thread copies for all.
void bulk(Acting& a) {
  std::vector<W> sums(a.threads);
  for (unsigned k = 0; k < (a.word(0, 0) & 3); ++k) {
    a.each([&](unsigned t) { sums[t] = sums[t] * 5 + a.in[((a.word(1, 0) + k * 16) & 191) * 4 + (a.word(2, t) & 255)]; });
    a.body(a.here);
  }
  a.each([&](unsigned t) { a.result[t] = sums[t]; });
}

}  // namespace

std::vector<Act> copyActs() {
  return {
      {Family::copies, Who::thread, {Level::thread, Level::thread}, Level::thread, Level::thread,
       R"(copy16(actOwn, in + 4 * ($0 & 255), $1 % 17); asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
$r = ((actOwn[0] * 3 + actOwn[1]) * 3 + actOwn[2]) * 3 + actOwn[3];)",
       quad},
      {Family::copies, Who::thread, {Level::thread, Level::thread, Level::block}, Level::thread, Level::thread,
       R"(unsigned sum = 0; const unsigned rounds = $1 & 7; if (rounds > 0) copy4(actOwn, in + ($0 & 1023)); asm volatile("cp.async.commit_group;" ::: "memory");
for (unsigned k = 0; k < rounds; ++k) {
  if (k + 1 < rounds) copy4(actOwn + (k + 1 & 1), in + ($0 + (k + 1) * $2 & 1023));
  asm volatile("cp.async.commit_group; cp.async.wait_group 1;" ::: "memory");
  sum = sum * 3 + *(volatile unsigned*)(actOwn + (k & 1));
$body
}
asm volatile("cp.async.wait_all;" ::: "memory"); $r = sum;)",
       ahead},
      {Family::copies, Who::thread, {Level::thread, Level::warp}, Level::thread, Level::thread,
       R"(copy8(actOwn, in + 2 * ($0 & 511)); asm volatile("cp.async.commit_group;" ::: "memory"); copy4(actOwn + 2, in + ($1 & 1023)); asm volatile("cp.async.commit_group; cp.async.wait_group 1;" ::: "memory");
const unsigned first = actOwn[0] ^ actOwn[1] * 5; asm volatile("cp.async.wait_group 0;" ::: "memory"); $r = first ^ actOwn[2];)",
       pair},
      {Family::copies, Who::lanes, {Level::thread, Level::thread}, Level::thread, Level::thread,
       R"(copy4(actStrip + lane, in + ($0 & 1023)); asm volatile("cp.async.wait_all;" ::: "memory"); __syncwarp($m);
$r = actStrip[member($m, $1)]; __syncwarp($m);)",
       ofMate},
      {Family::copies, Who::block, {Level::block, Level::thread, Level::thread}, Level::thread, Level::block,
       R"(unsigned sum = 0; const unsigned rounds = $0 & 7; __syncthreads();
for (unsigned k = 0; k < 2; ++k) { if (k < rounds) copy4(actBlock + k * 512 + thread, in + ($1 + k * 37 & 1023)); asm volatile("cp.async.commit_group;" ::: "memory"); }
for (unsigned k = 0; k < rounds; ++k) {
  asm volatile("cp.async.wait_group 1;" ::: "memory"); __syncthreads();
  if (k + 2 < rounds) copy4(actBlock + (k + 2) % 3 * 512 + thread, in + ($1 + (k + 2) * 37 & 1023));
  asm volatile("cp.async.commit_group;" ::: "memory");
  sum = sum * 5 + actBlock[k % 3 * 512 + (thread + $2) % threads];
$body
}
asm volatile("cp.async.wait_group 0;" ::: "memory"); __syncthreads(); $r = sum;)",
       tiles},
      {Family::copies, Who::block, {Level::block, Level::block, Level::thread}, Level::thread, Level::block,
       R"(unsigned sum = 0; const unsigned rounds = $0 & 3; if (thread == 0) objectBegin(actBarriers, 1); __syncthreads();
for (unsigned k = 0; k < rounds; ++k) {
  if (thread == 0) copyBulk(actBlock + (k & 1) * 256, in + 4 * ($1 + k * 16 & 191), 1024, actBarriers);
  objectWait(actBarriers, k & 1);
  sum = sum * 5 + actBlock[(k & 1) * 256 + ($2 & 255)];
$body
  __syncthreads();
}
if (thread == 0) objectEnd(actBarriers); __syncthreads(); $r = sum;)",
       bulk},
      {Family::copies, Who::block, {Level::block, Level::thread, Level::thread}, Level::thread, Level::block,
       R"(unsigned sum = 0; const unsigned rounds = $0 & 7; if (thread == 0) objectBegin(actBarriers, threads); __syncthreads();
for (unsigned k = 0; k < rounds; ++k) {
  copy4(actBlock + (k & 1) * 512 + thread, in + ($1 + k * 37 & 1023)); copyArrive(actBarriers);
  objectWait(actBarriers, k & 1);
  sum = sum * 5 + actBlock[(k & 1) * 512 + (thread + $2) % threads];
$body
}
__syncthreads(); if (thread == 0) objectEnd(actBarriers); __syncthreads(); $r = sum;)",
       tiles},
  };
}

}  // namespace rouse::test::model
