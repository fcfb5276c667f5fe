// mma.sync: every form against sums in quadruple precision, each lane's elements where the ISA's formulas put them.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>

#include "test/ptx/matrix_warp.h"

using namespace rouse::test;

namespace {

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and its neighbours: where element i of a lane is. g is the
// groupID, t the threadID_in_group.
struct Place {
  unsigned row, column;
};
using Formula = std::function<Place(unsigned g, unsigned t, unsigned i)>;

struct Layout {
  std::string_view shape, types;  // types of A and B that the formulas are for
  unsigned m, n, k;
  Formula a, b;
};

Place low(unsigned row, unsigned column) { return {row, column}; }

const Layout kLayouts[] = {
    {"m8n8k4", "f64", 8, 8, 4, [](unsigned g, unsigned t, unsigned) { return low(g, t); }, [](unsigned g, unsigned t, unsigned) { return low(t, g); }},
    {"m8n8k16", "s8 u8", 8, 8, 16, [](unsigned g, unsigned t, unsigned i) { return low(g, t * 4 + i); },
     [](unsigned g, unsigned t, unsigned i) { return low(t * 4 + i, g); }},
    {"m8n8k32", "s4 u4", 8, 8, 32, [](unsigned g, unsigned t, unsigned i) { return low(g, t * 8 + i); },
     [](unsigned g, unsigned t, unsigned i) { return low(t * 8 + i, g); }},
    {"m8n8k128", "b1", 8, 8, 128, [](unsigned g, unsigned t, unsigned i) { return low(g, t * 32 + i); },
     [](unsigned g, unsigned t, unsigned i) { return low(t * 32 + i, g); }},
    {"m16n8k4", "tf32 f64", 16, 8, 4, [](unsigned g, unsigned t, unsigned i) { return low(i == 0 ? g : g + 8, t); },
     [](unsigned g, unsigned t, unsigned) { return low(t, g); }},
    {"m16n8k8", "f16 bf16", 16, 8, 8, [](unsigned g, unsigned t, unsigned i) { return low(i < 2 ? g : g + 8, t * 2 + (i & 1)); },
     [](unsigned g, unsigned t, unsigned i) { return low(t * 2 + i, g); }},
    {"m16n8k8", "tf32 f64", 16, 8, 8,
     [](unsigned g, unsigned t, unsigned i) { return low(i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4); },
     [](unsigned g, unsigned t, unsigned i) { return low(i == 0 ? t : t + 4, g); }},
    {"m16n8k16", "f16 bf16", 16, 8, 16,
     [](unsigned g, unsigned t, unsigned i) { return low(i < 2 || (4 <= i && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8)); },
     [](unsigned g, unsigned t, unsigned i) { return low(t * 2 + (i & 1) + (i < 2 ? 0 : 8), g); }},
    {"m16n8k16", "f64", 16, 8, 16,
     [](unsigned g, unsigned t, unsigned i) { return low(i % 2 == 0 ? g : g + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t); },
     [](unsigned g, unsigned t, unsigned i) { return low(i * 4 + t, g); }},
    {"m16n8k16", "s8 u8 e4m3 e5m2", 16, 8, 16,
     [](unsigned g, unsigned t, unsigned i) { return low(i < 4 ? g : g + 8, t * 4 + (i & 3)); },
     [](unsigned g, unsigned t, unsigned i) { return low(t * 4 + i, g); }},
    {"m16n8k32", "s4 u4", 16, 8, 32, [](unsigned g, unsigned t, unsigned i) { return low(i < 8 ? g : g + 8, t * 8 + (i & 7)); },
     [](unsigned g, unsigned t, unsigned i) { return low(t * 8 + i, g); }},
    {"m16n8k32", "s8 u8 e4m3 e5m2", 16, 8, 32,
     [](unsigned g, unsigned t, unsigned i) { return low(i < 4 || (8 <= i && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16)); },
     [](unsigned g, unsigned t, unsigned i) { return low(t * 4 + (i & 3) + (i < 4 ? 0 : 16), g); }},
    {"m16n8k64", "s4 u4", 16, 8, 64,
     [](unsigned g, unsigned t, unsigned i) { return low(i < 8 || (16 <= i && i < 24) ? g : g + 8, t * 8 + (i & 7) + (i < 16 ? 0 : 32)); },
     [](unsigned g, unsigned t, unsigned i) { return low(t * 8 + (i & 7) + (i < 8 ? 0 : 32), g); }},
    {"m16n8k128", "b1", 16, 8, 128, [](unsigned g, unsigned t, unsigned i) { return low(i < 32 ? g : g + 8, t * 32 + (i & 31)); },
     [](unsigned g, unsigned t, unsigned i) { return low(t * 32 + i, g); }},
    {"m16n8k256", "b1", 16, 8, 256,
     [](unsigned g, unsigned t, unsigned i) { return low(i < 32 || (64 <= i && i < 96) ? g : g + 8, t * 32 + (i & 31) + (i < 64 ? 0 : 128)); },
     [](unsigned g, unsigned t, unsigned i) { return low(t * 32 + (i & 31) + (i < 32 ? 0 : 128), g); }},
};

// Accumulators: c0, c1 in row g, c2, c3 in row g + 8.
Place accumulatorPlace(unsigned g, unsigned t, unsigned i) { return {i < 2 ? g : g + 8, t * 2 + (i & 1)}; }

const Layout& layoutOf(std::string_view shape, std::string_view type) {
  for (const Layout& layout : kLayouts) {
    if (layout.shape == shape && (" " + std::string(layout.types) + " ").find(" " + std::string(type) + " ") != std::string::npos)
      return layout;
  }
  FAIL("no layout of " << shape << " for " << type);
  return kLayouts[0];
}

// Registers of a lane, as the kernel loads them: C at 0, A at 128, B at 256 bytes, 384 bytes a lane.
constexpr std::size_t kLaneBytes = 384, kA = 128, kB = 256;

std::string registers(const char* prefix, unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "%" : ", %") + (prefix + std::to_string(first + i));
  return text + "}";
}

struct Fragment {
  Element element;
  unsigned bytes;  // a lane
  unsigned count() const { return element == Element::f64 ? bytes / 8 : bytes / 4; }
  const char* prefix() const { return element == Element::f64 ? "d" : element == Element::f32 ? "f" : "r"; }
  std::string moves(const char* verb, unsigned first, const char* base, std::size_t at) const {
    const unsigned size = element == Element::f64 ? 8 : 4;
    std::string text;
    for (unsigned i = 0; i < count(); ++i) {
      const std::string reg = "%" + (prefix() + std::to_string(first + i));
      const std::string memory = "[" + std::string(base) + "+" + std::to_string(at + i * size) + "]";
      const std::string type = element == Element::f64 ? ".f64 " : element == Element::f32 ? ".f32 " : ".b32 ";
      text += verb + (".global" + type) + (*verb == 'l' ? reg + ", " + memory : memory + ", " + reg) + ";\n";
    }
    return text;
  }
};

std::string kernelOf(const std::string& instruction, const Fragment& d, const Fragment& a, const Fragment& b, const Fragment& c) {
  return kernelAround("mad.lo.u64 %at, %lane64, 384, %in;\nmad.lo.u64 %out, %lane64, 384, %out;\n" + c.moves("ld", 0, "%at", 0) +
                      a.moves("ld", 16, "%at", kA) + b.moves("ld", 32, "%at", kB) + instruction + " " + registers(d.prefix(), 48, d.count()) +
                      ", " + registers(a.prefix(), 16, a.count()) + ", " + registers(b.prefix(), 32, b.count()) + ", " +
                      registers(c.prefix(), 0, c.count()) + ";\n" + d.moves("st", 48, "%out", 0));
}

struct Form {
  std::string shape, d, a, b, c, more;  // more: behind the types; ".satfinite" goes before them
};

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const char* shape : {"m16n8k8", "m16n8k16"}) {
    for (const char* type : {"f16", "f32"}) all.push_back({shape, type, "f16", "f16", type, ""});
    all.push_back({shape, "f32", "bf16", "bf16", "f32", ""});
  }
  for (const char* shape : {"m16n8k4", "m16n8k8"}) all.push_back({shape, "f32", "tf32", "tf32", "f32", ""});
  for (const char* shape : {"m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"}) all.push_back({shape, "f64", "f64", "f64", "f64", ""});
  for (const char* shape : {"m16n8k16", "m16n8k32"})
    for (const char* type : {"f16", "f32"})
      for (const char* a : {"e4m3", "e5m2"})
        for (const char* b : {"e4m3", "e5m2"}) all.push_back({shape, type, a, b, type, ""});
  for (const char* more : {"", ".satfinite"}) {
    for (const char* shape : {"m8n8k16", "m16n8k16", "m16n8k32"})
      for (const char* a : {"s8", "u8"})
        for (const char* b : {"s8", "u8"}) all.push_back({shape, "s32", a, b, "s32", more});
    for (const char* shape : {"m8n8k32", "m16n8k32", "m16n8k64"})
      for (const char* a : {"s4", "u4"})
        for (const char* b : {"s4", "u4"}) all.push_back({shape, "s32", a, b, "s32", more});
  }
  for (const char* shape : {"m8n8k128", "m16n8k128", "m16n8k256"})
    for (const char* more : {".xor.popc", ".and.popc"}) all.push_back({shape, "s32", "b1", "b1", "s32", more});
  return all;
}

struct Matrix {
  unsigned columns;
  std::vector<std::uint64_t> bits;
  Matrix(unsigned rows, unsigned columns) : columns(columns), bits(rows * columns) {}
  std::uint64_t& at(Place place) { return bits[place.row * columns + place.column]; }
};

std::int64_t integerOf(Element element, std::uint64_t bits) { return static_cast<std::int64_t>(valueOf(element, bits)); }

void check(const Form& form, const Layout& layout, Element d, Element a, Element b, Element c, Matrix& left, Matrix& right,
           Matrix& sums, Place place, std::uint64_t got) {
  std::vector<double> x, y;
  std::int64_t integer = 0;
  double chain = valueOf(c, sums.at(place));
  for (unsigned k = 0; k < layout.k; ++k) {
    const std::uint64_t p = left.at({place.row, k}), q = right.at({k, place.column});
    x.push_back(valueOf(a, p)), y.push_back(valueOf(b, q));
    if (a == Element::b1) {
      integer += form.more == ".xor.popc" ? p ^ q : p & q;
    } else if (d == Element::s32) {
      integer += integerOf(a, p) * integerOf(b, q);
    }
    chain = std::fma(x.back(), y.back(), chain);
  }
  INFO("row " << place.row << " column " << place.column << " got 0x" << std::hex << got);
  if (d == Element::s32) {
    integer += integerOf(c, sums.at(place));
    if (form.more == ".satfinite") integer = std::clamp<std::int64_t>(integer, INT32_MIN, INT32_MAX);
    CHECK(static_cast<std::uint32_t>(got) == static_cast<std::uint32_t>(integer));
    return;
  }
  // Fused multiply-adds in order: where they overflow on the way depends on the order, too.
  if (d == Element::f64) CHECK((std::isnan(chain) ? std::isnan(valueOf(d, got)) : valueOf(d, got) == chain));
  if (d != Element::f64 || std::isfinite(chain)) CHECK(isSum(d, got, valueOf(c, sums.at(place)), x, y));
}

void run(const Form& form, const Layout& layout, std::mt19937_64& random, bool tame) {
  const Element d = elementNamed(form.d), a = elementNamed(form.a), b = elementNamed(form.b), c = elementNamed(form.c);
  const unsigned sumsEach = layout.m * layout.n / 32, aEach = layout.m * layout.k / 32, bEach = layout.n * layout.k / 32;
  const Fragment df{d, sumsEach * bitsOf(d) / 8}, af{a, aEach * bitsOf(a) / 8}, bf{b, bEach * bitsOf(b) / 8}, cf{c, sumsEach * bitsOf(c) / 8};
  std::vector<std::byte> in(kLanes * kLaneBytes), out(kLanes * kLaneBytes);
  Matrix left(layout.m, layout.k), right(layout.k, layout.n), sums(layout.m, layout.n);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    std::byte* const mine = &in[lane * kLaneBytes];
    const auto fill = [&](Element element, unsigned count, std::size_t at, Matrix& matrix, const Formula& place) {
      for (unsigned i = 0; i < count; ++i) {
        const std::uint64_t bits = randomBits(element, random, tame);
        setPacked(mine + at, element, i, bits);
        matrix.at(place(lane / 4, lane % 4, i)) = bits;
      }
    };
    fill(c, sumsEach, 0, sums, accumulatorPlace);
    fill(a, aEach, kA, left, layout.a);
    fill(b, bEach, kB, right, layout.b);
  }
  const bool behind = form.more.empty() || form.more.ends_with("popc");
  const std::string instruction = "mma.sync.aligned." + form.shape + ".row.col" + (behind ? "" : form.more) + "." + form.d + "." + form.a +
                                  "." + form.b + "." + form.c + (behind ? form.more : "");
  INFO(instruction);
  mustRunWarp(kernelOf(instruction, df, af, bf, cf), in.data(), out.data());
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned i = 0; i < sumsEach; ++i)
      check(form, layout, d, a, b, c, left, right, sums, accumulatorPlace(lane / 4, lane % 4, i), packedAt(&out[lane * kLaneBytes], d, i));
}

}  // namespace

TEST_CASE("mma: every form, ordinary and special numbers, at the ISA's places") {
  std::mt19937_64 random(7);
  for (const Form& form : forms()) {
    for (const bool tame : {true, false}) run(form, layoutOf(form.shape, form.a), random, tame);
  }
}

// PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".
TEST_CASE("mma.m8n8k4 of f16: four products, each by eight lanes") {
  std::mt19937_64 random(8);
  for (const std::string la : {"row", "col"})
    for (const std::string lb : {"row", "col"})
      for (const auto& [dName, cName] : std::vector<std::pair<std::string, std::string>>{{"f32", "f32"}, {"f32", "f16"}, {"f16", "f16"}}) {
        const Element d = elementNamed(dName), c = elementNamed(cName);
        std::vector<std::byte> in(kLanes * kLaneBytes), out(kLanes * kLaneBytes);
        std::vector<Matrix> left(4, Matrix(8, 4)), right(4, Matrix(4, 8)), sums(4, Matrix(8, 8));
        const auto sumPlace = [](Element element, unsigned lane, unsigned i) {
          const unsigned high = lane < 16 ? 0 : 4;
          if (element == Element::f16) return Place{lane % 4 + high, i};
          return Place{(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)};
        };
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          std::byte* const mine = &in[lane * kLaneBytes];
          const unsigned high = lane < 16 ? 0 : 4, product = lane / 4 % 4;
          for (unsigned i = 0; i < 4; ++i) {
            const std::uint64_t x = randomBits(Element::f16, random, true), y = randomBits(Element::f16, random, true);
            setPacked(mine + kA, Element::f16, i, x);
            setPacked(mine + kB, Element::f16, i, y);
            left[product].at(la == "row" ? Place{lane % 4 + high, i} : Place{i + high, lane % 4}) = x;
            right[product].at(lb == "row" ? Place{lane % 4, i + high} : Place{i, lane % 4 + high}) = y;
          }
          for (unsigned i = 0; i < 8; ++i) {
            const std::uint64_t x = randomBits(c, random, true);
            setPacked(mine, c, i, x);
            sums[product].at(sumPlace(c, lane, i)) = x;
          }
        }
        const std::string instruction = "mma.sync.aligned.m8n8k4." + la + "." + lb + "." + dName + ".f16.f16." + cName;
        INFO(instruction);
        mustRunWarp(kernelOf(instruction, {d, 8 * bitsOf(d) / 8}, {Element::f16, 8}, {Element::f16, 8}, {c, 8 * bitsOf(c) / 8}), in.data(),
                    out.data());
        for (unsigned lane = 0; lane < kLanes; ++lane)
          for (unsigned i = 0; i < 8; ++i) {
            const Place place = sumPlace(d, lane, i);
            std::vector<double> x, y;
            for (unsigned k = 0; k < 4; ++k) {
              x.push_back(valueOf(Element::f16, left[lane / 4 % 4].at({place.row, k})));
              y.push_back(valueOf(Element::f16, right[lane / 4 % 4].at({k, place.column})));
            }
            CHECK(isSum(d, packedAt(&out[lane * kLaneBytes], d, i), valueOf(c, sums[lane / 4 % 4].at(place)), x, y));
          }
      }
}

TEST_CASE("mma: registers may be destination and source, absent lanes hold zeros") {
  // D over A and C, one lane short: what that lane would bring counts as zero.
  std::vector<float> in(kLanes * kLaneBytes / 4), out(kLanes * kLaneBytes / 4);
  for (unsigned lane = 0; lane < kLanes; ++lane) in[lane * kLaneBytes / 4] = 1;
  const std::string body =
      "mad.lo.u64 %at, %lane64, 384, %in;\nmad.lo.u64 %out, %lane64, 384, %out;\nld.global.b32 %r0, [%at];\n"
      "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%r0, %r1, %r2, %r3}, {%r0, %r0}, {%r0}, {%r0, %r0, %r0, %r0};\n"
      "st.global.b32 [%out], %r0;\nst.global.b32 [%out+4], %r3;\n";
  mustRunWarp(kernelAround(body), in.data(), out.data());
  for (unsigned lane = 0; lane < kLanes; ++lane) CHECK(out[lane * kLaneBytes / 4] == 5);
  mustRunWarp(kernelAround(body), in.data(), out.data(), 31);
  CHECK(out[0] == 5);
  CHECK(out[30 * kLaneBytes / 4] == 4);  // row 7, where A's last element is missing
}

TEST_CASE("mma: what is not covered is refused by name and line") {
  for (const char* instruction :
       {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e3m2.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m16n8k8.col.row.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r4}, {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f32 {%r0,%r1}, {%r0,%r1}, {%r4}, {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64.rz {%d0,%d1}, {%d2}, {%d3}, {%d0,%d1};",
        "tcgen05.wait::ld.sync.aligned;"}) {
    const std::string refusal = refusalOf(kernelAround(std::string(instruction) + "\n"));
    INFO(instruction << ": " << refusal);
    CHECK(refusal.find("line 17") != std::string::npos);
    CHECK(refusal.find("not supported") != std::string::npos);
    CHECK(refusal.find(std::string(instruction).substr(0, 8)) != std::string::npos);
  }
  // Too few registers is malformed.
  const std::string refusal =
      refusalOf(kernelAround("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2}, {%r0,%r1}, {%r4}, {%f0,%f1,%f2,%f3};\n"));
  CHECK(refusal.find("a fragment of 4 registers of .b32 as operand 1") != std::string::npos);
  CHECK(refusalOf(kernelAround(".reg .s4 %x;\n")) != "");
}
