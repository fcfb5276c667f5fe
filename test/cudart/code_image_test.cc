// What is shipped of a module is what its own headers say, to the byte.
#include "client-shim/cudart/code_image.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>

using rouse::cudart::FatbinWrapper;
using rouse::cudart::imageExtent;
using rouse::cudart::wrappedImage;

namespace {

std::vector<std::byte> fatbin(std::size_t payload, std::uint16_t version = 1, std::uint16_t headerBytes = 16) {
  std::vector<std::byte> bytes(headerBytes + payload + 64, std::byte{0xee});  // what follows is not part of it
  const std::uint32_t magic = 0xba55ed50;
  const std::uint64_t size = payload;
  std::memcpy(bytes.data(), &magic, 4);
  std::memcpy(bytes.data() + 4, &version, 2);
  std::memcpy(bytes.data() + 6, &headerBytes, 2);
  std::memcpy(bytes.data() + 8, &size, 8);
  return bytes;
}

}  // namespace

TEST_CASE("a fatbin is its header and its payload", "[cudart][image]") {
  const auto bytes = fatbin(1000);
  std::span<const std::byte> image;
  REQUIRE(imageExtent(bytes.data(), &image) == cudaSuccess);
  CHECK(image.data() == bytes.data());
  CHECK(image.size() == 1016);
}

TEST_CASE("a fatbin of another version or an absurd size is refused", "[cudart][image]") {
  std::span<const std::byte> image;
  CHECK(imageExtent(fatbin(8, 2).data(), &image) == cudaErrorInvalidKernelImage);
  auto huge = fatbin(8);
  const std::uint64_t size = ~std::uint64_t{0};
  std::memcpy(huge.data() + 8, &size, 8);
  CHECK(imageExtent(huge.data(), &image) == cudaErrorInvalidKernelImage);
}

TEST_CASE("PTX text ends at its NUL; what is no text is refused", "[cudart][image]") {
  const char* ptx = ".version 9.0\n.target sm_80\n";
  std::span<const std::byte> image;
  REQUIRE(imageExtent(ptx, &image) == cudaSuccess);
  CHECK(image.size() == std::strlen(ptx));
  CHECK(imageExtent("", &image) == cudaErrorInvalidKernelImage);
  CHECK(imageExtent("\x01\x02\x03", &image) == cudaErrorInvalidKernelImage);
  CHECK(imageExtent("P", &image) == cudaSuccess);
}

TEST_CASE("an ELF image reaches to the end of its last part", "[cudart][image]") {
  std::vector<std::byte> bytes(4096);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = 256;
  header.e_shnum = 2;
  header.e_shentsize = sizeof(Elf64_Shdr);
  std::memcpy(bytes.data(), &header, sizeof(header));
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = 1024;
  section.sh_size = 500;
  std::memcpy(bytes.data() + 256 + sizeof(section), &section, sizeof(section));
  std::span<const std::byte> image;
  REQUIRE(imageExtent(bytes.data(), &image) == cudaSuccess);
  CHECK(image.size() == 1524);
}

TEST_CASE("a wrapper's further fatbins are joined behind the first", "[cudart][image]") {
  const auto first = fatbin(100), second = fatbin(200), third = fatbin(50);
  const void* further[] = {second.data(), third.data(), nullptr};
  std::vector<std::byte> joined;
  std::span<const std::byte> image;
  REQUIRE(wrappedImage({FatbinWrapper::kMagic, 2, first.data(), further}, &joined, &image) == cudaSuccess);
  REQUIRE(image.size() == 116 + 216 + 66);
  CHECK(std::memcmp(image.data() + 116, second.data(), 216) == 0);
  CHECK(std::memcmp(image.data() + 332, third.data(), 66) == 0);

  // Version 1 names a file there, which is none of our business.
  REQUIRE(wrappedImage({FatbinWrapper::kMagic, 1, first.data(), further}, &joined, &image) == cudaSuccess);
  CHECK(image.size() == 116);
  CHECK(wrappedImage({0x1234, 1, first.data(), nullptr}, &joined, &image) == cudaErrorInvalidKernelImage);
}
