// Calls of NVIDIA's libraries that take long, before doubles of the driver and of cuBLAS.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "schemas/blas/call.h"
#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

// cuBLAS's double, and what its cublasCreate waits for. Nothing where it is not built, or a real driver is there.
struct HeldLibrary {
  static bool there() { return onDouble() && std::filesystem::exists(path()); }
  HeldLibrary() {
    ::setenv("ROUSE_LIBCUBLAS", path().c_str(), 1);
    library_ = ::dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library_ != nullptr);
    hold_ = reinterpret_cast<void (*)(std::uint32_t*)>(::dlsym(library_, "rouse_cublas_double_hold"));
    REQUIRE(hold_ != nullptr);
    hold_(&word_);
  }
  ~HeldLibrary() {
    release();
    hold_(nullptr);
  }
  HeldLibrary(const HeldLibrary&) = delete;
  void release() { std::atomic_ref(word_).store(1); }

 private:
  static std::string path() { return besideThisProgram("librouse-cublas-double.so"); }
  void* library_ = nullptr;
  void (*hold_)(std::uint32_t*) = nullptr;
  alignas(std::atomic_ref<std::uint32_t>::required_alignment) std::uint32_t word_ = 0;
};

void call(Bench& bench, memory::Stream& stream) {
  const blas::Call nothing{};
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
  held.release();
  REQUIRE(first.finish(*one) == CudaError::success);
  CHECK(words[0] == 7);
  call(first, *one);  // known by now
  REQUIRE(first.finish(*one) == CudaError::success);
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
  }
  CHECK(first.becomesIdle(*first.context));
}
