// Names of variables, from what nvcc really writes and from what nobody should.
#include "server/device/cuda/variable_names.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <random>

#include "server/fatbin/fatbin.h"

using namespace rouse;
using cuda::NamedVariable;

namespace {

std::string fileText() {
  std::ifstream file(KERNELS_FATBIN, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has(const std::vector<NamedVariable>& all, const std::string& name, bool constant) {
  return std::find(all.begin(), all.end(), NamedVariable{name, constant}) != all.end();
}

void checkNames(const std::vector<NamedVariable>& names) {
  CHECK(has(names, "counter", false));
  CHECK(has(names, "coefficients", true));
  CHECK(has(names, "table", false));
  CHECK(has(names, "pointerToThird", false));
  CHECK(has(names, "untouched", false));
  for (const NamedVariable& name : names) CHECK(name.name.find('$') == std::string::npos);
}

std::vector<NamedVariable> namesOf(const std::string& module, std::uint32_t capability) {
  auto images = cuda::imagesFor(std::as_bytes(std::span(module)), capability);
  REQUIRE(images.ok());
  return cuda::variableNames(*images);
}

}  // namespace

TEST_CASE("machine code and PTX of one source name the same variables") {
  const std::string text = fileText();
  auto entries = fatbin::entries(std::as_bytes(std::span(text)));
  REQUIRE(entries.ok());
  int cubins = 0, ptx = 0;
  for (const auto& entry : *entries) {
    auto image = fatbin::image(entry);
    REQUIRE(image.ok());
    const bool isPtx = entry.kind == fatbin::EntryKind::ptx;
    checkNames(isPtx ? cuda::variablesOfPtx(*image) : cuda::variablesOfElf(*image));
    (isPtx ? ptx : cubins) += 1;
    checkNames(namesOf(*image, 80));
  }
  CHECK(cubins == 2);
  CHECK(ptx == 1);
}

TEST_CASE("a fatbin's variables are listed once, for GPUs that take its machine code and for others") {
  const std::string text = fileText();
  for (const std::uint32_t capability : {80u, 86u, 90u}) {
    const auto names = namesOf(text, capability);
    checkNames(names);
    CHECK(std::count(names.begin(), names.end(), NamedVariable{"table", false}) == 1);
  }
}

TEST_CASE("PTX in unusual forms") {
  const auto names = cuda::variablesOfPtx(R"(
    .version 8.0
    .target sm_80, debug // .global .b8 no;
    .address_size 64
    /* .global .b32 no; */
    .extern .global .b32 elsewhere;
    .visible .global .align 8 .u64 a[2] = {generic(b), {1, 2}};
    .global .b32 b;
    .global .align 1 .b8 $str[6] = {72, 101};
    .weak .const .align 4 .f32 c[];
    .visible .global .attribute(.managed) .align 4 .u32 m = 7;
    .visible .entry k(.param .u64 p) { .reg .b32 %r1; .shared .b32 s; .global .b32 inner; mov.u32 %r1, 1; { ret; } }
    .file 1 "a;b.cu"
    .global .b32 last;
  )");
  CHECK(names == std::vector<NamedVariable>{{"a", false}, {"b", false}, {"c", true}, {"m", false}, {"last", false}});
}

TEST_CASE("what is no module is refused, and no bytes make it read where there are none") {
  const std::string nonsense = "this is not a module";
  CHECK_FALSE(cuda::imagesFor(std::as_bytes(std::span(nonsense)), 90).ok());
  const std::string text = fileText();
  auto entries = fatbin::entries(std::as_bytes(std::span(text)));
  REQUIRE(entries.ok());
  std::mt19937 random(3);
  for (const auto& entry : *entries) {
    const std::string whole = *fatbin::image(entry);
    for (int round = 0; round < 300; ++round) {
      std::string broken = whole;
      for (int i = 0; i < 8; ++i)
        broken[random() % std::min<std::size_t>(broken.size(), round % 2 == 0 ? 64 : broken.size())] =
            static_cast<char>(random());
      if (round % 3 == 0) broken.resize(random() % broken.size());
      (void)cuda::variablesOfElf(broken);
      (void)cuda::variablesOfPtx(broken);
    }
  }
}
