// What the libraries say of themselves: there is no log of calls, and whoever asks for one is told.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

namespace {

void written(const char*) {}
void writtenWithLevel(int, const char*, const char*) {}

// What body() writes on standard error.
template <class Body>
std::string errorOutput(Body&& body) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int before = ::dup(STDERR_FILENO);
  REQUIRE(::dup2(::fileno(file), STDERR_FILENO) == STDERR_FILENO);
  body();
  std::fflush(stderr);
  REQUIRE(::dup2(before, STDERR_FILENO) == STDERR_FILENO);
  ::close(before);
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("cuBLAS has no log of calls", "[libraries]") {
  CHECK(cublasLoggerConfigure(0, 1, 1, "anywhere") == CUBLAS_STATUS_SUCCESS);  // off, which it is
  CHECK(cublasLoggerConfigure(1, 1, 0, nullptr) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublasSetLoggerCallback(nullptr) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSetLoggerCallback(written) == CUBLAS_STATUS_NOT_SUPPORTED);
  cublasLogCallback callback = written;
  CHECK(cublasGetLoggerCallback(&callback) == CUBLAS_STATUS_SUCCESS);
  CHECK(callback == nullptr);
  CHECK(cublasGetLoggerCallback(nullptr) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE("cublasXerbla says which parameter is wrong, as BLAS does", "[libraries]") {
  CHECK(errorOutput([] { cublasXerbla("SGEMM ", 8); }) == " ** On entry to SGEMM  parameter number 8 had an illegal value\n");
  CHECK(errorOutput([] { cublasXerbla(nullptr, 1); }) == " ** On entry to ? parameter number 1 had an illegal value\n");
}

TEST_CASE("cuBLASLt has no log of calls", "[libraries]") {
  CHECK(cublasLtLoggerSetCallback(nullptr) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtLoggerSetCallback(writtenWithLevel) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublasLtLoggerSetFile(nullptr) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtLoggerSetFile(stderr) == CUBLAS_STATUS_NOT_SUPPORTED);
  const std::string path = "/tmp/rouse-no-log-" + std::to_string(::getpid());
  CHECK(cublasLtLoggerOpenFile(path.c_str()) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(::access(path.c_str(), F_OK) != 0);
  CHECK(cublasLtLoggerSetLevel(0) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtLoggerSetLevel(5) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublasLtLoggerSetMask(0) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtLoggerSetMask(31) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublasLtLoggerForceDisable() == CUBLAS_STATUS_SUCCESS);
}
