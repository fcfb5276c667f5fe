// wmma.load, wmma.mma, wmma.store: every shape and type, both layouts of each matrix, strides, from memory to memory.
#include <catch2/catch.hpp>
#include <cstring>

#include "test/ptx/matrix_warp.h"

using namespace rouse::test;

namespace {

struct Form {
  std::string shape;
  unsigned m, n, k;
  std::string d, a, c;
  unsigned dRegisters, aRegisters, bRegisters, cRegisters;
  std::string more;  // behind the types; of b1 the operation
};

std::vector<Form> forms() {
  std::vector<Form> all;
  const auto shapes = [&](auto verb) {
    verb("m16n16k16", 16, 16), verb("m32n8k16", 32, 8), verb("m8n32k16", 8, 32);
  };
  shapes([&](const char* shape, unsigned m, unsigned n) {
    for (const char* d : {"f16", "f32"})
      for (const char* c : {"f16", "f32"})
        all.push_back({shape, m, n, 16, d, "f16", c, *(d + 1) == '1' ? 4u : 8u, 8, 8, *(c + 1) == '1' ? 4u : 8u, ""});
    all.push_back({shape, m, n, 16, "f32", "bf16", "f32", 8, m / 4, n / 4, 8, ""});
    for (const char* type : {"s8", "u8"})
      for (const char* more : {"", ".satfinite"}) all.push_back({shape, m, n, 16, "s32", type, "s32", 8, m / 8, n / 8, 8, more});
  });
  all.push_back({"m16n16k8", 16, 16, 8, "f32", "tf32", "f32", 8, 4, 4, 8, ""});
  all.push_back({"m8n8k4", 8, 8, 4, "f64", "f64", "f64", 2, 1, 1, 2, ""});
  for (const char* type : {"s4", "u4"}) all.push_back({"m8n8k32", 8, 8, 32, "s32", type, "s32", 2, 1, 1, 2, ""});
  for (const char* more : {".xor.popc", ".and.popc"}) all.push_back({"m8n8k128", 8, 8, 128, "s32", "b1", "s32", 2, 1, 1, 2, more});
  return all;
}

std::string registers(Element element, unsigned first, unsigned count) {
  const std::string prefix = element == Element::f64 ? "%d" : element == Element::f32 ? "%f" : "%r";
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + prefix + std::to_string(first + i);
  return text + "}";
}

// Where element (row, column) is in memory, and how much of that there is.
struct Memory {
  bool columns;
  unsigned stride, lines;
  std::size_t at(unsigned row, unsigned column) const { return columns ? column * stride + row : row * stride + column; }
  std::size_t elements() const { return stride * lines; }
};

constexpr std::size_t kB = 8192, kC = 16384, kBytes = 24576;

void run(const Form& form, bool aColumns, bool bColumns, bool cColumns, bool dColumns, unsigned gap, const char* space,
         std::mt19937_64& random) {
  const Element d = elementNamed(form.d), a = elementNamed(form.a), c = elementNamed(form.c);
  const auto memoryOf = [&](bool columns, unsigned rows, unsigned width) {
    return Memory{columns, (columns ? rows : width) + gap, columns ? width : rows};
  };
  const Memory am = memoryOf(aColumns, form.m, form.k), bm = memoryOf(bColumns, form.k, form.n), cm = memoryOf(cColumns, form.m, form.n),
               dm = memoryOf(dColumns, form.m, form.n);
  std::vector<std::uint64_t> in(kBytes / 8), out(kBytes / 8);
  auto* const memory = reinterpret_cast<std::byte*>(in.data());
  const auto fill = [&](std::size_t at, Element element, const Memory& matrix) {
    for (std::size_t i = 0; i < matrix.elements(); ++i) setPacked(memory + at, element, i, randomBits(element, random, element != Element::s32));
  };
  fill(0, a, am), fill(kB, a, bm), fill(kC, c, cm);
  const auto layout = [](bool columns) { return columns ? ".col" : ".row"; };
  const auto stride = [&](const Memory& matrix) { return gap == 0 ? "" : ", " + std::to_string(matrix.stride); };
  const std::string types = form.a == "f16" ? "." + form.d + "." + form.c : "." + form.d + "." + form.a + "." + form.a + "." + form.c;
  const bool isBits = form.a == "b1";
  const std::string ss = space;
  const std::string body =
      "add.u64 %at, %in, 8192;\n"
      "wmma.load.a.sync.aligned" + std::string(layout(aColumns)) + "." + form.shape + ss + "." + form.a + " " + registers(a, 0, form.aRegisters) +
      ", [%in]" + stride(am) + ";\n"
      "wmma.load.b.sync.aligned" + layout(bColumns) + "." + form.shape + ss + "." + form.a + " " + registers(a, 8, form.bRegisters) +
      ", [%at]" + stride(bm) + ";\n"
      "wmma.load.c.sync.aligned" + layout(cColumns) + "." + form.shape + ss + "." + form.c + " " + registers(c, 16, form.cRegisters) +
      ", [%in+16384]" + stride(cm) + ";\n"
      "wmma.mma" + (isBits ? form.more : "") + ".sync.aligned" + layout(aColumns) + layout(bColumns) + "." + form.shape + types +
      (isBits ? "" : form.more) + " " + registers(d, 24, form.dRegisters) + ", " + registers(a, 0, form.aRegisters) + ", " +
      registers(a, 8, form.bRegisters) + ", " + registers(c, 16, form.cRegisters) + ";\n"
      "wmma.store.d.sync.aligned" + layout(dColumns) + "." + form.shape + ss + "." + form.d + " [%out], " + registers(d, 24, form.dRegisters) +
      stride(dm) + ";\n";
  INFO(body);
  std::memset(out.data(), 0xa5, kBytes);
  mustRunWarp(kernelAround(body), in.data(), out.data());
  auto* const results = reinterpret_cast<const std::byte*>(out.data());
  std::vector<bool> written(dm.elements());
  for (unsigned row = 0; row < form.m; ++row)
    for (unsigned column = 0; column < form.n; ++column) {
      std::vector<double> x, y;
      std::int64_t sum = 0;
      for (unsigned k = 0; k < form.k; ++k) {
        const std::uint64_t p = packedAt(memory, a, am.at(row, k)), q = packedAt(memory + kB, a, bm.at(k, column));
        x.push_back(valueOf(a, p)), y.push_back(valueOf(a, q));
        sum += isBits ? static_cast<std::int64_t>(form.more == ".xor.popc" ? p ^ q : p & q) : static_cast<std::int64_t>(x.back() * y.back());
      }
      const double before = valueOf(c, packedAt(memory + kC, c, cm.at(row, column)));
      const std::uint64_t got = packedAt(results, d, dm.at(row, column));
      written[dm.at(row, column)] = true;
      INFO("row " << row << " column " << column);
      if (d == Element::s32) {
        sum += static_cast<std::int64_t>(before);
        if (form.more == ".satfinite") sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
        CHECK(static_cast<std::uint32_t>(got) == static_cast<std::uint32_t>(sum));
      } else {
        CHECK(isSum(d, got, before, x, y));
      }
    }
  // Between the rows or columns nothing is written.
  for (std::size_t i = 0; i < dm.elements(); ++i) {
    std::uint64_t untouched = 0xa5a5'a5a5'a5a5'a5a5 >> (64 - bitsOf(d));
    if (!written[i]) CHECK(packedAt(results, d, i) == untouched);
  }
}

}  // namespace

TEST_CASE("wmma: every shape and type in every layout") {
  std::mt19937_64 random(9);
  for (const Form& form : forms()) {
    const bool isPacked = form.a == "s4" || form.a == "u4" || form.a == "b1";  // one layout only
    for (unsigned layouts = 0; layouts < 16; ++layouts) {
      const bool aColumns = (layouts & 1) != 0, bColumns = (layouts & 2) != 0;
      if (isPacked && (aColumns || !bColumns)) continue;
      const unsigned gap = layouts % 3 == 0 ? 0 : form.a == "b1" ? 128 : form.a == "f64" ? 4 : 32;
      run(form, aColumns, bColumns, (layouts & 4) != 0, (layouts & 8) != 0, gap, layouts % 2 == 0 ? ".global" : "", random);
    }
  }
}

TEST_CASE("wmma: a fragment has the elements that mma has in m16n16k16, f16 has them twice") {
  std::vector<std::uint16_t> in(256);
  for (unsigned i = 0; i < 256; ++i) in[i] = static_cast<std::uint16_t>(i);
  std::vector<std::uint32_t> out(256);
  const std::string body = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%in];\n"
      "mad.lo.u64 %out, %lane64, 32, %out;\nst.global.v4.b32 [%out], {%r0, %r1, %r2, %r3};\nst.global.v4.b32 [%out+16], {%r4, %r5, %r6, %r7};\n";
  mustRunWarp(kernelAround(body), in.data(), out.data());
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned i = 0; i < 8; ++i) {
      const unsigned row = lane / 4 + (i % 2) * 8, column = lane % 4 * 2 + (i % 4 / 2) * 8;
      CHECK(out[lane * 8 + i] == ((row * 16 + column) | (row * 16 + column + 1) << 16));
    }
}

TEST_CASE("wmma: misaligned and unknown addresses end the launch") {
  std::vector<std::uint16_t> in(512 + 8);
  const auto load = [&](const std::string& address) {
    return runWarp(kernelAround(address + "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [%in];\n"),
                   in.data(), nullptr);
  };
  CHECK(load("") == "");
  CHECK(load("add.u64 %in, %in, 2;\n").find("misaligned access") != std::string::npos);
  CHECK(load("mov.u64 %in, 64;\n").find("illegal access to 0x") != std::string::npos);
}

TEST_CASE("wmma: what is not covered is refused") {
  for (const char* instruction : {"wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64.rz {%d0,%d1}, {%d2}, {%d3}, {%d0,%d1};",
                                  "wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%r0}, [%in];",
                                  "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, {%r8,%r9}, "
                                  "{%r8,%r9}, {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7};"}) {
    const std::string refusal = refusalOf(kernelAround(std::string(instruction) + "\n"));
    INFO(instruction << ": " << refusal);
    CHECK(refusal.find("line 17") != std::string::npos);
    CHECK(refusal.find("not supported") != std::string::npos);
  }
}
