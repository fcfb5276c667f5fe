#include "client-shim/cudart/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using rouse::cudart::findMappedFile;
using rouse::cudart::MappedFile;

namespace {

constexpr std::size_t kPage = 4096;

// A file of four pages, mapped from its second page on. Its name has a space: names in /proc/self/maps may.
class Mapped {
 public:
  explicit Mapped(int protection) {
    std::string name = (std::filesystem::temp_directory_path() / "rouse mapped XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    REQUIRE(fd >= 0);
    path_ = name;
    std::string content(4 * kPage, '\0');
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 / 7);
    REQUIRE(::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    void* memory = ::mmap(nullptr, 3 * kPage, protection, MAP_PRIVATE, fd, kPage);
    REQUIRE(memory != MAP_FAILED);
    memory_ = static_cast<const std::byte*>(memory);
    ::close(fd);
  }
  ~Mapped() {
    ::munmap(const_cast<std::byte*>(memory_), 3 * kPage);
    std::filesystem::remove(path_);
  }
  const std::byte* memory() const { return memory_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* memory_ = nullptr;
};

}  // namespace

TEST_CASE("the file behind read-only memory is found, with the offset in it", "[cudart][mapped_file]") {
  const Mapped mapped(PROT_READ);
  MappedFile file;
  REQUIRE(findMappedFile({mapped.memory() + 100, 2 * kPage}, &file));
  CHECK(file.offset == kPage + 100);
  std::vector<std::byte> content(2 * kPage);
  REQUIRE(::pread(file.fd.get(), content.data(), content.size(), static_cast<off_t>(file.offset)) ==
          static_cast<ssize_t>(content.size()));
  CHECK(std::memcmp(content.data(), mapped.memory() + 100, content.size()) == 0);
}

TEST_CASE("memory that may differ from its file has none", "[cudart][mapped_file]") {
  MappedFile file;
  const Mapped writable(PROT_READ | PROT_WRITE);
  CHECK_FALSE(findMappedFile({writable.memory(), kPage}, &file));
  const std::vector<std::byte> heap(kPage);
  CHECK_FALSE(findMappedFile(heap, &file));
  const Mapped replaced(PROT_READ);
  std::filesystem::remove(replaced.path());
  std::ofstream(replaced.path()) << "another file of the same name";
  CHECK_FALSE(findMappedFile({replaced.memory(), kPage}, &file));
}

TEST_CASE("a range beyond the end of a mapping has no file", "[cudart][mapped_file]") {
  const Mapped mapped(PROT_READ);
  MappedFile file;
  CHECK_FALSE(findMappedFile({mapped.memory() + kPage, 3 * kPage}, &file));
}
