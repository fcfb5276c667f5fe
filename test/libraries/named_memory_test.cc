// What a call of a library names, as the executor finds it in bytes that it does not trust.
#include "server/library/named_memory.h"

#include <catch2/catch.hpp>
#include <span>

#include "schemas/blas/lt_matmul.h"
#include "test/libraries/dnn_graphs.h"

namespace rouse::library {
namespace {

blas::Call axpy() {
  blas::Call call;
  call.n = 10;
  call.x = {.address = 0x1000, .spacing = 1};
  call.y = {.address = 0x2000, .spacing = 1};
  return call;
}

template <class T>
std::span<const std::byte> bytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

TEST_CASE("memory that a call names", "[libraries]") {
  NamedMemory named;
  std::string why;
  blas::Call call = axpy();
  call.xType = call.yType = call.scaleType = blas::Type::f64;
  REQUIRE(namedMemory(blas::kLibrary, static_cast<std::uint32_t>(blas::Function::cublasDaxpy_v2), bytesOf(call), named, why));
  REQUIRE(named.ranges.size() == 2);
  CHECK(named.ranges[0].bytes == 80);
  CHECK(named.ranges[1].written);
  CHECK(std::string_view(named.function) == "cublasDaxpy_v2");
}

TEST_CASE("calls that no client makes", "[libraries]") {
  NamedMemory named;
  std::string why;
  const blas::Call call = axpy();
  const auto function = static_cast<std::uint32_t>(blas::Function::cublasSaxpy_v2);
  CHECK(!namedMemory(70, 0, bytesOf(call), named, why));
  CHECK(why == "LibraryCall.library = 70: not served");
  CHECK(!namedMemory(blas::kLibrary, 100'000, bytesOf(call), named, why));
  CHECK(why.find("LibraryCall.function = 100000: cuBLAS's are 0 to ") == 0);
  CHECK(!namedMemory(blas::kLibrary, function, bytesOf(call).first(100), named, why));
  CHECK(why == "LibraryCall.parameters: 100 bytes, cuBLAS's are 328");
  CHECK(!namedMemory(blas::kLtLibrary, 2, bytesOf(call), named, why));
  CHECK(why == "LibraryCall.function = 2: cuBLASLt's are 0 and 1");
  blas::Call nothing = axpy();
  nothing.n = 0;
  CHECK(!namedMemory(blas::kLibrary, function, bytesOf(nothing), named, why));
  CHECK(why == "LibraryCall: cublasSaxpy_v2: nothing to do");
  blas::Call wide = axpy();
  wide.n = wide.x.spacing = blas::kMostElements;
  CHECK(!namedMemory(blas::kLibrary, function, bytesOf(wide), named, why));
  CHECK(why.find("an operand of more than") != std::string::npos);
}

TEST_CASE("memory that a graph names", "[libraries]") {
  NamedMemory named;
  std::string why;
  dnn::GraphOf g = dnn::fusedConvolution();
  const auto ask = [&](std::uint32_t function = dnn::kGraphFunction) {
    named = {};
    return namedMemory(dnn::kLibrary, function, dnn::putTogether(g.parts), named, why);
  };
  REQUIRE(ask());
  REQUIRE(named.ranges.size() == 4);
  CHECK(named.ranges[0].address == 0x10000);
  CHECK(named.ranges[0].bytes == 2048);
  CHECK(named.ranges[3].written);
  CHECK(!ask(2));
  CHECK(why == "LibraryCall.function = 2: cuDNN's are 0 and 1");
  CHECK(!namedMemory(dnn::kLibrary, 0, std::as_bytes(std::span(&g.parts.graph, 1)).first(23), named, why));
  CHECK(why == "LibraryCall.parameters: 23 bytes are no graph of at most 96 tensors and 48 operations");
  g.parts.tensors[0].address = 0x10001;
  CHECK(!ask());
  CHECK(why.find("LibraryCall: cuDNN's graph: a tensor that is not aligned") == 0);
  g.parts.nodes[1].mode = 99;
  CHECK(!ask());
  CHECK(why == "LibraryCall: cuDNN's graph: operation 1: the pointwise mode");
}

}  // namespace rouse::library
