// A wrong description is refused with file, line and what is wrong.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "test/cudart/shell.h"

namespace {

class Workspace {
 public:
  Workspace() {
    std::string path = (std::filesystem::temp_directory_path() / "rouse-generator-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    root_ = path;
  }
  ~Workspace() { std::filesystem::remove_all(root_); }

  rouse::test::CommandResult generate(const std::string& description) {
    std::ofstream(root_ / "bad.toml") << description;
    return rouse::test::shell("cd '" + root_.string() +
                              "' && '" ROUSE_PYTHON "' -B '" ROUSE_GENERATOR "' bad.toml out");
  }
  bool wroteAnything() const { return std::filesystem::exists(root_ / "out"); }

 private:
  std::filesystem::path root_;
};

std::string described(const std::string& functions) {
  return "version = 1\nlibrary = \"libcudart.so.13\"\n\n[[group]]\nname = \"memory\"\nfunctions = [\n" + functions +
         "]\n";
}

constexpr const char* kGood = "  {c = \"cudaError_t cudaFree(void *devPtr)\", served = \"local\"},\n";

}  // namespace

TEST_CASE("a good description is accepted", "[cudart][generator]") {
  Workspace workspace;
  const auto result = workspace.generate(described(kGood));
  CHECK(result.output == "");
  CHECK(result.status == 0);
  CHECK(workspace.wroteAnything());
}

TEST_CASE("a bad description is refused at its line", "[cudart][generator]") {
  struct Case {
    const char* line;
    const char* message;
  };
  const Case cases[] = {
      {R"toml(  {c = "cudaError_t cudaMalloc(void **devPtr, size_t size", served = "local"},)toml",
       "is not a C prototype"},
      {R"toml(  {c = "cudaError_t cudaMalloc(void **devPtr, size_t size)", served = "lokal"},)toml",
       "served = 'lokal'"},
      {R"toml(  {c = "cudaError_t cudaMalloc(void **devPtr, size_t size)"},)toml", "served = None"},
      {R"toml(  {c = "cudaError_t cudaMalloc(void **devPtr, size_t)", served = "local"},)toml",
       "'size_t' is not 'type name'"},
      {R"toml(  {c = "cudaError_t cudaMalloc(void **p, size_t p)", served = "local"},)toml",
       "two parameters are called 'p'"},
      {R"toml(  {c = "float cudaMalloc(void **devPtr)", served = "local"},)toml", "return type 'float'"},
      {R"toml(  {c = "cudaError_t cudaMalloc(void **devPtr)", served = "local", required = ["ptr"]},)toml",
       "required = 'ptr'"},
      {R"toml(  {c = "cudaError_t cudaMalloc(size_t size)", served = "local", required = ["size"]},)toml",
       "required = 'size'"},
      {R"toml(  {c = "cudaError_t cudaMalloc(void **devPtr)", served = "local", variant = "ptxz"},)toml",
       "variant = 'ptxz'"},
      {R"toml(  {c = "cudaError_t cudaMalloc(void **devPtr)", served = "local", sesion = false},)toml",
       "unknown key 'sesion'"},
      {R"toml(  {c = "cudaError_t cudaMalloc(void **devPtr)", served = "local", records = 1},)toml",
       "records is not true or false"},
      {R"toml(  {c = "cudaError_t cudaMalloc(void **p)", served = "command", session = false},)toml",
       "only with a session"},
      {R"toml(  {c = "cudaError_t cudaFree(void *p)", served = "local"},)toml", "'cudaFree' is described twice"},
  };
  for (const Case& bad : cases) {
    Workspace workspace;
    CAPTURE(bad.line);
    const auto result = workspace.generate(described(std::string(kGood) + bad.line + "\n"));
    CHECK(result.status == 1);
    CHECK_THAT(result.output, Catch::Contains(bad.message));
    // The bad line is the eighth; of two that describe one name the first is named.
    const bool twice = result.output.find("twice") != std::string::npos;
    CHECK_THAT(result.output, Catch::StartsWith(twice ? "error: bad.toml:7: " : "error: bad.toml:8: "));
    CHECK_FALSE(workspace.wroteAnything());
  }
}

TEST_CASE("what is not TOML is refused at its line", "[cudart][generator]") {
  Workspace workspace;
  const auto result = workspace.generate("version = 1\nlibrary = libcudart\n");
  CHECK(result.status == 1);
  CHECK_THAT(result.output, Catch::StartsWith("error: bad.toml:2: "));
}

TEST_CASE("more names than there are counters are refused", "[cudart][generator]") {
  std::string functions;
  for (int i = 0; i <= 4096; ++i) {
    functions += "  {c = \"cudaError_t cudaName" + std::to_string(i) + "(void)\", served = \"local\"},\n";
  }
  Workspace workspace;
  const auto result = workspace.generate(described(functions));
  CHECK(result.status == 1);
  CHECK_THAT(result.output, Catch::Contains("4097 names, at most 4096"));
}
