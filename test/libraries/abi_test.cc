// The libraries export what NVIDIA's do: the same names at the same version nodes, and nothing else.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "schemas/api/library_names.h"
#include "test/cudart/shell.h"

namespace {

// `library`: a library, or what nm has said of one (a file *.txt).
std::set<std::string> exportsOf(const std::string& library) {
  std::string command = library.ends_with(".txt") ? "cat '" : ROUSE_NM " -D --defined-only --with-symbol-versions '";
  command += library + "'";
  const auto nm = rouse::test::shell(command);
  REQUIRE(nm.status == 0);
  std::set<std::string> symbols;
  std::istringstream lines(nm.output);
  for (std::string address, kind, name; lines >> address >> kind >> name;) symbols.insert(kind + " " + name);
  return symbols;
}

std::set<std::string> minus(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> difference;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(difference, difference.begin()));
  return difference;
}

struct Library {
  const char *name, *ours, *theirs;
  std::size_t first, count, least;
  const char* headers = nullptr;  // a folder: only names that these declare count; others are between NVIDIA's own libraries
};
const Library kLibraries[] = {
    {"libcublas.so.13", ROUSE_CUBLAS, ROUSE_TOOLKIT_CUBLAS, 0, rouse::api::kCublasltNames - rouse::api::kCublasNames, 700},
    {"libcublasLt.so.13", ROUSE_CUBLASLT, ROUSE_TOOLKIT_CUBLASLT, rouse::api::kCublasltNames - rouse::api::kCublasNames,
     rouse::api::kCudnnNames - rouse::api::kCublasltNames, 150},
    {"libcudnn.so.9", ROUSE_CUDNN, ROUSE_CUDNN_NAMES "/libcudnn.so.9.txt", rouse::api::kCudnnNames - rouse::api::kCublasNames,
     rouse::api::kCufftNames - rouse::api::kCudnnNames, 200},
    {"libcufft.so.12", ROUSE_CUFFT, ROUSE_CUFFT_NAMES, rouse::api::kCufftNames - rouse::api::kCublasNames, rouse::api::kCurandNames - rouse::api::kCufftNames, 50},
    {"libcurand.so.10", ROUSE_CURAND, ROUSE_CURAND_NAMES, rouse::api::kCurandNames - rouse::api::kCublasNames, rouse::api::kCusparseNames - rouse::api::kCurandNames, 25},
    {"libcusparse.so.12", ROUSE_CUSPARSE, ROUSE_CUSPARSE_NAMES, rouse::api::kCusparseNames - rouse::api::kCublasNames, rouse::api::kCusolverNames - rouse::api::kCusparseNames, 400},
    {"libcusolver.so.12", ROUSE_CUSOLVER, ROUSE_CUSOLVER_NAMES, rouse::api::kCusolverNames - rouse::api::kCublasNames,
     rouse::api::kNvmlNames - rouse::api::kCusolverNames, 500, ROUSE_CUSOLVER_HEADERS},
};
const char* const kCudnnParts[] = {"ops", "cnn", "adv", "graph", "ext", "heuristic", "engines_precompiled", "engines_runtime_compiled", "engines_tensor_ir"};

// Declarations of the library's own headers, without blanks.
std::string headersOf(const Library& library) {
  std::string text;
  for (const auto& each : std::filesystem::directory_iterator(library.headers)) {
    if (!each.path().filename().string().starts_with("cusolver")) continue;
    std::ifstream file(each.path());
    std::copy_if(std::istreambuf_iterator<char>(file), {}, std::back_inserter(text), [](char c) { return c != ' ' && c != '\n'; });
  }
  return text;
}

}  // namespace

TEST_CASE("a library exports NVIDIA's names and version nodes, no more and no fewer", "[libraries][abi]") {
  const Library& library = kLibraries[GENERATE(0, 1, 2, 3, 4, 5, 6)];
  CAPTURE(library.name);
  auto theirs = exportsOf(library.theirs);
  const auto ours = exportsOf(library.ours);
  if (library.headers != nullptr) {
    const std::string text = headersOf(library);
    CHECK(text.size() > 10000);
    std::erase_if(theirs, [&](const std::string& symbol) { return symbol.starts_with("T ") && text.find(symbol.substr(2, symbol.find('@') - 2) + "(") == std::string::npos; });
  }
  CHECK(theirs.size() > library.least);
  CHECK(minus(theirs, ours) == std::set<std::string>{});
  CHECK(minus(ours, theirs) == std::set<std::string>{});
}

// What it counts handles with would begin anew, and the executor know them already.
TEST_CASE("a library stays when a program closes it", "[libraries][abi]") {
  std::string files;
  for (const Library& library : kLibraries) files += std::string(" ") + library.ours;
  const auto read = rouse::test::shell("for file in " ROUSE_CUDNN_FOLDER "/lib*.so.* " + files + "; do readelf -d $file | grep -q NODELETE || echo $file; done");
  CHECK(read.output.empty());
}

TEST_CASE("every name that a library exports has a number", "[libraries][abi]") {
  const Library& library = kLibraries[GENERATE(0, 1, 2, 3, 4, 5, 6)];
  std::set<std::string> described;
  for (std::size_t i = library.first; i < library.first + library.count; ++i)
    described.insert("T " + std::string(rouse::api::kLibraryNames[i]) + "@@" + library.name);
  auto exported = exportsOf(library.ours);
  exported.erase("A " + std::string(library.name));  // the version node itself
  CHECK(described == exported);
}

TEST_CASE("cuDNN's parts export what NVIDIA's do of its names, of their own version", "[libraries][abi]") {
  const auto whole = exportsOf(ROUSE_CUDNN);
  for (const char* part : kCudnnParts) {
    const std::string name = std::string("libcudnn_") + part + ".so.9";
    CAPTURE(name);
    std::set<std::string> theirs{"A " + name};
    for (const std::string& each : exportsOf(ROUSE_CUDNN_NAMES "/" + name + ".txt")) {
      const std::string plain = each.substr(0, each.find('@'));
      if (whole.contains(plain + "@@libcudnn.so.9")) theirs.insert(each);
    }
    CHECK(exportsOf(ROUSE_CUDNN_FOLDER "/" + name) == theirs);
  }
  CHECK(exportsOf(ROUSE_CUDNN_FOLDER "/libcudnn_ops.so.9").size() > 90);
}

// There is no library to compare with where there is no driver.
TEST_CASE("libnvidia-ml.so.1 exports the functions that NVML's header declares, without version nodes, and each has a number", "[libraries][abi]") {
  std::ifstream file(ROUSE_NVML_HEADER);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::set<std::string> declared, described;
  const std::regex declaration(R"(\bDECLDIR\s+(?:char\s*\*\s*)?(nvml\w+)\s*\()");
  for (std::sregex_iterator each(text.begin(), text.end(), declaration), end; each != end; ++each) declared.insert("T " + each->str(1));
  for (std::size_t i = rouse::api::kNvmlNames; i < rouse::api::kCudaNames; ++i) described.insert("T " + std::string(rouse::api::kAllNames[i]));
  const auto ours = exportsOf(ROUSE_NVML);
  CHECK(ours.size() > 390);
  CHECK(minus(declared, ours) == std::set<std::string>{});
  CHECK(minus(ours, declared) == std::set<std::string>{});
  CHECK(described == ours);
}

#ifdef ROUSE_TOOLKIT_CUDA_STUB
TEST_CASE("libcuda.so.1 exports the names of the toolkit's stub, without version nodes, and each has a number", "[libraries][abi]") {
  const auto theirs = exportsOf(ROUSE_TOOLKIT_CUDA_STUB), ours = exportsOf(ROUSE_CUDA_FACE);
  std::set<std::string> named, described;
  for (const std::string& symbol : theirs)
    if (symbol.starts_with("T cu")) named.insert(symbol);
  for (std::size_t i = rouse::api::kCudaNames; i < rouse::api::kAllNameCount; ++i) described.insert("T " + std::string(rouse::api::kAllNames[i]));
  CHECK(named.size() > 500);
  CHECK(minus(named, ours) == std::set<std::string>{});
  CHECK(minus(ours, named) == std::set<std::string>{});
  CHECK(described == ours);
}
#endif

TEST_CASE("numbers of names: the runtime's first, then the libraries'", "[libraries][abi]") {
  using namespace rouse::api;
  CHECK(kAllNames[0] == kApiNames[0]);
  CHECK(kAllNames[kCublasNames] == kLibraryNames[0]);
  CHECK(kAllNames[kCublasltNames].substr(0, 8) == "cublasLt");
  CHECK(kAllNames[kCudnnNames].substr(0, 5) == "cudnn");
  CHECK(kAllNames[kCufftNames].substr(0, 5) == "cufft");
  CHECK(kAllNames[kCurandNames].substr(0, 6) == "curand");
  CHECK(kAllNames[kCusparseNames].substr(0, 8) == "cusparse");
  CHECK(kAllNames[kCusolverNames].substr(0, 8) == "cusolver");
  CHECK(kAllSupported[kApiNameCount - 1] == kApiSupported[kApiNameCount - 1]);
  CHECK(std::ranges::count(kLibrarySupported, true) > 400);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
TEST_CASE("a library needs the runtime and the C library", "[libraries][abi]") {
  const Library& library = kLibraries[GENERATE(0, 1, 2, 3, 4, 5, 6)];
  const auto readelf = rouse::test::shell("readelf -d '" + std::string(library.ours) + "'");
  REQUIRE(readelf.status == 0);
  std::istringstream lines(readelf.output);
  std::set<std::string> needed;
  for (std::string line; std::getline(lines, line);) {
    const auto open = line.find('['), close = line.find(']');
    if (line.find("(NEEDED)") != std::string::npos) needed.insert(line.substr(open + 1, close - open - 1));
    if (line.find("(SONAME)") != std::string::npos) CHECK(line.substr(open + 1, close - open - 1) == library.name);
  }
  CHECK(needed.contains("libcudart.so.13"));
  CHECK(minus(needed, {"libcudart.so.13", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}) == std::set<std::string>{});
}
#endif
