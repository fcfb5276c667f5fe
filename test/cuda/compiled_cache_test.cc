// What the driver is told of where it keeps compiled code.
#include "server/device/cuda/compiled_cache.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace rouse;

namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

struct Folder {
  Folder() {
    char name[] = "/tmp/rouse-compiled-cache-XXXXXX";
    path = ::mkdtemp(name);
    ::unsetenv("CUDA_CACHE_PATH");
    ::unsetenv("CUDA_CACHE_MAXSIZE");
  }
  ~Folder() {
    std::filesystem::remove_all(path);
    ::unsetenv("CUDA_CACHE_PATH");
    ::unsetenv("CUDA_CACHE_MAXSIZE");
  }
  std::filesystem::path path;
};

std::string set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "not set";
}

mode_t modeOf(const std::filesystem::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

}  // namespace

TEST_CASE("compiled code is kept in a folder of its own, which is made") {
  Folder folder;
  const auto code = folder.path / "cache" / "code";
  REQUIRE(cuda::keepCompiled(code, kGiB).ok());
  CHECK(set("CUDA_CACHE_PATH") == (code / "nvidia").string());
  CHECK(set("CUDA_CACHE_MAXSIZE") == std::to_string(kGiB));
  CHECK(modeOf(code) == 0700);
  CHECK(modeOf(code / "nvidia") == 0700);
  // Another executor, at another time.
  ::unsetenv("CUDA_CACHE_PATH");
  ::unsetenv("CUDA_CACHE_MAXSIZE");
  REQUIRE(cuda::keepCompiled(code, 100 * kGiB).ok());
  CHECK(set("CUDA_CACHE_PATH") == (code / "nvidia").string());
  CHECK(set("CUDA_CACHE_MAXSIZE") == std::to_string(4 * kGiB));
}

TEST_CASE("what an operator has set stays") {
  Folder folder;
  ::setenv("CUDA_CACHE_PATH", "/elsewhere", 1);
  REQUIRE(cuda::keepCompiled(folder.path / "code", kGiB).ok());
  CHECK(set("CUDA_CACHE_PATH") == "/elsewhere");
  CHECK(set("CUDA_CACHE_MAXSIZE") == "not set");
  CHECK(!std::filesystem::exists(folder.path / "code"));
  ::unsetenv("CUDA_CACHE_PATH");
  ::setenv("CUDA_CACHE_MAXSIZE", "5", 1);
  REQUIRE(cuda::keepCompiled(folder.path / "code", kGiB).ok());
  CHECK(set("CUDA_CACHE_MAXSIZE") == "5");
}

TEST_CASE("a folder that others may write, or that cannot be made, is not used") {
  Folder folder;
  const auto open = folder.path / "open", shared = folder.path / "shared", file = folder.path / "file";
  std::filesystem::create_directory(open);
  ::chmod(open.c_str(), 0777);
  std::filesystem::create_directories(shared / "nvidia");
  ::chmod((shared / "nvidia").c_str(), 0770);
  std::ofstream{file} << "no folder";
  const auto refused = [](const std::filesystem::path& directory, const std::string& why) {
    const Status status = cuda::keepCompiled(directory, kGiB);
    REQUIRE(!status.ok());
    INFO(status.error().message);
    CHECK(status.error().message.find("code cache ") == 0);
    CHECK(status.error().message.find(why) != std::string::npos);
    CHECK(set("CUDA_CACHE_PATH") == "not set");
    CHECK(set("CUDA_CACHE_MAXSIZE") == "not set");
  };
  refused(open, open.string() + " must belong to the user of this process");
  refused(shared, (shared / "nvidia").string() + " must belong to the user of this process");
  refused(file, file.string() + " is no folder");
  refused("relative", "not an absolute path");
}
