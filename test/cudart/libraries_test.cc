#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

#include "test/cudart/fixture.h"

using rouse::test::Fixture;

namespace {

constexpr const char* kCode = "good library\n";

cudaError_t load(cudaLibrary_t* library, const void* code) {
  return cudaLibraryLoadData(library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a library's kernels are found by name and launched", "[cudart][libraries]") {
  cudaLibrary_t library = nullptr;
  REQUIRE(load(&library, kCode) == cudaSuccess);
  cudaKernel_t kernel = nullptr, again = nullptr;
  REQUIRE(cudaLibraryGetKernel(&kernel, library, "addOne") == cudaSuccess);
  REQUIRE(cudaLibraryGetKernel(&again, library, "addOne") == cudaSuccess);
  CHECK(kernel == again);
  CHECK(cudaLibraryGetKernel(&again, library, "addTwo") == cudaErrorSymbolNotFound);

  void* words = nullptr;
  std::uint64_t count = 4;
  std::uint32_t got[4] = {};
  REQUIRE(cudaMalloc(&words, 16) == cudaSuccess);
  REQUIRE(cudaMemset(words, 0, 16) == cudaSuccess);
  void* arguments[] = {&words, &count};
  REQUIRE(cudaLaunchKernel(kernel, dim3(1), dim3(4), arguments, 0, nullptr) == cudaSuccess);
  REQUIRE(cudaMemcpy(got, words, 16, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(got[3] == 1);

  REQUIRE(cudaLibraryUnload(library) == cudaSuccess);
  CHECK(cudaLibraryUnload(library) == cudaErrorInvalidResourceHandle);
  CHECK(cudaLibraryGetKernel(&again, library, "addOne") == cudaErrorInvalidResourceHandle);
  CHECK(cudaLaunchKernel(kernel, dim3(1), dim3(4), arguments, 0, nullptr) == cudaErrorInvalidResourceHandle);
}

TEST_CASE_METHOD(Fixture, "a program finds out that the runtime is Rouse's", "[cudart][libraries]") {
  cudaUUID_t id = {{'r', 'o', 'u', 's', 'e', ' ', 'r', 'u', 'n', 't', 'i', 'm', 'e', 0, 0, 0}};
  const void* table = nullptr;
  REQUIRE(cudaGetExportTable(&table, &id) == cudaSuccess);
  CHECK(std::string_view(static_cast<const char*>(table)) == "rouse");
  id.bytes[15] = 1;
  CHECK(cudaGetExportTable(&table, &id) != cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "a library lists its kernels", "[cudart][libraries]") {
  cudaLibrary_t library = nullptr;
  REQUIRE(load(&library, kCode) == cudaSuccess);
  unsigned count = 0;
  REQUIRE(cudaLibraryGetKernelCount(&count, library) == cudaSuccess);
  CHECK(count == 5);
  cudaKernel_t kernels[5] = {};
  REQUIRE(cudaLibraryEnumerateKernels(kernels, 5, library) == cudaSuccess);
  std::set<std::string> names;
  for (const cudaKernel_t kernel : kernels) {
    const char* name = nullptr;
    REQUIRE(cudaFuncGetName(&name, kernel) == cudaSuccess);
    names.insert(name);
  }
  CHECK(names == std::set<std::string>{"fillWords", "addOne", "fault", "print", "sleepMicros"});
  CHECK(cudaLibraryUnload(library) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "a library's variables are found by name and kind", "[cudart][libraries]") {
  cudaLibrary_t library = nullptr;
  REQUIRE(load(&library, kCode) == cudaSuccess);
  void* address = nullptr;
  std::size_t bytes = 0;
  REQUIRE(cudaLibraryGetGlobal(&address, &bytes, library, "deviceVariable") == cudaSuccess);
  CHECK(bytes == 64);
  std::uint32_t word = 0;
  REQUIRE(cudaMemcpy(&word, address, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(word == rouse::test::kVariableWord);
  REQUIRE(cudaLibraryGetManaged(&address, &bytes, library, "managedVariable") == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(*static_cast<std::uint32_t*>(address) == rouse::test::kVariableWord);
  CHECK(cudaLibraryGetGlobal(&address, &bytes, library, "managedVariable") == cudaErrorSymbolNotFound);
  CHECK(cudaLibraryGetGlobal(&address, &bytes, library, "nothing") == cudaErrorSymbolNotFound);
  CHECK(cudaLibraryUnload(library) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "what is no library says why", "[cudart][libraries]") {
  cudaLibrary_t library = nullptr;
  CHECK(load(&library, "nonsense\n") == cudaErrorInvalidPtx);
  CHECK(load(&library, "\x7f") == cudaErrorInvalidKernelImage);
  CHECK(load(&library, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaLibraryLoadFromFile(&library, "/nonexistent", nullptr, nullptr, 0, nullptr, nullptr, 0) ==
        cudaErrorFileNotFound);
  cudaLibraryOption option = cudaLibraryHostUniversalFunctionAndDataTable;
  CHECK(cudaLibraryLoadData(&library, kCode, nullptr, nullptr, 0, &option, nullptr, 1) == cudaErrorNotSupported);
  cudaJitOption jit = static_cast<cudaJitOption>(999);
  void* value = nullptr;
  CHECK(cudaLibraryLoadData(&library, kCode, &jit, &value, 1, nullptr, nullptr, 0) == cudaErrorInvalidValue);
}

TEST_CASE_METHOD(Fixture, "a library is loaded from a file", "[cudart][libraries]") {
  const auto path = std::filesystem::temp_directory_path() / ("rouse-library-" + std::to_string(::getpid()));
  std::ofstream(path) << kCode;
  cudaLibrary_t library = nullptr;
  const cudaError_t error = cudaLibraryLoadFromFile(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  std::filesystem::remove(path);
  REQUIRE(error == cudaSuccess);
  CHECK(rouse::test::server().lastModule() == kCode);
  CHECK(cudaLibraryUnload(library) == cudaSuccess);
}
