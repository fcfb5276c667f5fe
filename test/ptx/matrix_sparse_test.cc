// mma.sp: every form against sums in quadruple precision; an infinity of B that meets an element which is left out changes nothing.
#include <algorithm>
#include <catch2/catch.hpp>

#include "test/ptx/matrix_sparse.h"

namespace rouse::test::sparse {
namespace {

struct Form {
  unsigned k;
  const char *d, *a, *b;
  const char* more = "";
};

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const unsigned k : {16U, 32U}) {
    all.insert(all.end(), {{k, "f32", "f16", "f16"}, {k, "f16", "f16", "f16"}, {k, "f32", "bf16", "bf16"}});
    all.push_back({k / 2, "f32", "tf32", "tf32"});
  }
  for (const char* a : {"e4m3", "e5m2"})
    for (const char* b : {"e4m3", "e5m2"}) all.push_back({64, "f32", a, b});
  for (const unsigned k : {32U, 64U})
    for (const char* a : {"s8", "u8"})
      for (const char* b : {"s8", "u8"}) all.push_back({k, "s32", a, b, k == 32 ? ".satfinite" : ""});
  for (const unsigned k : {64U, 128U})
    for (const char* a : {"s4", "u4"})
      for (const char* b : {"s4", "u4"}) all.push_back({k, "s32", a, b, k == 64 ? "" : ".satfinite"});
  return all;
}

// A lane's registers in memory: C, A, B, metadata.
constexpr std::size_t kLaneBytes = 64, kA = 16, kB = 32, kMetadata = 48;

std::string registers(unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "%r" : ", %r") + std::to_string(first + i);
  return text + "}";
}

std::string kernelOf(const std::string& instruction, unsigned sums, unsigned words, unsigned selector) {
  std::string text = "mad.lo.u64 %at, %lane64, 64, %in;\nmad.lo.u64 %out, %lane64, 64, %out;\n";
  for (unsigned i = 0; i < kLaneBytes / 4; ++i) text += "ld.global.b32 %r" + std::to_string(i) + ", [%at+" + std::to_string(4 * i) + "];\n";
  text += instruction + " " + registers(16, sums) + ", " + registers(kA / 4, words) + ", " + registers(kB / 4, words) + ", " + registers(0, sums) + ", %r12, " + std::to_string(selector) + ";\n";
  for (unsigned i = 0; i < sums; ++i) text += "st.global.b32 [%out+" + std::to_string(4 * i) + "], %r" + std::to_string(16 + i) + ";\n";
  return kernelAround(text);
}

bool isRight(const Form& form, std::uint64_t got, double c, const std::vector<double>& x, const std::vector<double>& y) {
  const Element d = elementNamed(form.d);
  if (d != Element::s32) return isSum(d, got, c, x, y);
  auto sum = static_cast<std::int64_t>(c);
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<std::int64_t>(x[i] * y[i]);
  if (*form.more != '\0') sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
  return static_cast<std::uint32_t>(got) == static_cast<std::uint32_t>(sum);
}

void run(const Form& form, bool ordered, unsigned selector, std::mt19937_64& random, bool tame) {
  const Element d = elementNamed(form.d), a = elementNamed(form.a), b = elementNamed(form.b);
  // "Matrix Fragments for mma": `each` elements are in a register; A has those of half the k.
  const unsigned each = 32 / bitsOf(a), words = form.k / 2 / each / 2, sums = bitsOf(d) / 8;
  const SparseRows rows = randomSparseRows(a, form.k, selector, random);
  std::vector<std::byte> in(kLanes * kLaneBytes), out(kLanes * kLaneBytes);
  std::vector<std::vector<double>> left(16, std::vector<double>(form.k / 2)), right(8, std::vector<double>(form.k));
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    std::byte* const mine = &in[lane * kLaneBytes];
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) setPacked(mine, d, i, randomBits(d, random, tame));
    for (unsigned i = 0; i < words * each; ++i) {
      const unsigned reg = i / each, within = t * each + i % each;
      const std::uint64_t x = randomBits(a, random, tame), y = randomBits(b, random, tame);
      setPacked(mine + kA, a, i, x);
      setPacked(mine + kB, b, i, y);
      left[g + reg % 2 * 8][reg / 2 * 4 * each + within] = valueOf(a, x);
      right[g][reg * 4 * each + within] = valueOf(b, y);
    }
    setPacked(mine + kMetadata, Element::s32, 0, rows.metadata[lane]);
  }
  const std::string instruction = std::string("mma.sp") + (ordered ? "::ordered_metadata" : "") + ".sync.aligned.m16n8k" + std::to_string(form.k) + ".row.col" + form.more + "." + form.d + "." +
                                  form.a + "." + form.b + "." + form.d;
  INFO(instruction << " selector " << selector);
  mustRunWarp(kernelOf(instruction, sums, words, selector), in.data(), out.data());
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      std::vector<double> y;
      for (const unsigned k : rows.columns[row]) y.push_back(right[column][k]);
      INFO("row " << row << " column " << column);
      REQUIRE(isRight(form, packedAt(&out[lane * kLaneBytes], d, i), valueOf(d, packedAt(&in[lane * kLaneBytes], d, i)), left[row], y));
    }
  }
}

}  // namespace

TEST_CASE("mma.sp: every form, whosever metadata it is, ordinary and special numbers") {
  std::mt19937_64 random(21);
  for (const Form& form : forms()) {
    const unsigned selectors = selectorsOf(elementNamed(form.a), form.k);
    for (unsigned selector = 0; selector < selectors; ++selector)
      for (const bool tame : {true, false}) run(form, selector % 2 == 0, selector, random, tame);
  }
}

TEST_CASE("mma.sp: metadata that are no valid choice choose something") {
  std::vector<std::byte> in(kLanes * kLaneBytes, std::byte{0xff}), out(kLanes * kLaneBytes);
  for (const Form& form : forms()) {
    const Element a = elementNamed(form.a);
    const unsigned words = form.k * bitsOf(a) / 128;
    const std::string instruction = "mma.sp.sync.aligned.m16n8k" + std::to_string(form.k) + ".row.col" + form.more + "." + form.d + "." + form.a + "." + form.b + "." + form.d;
    INFO(instruction);
    mustRunWarp(kernelOf(instruction, bitsOf(elementNamed(form.d)) / 8, words, 0), in.data(), out.data());
  }
}

TEST_CASE("mma.sp: shapes that are not sparse, and selectors that there are not, are refused by name") {
  const std::string four = "{%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9,%r10,%r11}, {%r0,%r1,%r2,%r3}, %r12, ";
  const auto refusal = [&](const std::string& shape, const std::string& operands) { return refusalOf(kernelAround("mma.sp.sync.aligned." + shape + " " + operands + ";\n")); };
  CHECK(refusal("m16n8k32.row.col.f32.f16.f16.f32", four + "0") == "");
  CHECK(refusal("m16n8k64.row.col.f32.f16.f16.f32", four + "0").find("not supported") != std::string::npos);
  CHECK(refusal("m16n8k16.row.col.f64.f64.f64.f64", four + "0").find("not supported") != std::string::npos);
  CHECK(refusal("m16n8k32.row.col.f32.f16.f16.f32", four + "%r13") != "");
  // Found when it is compiled.
  const auto failure = [&](const std::string& shape, unsigned selector) {
    return runWarp(kernelAround("mma.sp.sync.aligned." + shape + " " + four + std::to_string(selector) + ";\n"), nullptr, nullptr);
  };
  CHECK(failure("m16n8k32.row.col.f32.f16.f16.f32", 2).find("operand 6 is not supported") != std::string::npos);
  CHECK(failure("m16n8k64.row.col.s32.s8.s8.s32", 1).find("operand 6 is not supported") != std::string::npos);
}

}  // namespace rouse::test::sparse
