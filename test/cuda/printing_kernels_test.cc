// Which kernels print, from what nvcc really writes and from what nobody should.
#include "server/device/cuda/printing_kernels.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <random>

using namespace rouse;
using cuda::ModuleImage;
using cuda::PrintingKernels;

namespace {

std::vector<ModuleImage> images() {
  std::ifstream file(KERNELS_FATBIN, std::ios::binary);
  REQUIRE(file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto found = cuda::imagesFor(std::as_bytes(std::span(text)), 80);
  REQUIRE(found.ok());
  REQUIRE(found->size() == 2);
  return std::move(*found);
}

PrintingKernels ofPtx(const std::string& text) {
  const ModuleImage image{true, text};
  return cuda::printingKernels(std::span(&image, 1));
}

PrintingKernels ofElf(const std::string& bytes) {
  const ModuleImage image{false, bytes};
  return cuda::printingKernels(std::span(&image, 1));
}

}  // namespace

TEST_CASE("machine code and PTX tell the kernels that print from the others") {
  for (const ModuleImage& image : images()) {
    const PrintingKernels found = cuda::printingKernels(std::span(&image, 1));
    CHECK_FALSE(found.all);
    CHECK(found.prints("print"));
    CHECK(found.prints("printAround"));
    // It has a message for a failed assertion, which is no printf.
    for (const char* quiet : {"assertEqual", "saxpy", "store", "waitForFlag", "gridSync"})
      CHECK_FALSE(found.prints(quiet));
  }
}

TEST_CASE("a function that prints makes every kernel of its PTX one that may") {
  const std::string head = ".version 8.0\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n";
  CHECK_FALSE(ofPtx(head + ".visible .entry k() { // vprintf\n ret; }").prints("k"));
  CHECK_FALSE(ofPtx(head + ".visible .entry k() { /* vprintf */ ret; }\n.file 1 \"vprintf\"").prints("k"));
  CHECK(ofPtx(head + ".entry quiet() { ret; } .entry k(.param .u64 p) { { call (r), vprintf, (a, b); } }").prints("k"));
  CHECK_FALSE(ofPtx(head + ".entry quiet() { ret; } .entry k() { call (r), vprintf, (a, b); }").prints("quiet"));
  CHECK(ofPtx(head + ".func f() { call (r), vprintf, (a, b); } .entry k() { ret; }").prints("k"));
}

TEST_CASE("machine code that does not say who calls counts as printing") {
  std::string bytes;
  for (const ModuleImage& image : images())
    if (!image.ptx) bytes = image.content;
  std::string graphless = bytes;
  // The section of calls, as another type.
  for (std::size_t at = 0; (at = graphless.find(std::string("\x01\0\0\x70", 4), at)) != std::string::npos; ++at)
    graphless[at] = '\x7f';
  CHECK(ofElf(graphless).prints("saxpy"));
  CHECK(ofElf("no ELF file").prints("anything"));
  CHECK(ofElf(bytes.substr(0, bytes.size() / 2)).prints("print"));
}

TEST_CASE("no bytes make the search for printing kernels read where there are none") {
  std::mt19937 random(7);
  for (const ModuleImage& image : images()) {
    for (int round = 0; round < 2000; ++round) {
      ModuleImage broken = image;
      broken.content.resize(random() % (broken.content.size() + 1));
      for (int change = 0; change < 8 && !broken.content.empty(); ++change)
        broken.content[random() %
                       std::min<std::size_t>(broken.content.size(), round % 2 ? 4096 : broken.content.size())] =
            static_cast<char>(random());
      (void)cuda::printingKernels(std::span(&broken, 1));
    }
  }
}
