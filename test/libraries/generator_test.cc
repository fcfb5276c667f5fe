// A wrong description of a library is refused with what is wrong.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "test/cudart/shell.h"

namespace {

class Workspace {
 public:
  Workspace() {
    std::string path = (std::filesystem::temp_directory_path() / "rouse-libraries-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    root_ = path;
  }
  ~Workspace() { std::filesystem::remove_all(root_); }
  // The real descriptions of cuBLAS, cuDNN and the driver with `from` replaced in the one that has it; everything else as it is.
  rouse::test::CommandResult generate(const std::string& from = "", const std::string& to = "") {
    bool replaced = from.empty();
    for (const auto& [name, path] : {std::pair{"cublas.toml", ROUSE_CUBLAS_TOML}, std::pair{"cudnn.toml", ROUSE_CUDNN_TOML}, std::pair{"cuda.toml", ROUSE_CUDA_TOML}}) {
      std::ifstream in(path);
      std::stringstream all;
      all << in.rdbuf();
      std::string text = all.str();
      if (const auto at = text.find(from); !replaced && at != std::string::npos) {
        text.replace(at, from.size(), to);
        replaced = true;
      }
      std::ofstream(root_ / name) << text;
    }
    REQUIRE(replaced);
    return rouse::test::shell("cd '" + root_.string() + "' && '" ROUSE_PYTHON "' -B '" ROUSE_GENERATOR "' cublas.toml '" ROUSE_CUBLASLT_TOML "' cudnn.toml '" ROUSE_CUFFT_TOML "' '" ROUSE_CURAND_TOML "' '" ROUSE_CUSPARSE_TOML "' '" ROUSE_CUSOLVER_TOML "' '" ROUSE_NVML_TOML "' cuda.toml '" ROUSE_TESTED "' out");
  }
  bool wroteAnything() const { return std::filesystem::exists(root_ / "out"); }

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("the descriptions of the libraries are accepted", "[libraries][generator]") {
  Workspace workspace;
  const auto result = workspace.generate();
  CHECK(result.output == "");
  CHECK(result.status == 0);
  CHECK(workspace.wroteAnything());
}

TEST_CASE("a wrong description of a library is refused", "[libraries][generator]") {
  struct {
    const char *from, *to, *says;
  } cases[] = {
      {"version = 1", "version = 2", "this generator reads 1"},
      {"cublasOperation_t transa, cublasOperation_t transb, int m", "cublasOperation_t transq, cublasOperation_t transb, int m",
       "nothing is known of a parameter called 'transq'"},
      {"cublasStatus_t cublasCreate_v2", "cublasHandle_t cublasCreate_v2", "return type"},
      {"wide = true", "broad = true", "unknown keys"},
      {"returns = \"cublasStatus_t\"", "returns = \"quaternion\"", "returns 'quaternion'"},
      {"calls = \"cublasCaxpy_v2\"", "calls = \"cublasCaxpy_v9\"", "cublasCaxpy calls 'cublasCaxpy_v9', which is none of the library's"},
      {"calls = \"cublasCaxpy_v2\"", "calls = \"cublasCscal_v2\"", "cublasCaxpy: 6 parameters for 4 of cublasCscal_v2"},
      {"void cublasCgemv(char trans", "void cublasCgemv(char uplo, char trans", "cublasCgemv: 12 parameters for 11 of cublasCgemv_v2"},
      {"cudnnStatus_t cudnnCreate(", "cudnnHandle_t cudnnCreate(", "return type"},
      {"\"cudnnCTCLoss\"", "\"cudnnRNNForward\"", "'cudnnRNNForward' is described twice"},
      {"  \"cudnnCnnVersionCheck\", ", "  \"cudnnCnnVersionCheque\", ", "'cudnnCnnVersionCheque' is not one of libcudnn.so.9's names"},
      {"needs = \"nothing\"", "needs = \"anything\"", "needs = 'anything' is not one of nothing, driver, context"},
      {"variant = \"ptsz\"", "variant = \"v2\"", "variant = 'v2' is not one of ptsz, ptds"},
      {"\"cublasXtCgemm\"", "\"cublasXtCherk\"", "'cublasXtCherk' is described twice"},
  };
  const auto& chosen = cases[GENERATE(range(0, 14))];
  Workspace workspace;
  const auto result = workspace.generate(chosen.from, chosen.to);
  CHECK(result.status == 1);
  CHECK(result.output.find(chosen.says) != std::string::npos);
  CHECK(!workspace.wroteAnything());
}
