// The SIMD-in-a-word intrinsics on two halves and four bytes, each against plain C++.
#include "check.h"

#define PER_LANES(X, L) X(vadd##L) X(vaddss##L) X(vaddus##L) X(vsub##L) X(vsubss##L) X(vsubus##L) X(vabsdiffs##L) X(vabsdiffu##L) \
  X(vavgs##L) X(vavgu##L) X(vhaddu##L) X(vmaxs##L) X(vmaxu##L) X(vmins##L) X(vminu##L) X(vsads##L) X(vsadu##L) \
  X(vcmpeq##L) X(vcmpne##L) X(vcmpges##L) X(vcmpgeu##L) X(vcmpgts##L) X(vcmpgtu##L) X(vcmples##L) X(vcmpleu##L) X(vcmplts##L) X(vcmpltu##L) \
  X(vseteq##L) X(vsetne##L) X(vsetges##L) X(vsetgeu##L) X(vsetgts##L) X(vsetgtu##L) X(vsetles##L) X(vsetleu##L) X(vsetlts##L) X(vsetltu##L)
#define UNARY(X) X(vabs2) X(vabs4) X(vabsss2) X(vabsss4) X(vneg2) X(vneg4) X(vnegss2) X(vnegss4)
#define ALL(X) PER_LANES(X, 2) PER_LANES(X, 4)

enum Operation {
#define NAME(f) op_##f,
  ALL(NAME) binaryCount,
  UNARY(NAME) operationCount
#undef NAME
};

const char* const kNames[] = {
#define TEXT(f) #f,
    ALL(TEXT) "", UNARY(TEXT)
#undef TEXT
};

__global__ void compute(const unsigned* a, const unsigned* b, int n, unsigned* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i], y = b[i], *r = out + size_t(i) * operationCount;
  r[binaryCount] = 0;
#define BINARY(f) r[op_##f] = __##f(x, y);
  ALL(BINARY)
#define SINGLE(f) r[op_##f] = __##f(x);
  UNARY(SINGLE)
}

// What the name says, lane by lane in wide integers.
unsigned reference(const std::string& name, unsigned x, unsigned y) {
  const int lanes = name.back() - '0', bits = 32 / lanes;
  std::string what = name.substr(1, name.size() - 2);
  const long mask = (1l << bits) - 1, least = -(1l << (bits - 1)), most = (1l << (bits - 1)) - 1;
  const auto ends = [&](const char* tail) {
    std::string t(tail);
    return what.size() > t.size() && what.compare(what.size() - t.size(), t.size(), t) == 0;
  };
  unsigned result = 0;
  long sum = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const long ux = x >> lane * bits & mask, uy = y >> lane * bits & mask;
    const long sx = ux > most ? ux - mask - 1 : ux, sy = uy > most ? uy - mask - 1 : uy;
    const auto clampS = [&](long v) { return v < least ? least : v > most ? most : v; };
    const auto clampU = [&](long v) { return v < 0 ? 0 : v > mask ? mask : v; };
    const auto compare = [&](const std::string& op) -> bool {
      if (op == "eq") return ux == uy;
      if (op == "ne") return ux != uy;
      const bool isSigned = op.back() == 's';
      const long p = isSigned ? sx : ux, q = isSigned ? sy : uy;
      const std::string relation = op.substr(0, 2);
      return relation == "ge" ? p >= q : relation == "gt" ? p > q : relation == "le" ? p <= q : p < q;
    };
    long value = 0;
    if (what == "add") value = ux + uy;
    else if (what == "addss") value = clampS(sx + sy);
    else if (what == "addus") value = clampU(ux + uy);
    else if (what == "sub") value = ux - uy;
    else if (what == "subss") value = clampS(sx - sy);
    else if (what == "subus") value = clampU(ux - uy);
    else if (what == "absdiffs" || what == "sads") value = sx > sy ? sx - sy : sy - sx;
    else if (what == "absdiffu" || what == "sadu") value = ux > uy ? ux - uy : uy - ux;
    else if (what == "avgs") value = (sx + sy + (sx + sy >= 0 ? 1 : 0)) >> 1;
    else if (what == "avgu") value = (ux + uy + 1) >> 1;
    else if (what == "haddu") value = (ux + uy) >> 1;
    else if (what == "maxs") value = sx > sy ? sx : sy;
    else if (what == "maxu") value = ux > uy ? ux : uy;
    else if (what == "mins") value = sx < sy ? sx : sy;
    else if (what == "minu") value = ux < uy ? ux : uy;
    else if (what.compare(0, 3, "cmp") == 0) value = compare(what.substr(3)) ? mask : 0;
    else if (what.compare(0, 3, "set") == 0) value = compare(what.substr(3));
    else if (what == "abs") value = sx < 0 ? -sx : sx;
    else if (what == "absss") value = clampS(sx < 0 ? -sx : sx);
    else if (what == "neg") value = -sx;
    else if (what == "negss") value = clampS(-sx);
    else {
      std::printf("no reference for %s\n", name.c_str());
      std::_Exit(1);
    }
    sum += value;
    result |= unsigned(value & mask) << lane * bits;
  }
  return ends("ads") || ends("adu") ? unsigned(sum) : result;
}

int main() {
  const unsigned special[] = {0u, 1u, 0xffffffffu, 0x80008000u, 0x7fff7fffu, 0x80808080u, 0x7f7f7f7fu, 0x00ff00ffu, 0x01020304u, 0xff01807fu};
  std::vector<unsigned> a, b;
  for (unsigned p : special)
    for (unsigned q : special) {
      a.push_back(p);
      b.push_back(q);
    }
  check::Random random(45);
  while (a.size() < 1500) {
    a.push_back(unsigned(random.next()));
    b.push_back(random.below(8) == 0 ? a.back() : unsigned(random.next()));
  }
  const int n = int(a.size());
  auto* out = check::deviceArray<unsigned>(size_t(n) * operationCount);
  compute<<<(n + 127) / 128, 128>>>(check::toDevice(a), check::toDevice(b), n, out);
  CHECK(cudaGetLastError());
  const std::vector<unsigned> got = check::toHost(out, size_t(n) * operationCount);
  for (int i = 0; i < n; ++i)
    for (int o = 0; o < operationCount && check::failures < 20; ++o) {
      if (o == binaryCount) continue;
      const unsigned wanted = reference(kNames[o], a[i], b[i]);
      if (got[size_t(i) * operationCount + o] == wanted) continue;
      std::printf("__%s(%#x, %#x) is %#x, should be %#x\n", kNames[o], a[i], b[i], got[size_t(i) * operationCount + o], wanted);
      ++check::failures;
    }
  return check::done();
}
