// Control flow: a bytecode interpreter (dense switch: a jump table), sparse switches, nested loops with break and continue, goto,
// early return before others' work, short-circuit conditions with side effects, loops of different length in a warp.
#include "check.h"

enum Op : unsigned char { kPush, kAdd, kSub, kMul, kDup, kSwap, kOver, kDrop, kNot, kXor, kShift, kJumpIfZero, kLess, kLoadInput, kHalt };

__host__ __device__ inline int interpret(const unsigned char* code, int input) {
  unsigned stack[16];
  int top = -1, at = 0;
  for (int steps = 0; steps < 1000; ++steps) {
    switch (code[at++]) {
      case kPush: stack[++top] = code[at++]; break;
      case kAdd: --top; stack[top] += stack[top + 1]; break;
      case kSub: --top; stack[top] -= stack[top + 1]; break;
      case kMul: --top; stack[top] *= stack[top + 1]; break;
      case kDup: stack[top + 1] = stack[top]; ++top; break;
      case kSwap: { unsigned t = stack[top]; stack[top] = stack[top - 1]; stack[top - 1] = t; break; }
      case kOver: stack[top + 1] = stack[top - 1]; ++top; break;
      case kDrop: --top; break;
      case kNot: stack[top] = ~stack[top]; break;
      case kXor: --top; stack[top] ^= stack[top + 1]; break;
      case kShift: --top; stack[top] <<= stack[top + 1] & 31; break;
      case kJumpIfZero: if (stack[top--] == 0) at = code[at]; else ++at; break;
      case kLess: --top; stack[top] = stack[top] < stack[top + 1]; break;
      case kLoadInput: stack[++top] = unsigned(input); break;
      case kHalt: return int(stack[top]);
      default: return -1;
    }
  }
  return -2;
}

__host__ __device__ inline int odd(int x) {
  int result = 0;
  switch (x) {
    case 1: result = 10; [[fallthrough]];
    case 100: result += 5; break;
    case -7: return 99;
    case 40000: result = 1; break;
    case 1 << 30: result = 2; break;
    default: result = x % 2 ? 3 : 4;
  }
  for (int i = 0; i < 20; ++i) {
    for (int j = i;; ++j) {
      if ((i * j + x) % 7 == 3) break;
      if (j > 30) goto out;
      if (j % 3 == 1) continue;
      result += i ^ j;
    }
    if (result > 5000 && x > 0) break;
  }
out:
  int calls = 0;
  auto touch = [&](bool answer) {
    ++calls;
    return answer;
  };
  if (touch(x > 5) && touch(x < 100) || touch(x % 2 == 0)) result += 1000 * calls;
  return result + calls;
}

__global__ void run(const unsigned char* code, const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = interpret(code, in[i]);
}

__global__ void runOdd(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = odd(in[i]);
}

// Collatz: neighbouring lanes loop a different number of times.
__global__ void collatz(int* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = i + 1;
  int count = 0;
  while (x != 1) {
    x = x & 1 ? 3 * x + 1 : x / 2;
    ++count;
  }
  steps[i] = count;
}

int main() {
  // sum = 0; for i below 20: sum += i * i ^ input; then sum - ~(sum << 3).
  const std::vector<unsigned char> code = {kPush, 0, kPush, 0,                                    // 0: i sum
                                           kOver, kPush, 20, kLess, kJumpIfZero, 25,              // 4
                                           kOver, kDup, kMul, kLoadInput, kXor, kAdd,             // 10: i sum
                                           kSwap, kPush, 1, kAdd, kSwap, kPush, 0, kJumpIfZero, 4,  // 16
                                           kDup, kPush, 3, kShift, kNot, kSub, kHalt};            // 25
  const int n = 2000;
  check::Random random(35);
  std::vector<int> in(n), wanted(n);
  for (int i = 0; i < n; ++i) in[i] = i % 9 == 0 ? 1 : i % 9 == 1 ? 100 : i % 9 == 2 ? -7 : i % 9 == 3 ? 40000 : i % 9 == 4 ? 1 << 30 : int(random.below(3000));
  int *din = check::toDevice(in), *out = check::deviceArray<int>(n);
  run<<<(n + 63) / 64, 64>>>(check::toDevice(code), din, out, n);
  CHECK(cudaGetLastError());
  for (int i = 0; i < n; ++i) {
    unsigned sum = 0;
    for (unsigned k = 0; k < 20; ++k) sum += k * k ^ unsigned(in[i]);
    wanted[i] = int(sum - ~(sum << 3));
  }
  check::equal("interpreter", check::toHost(out, n), wanted);
  runOdd<<<(n + 63) / 64, 64>>>(din, out, n);
  CHECK(cudaGetLastError());
  for (int i = 0; i < n; ++i) wanted[i] = odd(in[i]);
  check::equal("odd", check::toHost(out, n), wanted);
  collatz<<<(n + 127) / 128, 128>>>(out, n);
  CHECK(cudaGetLastError());
  for (int i = 0; i < n; ++i) {
    wanted[i] = 0;
    for (unsigned long long x = i + 1; x != 1; x = x & 1 ? 3 * x + 1 : x / 2) ++wanted[i];
  }
  check::equal("collatz", check::toHost(out, n), wanted);
  return check::done();
}
