// Which kernels of a module are found to reach only what their parameters lead to: by the code that the GPU will run, or not at all.
#include "server/device/cuda/parameter_kernels.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

using namespace rouse;
using cuda::parameterKernels;

namespace {

std::string contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::string fatbin() { return contentOf(KERNELS_FATBIN); }
std::string sample(const std::string& name) { return contentOf(std::string(FATBIN_SAMPLES) + "/" + name + ".fatbin"); }

auto of(const std::string& module, std::uint32_t capability = 90) { return parameterKernels(std::as_bytes(std::span(module)), capability); }

const std::string kBegin = ".version 8.0\n.target sm_80\n.address_size 64\n";
const std::string kStores = ".visible .entry stores(.param .u64 a) { .reg .b64 %a; ld.param.u64 %a, [a]; st.global.u32 [%a], 1; ret; }\n";

}  // namespace

TEST_CASE("kernels that reach only what parameters lead to are known by the architecture that their text is for") {
  const auto found = of(fatbin());
  CHECK(found.target == 80);
  CHECK(found.contains("saxpy", 80));
  // Machine code that was made of another text
  CHECK_FALSE(found.contains("saxpy", 90));
  CHECK_FALSE(found.contains("saxpy", 0));
  CHECK_FALSE(found.contains("saxp", 80));
  // For a GPU that cannot run the text
  CHECK_FALSE(of(fatbin(), 75).contains("saxpy", 80));
  CHECK(of(kBegin + kStores).contains("stores", 80));
}

TEST_CASE("text says nothing of code that was made for just one architecture") {
  CHECK_FALSE(of(sample("several"), 90).names.empty());
  CHECK_FALSE(of(sample("exact"), 90).names.empty());  // the text itself is for just that
  CHECK(of(sample("beside"), 90).names.empty());
  CHECK_FALSE(of(sample("beside"), 100).names.empty());  // which cannot run that code
}

TEST_CASE("nothing is known of text that cannot be read, or is too long") {
  CHECK(of("").names.empty());
  CHECK(of("nothing of the kind").names.empty());
  CHECK(of(kBegin + kStores + ".visible .entry other() { tcgen05.wait::ld.sync.aligned; ret; }\n").names.empty());
  CHECK(of(kBegin + kStores + ".visible .entry cut(").names.empty());
  std::string cubin = fatbin();
  cubin.resize(cubin.size() / 2);
  CHECK(of(cubin).names.empty());
  const std::string blanks(cuda::kMostTextBytes - kBegin.size() - kStores.size(), '\n');
  CHECK(of(kBegin + kStores + blanks).names.size() == 1);
  CHECK(of(kBegin + kStores + blanks + "\n").names.empty());
}
