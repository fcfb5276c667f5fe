#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "tools/rouse/diagnosis.h"
#include "tools/rouse/elf_file.h"

using namespace rouse;
using namespace rouse::cli;

namespace {

std::string program(const char* name) { return std::string(DOCTOR_PROGRAMS) + "/" + name; }

std::vector<std::byte> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> result(bytes.size());
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

}  // namespace

TEST_CASE("a program with the shared runtime is ready") {
  const Diagnosis found = diagnose(program("shared"));
  CHECK(found.verdict == Verdict::runs);
  CHECK(found.runtime == Runtime::shared);
  CHECK(found.cudaLibraries == std::vector<std::string>{"libcudart.so.13"});
  CHECK_THAT(found.imports, Catch::VectorContains(std::string("cudaMalloc")));
  CHECK(found.unsupported.empty());
  CHECK(found.ptx == std::set<std::uint32_t>{75});
  CHECK(found.problems.empty());
}

TEST_CASE("a static runtime is found, also in a stripped program") {
  for (const char* name : {"static", "static-stripped"}) {
    const Diagnosis found = diagnose(program(name));
    CHECK(found.verdict == Verdict::no);
    CHECK(found.runtime == Runtime::statically);
    REQUIRE(found.hints.size() == 1);
    CHECK_THAT(found.hints[0], Catch::Contains("-cudart shared"));
  }
}

TEST_CASE("names that are not supported are listed") {
  const Diagnosis found = diagnose(program("graphics"));
  CHECK(found.verdict == Verdict::partly);
  CHECK(found.unsupported == std::vector<std::string>{"cudaGraphicsUnregisterResource"});
}

TEST_CASE("names of cuBLAS are the pool's, too") {
  const Diagnosis found = diagnose(program("blas"));
  CHECK(found.problems.empty());
  CHECK(found.verdict == Verdict::partly);
  CHECK_THAT(found.cudaLibraries, Catch::VectorContains(std::string("libcublas.so.13")));
  CHECK_THAT(found.imports, Catch::VectorContains(std::string("cublasSgemm_v2")));
  CHECK(found.unsupported == std::vector<std::string>{"cublasXtCreate"});
  CHECK(found.unknown.empty());
}

TEST_CASE("names of cuDNN are the pool's, too") {
  const Diagnosis found = diagnose(program("dnn"));
  CHECK(found.problems.empty());
  CHECK(found.verdict == Verdict::partly);
  CHECK_THAT(found.cudaLibraries, Catch::VectorContains(std::string("libcudnn.so.9")));
  CHECK_THAT(found.imports, Catch::VectorContains(std::string("cudnnCreate")));
  CHECK(found.unsupported == std::vector<std::string>{"cudnnCreateCTCLossDescriptor"});
  CHECK(found.unknown.empty());
}

TEST_CASE("names of cuFFT are the pool's, too") {
  const Diagnosis found = diagnose(program("fft"));
  CHECK(found.problems.empty());
  CHECK(found.remarks.empty());
  CHECK(found.verdict == Verdict::partly);
  CHECK_THAT(found.cudaLibraries, Catch::VectorContains(std::string("libcufft.so.12")));
  CHECK_THAT(found.imports, Catch::VectorContains(std::string("cufftPlan1d")));
  CHECK(found.unsupported == std::vector<std::string>{"cufftXtSetGPUs"});
  CHECK(found.unknown.empty());
}

TEST_CASE("names of cuRAND are the pool's, too") {
  const Diagnosis found = diagnose(program("rand"));
  CHECK(found.problems.empty());
  CHECK(found.remarks.empty());
  CHECK(found.verdict == Verdict::partly);
  CHECK_THAT(found.cudaLibraries, Catch::VectorContains(std::string("libcurand.so.10")));
  CHECK_THAT(found.imports, Catch::VectorContains(std::string("curandCreateGenerator")));
  CHECK(found.unsupported == std::vector<std::string>{"curandGeneratePoissonMethod"});
  CHECK(found.unknown.empty());
}

TEST_CASE("names of cuSPARSE are the pool's, too") {
  const Diagnosis found = diagnose(program("sparse"));
  CHECK(found.problems.empty());
  CHECK(found.remarks.empty());
  CHECK(found.verdict == Verdict::partly);
  CHECK_THAT(found.cudaLibraries, Catch::VectorContains(std::string("libcusparse.so.12")));
  CHECK_THAT(found.imports, Catch::VectorContains(std::string("cusparseSpMV")));
  CHECK(found.unsupported == std::vector<std::string>{"cusparseCreateColorInfo"});
  CHECK(found.unknown.empty());
}

TEST_CASE("names of cuSOLVER are the pool's, too") {
  const Diagnosis found = diagnose(program("solver"));
  CHECK(found.problems.empty());
  CHECK(found.remarks.empty());
  CHECK(found.verdict == Verdict::partly);
  CHECK_THAT(found.cudaLibraries, Catch::VectorContains(std::string("libcusolver.so.12")));
  CHECK_THAT(found.imports, Catch::VectorContains(std::string("cusolverDnSpotrf")));
  CHECK(found.unsupported == std::vector<std::string>{"cusolverDnXgesvdr"});
  CHECK(found.unknown.empty());
}

TEST_CASE("names of NVML are the pool's, too") {
  const Diagnosis found = diagnose(program("management"));
  CHECK(found.problems.empty());
  CHECK(found.remarks.empty());
  CHECK(found.verdict == Verdict::partly);
  CHECK_THAT(found.cudaLibraries, Catch::VectorContains(std::string("libnvidia-ml.so.1")));
  CHECK_THAT(found.imports, Catch::VectorContains(std::string("nvmlInit_v2")));
  CHECK(found.unsupported == std::vector<std::string>{"nvmlDeviceGetPowerUsage"});
  CHECK(found.unknown.empty());
}

TEST_CASE("names of the driver API are the pool's, too") {
  const Diagnosis found = diagnose(program("driver"));
  CHECK(found.problems.empty());
  CHECK(found.verdict == Verdict::partly);
  CHECK_THAT(found.cudaLibraries, Catch::VectorContains(std::string("libcuda.so.1")));
  CHECK_THAT(found.imports, Catch::VectorContains(std::string("cuInit")));
  CHECK(found.unsupported == std::vector<std::string>{"cuMulticastUnbind"});
  CHECK(found.unknown.empty());
}

TEST_CASE("a library that goes to the driver by itself may fail when it is used, which is told") {
  const Diagnosis found = diagnose(program("tensors"));
  CHECK(found.problems.empty());
  CHECK(found.verdict == Verdict::partly);
  CHECK_THAT(found.cudaLibraries, Catch::VectorContains(std::string("libcutensor.so.2")));
  REQUIRE(found.remarks.size() == 1);
  CHECK_THAT(found.remarks[0], Catch::Contains("libcutensor.so.2"));
}

TEST_CASE("compilers work as they are") {
  const Diagnosis found = diagnose(program("compilers"));
  CHECK(found.verdict == Verdict::runs);
  CHECK(found.problems.empty());
  CHECK(found.remarks.empty());
  CHECK_THAT(found.cudaLibraries, Catch::VectorContains(std::string("libnvrtc.so.13")));
  CHECK_THAT(found.cudaLibraries, Catch::VectorContains(std::string("libnvJitLink.so.13")));
}

TEST_CASE("a library that the pool serves in another version stands in the way") {
  const Diagnosis found = diagnose(program("older"));
  CHECK(found.verdict == Verdict::no);
  REQUIRE(found.problems.size() == 1);
  CHECK_THAT(found.problems[0], Catch::Contains("libcublas.so.12"));
}

TEST_CASE("device code without PTX: what it means depends on the pool, and which architectures there are is told") {
  const Diagnosis found = diagnose(program("no-ptx"));  // no daemon to ask
  CHECK(found.verdict == Verdict::partly);
  CHECK(found.ptx.empty());
  CHECK(found.cubins == std::set<std::uint32_t>{80, 90});
  CHECK(found.problems.empty());
  REQUIRE(found.remarks.size() == 1);
  CHECK_THAT(found.remarks[0], Catch::Contains("no PTX"));

  const Diagnosis onProcessor = diagnose(program("no-ptx"), {.cpu = true, .gpus = {}});
  CHECK(onProcessor.verdict == Verdict::no);
  REQUIRE(onProcessor.problems.size() == 1);
  CHECK_THAT(onProcessor.problems[0], Catch::Contains("CPU device"));

  for (const std::uint32_t gpu : {80u, 86u, 90u}) CHECK(diagnose(program("no-ptx"), {.cpu = false, .gpus = {gpu}}).verdict == Verdict::runs);
  const Diagnosis older = diagnose(program("no-ptx"), {.cpu = false, .gpus = {75}}), newer = diagnose(program("no-ptx"), {.cpu = false, .gpus = {100}});
  CHECK(older.verdict == Verdict::no);
  CHECK(newer.verdict == Verdict::no);
  REQUIRE(older.problems.size() == 1);
  CHECK_THAT(older.problems[0], Catch::Contains("sm_75"));
  const Diagnosis some = diagnose(program("no-ptx"), {.cpu = false, .gpus = {75, 90}});
  CHECK(some.verdict == Verdict::partly);
  REQUIRE(some.remarks.size() == 1);
  CHECK_THAT(some.remarks[0], Catch::Contains("sm_75") && !Catch::Contains("sm_90"));
}

TEST_CASE("PTX runs on the CPU device, and on GPUs that are not older") {
  CHECK(diagnose(program("shared"), {.cpu = true, .gpus = {}}).verdict == Verdict::runs);
  CHECK(diagnose(program("shared"), {.cpu = false, .gpus = {75}}).verdict == Verdict::runs);
  CHECK(diagnose(program("shared"), {.cpu = false, .gpus = {120}}).verdict == Verdict::runs);
  CHECK(diagnose(program("shared"), {.cpu = false, .gpus = {70}}).verdict == Verdict::no);
  // What an architecture has to itself is for it alone.
  CHECK(diagnose(program("exact"), {.cpu = false, .gpus = {90}}).verdict == Verdict::runs);
  for (const std::uint32_t gpu : {89u, 100u}) CHECK(diagnose(program("exact"), {.cpu = false, .gpus = {gpu}}).verdict == Verdict::no);
}

TEST_CASE("what is no CUDA program") {
  CHECK(diagnose("/proc/self/exe").verdict == Verdict::noCuda);  // though it knows the marks of a static runtime
  CHECK_THAT(diagnose("/etc/passwd").problems.at(0), Catch::Contains("not an ELF file"));
  CHECK_THAT(diagnose("/nonexistent").problems.at(0), Catch::Contains("No such file"));
  CHECK_THAT(diagnose("/tmp").problems.at(0), Catch::Contains("not a regular file"));
}

TEST_CASE("a damaged file is examined without harm") {
  const std::vector<std::byte> good = contents(program("shared"));
  REQUIRE(readElf(good).ok());
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> bad = good;
    if (round % 2 == 0) bad.resize(random() % bad.size());
    // Headers are where the offsets are: the file's at the beginning, the sections' at the end.
    for (int flips = 0; flips < 8 && !bad.empty(); ++flips) {
      const std::size_t near = random() % std::min<std::size_t>(bad.size(), 4096);
      const std::size_t at = random() % 2 == 0 ? near : bad.size() - 1 - near;
      bad[at] ^= static_cast<std::byte>(1u << (random() % 8));
    }
    (void)readElf(bad);
  }
}
