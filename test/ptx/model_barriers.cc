// Barrier objects in shared memory, as kernels of model_kernel.h have them: whole blocks, warps that make and others that take, threads that drop out, lanes that wait for lanes.
#include "test/ptx/model_families.h"

namespace rouse::test::model {
namespace {

using Who = Act::Who;
using W = std::uint32_t;

// Something in between arriving and waiting.
void apart(Acting& a) {
  a.body(a.here);
  a.each([&](unsigned t) { a.result[t] = a.x[0][a.word(1, t) % a.threads]; });
}

// Warp x0 makes what all others take.
void handed(Acting& a) {
  if (a.threads < 64) return;
  const unsigned maker = a.word(0, 0) % (a.threads / 32), rounds = a.word(1, 0) & 7;
  std::vector<W> sums(a.threads);
  std::vector<char> takers(a.threads, 0);
  a.each([&](unsigned t) { takers[t] = t / 32 != maker; });
  for (unsigned k = 0; k < rounds; ++k) {
    a.each([&](unsigned t) {
      if (takers[t] != 0) sums[t] = sums[t] * 3 + a.word(2, maker * 32 + ((a.word(3, t) + k) & 31)) * (k + 1);
    });
    a.body(takers);
  }
  a.each([&](unsigned t) { a.result[t] = sums[t]; });
}

// Each thread as many rounds as it has, the first all.
void dropping(Acting& a) {
  std::vector<W> sums(a.threads), kept(a.threads);
  const auto rounds = [&](unsigned t) { return t == 0 ? 3 : a.word(0, t) & 3; };
  for (unsigned k = 0; k < 3; ++k) {
    std::vector<char> going(a.threads, 0);
    a.each([&](unsigned t) { going[t] = k < rounds(t); });
    a.each([&](unsigned t) { if (going[t] != 0) kept[t] = a.word(1, t) + k; });
    a.each([&](unsigned t) { if (going[t] != 0) sums[t] = sums[t] * 3 + kept[(t + a.word(2, t)) % a.threads]; });
    a.body(going);
  }
  a.each([&](unsigned t) { a.result[t] = sums[t]; });
}

// Some lanes of a warp wait for others of it.
void lanesWait(Acting& a) {
  const auto makes = [&](unsigned t) { return (a.word(0, t) & 3) != 0; };
  std::vector<char> makers(a.threads, 0), takers(a.threads, 0);
  a.each([&](unsigned t) { (makes(t) ? makers : takers)[t] = 1; });
  a.body(makers);
  a.each([&](unsigned t) {
    W mask = 0, all = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (makers[(t & ~31u) + lane] == 0) continue;
      mask |= W{1} << lane;
    }
    for (unsigned lane = 0; lane < 32; ++lane) all = all * 3 + ((mask >> lane & 1) != 0 ? a.word(1, (t & ~31u) + lane) : 0);
    a.result[t] = takers[t] != 0 ? (mask == 0 ? 9 : all) : mask;
  });
}

// Warp after warp hands a sum on.
void row(Acting& a) {
  W sum = 11;
  std::vector<W> sums(a.threads);
  for (unsigned first = 0; first < a.threads; first += 32) {
    sum = sum * 3 + a.word(0, first);
    for (unsigned t = first; t < a.threads && t < first + 32; ++t) sums[t] = sum;
  }
  a.body(a.here);
  a.each([&](unsigned t) { a.result[t] = sums[t]; });
}

}  // namespace

std::vector<Act> barrierActs() {
  return {
      {Family::barriers, Who::block, {Level::thread, Level::thread}, Level::thread, Level::block,
       R"(if (thread == 0) objectBegin(actBarriers, threads); __syncthreads(); actBlock[thread] = $0; const unsigned long long token = objectArrive(actBarriers);
$body
objectWaitToken(actBarriers, token); $r = actBlock[$1 % threads]; __syncthreads(); if (thread == 0) objectEnd(actBarriers); __syncthreads();)",
       apart},
      {Family::barriers, Who::block, {Level::block, Level::block, Level::thread, Level::thread}, Level::thread, Level::warp,
       R"(if (threads >= 64) { unsigned sum = 0; const unsigned maker = $0 % (threads / 32), rounds = $1 & 7;
if (thread == 0) for (int k = 0; k < 2; ++k) objectBegin(actBarriers + k, 32), objectBegin(actBarriers + 2 + k, threads - 32); __syncthreads();
if (thread / 32 == maker) { for (unsigned k = 0; k < rounds; ++k) {
  if (k > 1) objectWait(actBarriers + 2 + (k & 1), (k / 2 - 1) & 1);
  actBlock[(k & 1) * 32 + lane] = $2 * (k + 1); objectArrive(actBarriers + (k & 1));
} } else { for (unsigned k = 0; k < rounds; ++k) {
  objectWait(actBarriers + (k & 1), k / 2 & 1); sum = sum * 3 + actBlock[(k & 1) * 32 + ($3 + k & 31)]; objectArrive(actBarriers + 2 + (k & 1));
$body
} } $r = sum;
__syncthreads(); if (thread == 0) for (int k = 0; k < 4; ++k) objectEnd(actBarriers + k); __syncthreads(); })",
       handed},
      {Family::barriers, Who::block, {Level::thread, Level::thread, Level::thread}, Level::thread, Level::thread,
       R"(unsigned sum = 0, k = 0; const unsigned rounds = thread == 0 ? 3 : $0 & 3; if (thread == 0) objectBegin(actBarriers, threads); actBlock[thread] = 0; __syncthreads();
for (; k < rounds; ++k) {
  actBlock[thread] = $1 + k; objectWaitToken(actBarriers, objectArrive(actBarriers));
  sum = sum * 3 + *(volatile unsigned*)(actBlock + (thread + $2) % threads); objectWaitToken(actBarriers, objectArrive(actBarriers));
$body
}
if (thread != 0) objectDrop(actBarriers);
__syncthreads(); if (thread == 0) objectEnd(actBarriers); __syncthreads(); $r = sum;)",
       dropping},
      {Family::barriers, Who::warp, {Level::thread, Level::thread}, Level::thread, Level::thread,
       R"(const bool makes = ($0 & 3) != 0; const unsigned mask = __ballot_sync(0xffffffffu, makes); unsigned long long* const object = (unsigned long long*)(actStrip + 32);
if (lane == 0 && mask != 0) objectBegin(object, __popc(mask)); actStrip[lane] = 0; __syncwarp();
if (makes) {
$body
actStrip[lane] = $1; objectArrive(object); $r = mask; } else if (mask != 0) { objectWait(object, 0); unsigned all = 0; for (int k = 0; k < 32; ++k) all = all * 3 + actStrip[k]; $r = all; } else { $r = 9; }
__syncwarp(); if (lane == 0 && mask != 0) objectEnd(object); __syncwarp();)",
       lanesWait},
      {Family::barriers, Who::block, {Level::warp}, Level::warp, Level::block,
       R"(if (thread < 8) objectBegin(actBarriers + thread, 1); if (threads < 8 && thread == 0) for (int k = threads; k < 8; ++k) objectBegin(actBarriers + k, 1);
__syncthreads(); { const unsigned w = thread / 32; unsigned had = 11; if (w > 0) { objectWait(actBarriers + w - 1, 0); had = actBlock[w - 1]; } had = had * 3 + $0;
if (lane == 0) { actBlock[w] = had; objectArrive(actBarriers + w); } $r = had; }
$body
__syncthreads(); if (thread == 0) for (int k = 0; k < 8; ++k) objectEnd(actBarriers + k); __syncthreads();)",
       row},
  };
}

}  // namespace rouse::test::model
