#include <algorithm>

#include "test/ptx/model_families.h"

namespace rouse::test::model {
namespace {

using Text = std::string;
using Kind = Statement::Kind;

Text number(std::uint64_t value) { return std::to_string(value); }

// A word of the thread's own.
const Text kOwn = "out[(blockIdx.x * threads + thread) * " + number(kWords) + " + ";

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : k_(kernel) {}

  Text print(const Text& name) {
    line("extern \"C\" __global__ void " + name + "(const unsigned* __restrict__ in, unsigned* out, unsigned* board, unsigned n) {");
    if (!k_.isPlain) declare();
    line(k_.oneRow ? "const unsigned thread = threadIdx.x, threads = blockDim.x, lane = thread & 31;"
                   : "const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), threads = blockDim.x * blockDim.y * blockDim.z, lane = thread & 31;");
    if (!k_.isPlain) begin();
    for (unsigned v = 0; v < k_.variables.size(); ++v) line(Text(typeOf(v)) + " " + name_(v) + " = 0;");
    print(k_.body);
    for (unsigned v = 0, at = kOutputs; v < 18; ++v) {
      const Type type = k_.variables[v].type;
      const Text to = kOwn;
      if (type == Type::word) line(to + number(at++) + "] = " + name_(v) + ";");
      if (type == Type::real) line(to + number(at++) + "] = bitsOf(" + name_(v) + ");");
      if (type == Type::wide) {
        line(to + number(at++) + "] = (unsigned)" + name_(v) + ";");
        line(to + number(at++) + "] = (unsigned)(" + name_(v) + " >> 32);");
      }
    }
    if (!k_.isPlain) end();
    line("}");
    return text_;
  }

 private:
  // What all have, as threads find it.
  void declare() {
    for (unsigned a = 0; a < kArrays; ++a) {
      const Text type = k_.arrays[a].isVolatile ? "volatile unsigned" : "unsigned";
      line(k_.arrays[a].where == Array::Where::shared ? "__shared__ " + type + " a" + number(a) + "[" + number(kMostThreads) + "];"
                                                      : "unsigned* const a" + number(a) + " = board + blockIdx.x * " + number(kBoard) + " + " + number(a * kMostThreads) + ";");
    }
    line("__shared__ unsigned leaders[" + number(kLeaders) + "], strips[" + number(kStrips) + "][" + number(kMostThreads) + "];");
    line(k_.binsInShared ? "__shared__ unsigned bins[" + number(kBins) + "];" : "unsigned* const bins = board + blockIdx.x * " + number(kBoard) + " + " + number(kArrays * kMostThreads) + ";");
  }
  void begin() {
    line("__shared__ unsigned olds[" + number(kMostThreads) + "], counters[" + number(kMostThreads / 32) + "], locks[" + number(kSums) + "], sums[" + number(kSums) + "];");
    if (k_.hasActs()) {
      line("__shared__ __align__(128) unsigned actOwns[" + number(4 * kMostThreads) + "], actStrips[" + number(4 * kMostThreads) + "], actBlock[" + number(4 * kMostThreads) + "];");
      line("__shared__ __align__(8) unsigned long long actBarriers[8];");
      line("unsigned* const actOwn = actOwns + 4 * thread, * const actStrip = actStrips + 4 * (thread & ~31u);");
    }
    line("unsigned locals[" + number(kLocals) + "];");
    line("for (int k = 0; k < " + number(kLocals) + "; ++k) locals[k] = k * thread;");
    for (unsigned a = 0; a < kArrays; ++a) line("a" + number(a) + "[" + slot(a, "thread") + "] = thread * " + number(a + 3) + ";");
    line("for (unsigned k = thread; k < " + number(kBins) + "; k += threads) bins[k] = k;");
    line("if (thread == 0) for (int k = 0; k < " + number(kLeaders) + "; ++k) leaders[k] = k;");
    line("if (thread < " + number(kSums) + ") locks[thread] = 0, sums[thread] = thread;");
    line("if (thread < " + number(kMostThreads / 32) + ") counters[thread] = 0;");
    for (unsigned s = 0; s < kStrips; ++s) line("strips[" + number(s) + "][thread] = thread;");
    line("__syncthreads();");
  }
  void end() {
    line("__syncthreads();");
    for (unsigned a = 0; a < kArrays; ++a) line(kOwn + number(100 + a) + "] = a" + number(a) + "[" + slot(a, "(thread + 1) % threads") + "];");
    line("if (thread < " + number(kBins) + ") " + kOwn + "110] = bins[thread];");
  }

  // Operands first: the text has names of its own.
  void act(const Statement& s) {
    Text operands = "{ unsigned result = " + name_(s.variable) + ";";
    for (std::size_t k = 0; k < s.of.size(); ++k) operands += " const unsigned x" + number(k) + " = " + print(s.of[k]) + ";";
    line(operands);
    Text part;
    for (const char* at = s.act->text; *at != '\0'; ++at) {
      if (*at == '\n') {
        line(part);
        part.clear();
      } else if (*at != '$') {
        part += *at;
      } else if (*++at == 'r') {
        part += "result";
      } else if (*at == 'm') {
        part += "(" + mask(s.members) + ")";
      } else if (*at == 'b') {
        at += 3;
        line(part);
        part.clear();
        print(s.bodies[0]);
      } else {
        part += Text("x") + *at;
      }
    }
    line(part + " " + name_(s.variable) + " = result; }");
  }

  void line(const Text& text) { text_ += Text(2 * depth_, ' ') + text + "\n"; }
  Text name_(unsigned v) const { return v < 18 ? k_.variables[v].name : k_.variables[v].name + number(v); }
  const char* typeOf(unsigned v) const { return k_.variables[v].type == Type::word ? "unsigned" : k_.variables[v].type == Type::wide ? "unsigned long long" : "float"; }

  Text slot(unsigned array, const Text& thread) const {
    switch (k_.arrays[array].order) {
      case 0:
        return thread;
      case 1:
        return "threads - 1 - " + thread;
      case 2:
        return "slot(" + thread + ", threads)";
      default:
        return "(" + thread + " + 3) % threads";
    }
  }

  Text print(const Made& e) const {
    switch (e->kind) {
      case Expression::Kind::number:
        if (e->type == Type::truth) return e->number != 0 ? "true" : "false";
        if (e->type == Type::real) return "__uint_as_float(" + number(e->number) + "u)";
        return number(e->number) + (e->type == Type::wide ? "ull" : "u");
      case Expression::Kind::variable:
        return name_(static_cast<unsigned>(e->number));
      case Expression::Kind::place:
        return e->place->text;
      case Expression::Kind::input:
        return input(*e);
      case Expression::Kind::operation:
        break;
    }
    Text text;
    for (const char* at = e->operation->text; *at != '\0'; ++at) {
      if (*at == '$') {
        text += print(e->of[static_cast<unsigned>(*++at - '0')]);
      } else {
        text += *at;
      }
    }
    return text;
  }

  Text input(const Expression& e) const {
    const Text at = print(e.of[0]);
    switch (e.number) {
      case 0:
        return "((const uint2*)in)[" + at + " & 511].y";
      case 1:
        return "((const uint4*)in)[" + at + " & 255].z";
      case 2:
        return "(unsigned)((const unsigned short*)in)[" + at + " & 2047]";
      case 3:
        return "(unsigned)((const signed char*)in)[" + at + " & 4095]";
      case 8:
        return "in[thread + 100]";
      case 9:
        return "in[blockIdx.x * threads + thread]";
      case 10:
        return "in[1023 - thread]";
      case 11:
        return "in[2 * thread + 1]";
      case 12:
        return "in[(int)thread - 5 + (int)(" + at + " % 64 + 5)]";
      default:
        return "in[" + at + " & " + number(kInput - 1) + "]";
    }
  }

  Text mask(const Members& members) const {
    if (members.kind == Members::Kind::whole) return "0xffffffffu";
    if (members.kind == Members::Kind::variable) return name_(members.variable);
    const unsigned lanes = lanesOf(members.level);
    return lanes == 32 ? "0xffffffffu" : "(" + number((1u << lanes) - 1) + "u << (lane & " + number(32 - lanes) + "))";
  }

  void warp(const Statement& s) {
    const Text to = name_(s.variable), m = mask(s.members), x = print(s.of[0]), y = s.of.size() > 1 ? print(s.of[1]) : "", width = number(s.number);
    static const char* const kSimple[] = {"__ballot_sync", "(unsigned)__any_sync", "(unsigned)__all_sync", "__match_any_sync", "__reduce_add_sync", "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_or_sync", "__reduce_xor_sync"};
    if (s.array == 1) return line(to + " = sumOf(" + m + ", " + x + ");");
    if (s.how < 10) return line(to + " = " + kSimple[s.how] + "(" + m + ", " + x + ");");
    if (s.how == 10) return line(to + " = __shfl_sync(" + m + ", " + x + ", member(" + m + ", " + y + "));");
    if (s.how <= 16) {
      static const char* const kNames[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__shfl_xor_sync", "__shfl_xor_sync"};
      const Text by = s.how == 11 ? y : y + " & " + number(s.number - 1);
      return line(to + " = " + kNames[s.how - 11] + "(" + m + ", " + x + ", " + by + ", " + width + ");");
    }
    static const char* const kSums[] = {"x + y", "min(x, y)", "x | y", "x ^ y", "x + y", "x + y"};
    const Text type = typeOf(s.variable);
    line("{ " + type + " x = " + x + ";");
    if (s.how <= 22) {
      const bool down = (s.how & 1) != 0;
      line(down ? "for (int k = " + number(s.number / 2) + "; k > 0; k >>= 1) {" : "for (int k = 1; k < " + width + "; k <<= 1) {");
      line("  const " + type + " y = __shfl_xor_sync(" + m + ", x, k" + (s.number == 32 ? "" : ", " + width) + "); x = " + kSums[s.how - 17] + "; }");
    } else {
      line("for (unsigned k = 1; k < " + width + "; k <<= 1) { const unsigned y = " + Text(s.how == 23 ? "__shfl_up_sync" : "__shfl_down_sync") + "(" + m + ", x, k, " + width + "); if (" +
           (s.how == 23 ? "(lane & " + number(s.number - 1) + ") >= k" : "(lane & " + number(s.number - 1) + ") + k < " + width) + ") x += y; }");
    }
    line(to + " = x; }");
  }

  void print(const Body& body) {
    ++depth_;
    for (const Statement& s : body) print(s);
    --depth_;
  }

  void print(const Statement& s) {
    const auto of = [&](unsigned k) { return print(s.of[k]); };
    const auto to = [&] { return name_(s.variable) + " = "; };
    const Text array = "a" + number(s.array);
    switch (s.kind) {
      case Kind::assign:
        return line(to() + of(0) + ";");
      case Kind::branch:
        line("if (" + of(0) + ") {");
        print(s.bodies[0]);
        if (!s.bodies[1].empty()) {
          line("} else {");
          print(s.bodies[1]);
        }
        return line("}");
      case Kind::loop: {
        const Text i = name_(s.variable), bound = "n" + i;
        line("{ const unsigned " + bound + " = " + of(0) + ";");
        if (s.array != 0) {
          const Text m = name_(static_cast<unsigned>(s.number)), again = i + " < " + bound + ")";
          line("for (" + i + " = 0, " + m + " = __ballot_sync(" + mask(s.members) + ", " + again + "; " + i + " < " + bound + "; ++" + i + ", " + m + " = __ballot_sync(" + m + ", " + again + ") {");
        } else if (s.how == 0) {
          line("for (" + i + " = 0; " + i + " < " + bound + "; ++" + i + ") {");
        } else if (s.how == 1) {
          line(i + " = 0; do {");
        } else if (s.how == 2) {
          line("for (" + i + " = " + bound + "; " + i + " > 0; --" + i + ") {");
        } else {
          line("for (" + i + " = " + of(1) + "; " + i + " < " + bound + "; " + i + " += " + of(2) + ") {");
        }
        print(s.bodies[0]);
        return line(s.how == 1 && s.array == 0 ? "} while (++" + i + " < " + bound + "); }" : "} }");
      }
      case Kind::choice:
        line("switch (" + of(0) + " % " + number(s.bodies.size()) + ") {");
        for (unsigned k = 0; k < s.bodies.size(); ++k) {
          line("case " + number(k) + ":");
          print(s.bodies[k]);
          if ((s.number >> k & 1) == 0) line("break;");
        }
        return line("}");
      case Kind::leave:
      case Kind::next:
      case Kind::end:
        line("if (" + of(0) + ") {");
        if (!s.bodies.empty()) print(s.bodies[0]);
        return line(s.kind == Kind::leave ? "break; }" : s.kind == Kind::next ? "continue; }" : "return; }");
      case Kind::barrier:
        return line(s.how == 0 ? "__syncthreads();" : s.how == 1 ? "asm volatile(\"barrier.sync 0;\" ::: \"memory\");" : "asm volatile(\"bar.sync 2;\" ::: \"memory\");");
      case Kind::counted: {
        static const char* const kNames[] = {"or", "and", "count"};
        return line(to() + "(unsigned)__syncthreads_" + kNames[s.how] + "(" + of(0) + ");");
      }
      case Kind::keep:
        return line(array + "[" + slot(s.array, "thread") + "] = " + of(0) + ";");
      case Kind::take:
        return line(to() + array + "[" + slot(s.array, "thread") + "];");
      case Kind::look:
        return line(to() + array + "[" + of(0) + " % threads];");
      case Kind::lead:
        return line("if (thread == " + of(0) + " % threads) leaders[" + number(s.array) + "] = " + of(1) + ";");
      case Kind::follow:
        return line(to() + "leaders[" + number(s.array) + "];");
      case Kind::count:
        return line("atomicAdd(&bins[" + of(0) + " % " + number(kBins) + "], " + of(1) + ");");
      case Kind::bin:
        return line(to() + "bins[" + of(0) + " % " + number(kBins) + "];");
      case Kind::warp:
        return warp(s);
      case Kind::together:
        return line("__syncwarp(" + mask(s.members) + ");");
      case Kind::mask:
        return line(to() + "__ballot_sync(" + mask(s.members) + ", " + of(0) + ");");
      case Kind::exchange: {
        const Text strip = "strips[" + number(s.array) + "]", m = mask(s.members);
        line(strip + "[thread] = " + of(0) + ";");
        line("{ const unsigned whose = " + of(1) + ";");
        line("__syncwarp(" + m + ");");
        const unsigned lanes = lanesOf(s.members.kind == Members::Kind::part ? s.members.level : Level::warp);
        line(to() + strip + "[" +
             (s.members.kind == Members::Kind::variable ? "(thread & ~31u) + member(" + m + ", whose)" : "(thread & ~" + number(lanes - 1) + "u) + (whose & " + number(lanes - 1) + ")") + "]; }");
        return line("__syncwarp(" + m + ");");
      }
      case Kind::store:
        if (s.how == 2) return line("((unsigned char*)out)[(blockIdx.x * threads + thread) * " + number(4 * kWords) + " + " + number(4 * kBytesAt + s.number) + "] = " + of(0) + ";");
        if (s.how == 1) return line("out[gridDim.x * threads * " + number(kWords + s.number) + " + blockIdx.x * threads + thread] = " + of(0) + ";");
        return line(kOwn + number(s.number) + "] = " + of(0) + ";");
      case Kind::local:
        return line("locals[" + of(0) + " & 7] = " + of(1) + ";");
      case Kind::fetch:
        return line(to() + "locals[" + of(0) + " & 7];");
      case Kind::twist:
        return line("twist(locals, " + of(0) + ");");
      case Kind::either: {
        const Text other = "a" + number(s.number), p = "*(" + of(0) + " ? &" + array + "[" + slot(s.array, "thread") + "] : &" + other + "[" + slot(static_cast<unsigned>(s.number), "thread") + "])";
        return s.how == 0 ? line(p + " = " + of(1) + ";") : line(to() + p + ";");
      }
      case Kind::update: {
        static const char* const kNames[] = {"Add", "Exch", "Min", "Max", "Inc", "Dec", "And", "Or", "Xor", "Sub"};
        const Text p = "&" + array + "[" + slot(s.array, "thread") + "], " + of(0);
        return line(to() + (s.how == 10 ? "atomicCAS(" + p + ", " + of(1) : "atomic" + Text(kNames[s.how]) + "(" + p) + ");");
      }
      case Kind::claim: {
        const Text m = mask(s.members);
        line("{ const unsigned m = " + m + "; const int leader = __ffs((int)m) - 1; unsigned first = 0;");
        line("if (lane == leader) first = atomicAdd(&counters[thread >> 5], (unsigned)__popc(m));");
        return line(to() + "__shfl_sync(m, first, leader) + __popc(m & ((1u << lane) - 1)); }");
      }
      case Kind::locked: {
        const Text lock = "&locks[" + number(s.array) + "]", sum = "sums[" + number(s.array) + "]";
        if (s.how == 3) return line(to() + sum + ";");
        const Text add = "volatile unsigned* const at = &" + sum + "; *at = *at + ";
        if (s.how == 0) {
          line("{ const unsigned more = " + of(0) + "; for (bool done = false; !done;) {");
          return line("if (atomicCAS(" + lock + ", 0u, 1u) == 0u) { __threadfence_block(); " + add + "more; __threadfence_block(); atomicExch(" + lock + ", 0u); done = true; } } }");
        }
        line("{ const unsigned more = __reduce_add_sync(0xffffffffu, " + of(0) + "); if (lane == 0) { while (atomicCAS(" + lock + ", 0u, 1u) != 0u) {}");
        return line("__threadfence_block(); " + add + "more; __threadfence_block(); atomicExch(" + lock + ", 0u); } __syncwarp(); }");
      }
      case Kind::old:
        line("{ volatile unsigned* const at = olds + (thread & ~31u); const unsigned whose = " + of(1) + " & 31; at[lane] = " + of(0) + ";");
        return line(to() + "at[whose]; __syncwarp(); }");
      case Kind::walk:
        line("{ unsigned at = " + of(0) + " & 1023; const unsigned by = " + of(1) + " & 15 | 3;");
        line("for (int k = 0; k < 40 && in[at] % by != 0; ++k) at = (in[at] + k) & 1023;");
        return line(to() + "at; }");
      case Kind::chain: {
        const Text flag = "(board + blockIdx.x * " + number(kBoard) + " + " + number(kArrays * kMostThreads + kBins + 8 * s.array) + ")", before = "(" + flag + " - " + number(kBoard) + ")";
        line("{ __shared__ unsigned handed; __syncthreads(); { const unsigned own = " + of(0) + ";");
        line(s.how & 1 ? "if (thread == threads - 1) {" : "if (thread == 0) {");
        line("unsigned had = 7; if (blockIdx.x > 0) {");
        line(s.how & 2 ? "while (*(volatile unsigned*)" + before + " == 0) {}" : "while (atomicAdd(" + before + ", 0u) == 0) {}");
        line("__threadfence(); had = *(volatile unsigned*)(" + before + " + 1); }");
        line("*(volatile unsigned*)(" + flag + " + 1) = had * 3 + own; __threadfence(); atomicExch(" + flag + ", 1u); handed = had; }");
        return line("} __syncthreads(); " + to() + "handed; }");
      }
      case Kind::passOn: {
        line("{ __shared__ unsigned turn, handed; if (thread == 0) { turn = 0; handed = 5; } const unsigned own = " + of(0) + "; __syncthreads();");
        line(s.how & 1 ? "{ if (lane == 0) while (*(volatile unsigned*)&turn != thread >> 5) {} __syncwarp();" : "{ while (*(volatile unsigned*)&turn != thread >> 5) {} __syncwarp();");
        line("__threadfence_block(); if (lane == 0) { *(volatile unsigned*)&handed = *(volatile unsigned*)&handed * 3 + own; __threadfence_block(); *(volatile unsigned*)&turn = (thread >> 5) + 1; } __syncwarp(); }");
        return line("__syncthreads(); " + to() + "handed; }");
      }
      case Kind::last: {
        const Text cell = "(board + " + number(kArrays * kMostThreads + kBins + 8 * s.array) + ")";
        line("{ __shared__ unsigned ticket; const unsigned own = " + of(0) + ";");
        line(s.how & 1 ? "atomicAdd(" + cell + " + 2, own); __threadfence(); __syncthreads();" : "atomicAdd(" + cell + " + 2, own); __syncthreads(); __threadfence();");
        line("if (thread == 0) ticket = atomicInc(" + cell + " + 3, gridDim.x - 1); __syncthreads();");
        line("if (ticket == gridDim.x - 1) { __threadfence(); out[thread * " + number(kWords) + " + " + number(112 + s.array) + "] = *(volatile unsigned*)(" + cell + " + 2) + thread; } }");
        return;
      }
      case Kind::apart: {
        line("{ const unsigned rounds = " + of(0) + " & 3; unsigned round = 0;");
        line("for (; round < rounds; ++round) { __syncthreads();");
        line(array + "[" + slot(s.array, "thread") + "] = " + of(1) + "; __syncthreads();");
        line(to() + array + "[" + of(2) + " % threads];");
        print(s.bodies[0]);
        return line("} for (; round < 3; ++round) { __syncthreads(); __syncthreads(); } }");
      }
      case Kind::halves: {
        line("if (threads >= 64) { const unsigned half = (threads / 64) * 32, rest = threads - half;");
        line(array + "[" + slot(s.array, "thread") + "] = " + of(0) + "; const unsigned whose = " + of(1) + ";");
        line("if (thread < half) { asm volatile(\"bar.sync 1, %0;\" :: \"r\"(half) : \"memory\"); const unsigned at = whose % half; " + to() + array + "[" + slot(s.array, "at") + "]; }");
        return line("else { asm volatile(\"bar.sync 3, %0;\" :: \"r\"(rest) : \"memory\"); const unsigned at = half + whose % rest; " + to() + array + "[" + slot(s.array, "at") + "]; } }");
      }
      case Kind::act:
        return act(s);
    }
  }

  const Kernel& k_;
  Text text_;
  unsigned depth_ = 0;
};

}  // namespace

std::string print(const std::vector<Kernel>& kernels) {
  Text text;
  for (const Prelude& prelude : preludes()) {
    const auto needs = [&](const Kernel& kernel) { return std::any_of(prelude.families.begin(), prelude.families.end(), [&](Family family) { return kernel.families[static_cast<unsigned>(family)]; }); };
    if (std::any_of(kernels.begin(), kernels.end(), needs)) text += prelude.text;
  }
  text +=
      "__device__ __noinline__ unsigned mixed(unsigned a, unsigned b) { return (int)a < (int)b ? a * 7 + b : (a ^ b) * 3; }\n"
      "__device__ __noinline__ unsigned recursive(unsigned a, unsigned b) { return (b & 3) == 0 ? a ^ b : recursive(a * 5 + b, (b & 3) - 1) + b; }\n"
      "typedef unsigned (*Function)(unsigned, unsigned);\n"
      "__device__ Function chosen(unsigned which) { return (which & 1) != 0 ? recursive : mixed; }\n"
      "__device__ int member(unsigned mask, unsigned any) { const unsigned from = mask & 0xffffffffu << (any & 31); return __ffs((int)(from != 0 ? from : mask)) - 1; }\n"
      "__device__ unsigned slot(unsigned thread, unsigned threads) { return threads % 8 == 0 ? (thread & 7) * (threads / 8) + thread / 8 : thread; }\n"
      "__device__ __noinline__ void twist(unsigned* p, unsigned x) { for (int k = 1; k < 8; ++k) p[k] ^= p[k - 1] * 3 + x; p[x & 7] += 1; }\n"
      "__device__ __noinline__ unsigned sumOf(unsigned m, unsigned x) { if (m != 0xffffffffu) return __reduce_add_sync(m, x); for (int k = 16; k > 0; k >>= 1) x += __shfl_xor_sync(0xffffffffu, x, k); return x; }\n"
      "__device__ unsigned bitsOf(float x) { return x != x ? 0x7fffffffu : __float_as_uint(x); }\n";
  for (std::size_t k = 0; k < kernels.size(); ++k) text += Printer(kernels[k]).print("k" + number(k));
  return text;
}

}  // namespace rouse::test::model
