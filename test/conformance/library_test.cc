// Calls of NVIDIA's libraries that take long, before doubles of the driver, of cuBLAS and of cuSOLVER.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "schemas/blas/call.h"
#include "schemas/solver/functions.h"
#include "test/conformance/kernels.h"
#include "test/libraries/taken.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

// A library's double, and what a function of it waits for: of cuBLAS's cublasCreate, of cuSOLVER's cusolverDnSpotrf. Nothing where it is not built, or a real driver is
// there.
struct HeldLibrary {
  static bool there(const std::string& library = "cublas") { return onDouble() && std::filesystem::exists(path(library)); }
  explicit HeldLibrary(const std::string& library = "cublas") : path_(path(library)) {
    ::setenv(library == "cublas" ? "ROUSE_LIBCUBLAS" : "ROUSE_LIBCUSOLVER", path_.c_str(), 1);
    library_ = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library_ != nullptr);
    hold_ = reinterpret_cast<void (*)(std::uint32_t*)>(::dlsym(library_, ("rouse_" + library + "_double_hold").c_str()));
    REQUIRE(hold_ != nullptr);
    hold_(&word_);
  }
  ~HeldLibrary() {
    release();
    hold_(nullptr);
  }
  HeldLibrary(const HeldLibrary&) = delete;
  void release() { std::atomic_ref(word_).store(1); }
  void holdAgain() { std::atomic_ref(word_).store(0); }
  // How often something was computed, since the last time.
  std::size_t computed() const {
    const auto all = library::cuda::takenOf(path_.c_str());
    return static_cast<std::size_t>(std::ranges::count_if(all, [](const auto& each) { return !each.name.starts_with("cublasSet") && !each.name.starts_with("cublasCreate") && !each.name.starts_with("cublasDestroy"); }));
  }

 private:
  static std::string path(const std::string& library) { return besideThisProgram("librouse-" + library + "-double.so"); }
  const std::string path_;
  void* library_ = nullptr;
  void (*hold_)(std::uint32_t*) = nullptr;
  alignas(std::atomic_ref<std::uint32_t>::required_alignment) std::uint32_t word_ = 0;
};

void call(Bench& bench, memory::Stream& stream, int size = 0) {
  blas::Call nothing{};
  nothing.n = size;
  memory::LibraryRequest request;
  request.library = blas::kLibrary;
  request.parameters = std::as_bytes(std::span(&nothing, 1));
  REQUIRE(bench.context->call(stream, request).ok());
}

}  // namespace

TEST_CASE("a library's first call keeps its stream waiting and nobody else") {
  if (kindsThat([](const std::string& kind) { return kind == "cuda"; }).empty() || !HeldLibrary::there()) return leaveOut("needs doubles of the driver and of cuBLAS");
  HeldLibrary held;
  Bench first("cuda"), second(first);
  Kernels ones(first), twos(second);
  auto one = first.context->createStream(0);
  auto beside = first.context->createStream(0);
  auto two = second.context->createStream(0);
  auto* words = reinterpret_cast<std::int32_t*>(first.host(4096));
  auto* word = reinterpret_cast<std::int32_t*>(second.host(4096));
  call(first, *one);
  ones.launch(*one, "store", {}, address(words));
  ones.launch(*beside, "store", {}, address(words + 1));
  twos.launch(*two, "store", {}, address(word));
  REQUIRE(first.finish(*beside) == CudaError::success);
  REQUIRE(second.finish(*two) == CudaError::success);
  CHECK(words[1] == 7);
  CHECK(*word == 7);
  CHECK(words[0] == 0);
  CHECK_FALSE(one->idle());
  CHECK_FALSE(first.context->idle());
  CHECK(held.computed() == 0);
  held.release();
  // Who asks meanwhile changes nothing: it is made once.
  for (int round = 0; round < 1000; ++round) {
    (void)one->idle();
    (void)first.context->idle();
    usleep(5);
  }
  REQUIRE(first.finish(*one) == CudaError::success);
  CHECK(words[0] == 7);
  CHECK(held.computed() == 1);
  call(first, *one);  // known by now
  REQUIRE(first.finish(*one) == CudaError::success);
  CHECK(held.computed() == 1);
  CHECK(first.becomesIdle(*first.context));
}

TEST_CASE("calls of a library that may wait keep their stream waiting and nobody else, each time") {
  if (kindsThat([](const std::string& kind) { return kind == "cuda"; }).empty() || !HeldLibrary::there("cusolver")) return leaveOut("needs doubles of the driver and of cuSOLVER");
  HeldLibrary held("cusolver");
  Bench first("cuda");
  Kernels ones(first);
  auto one = first.context->createStream(0);
  auto beside = first.context->createStream(0);
  auto* words = reinterpret_cast<std::int32_t*>(first.host(4096));
  solver::Call factorisation;
  factorisation.deterministic = factorisation.mathMode = 1;  // as a fresh handle has them
  memory::LibraryRequest request;
  request.library = solver::kLibrary;
  request.function = static_cast<std::uint32_t>(solver::Function::cusolverDnSpotrf);
  request.parameters = std::as_bytes(std::span(&factorisation, 1));
  for (int round = 0; round < 3; ++round) {
    words[0] = words[1] = 0;
    held.holdAgain();
    REQUIRE(first.context->call(*one, request).ok());
    ones.launch(*one, "store", {}, address(words));
    ones.launch(*beside, "store", {}, address(words + 1));
    REQUIRE(first.finish(*beside) == CudaError::success);
    CHECK(words[1] == 7);
    CHECK(words[0] == 0);
    CHECK_FALSE(one->idle());
    held.release();
    REQUIRE(first.finish(*one) == CudaError::success);
    CHECK(words[0] == 7);
  }
  CHECK(first.becomesIdle(*first.context));
}

TEST_CASE("a function that waits for a library can be ended, when that has returned") {
  if (kindsThat([](const std::string& kind) { return kind == "cuda"; }).empty() || !HeldLibrary::there()) return leaveOut("needs doubles of the driver and of cuBLAS");
  HeldLibrary held;
  Bench first("cuda");
  {
    Bench second(first);
    auto two = second.context->createStream(0);
    call(second, *two);
    second.context->cancel();
    CHECK_FALSE(second.context->idle());
    held.release();
    CHECK(second.becomesIdle(*second.context));
    CHECK(held.computed() == 1);
  }
  CHECK(first.becomesIdle(*first.context));
}

TEST_CASE("each call of a library is made once, on whatever thread and whoever looks", "[libraries]") {
  if (kindsThat([](const std::string& kind) { return kind == "cuda"; }).empty() || !HeldLibrary::there()) return leaveOut("needs doubles of the driver and of cuBLAS");
  HeldLibrary held;
  held.release();
  Bench first("cuda", 4), second(first);
  Kernels twos(second);
  auto two = second.context->createStream(0);
  auto* words = reinterpret_cast<std::uint32_t*>(second.host(4096));
  std::size_t made = 0;
  for (int round = 0; round < 20; ++round) {
    auto one = first.context->createStream(0);
    for (int i = 0; i < 10; ++i) {
      call(first, *one, i % 5 + 1);
      ++made;
      // This looks whether others' kernels are over.
      if (round == 0 && i == 0) twos.launch(*two, "frameOf3Kb", {}, address(words), address(words + 32));
      (void)one->idle();
      (void)first.context->idle();
      if (i % 3 == 0) first.poll();
    }
    REQUIRE(first.finish(*one) == CudaError::success);
  }
  REQUIRE(second.finish(*two) == CudaError::success);
  CHECK(held.computed() == made);
}
