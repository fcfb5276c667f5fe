// wgmma.mma_async: every form against sums in quadruple precision, matrices in shared memory in every layout, placed element by element (PTX ISA, "Shared Memory Matrix Layout").
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "test/ptx/matrix_sparse.h"
#include "test/ptx/matrix_warp.h"

namespace rouse::test::warpgroup {
namespace {

constexpr unsigned kThreads = 4 * kLanes, kRows = 64, kRowBytes = 32, kMostColumns = 256;
// What the kernel is given: shared memory, accumulators of each thread, registers of A and metadata of each thread.
constexpr std::size_t kShared = 40960, kSums = 4 * kMostColumns / 2, kA = kShared + kThreads * kSums, kMetadata = kA + kThreads * 16, kIn = kMetadata + kThreads * 4;
constexpr unsigned kB = 8192;  // where B is in shared memory; A at the beginning

struct Form {
  std::string d, a, b;
  bool saturate = false, sparse = false;
  unsigned stored() const { return kRowBytes * 8 / bitsOf(elementNamed(a)); }  // elements of a row of A
  unsigned k() const { return sparse ? 2 * stored() : stored(); }
};

// How a matrix lies in shared memory.
struct Layout {
  unsigned atom = 16;  // bytes beside each other; their units of 16 are exchanged if there are several
  bool alongK = true;
  unsigned leading = 0, stride = 0;
  unsigned start = 0;

  // Where the first bit of element (i, k) is, bits wide.
  std::size_t bitOf(unsigned i, unsigned k, unsigned bits) const {
    std::size_t byte = start;
    if (alongK) {
      const std::size_t at = std::size_t{k} * bits / 8;
      byte += i % 8 * atom + i / 8 * stride + (atom == 16 ? at / 16 * leading + at % 16 : at);
    } else if (atom == 16) {
      byte += i % 8 * 2 + i / 8 * stride + k % 8 * 16 + k / 8 * leading;
    } else {
      byte += i % (atom / 2) * 2 + i / (atom / 2) * leading + k % 8 * atom + k / 8 * stride;
    }
    // The unit in its line is exchanged by the number of the line of 128 bytes, where the pattern begins at line 0.
    const std::size_t line = byte / 128 - base();
    byte ^= (line % 8 & (atom / 16 - 1)) * 16;
    return byte * 8 + k * bits % 8;
  }
  unsigned base() const { return start / 128 % 8 * static_cast<unsigned>(shifted); }
  bool shifted = false;  // the pattern begins where the matrix does

  std::uint64_t descriptor() const {
    const std::uint64_t mode = atom == 16 ? 0 : atom == 128 ? 1 : atom == 64 ? 2 : 3;
    return start / 16 | std::uint64_t{leading / 16} << 16 | std::uint64_t{stride / 16} << 32 | std::uint64_t{base()} << 49 | mode << 62;
  }
};

Layout layoutOf(unsigned atom, bool alongK, unsigned rows, unsigned start) {
  Layout made{.atom = atom, .alongK = alongK, .start = start};
  if (atom == 16) {
    made.leading = alongK ? 128 : 16 * rows;
    made.stride = alongK ? 256 : 128;
  } else {
    made.stride = 8 * atom;
    made.leading = alongK ? 16 : 16 * atom;
  }
  return made;
}

std::uint64_t elementAt(const std::vector<std::byte>& from, Element element, const Layout& layout, unsigned i, unsigned k) {
  const std::size_t bit = layout.bitOf(i, k, bitsOf(element));
  return packedAt(&from[bit / 8], element, bitsOf(element) < 8 ? bit % 8 / bitsOf(element) : 0);
}

void setElement(std::vector<std::byte>& to, Element element, const Layout& layout, unsigned i, unsigned k, std::uint64_t bits) {
  const std::size_t bit = layout.bitOf(i, k, bitsOf(element));
  setPacked(&to[bit / 8], element, bitsOf(element) < 8 ? bit % 8 / bitsOf(element) : 0, bits);
}

struct Product {
  Form form;
  unsigned columns = 8;
  std::optional<Layout> a;  // none: in registers
  Layout b;
  bool adds = true;
  int signA = 1, signB = 1;
  unsigned selector = 0;
};

std::string listOf(const std::string& prefix, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "%" : ", %") + (prefix + std::to_string(i));
  return text + "}";
}

unsigned sumsOf(const Product& product) { return product.columns * bitsOf(elementNamed(product.form.d)) / 64; }  // registers

std::string instructionOf(const Product& product) {
  const Form& form = product.form;
  std::string text = std::string("wgmma.mma_async") + (form.sparse ? ".sp" : "") + ".sync.aligned.m64n" + std::to_string(product.columns) + "k" + std::to_string(form.k()) + "." + form.d + "." + form.a + "." + form.b;
  if (form.a == "b1") text += ".and.popc";
  if (form.saturate) text += ".satfinite";
  text += " " + listOf("c", sumsOf(product)) + ", " + (product.a ? "%descA" : listOf("a", 4)) + ", %descB" + (form.sparse ? ", %meta, " + std::to_string(product.selector) : "") + ", %adds";
  const bool isFloat = form.d != "s32";
  if (isFloat) text += ", " + std::to_string(product.signA) + ", " + std::to_string(product.signB);
  if (form.a == "f16" || form.a == "bf16") text += (product.a ? std::string(", ") + (product.a->alongK ? "0" : "1") : "") + (product.b.alongK ? ", 0" : ", 1");
  return text + ";\n";
}

// Each warp fills shared memory by itself, so that none waits.
std::string kernelOf(const Product& product) {
  const unsigned sums = sumsOf(product);
  std::string text =
      ".version 8.5\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n"
      ".reg .b32 %c<128>;\n.reg .b32 %a<4>;\n.reg .b32 %v<4>;\n.reg .b32 %me, %lane, %base, %i, %meta;\n.reg .b64 %in, %out, %at, %thread, %descA, %descB, %tile;\n.reg .pred %adds, %more;\n"
      ".shared .align 1024 .b8 tile[40960];\n"
      "ld.param.u64 %in, [pin];\nld.param.u64 %out, [pout];\nmov.u32 %me, %tid.x;\nand.b32 %lane, %me, 31;\nshl.b32 %i, %lane, 4;\nmov.u32 %base, tile;\n"
      "COPY:\ncvt.u64.u32 %at, %i;\nadd.u64 %at, %at, %in;\nld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%at];\nadd.u32 %me, %base, %i;\n"
      "st.shared.v4.b32 [%me], {%v0, %v1, %v2, %v3};\nadd.u32 %i, %i, 512;\nsetp.lt.u32 %more, %i, 40960;\n@%more bra COPY;\n"
      "mov.u32 %me, %tid.x;\ncvt.u64.u32 %thread, %me;\nadd.u64 %in, %in, 40960;\nmad.lo.u64 %at, %thread, 512, %in;\n";
  for (unsigned i = 0; i < sums; ++i) text += "ld.global.b32 %c" + std::to_string(i) + ", [%at+" + std::to_string(4 * i) + "];\n";
  text += "add.u64 %in, %in, 65536;\nmad.lo.u64 %at, %thread, 16, %in;\nld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%at];\n"
          "add.u64 %in, %in, 2048;\nmad.lo.u64 %at, %thread, 4, %in;\nld.global.b32 %meta, [%at];\n"
          "cvt.u64.u32 %tile, %base;\nshr.u64 %tile, %tile, 4;\n"
          "add.u64 %descA, %tile, " + std::to_string(product.a ? product.a->descriptor() : 0) + ";\nadd.u64 %descB, %tile, " + std::to_string(product.b.descriptor()) + ";\n"
          "setp." + (product.adds ? "ne" : "eq") + ".u32 %adds, %i, 0;\nwgmma.fence.sync.aligned;\n" + instructionOf(product) +
          "wgmma.commit_group.sync.aligned;\n" +
          // Where warps meet frames would be needed, which runWarp() has none of; that they meet test programs show.
          (inVectors() ? "" : "wgmma.wait_group.sync.aligned 0;\n") + "mad.lo.u64 %at, %thread, 512, %out;\n";
  for (unsigned i = 0; i < sums; ++i) text += "st.global.b32 [%at+" + std::to_string(4 * i) + "], %c" + std::to_string(i) + ";\n";
  return text + "ret;\n}\n";
}

void run(const Product& product, std::mt19937_64& random, bool tame) {
  const Element d = elementNamed(product.form.d), a = elementNamed(product.form.a), b = elementNamed(product.form.b);
  const unsigned depth = product.form.k(), stored = product.form.stored();
  std::vector<std::byte> in(kIn), out(kThreads * kSums);
  for (std::byte& byte : in) byte = static_cast<std::byte>(random());
  if (product.a)
    for (unsigned row = 0; row < kRows; ++row)
      for (unsigned k = 0; k < stored; ++k) setElement(in, a, *product.a, row, k, randomBits(a, random, tame));
  for (unsigned column = 0; column < product.columns; ++column)
    for (unsigned k = 0; k < depth; ++k) setElement(in, b, product.b, column, k, randomBits(b, random, tame));
  std::vector<std::vector<double>> left(kRows, std::vector<double>(stored));
  std::vector<std::vector<unsigned>> columns(kRows);  // of A's elements
  for (unsigned row = 0; !product.form.sparse && row < kRows; ++row)
    for (unsigned k = 0; k < depth; ++k) columns[row].push_back(k);
  for (unsigned warp = 0; product.form.sparse && warp < kThreads / kLanes; ++warp) {
    // As of mma.sp, of a warp's 16 rows.
    const SparseRows rows = randomSparseRows(a, depth, product.selector, random);
    for (unsigned row = 0; row < 16; ++row) columns[warp * 16 + row] = rows.columns[row];
    for (unsigned lane = 0; lane < kLanes; ++lane) setPacked(&in[kMetadata + (warp * kLanes + lane) * 4], Element::s32, 0, rows.metadata[lane]);
  }
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    for (unsigned i = 0; i < product.columns / 2; ++i) setPacked(&in[kShared + thread * kSums], d, i, randomBits(d, random, tame));
    // "Register Fragments for wgmma.mma_async": as of mma, of a warp's 16 rows; an element is of k / 8 beside each other, in rows g and g + 8, in each half of k.
    const unsigned each = stored / 8;
    for (unsigned i = 0; i < 4 * each; ++i) {
      const unsigned reg = i / each, row = thread / 32 * 16 + thread % 32 / 4 + reg % 2 * 8, k = thread % 4 * each + i % each + reg / 2 * stored / 2;
      std::byte* const mine = &in[kA + thread * 16];
      if (!product.a) setPacked(mine, a, i, randomBits(a, random, tame));
      left[row][k] = product.a ? valueOf(a, elementAt(in, a, *product.a, row, k)) : valueOf(a, packedAt(mine, a, i));
    }
  }
  INFO(instructionOf(product));
  mustRunWarp(kernelOf(product), in.data(), out.data(), kThreads);
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    for (unsigned i = 0; i < product.columns / 2; ++i) {
      const unsigned row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + thread % 4 * 2 + i % 2;
      std::vector<double> x = left[row], y;
      for (const unsigned k : columns[row]) y.push_back(valueOf(b, elementAt(in, b, product.b, column, k)));
      for (double& value : x) value *= product.signA * product.signB;
      const double c = product.adds ? valueOf(d, packedAt(&in[kShared + thread * kSums], d, i)) : 0;
      const std::uint64_t got = packedAt(&out[thread * kSums], d, i);
      bool right = false;
      if (d != Element::s32) {
        right = isSum(d, got, c, x, y);
      } else {
        auto sum = static_cast<std::int64_t>(c);
        for (unsigned k = 0; k < stored; ++k) sum += static_cast<std::int64_t>(x[k] * y[k]);
        if (product.form.saturate) sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
        right = static_cast<std::uint32_t>(got) == static_cast<std::uint32_t>(sum);
      }
      if (right) continue;
      double exact = c;
      for (unsigned k = 0; k < stored; ++k) exact += x[k] * y[k];
      INFO("row " << row << " column " << column << ": " << exact << ", got 0x" << std::hex << got);
      REQUIRE(right);
    }
  }
}

std::vector<Form> forms() {
  std::vector<Form> all{{"f32", "f16", "f16"}, {"f16", "f16", "f16"}, {"f32", "bf16", "bf16"}, {"f32", "tf32", "tf32"}, {"s32", "b1", "b1"}};
  for (const char* a : {"e4m3", "e5m2"})
    for (const char* b : {"e4m3", "e5m2"})
      for (const char* d : {"f32", "f16"}) all.push_back({d, a, b});
  for (const char* a : {"s8", "u8"})
    for (const char* b : {"s8", "u8"})
      for (const bool saturate : {false, true}) all.push_back({"s32", a, b, saturate});
  return all;
}

}  // namespace

TEST_CASE("wgmma: every form, A in shared memory and in registers, ordinary and special numbers") {
  std::mt19937_64 random(11);
  for (const Form& form : forms()) {
    for (const bool shared : {true, false})
      for (const bool tame : {true, false}) {
        Product product{.form = form, .columns = tame ? 16u : 48u, .b = layoutOf(128, true, 48, kB)};
        if (shared) product.a = layoutOf(32, true, kRows, 0);
        run(product, random, tame);
      }
  }
}

TEST_CASE("wgmma: every layout of both matrices, within a pattern, and one that begins where the matrix does") {
  std::mt19937_64 random(12);
  const Form form{"f32", "f16", "f16"};
  for (const unsigned atom : {16u, 32u, 64u, 128u}) {
    for (const bool alongK : {true, false}) {
      Product product{.form = form, .columns = 64, .a = layoutOf(atom, alongK, kRows, 0), .b = layoutOf(atom, !alongK, 64, kB)};
      run(product, random, true);
      std::swap(product.a->alongK, product.b.alongK);
      product.a = layoutOf(atom, !alongK, kRows, 0), product.b = layoutOf(atom, alongK, 64, kB);
      run(product, random, true);
      if (!alongK || atom < 64) continue;
      // The next 16 elements along k of rows that have more.
      product.a = layoutOf(atom, true, kRows, kRowBytes), product.b = layoutOf(atom, true, 64, kB + atom - kRowBytes);
      run(product, random, true);
      product.a->start = 128 * 3, product.a->shifted = true;
      product.b.start = kB + 128 * 5, product.b.shifted = true;
      run(product, random, true);
    }
  }
}

TEST_CASE("wgmma: from 8 to 256 columns, signs, and nothing to add to") {
  std::mt19937_64 random(13);
  for (const unsigned columns : {8u, 24u, 136u, 256u}) {
    for (const char* d : {"f32", "f16"}) {
      Product product{.form = {d, "f16", "f16"}, .columns = columns, .a = layoutOf(128, true, kRows, 0), .b = layoutOf(64, true, columns, kB)};
      for (const auto& [signA, signB] : {std::pair(1, -1), std::pair(-1, 1), std::pair(-1, -1)}) {
        product.signA = signA, product.signB = signB, product.adds = signA != signB;
        run(product, random, true);
      }
    }
  }
  Product without{.form = {"s32", "s8", "u8"}, .columns = 8, .b = layoutOf(16, true, 8, kB), .adds = false};
  run(without, random, true);
  for (const char* type : {"bf16", "tf32", "e4m3"}) {
    Product product{.form = {"f32", type, type}, .columns = 8, .b = layoutOf(32, true, 8, kB), .signA = -1};
    run(product, random, true);
  }
}

TEST_CASE("wgmma: every sparse form, whosever metadata it is, B in each layout") {
  std::mt19937_64 random(14);
  for (Form form : forms()) {
    if (form.a == "b1") continue;
    form.sparse = true;
    for (unsigned selector = 0; selector < selectorsOf(elementNamed(form.a), form.k()); ++selector)
      for (const bool tame : {true, false}) {
        Product product{.form = form, .columns = tame ? 16u : 24u, .b = layoutOf(tame ? 128 : 64, true, 24, kB), .selector = selector};
        if (tame == (selector == 0)) product.a = layoutOf(32, true, kRows, 0);
        run(product, random, tame);
        if (!tame || (form.a != "f16" && form.a != "bf16")) continue;
        product.b = layoutOf(64, false, 24, kB);
        run(product, random, tame);
      }
  }
  Product product{.form = {"f32", "f16", "f16", false, true}, .columns = 16, .a = layoutOf(64, false, kRows, 0), .b = layoutOf(16, false, 16, kB), .adds = false, .signA = -1};
  run(product, random, true);
  product.b = layoutOf(16, true, 16, kB);
  product.b.stride = 512;  // eight columns of four units
  run(product, random, true);
}

TEST_CASE("wgmma: what is not covered, or no shape, is refused by name") {
  const Product product{.form = {"f32", "f16", "f16"}, .columns = 16, .b = layoutOf(32, true, 16, kB)};
  const std::string good = kernelOf(product);
  CHECK(refusalOf(good) == "");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return refusalOf(text);
  };
  for (const char* shape : {"m64n12k16", "m64n264k16", "m64n0k16", "m64n16k4", "m32n16k16", "m64nNk16", "m64n16k8", "m64n016k16", "m64n-8k16", "m64n16k16x"}) {
    INFO(shape);
    CHECK(with("m64n16k16", shape).find("not supported") != std::string::npos);
  }
  CHECK(with("mma_async", "mma_async.sp").find("not supported") != std::string::npos);  // no such shape
  CHECK(with("m64n16k16", "m64n24k16").find("a fragment of 12 registers") != std::string::npos);
  CHECK(with("m64n16k16", "m64n256k16").find("a fragment of 128 registers") != std::string::npos);
  // Found when it is compiled.
  const auto failure = [&](const std::string& to) {
    std::string text = good;
    text.replace(text.find(", 1, 1, 0"), 9, to);
    return runWarp(text, nullptr, nullptr, kThreads);
  };
  CHECK(failure(", 2, 1, 0").find("operand 5 is not supported") != std::string::npos);
  CHECK(failure(", 1, 0, 0").find("operand 6 is not supported") != std::string::npos);
  CHECK(failure(", 1, 1, 2").find("operand 7 is not supported") != std::string::npos);
  CHECK(with("%adds, 1", "%i, 1").find("a register of .pred") != std::string::npos);
}

}  // namespace rouse::test::warpgroup
