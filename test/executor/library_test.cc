// Calls of libraries in a session: what they name is checked against what the session has mapped, and who sends what no client of ours
// sends is cut off.
#include <catch2/catch.hpp>
#include <cstring>
#include <span>

#include "schemas/blas/lt_matmul.h"
#include "schemas/dnn/recurrent.h"
#include "schemas/fft/transform.h"
#include "schemas/rand/position.h"
#include "schemas/sparse/call.h"
#include "schemas/solver/functions.h"
#include "schemas/systems/call.h"
#include "test/executor/session_fixture.h"

namespace rouse::executor {
namespace {

struct LibraryCalls : SessionFixture {
  LibraryCalls() {
    give(2);
    device.taken.clear();
    call.m = call.n = call.k = 8;
    const std::uint64_t base = client.window();
    call.a = {.address = base, .spacing = 8};
    call.b = {.address = base + 256, .spacing = 8};
    call.c = {.address = base + 512, .spacing = 8};
  }
  void run(blas::Function function = blas::Function::cublasSgemm_v2) {
    send(wire::LibraryCall{.stream = wire::kLegacyStream, .library = blas::kLibrary, .function = static_cast<std::uint32_t>(function)},
         std::as_bytes(std::span(&call, 1)));
  }
  blas::Call call;
};

constexpr auto kGemm = static_cast<std::uint32_t>(blas::Function::cublasSgemm_v2);

}  // namespace

TEST_CASE_METHOD(LibraryCalls, "a call runs on its stream, and is counted") {
  run();
  CHECK(fault() == "");
  REQUIRE(device.taken.size() == 1);
  CHECK(device.taken[0].find("call 1." + std::to_string(kGemm)) == 0);
  CHECK(session->usage().launches == 1);
  CHECK(client.latched() == CudaError::success);
}

TEST_CASE_METHOD(LibraryCalls, "an operand that is not the session's is the program's error, not the executor's") {
  const std::uint64_t end = client.window() + 2 * kG;
  SECTION("null") { call.a.address = 0; }
  SECTION("behind its memory") { call.c.address = end; }
  SECTION("its last byte behind its memory") { call.c.address = end - 4 * 64 + 4; }
  SECTION("another function's") { call.b.address = Client(2).window(); }
  SECTION("the executor's own") { call.a.address = reinterpret_cast<std::uint64_t>(&device); }
  SECTION("a scalar in memory") {
    call.scalars = blas::Scalars::inMemory;
    call.alpha.words[0] = client.window();
    call.beta.words[0] = end;
  }
  SECTION("a workspace") {
    call.workspace = end - 256;
    call.workspaceBytes = 512;
  }
  run();
  CHECK(fault() == "");
  CHECK(device.taken.empty());
  CHECK(client.latched() == CudaError::illegalAddress);
  CHECK(client.message().find("cublasSgemm_v2: ") == 0);
}

TEST_CASE_METHOD(LibraryCalls, "pivots, infos and arrays of addresses of factorisations are the session's memory") {
  const std::uint64_t begin = client.window(), end = begin + 2 * kG;
  call = {};
  call.n = 8, call.batch = 4;
  call.batching = blas::Batching::arrays;
  call.a = {.address = begin, .spacing = 8};
  call.pivots = end - 4 * 8 * 4;
  call.infos = end - 4 * 4;
  std::string named;
  SECTION("all are") {}
  SECTION("pivots that end behind its memory") { call.pivots += 4, named = "the pivots"; }
  SECTION("infos that do") { call.infos += 4, named = "the infos"; }
  SECTION("no infos") { call.infos = 0, named = "the infos"; }
  SECTION("the executor's own") { call.pivots = reinterpret_cast<std::uint64_t>(&device), named = "the pivots"; }
  SECTION("an array of addresses behind its memory") { call.a.address = end - 8, named = "A"; }
  run(blas::Function::cublasSgetrfBatched);
  CHECK(fault() == "");
  CHECK(device.taken.size() == (named.empty() ? 1u : 0u));
  CHECK(client.latched() == (named.empty() ? CudaError::success : CudaError::illegalAddress));
  if (!named.empty()) CHECK(client.message().find("cublasSgetrfBatched: " + named) == 0);
}

TEST_CASE_METHOD(LibraryCalls, "a rotation's scalars are the session's memory, each by itself") {
  const std::uint64_t begin = client.window(), end = begin + 2 * kG;
  call = {};
  call.scalars = blas::Scalars::inMemory;
  for (std::uint64_t i = 0; i < 5; ++i) call.rotation[i] = begin + 16 * i;
  const std::size_t wrong = GENERATE(0u, 1u, 2u, 3u, 4u);
  call.rotation[wrong] = wrong == 4 ? end - 16 : end;  // the parameters are 20 bytes
  run(blas::Function::cublasSrotmg_v2);
  CHECK(fault() == "");
  CHECK(device.taken.empty());
  CHECK(client.latched() == CudaError::illegalAddress);
}

TEST_CASE_METHOD(LibraryCalls, "scales of 8-bit floats and the largest value are the session's memory, the device's or pinned") {
  send(wire::HostMap{.base = client.pinned(), .bytes = 4096});
  const std::uint64_t begin = client.window(), end = begin + 2 * kG;
  blas::LtMatmul product;
  product.a = {.address = begin, .rows = 32, .columns = 32, .spacing = 32, .type = blas::Type::e4m3};
  product.b = {.address = begin + 4096, .rows = 32, .columns = 8, .spacing = 32, .type = blas::Type::e5m2};
  product.c = {.address = 0, .rows = 32, .columns = 8, .spacing = 32, .type = blas::Type::bf16};
  product.d = {.address = begin + 8192, .rows = 32, .columns = 8, .spacing = 32, .type = blas::Type::e4m3};
  product.transa = blas::Transpose::transposed;
  product.computeType = 68;
  product.aScale = client.pinned(), product.bScale = end - 4, product.dScale = begin, product.amax = client.pinned() + 4092;
  std::string named;
  SECTION("all are") {}
  SECTION("A's behind the pinned memory") { product.aScale = client.pinned() + 4096, named = "A's scale"; }
  SECTION("B's behind its memory") { product.bScale = end, named = "B's scale"; }
  SECTION("D's the executor's own") { product.dScale = reinterpret_cast<std::uint64_t>(&device) & ~std::uint64_t{3}, named = "D's scale"; }
  SECTION("the largest value another function's") { product.amax = Client(2).window(), named = "D's amax"; }
  SECTION("a vector that ends behind its memory") {
    product.d.type = blas::Type::bf16, product.dScale = product.amax = 0;
    product.aScaling = product.bScaling = blas::ScaleMode::outerVector;
    product.aScale = begin, product.bScale = end - 4 * 8 + 4, named = "B's scale";
  }
  SECTION("a vector that is not there") {
    product.d.type = blas::Type::bf16, product.dScale = product.amax = 0;
    product.aScaling = product.bScaling = blas::ScaleMode::outerVector;
    product.aScale = 0, product.bScale = begin, named = "A's scale";
  }
  device.taken.clear();
  send(wire::LibraryCall{.stream = wire::kLegacyStream, .library = blas::kLtLibrary, .function = blas::kLtMatmulFunction}, std::as_bytes(std::span(&product, 1)));
  CHECK(fault() == "");
  CHECK(device.taken.size() == (named.empty() ? 1u : 0u));
  CHECK(client.latched() == (named.empty() ? CudaError::success : CudaError::illegalAddress));
  if (!named.empty()) CHECK(client.message().find("cublasLtMatmul: " + named) == 0);
}

TEST_CASE_METHOD(LibraryCalls, "what the executor answers itself goes to memory of the host's only") {
  send(wire::HostMap{.base = client.pinned(), .bytes = 4096});
  dnn::RecurrentCall question;
  question.what.pass = dnn::Pass::stateSize;
  const auto ask = [&](std::uint64_t answer) {
    question.what.answer = answer;
    send(wire::LibraryCall{.stream = wire::kLegacyStream, .library = dnn::kLibrary, .function = dnn::kRecurrentFunction}, dnn::putTogether(question));
  };
  device.taken.clear();
  ask(client.pinned());
  CHECK(client.latched() == CudaError::success);
  CHECK(device.taken.size() == 1);
  ask(client.window());
  CHECK(fault() == "");
  CHECK(device.taken.size() == 1);
  CHECK(client.latched() == CudaError::illegalAddress);
  CHECK(client.message().find("cuDNN's recurrent network: the answer: ") == 0);
}

TEST_CASE_METHOD(LibraryCalls, "results and scalars may lie in pinned memory") {
  send(wire::HostMap{.base = client.pinned(), .bytes = 4096});
  blas::Call dot;
  dot.n = 16;
  dot.x = {.address = client.window(), .spacing = 1};
  dot.y = {.address = client.window() + 64, .spacing = 1};
  dot.result = client.pinned();
  call = dot;
  device.taken.clear();
  run(blas::Function::cublasSdot_v2);
  CHECK(fault() == "");
  CHECK(client.latched() == CudaError::success);
  CHECK(device.taken.size() == 1);
}

TEST_CASE_METHOD(LibraryCalls, "a transform's sides and work area are the session's memory, to the last byte") {
  const std::uint64_t begin = client.window(), end = begin + 2 * kG;
  fft::Transform transform;
  transform.rank = 2;
  transform.dims[0] = 8, transform.dims[1] = 10, transform.batch = 3;
  transform.packed = 1;
  transform.inType = fft::Type::f32, transform.outType = transform.executionType = fft::Type::c32;
  transform.direction = fft::Direction::forward;
  transform.input = end - 8 * 10 * 3 * 4, transform.output = end - 8 * 6 * 3 * 8;
  transform.workArea = end - 256, transform.workBytes = 256;
  std::string named;
  SECTION("all are") {}
  SECTION("in place") { transform.input = transform.output = begin; }
  SECTION("an input of nothing") { transform.input = 0, named = "input"; }
  SECTION("an input whose last number is behind its memory") { transform.input += 4, named = "input"; }
  SECTION("an output whose last number is behind its memory") { transform.output += 8, named = "output"; }
  SECTION("an output in another function's memory") { transform.output = Client(2).window(), named = "output"; }
  SECTION("an output in the executor's own") { transform.output = reinterpret_cast<std::uint64_t>(&device) & ~std::uint64_t{15}, named = "output"; }
  SECTION("a work area that ends behind its memory") { transform.workBytes = 257, named = "work area"; }
  SECTION("in place, where padded rows end behind its memory") { transform.input = transform.output = end - 8 * 10 * 3 * 4, named = "input"; }
  SECTION("strides that lead far away") {
    transform.packed = 0;
    transform.in = {.embed = {8, 10}, .stride = std::int64_t{1} << 20, .distance = 1};
    transform.out = {.embed = {8, 6}, .stride = 3, .distance = 1};
    transform.input = begin, named = "input";
  }
  device.taken.clear();
  send(wire::LibraryCall{.stream = wire::kLegacyStream, .library = fft::kLibrary, .function = fft::kTransformFunction}, std::as_bytes(std::span(&transform, 1)));
  CHECK(fault() == "");
  CHECK(device.taken.size() == (named.empty() ? 1u : 0u));
  CHECK(client.latched() == (named.empty() ? CudaError::success : CudaError::illegalAddress));
  if (!named.empty()) CHECK(client.message().find("cuFFT's transform: " + named) == 0);
}

TEST_CASE_METHOD(LibraryCalls, "random numbers go to the session's memory, to the last byte") {
  const std::uint64_t begin = client.window(), end = begin + 2 * kG;
  rand::Generation generation;
  generation.type = rand::Type::sobol32;
  generation.ordering = rand::Ordering::quasiDefault;
  generation.kind = rand::Kind::uniformDouble;
  generation.dimensions = 1;
  generation.count = 1000;
  generation.output = end - 8000;
  bool named = true;
  SECTION("all is") { named = false; }
  SECTION("nothing") { generation.output = 0; }
  SECTION("the last number is behind its memory") { generation.output += 8; }
  SECTION("another function's memory") { generation.output = Client(2).window(); }
  SECTION("the executor's own") { generation.output = reinterpret_cast<std::uint64_t>(&device) & ~std::uint64_t{15}; }
  SECTION("more than there is") { generation.output = begin, generation.count = 4 * kG; }
  device.taken.clear();
  send(wire::LibraryCall{.stream = wire::kLegacyStream, .library = rand::kLibrary, .function = rand::kGenerateFunction}, std::as_bytes(std::span(&generation, 1)));
  CHECK(fault() == "");
  CHECK(device.taken.size() == (named ? 0u : 1u));
  CHECK(client.latched() == (named ? CudaError::illegalAddress : CudaError::success));
  if (named) CHECK(client.message().find("cuRAND's generation: output") == 0);
}

TEST_CASE_METHOD(LibraryCalls, "a sparse matrix's arrays are the session's memory, to the last byte, and an answer is the host's") {
  const std::uint64_t begin = client.window(), end = begin + 2 * kG;
  send(wire::HostMap{.base = client.pinned(), .bytes = 4096});
  sparse::Call product;
  product.a = {.offsets = end - 9 * 4, .indices = end - 20 * 4, .values = end - 20 * 4, .rows = 8, .cols = 6, .nnz = 20, .batch = 1, .format = sparse::Format::csr,
               .offsetsType = sparse::Index::i32, .indicesType = sparse::Index::i32};
  product.b = product.a;
  product.b.rows = 6;
  product.b.offsets = end - 7 * 4;
  product.answer = client.pinned();
  std::string named;
  SECTION("all are") {}
  SECTION("offsets whose last number is behind their memory") { product.a.offsets += 4, named = "offsets"; }
  SECTION("indices whose last number is behind their memory") { product.b.indices += 4, named = "indices"; }
  SECTION("more elements than there is memory for") { product.b.nnz = 21, named = "indices"; }
  SECTION("of another function") { product.a.indices = Client(2).window(), named = "indices"; }
  SECTION("an answer in the device's memory") { product.answer = begin, named = "the answer"; }
  SECTION("an answer in the executor's own") { product.answer = reinterpret_cast<std::uint64_t>(&device) & ~std::uint64_t{15}, named = "the answer"; }
  device.taken.clear();
  send(wire::LibraryCall{.stream = wire::kLegacyStream, .library = sparse::kLibrary, .function = static_cast<std::uint32_t>(sparse::Function::productCount)},
       std::as_bytes(std::span(&product, 1)));
  CHECK(fault() == "");
  CHECK(device.taken.size() == (named.empty() ? 1u : 0u));
  CHECK(client.latched() == (named.empty() ? CudaError::success : CudaError::illegalAddress));
  if (!named.empty()) CHECK(client.message().find("cusparseSpGEMM_compute: " + named) == 0);
}

TEST_CASE_METHOD(LibraryCalls, "what a call of cuSOLVER names is the session's memory, to the last byte, and where the host is told the host's") {
  const std::uint64_t begin = client.window(), end = begin + 2 * kG;
  auto function = solver::Function::cusolverDnDgesvdaStridedBatched;
  solver::Call solving;
  solving.aType = solving.bType = solving.cType = solving.valuesType = solving.tauType = solving.computeType = solver::Type::f64;
  solving.m = 6, solving.n = 5, solving.k = 2, solving.batch = 3, solving.job = solver::kVectorsToo;
  solving.a = {.address = end - (2 * 40 + 4 * 7 + 6) * 8, .spacing = 7, .stride = 40};
  solving.b = {.address = end - (2 * 14 + 1 * 7 + 6) * 8, .spacing = 7, .stride = 14};
  solving.c = {.address = begin, .spacing = 5, .stride = 10};
  solving.values = begin + 4096, solving.valuesStride = 2, solving.info = end - 12;
  solving.work = end - 256, solving.workBytes = 256;
  solving.answer = 0;
  std::string named;
  SECTION("all are") {}
  SECTION("a matrix whose last number is behind its memory") { solving.a.address += 8, named = "A"; }
  SECTION("vectors whose last number is behind their memory") { solving.b.address += 8, named = "U"; }
  SECTION("vectors in another function's memory") { solving.c.address = Client(2).window(), named = "V"; }
  SECTION("values in the executor's own") { solving.values = reinterpret_cast<std::uint64_t>(&device) & ~std::uint64_t{15}, named = "S"; }
  SECTION("one info too many") { solving.info += 4, named = "info"; }
  SECTION("a work area that ends behind its memory") { solving.workBytes = 257, named = "work area"; }
  SECTION("an answer in the device's memory") { solving.answer = begin, named = "answer"; }
  SECTION("addresses that end behind their memory") {
    function = solver::Function::cusolverDnDpotrfBatched;
    solving.a.address = end - 2 * 8, named = "A";
  }
  device.taken.clear();
  send(wire::LibraryCall{.stream = wire::kLegacyStream, .library = solver::kLibrary, .function = static_cast<std::uint32_t>(function)}, std::as_bytes(std::span(&solving, 1)));
  CHECK(fault() == "");
  CHECK(device.taken.size() == (named.empty() ? 1u : 0u));
  CHECK(client.latched() == (named.empty() ? CudaError::success : CudaError::illegalAddress));
  if (!named.empty()) CHECK(client.message().find(std::string(solver::info(function).name) + ": " + named) == 0);
}

TEST_CASE_METHOD(LibraryCalls, "operands of cuSOLVER's sparse systems must be the session's") {
  const std::uint64_t begin = client.window(), end = begin + 2 * kG;
  systems::Call solving;
  solving.a = {.offsets = begin, .indices = begin + 256, .values = begin + 512, .rows = 4, .cols = 4, .elements = 9, .type = systems::Type::f64, .base = 0, .padding = {}};
  solving.right = begin + 1024, solving.solution = begin + 2048;
  systems::Function function = systems::Function::solve;
  std::string named;
  SECTION("as it should be") {}
  SECTION("offsets") { solving.a.offsets = end - 16, named = "row offsets"; }
  SECTION("indices") { solving.a.indices = end - 32, named = "column indices"; }
  SECTION("values") { solving.a.values = end - 64, named = "values"; }
  SECTION("b") { solving.right = end - 24, named = "b"; }
  SECTION("x") { solving.solution = begin - 64, named = "x"; }
  SECTION("an answer in the device's memory") { solving.answer = begin, named = "answer"; }
  SECTION("a factor") {
    function = systems::Function::factorise;
    solving.state = begin + 4096, solving.stateBytes = end - begin, named = "factor";
  }
  device.taken.clear();
  solving.method = systems::Method::qr;
  send(wire::LibraryCall{.stream = wire::kLegacyStream, .library = systems::kLibrary, .function = static_cast<std::uint32_t>(function)}, std::as_bytes(std::span(&solving, 1)));
  CHECK(fault() == "");
  CHECK(device.taken.size() == (named.empty() ? 1u : 0u));
  CHECK(client.latched() == (named.empty() ? CudaError::success : CudaError::illegalAddress));
  if (!named.empty()) CHECK(client.message().find(named) != std::string::npos);
}

TEST_CASE_METHOD(LibraryCalls, "what no client sends ends the connection") {
  std::string expected;
  std::uint32_t library = blas::kLibrary, function = kGemm;
  std::size_t bytes = sizeof call;
  SECTION("a library") { library = 9, expected = "LibraryCall.library = 9"; }
  SECTION("a function") { function = 5000, expected = "LibraryCall.function = 5000"; }
  SECTION("too few bytes") { bytes = 16, expected = "LibraryCall.parameters: 16 bytes"; }
  SECTION("none") { bytes = 0, expected = "LibraryCall.parameters: 0 bytes"; }
  SECTION("a negative dimension") { call.m = -1, expected = "LibraryCall: cublasSgemm_v2: a dimension is negative"; }
  SECTION("a leading dimension") { call.a.spacing = 1, expected = "LibraryCall: cublasSgemm_v2: lda"; }
  SECTION("a type that is too small") { call.aType = blas::Type::f16, expected = "LibraryCall: cublasSgemm_v2: an operand's type"; }
  SECTION("an overflow") {
    call.m = call.n = call.k = call.a.spacing = call.b.spacing = call.c.spacing = blas::kMostElements;
    expected = "LibraryCall: cublasSgemm_v2: an operand of more than";
  }
  SECTION("of cuFFT") { library = fft::kLibrary, function = 0, expected = "LibraryCall.parameters: " + std::to_string(sizeof call) + " bytes, cuFFT's are 152"; }
  SECTION("of cuFFT, too few") { library = fft::kLibrary, function = 0, bytes = 152, expected = "LibraryCall: cuFFT's transform: "; }
  SECTION("of cuRAND") { library = rand::kLibrary, function = 0, expected = "LibraryCall.parameters: " + std::to_string(sizeof call) + " bytes, not those of a generation of cuRAND"; }
  SECTION("of cuRAND, another function") { library = rand::kLibrary, function = 1, expected = "LibraryCall.function = 1: cuRAND's is 0"; }
  SECTION("of cuRAND, of nothing") { library = rand::kLibrary, function = 0, bytes = 72, expected = "LibraryCall: cuRAND's generation: "; }
  SECTION("of cuSPARSE") { library = sparse::kLibrary, function = 0, bytes = 100, expected = "LibraryCall.parameters: 100 bytes, cuSPARSE's are 600"; }
  SECTION("of cuSPARSE, a function") { library = sparse::kLibrary, function = 26, expected = "LibraryCall.function = 26: cuSPARSE's are 0 to 25"; }
  SECTION("of cuSOLVER") { library = solver::kLibrary, function = 0, expected = "LibraryCall.parameters: " + std::to_string(sizeof call) + " bytes, cuSOLVER's are 272"; }
  SECTION("of cuSOLVER, too few") { library = solver::kLibrary, function = 0, bytes = 272, expected = "LibraryCall: cusolverDnCpotrf: "; }
  SECTION("a function of cuSOLVER's") { library = solver::kLibrary, function = 1000, expected = "LibraryCall.function = 1000: cuSOLVER's are 0 to "; }
  SECTION("of cuSOLVER's sparse part") {
    library = systems::kLibrary, function = 0, bytes = 100, expected = "LibraryCall.parameters: 100 bytes, cuSOLVER's sparse part's are 128";
  }
  SECTION("of cuSOLVER's sparse part, a function") { library = systems::kLibrary, function = 7, expected = "LibraryCall.function = 7: those of cuSOLVER's sparse part are 0 to 6"; }
  SECTION("of cuBLASLt") { library = blas::kLtLibrary, function = 0, expected = "LibraryCall.parameters: " + std::to_string(sizeof call) + " bytes, cuBLASLt's are"; }
  SECTION("a rotation's scalars by value") {
    call = {};
    function = static_cast<std::uint32_t>(blas::Function::cublasSrotg_v2), expected = "LibraryCall: cublasSrotg_v2: the pointer mode";
  }
  SECTION("an inverse that is too large") {
    call.n = call.a.spacing = call.c.spacing = 33, call.batch = 1, call.batching = blas::Batching::arrays;
    function = static_cast<std::uint32_t>(blas::Function::cublasSmatinvBatched), expected = "LibraryCall: cublasSmatinvBatched: n is above 32";
  }
  SECTION("a band without diagonals") {
    call.ku = -3;
    function = static_cast<std::uint32_t>(blas::Function::cublasSgbmv_v2), expected = "LibraryCall: cublasSgbmv_v2: a dimension is negative";
  }
  client.send(wire::LibraryCall{.stream = wire::kLegacyStream, .library = library, .function = function},
              std::as_bytes(std::span(&call, 1)).first(bytes));
  settle();
  CHECK(fault().substr(0, expected.size()) == expected);
  CHECK(device.taken.empty());
}

TEST_CASE_METHOD(LibraryCalls, "a stream that is none ends the connection") {
  client.send(wire::LibraryCall{.stream = {7, 0}, .library = blas::kLibrary, .function = kGemm}, std::as_bytes(std::span(&call, 1)));
  settle();
  CHECK(fault().find("LibraryCall.stream") == 0);
}

}  // namespace rouse::executor
