#include "server/fatbin/fatbin.h"

#include <zstd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>

#include "server/fatbin/format.h"

using namespace rouse;
using namespace rouse::fatbin;

namespace {

std::string sample(const std::string& name) {
  std::ifstream file(std::string(FATBIN_SAMPLES "/") + name + ".fatbin", std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string ptxOf(const std::string& name, std::uint32_t capability) {
  const std::string module = sample(name);
  auto ptx = selectPtx(bytesOf(module), capability);
  if (!ptx) FAIL(ptx.error().message);
  return *ptx;
}

// A container with one entry, for cases that nvcc does not produce.
std::string container(EntryHeader entry, const std::string& payload) {
  entry.headerBytes = sizeof entry;
  entry.payloadBytes = payload.size();
  const ContainerHeader header{kMagic, 1, sizeof(ContainerHeader), sizeof entry + payload.size()};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  return bytes + payload;
}

std::string failure(const std::string& module) {
  auto result = selectPtx(bytesOf(module), 90);
  REQUIRE_FALSE(result.ok());
  return result.error().message;
}

}  // namespace

TEST_CASE("every compression mode yields the same PTX") {
  const std::string plain = ptxOf("none", 90);
  CHECK(plain.find(".visible .entry _Z5saxpyfPKfPfi") != std::string::npos);
  CHECK(plain.find(".target sm_80") != std::string::npos);
  CHECK(plain.back() != '\0');
  for (const char* mode : {"default", "size", "speed", "balance"}) {
    INFO(mode);
    const std::string ptx = ptxOf(mode, 90);
    // The uncompressed one begins with blank lines.
    CHECK(ptx.substr(ptx.find(".version")) == plain.substr(plain.find(".version")));
  }
}

TEST_CASE("all of LZ4, zstd and raw occur in what nvcc writes") {
  bool seen[3] = {};
  for (const char* mode : {"none", "default", "speed"}) {
    const std::string module = sample(mode);
    auto found = entries(bytesOf(module));
    REQUIRE(found.ok());
    for (const Entry& entry : *found) seen[static_cast<int>(entry.compression)] = true;
  }
  CHECK(seen[0]);
  CHECK(seen[1]);
  CHECK(seen[2]);
}

TEST_CASE("compressed machine code decompresses to an ELF image") {
  const std::string module = sample("size");
  auto found = entries(bytesOf(module));
  REQUIRE(found.ok());
  int cubins = 0;
  for (const Entry& entry : *found) {
    if (entry.kind != EntryKind::cubin) continue;
    ++cubins;
    auto code = image(entry);
    REQUIRE(code.ok());
    CHECK(code->substr(0, 4) == "\177ELF");
    CHECK(code->size() == entry.imageBytes);
  }
  CHECK(cubins == 1);
}

TEST_CASE("debug builds keep names and options in the entry header") {
  const std::string ptx = ptxOf("debug", 90);
  CHECK(ptx.find(".target sm_80, debug") != std::string::npos);
}

TEST_CASE("the highest architecture that the device can run is chosen") {
  CHECK(ptxOf("several", 90).find(".target sm_90") != std::string::npos);
  CHECK(ptxOf("several", 89).find(".target sm_80") != std::string::npos);
  CHECK(ptxOf("several", 100).find(".target sm_100") != std::string::npos);
  const std::string module = sample("several");
  auto none = selectPtx(bytesOf(module), 75);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == CudaError::noKernelImageForDevice);
  CHECK(none.error().message.find("code sm_75, code sm_80, PTX compute_80") != std::string::npos);
}

TEST_CASE("architecture-specific PTX is for that architecture or family only") {
  CHECK(ptxOf("exact", 90).find(".target sm_90a") != std::string::npos);
  CHECK(ptxOf("exact", 100).find(".target sm_75") != std::string::npos);
  CHECK(ptxOf("family", 103).find(".target sm_100f") != std::string::npos);
  const std::string module = sample("family");
  CHECK_FALSE(selectPtx(bytesOf(module), 120).ok());
}

TEST_CASE("newer PTX is chosen only where it is accepted and there is no other, the oldest of it") {
  const std::string module = sample("several");
  const auto oldest = selectPtx(bytesOf(module), 75, Newer::accept);
  REQUIRE(oldest.ok());
  CHECK(oldest->find(".target sm_80") != std::string::npos);
  const auto usual = selectPtx(bytesOf(module), 90, Newer::accept);
  REQUIRE(usual.ok());
  CHECK(usual->find(".target sm_90") != std::string::npos);
  CHECK_FALSE(selectPtx(bytesOf(sample("codeonly")), 75, Newer::accept).ok());
}

TEST_CASE("a fatbin without PTX says what it has") {
  CHECK(failure(sample("codeonly")).find("code sm_80") != std::string::npos);
}

TEST_CASE("containers behind one another are read as one, padding included") {
  const std::string both = sample("none") + std::string(24, '\0') + sample("several");
  auto found = entries(bytesOf(both));
  REQUIRE(found.ok());
  CHECK(found->size() == 2 + 5);
}

TEST_CASE("of a program that was compiled in parts each part's PTX is taken") {
  const auto part = [](std::uint16_t kind, std::uint32_t architecture, const std::string& text) {
    EntryHeader entry{};
    entry.kind = kind;
    entry.architecture = architecture;
    return container(entry, text + std::string(8 - text.size() % 8, '\0'));
  };
  const std::string linked = part(2, 75, "machine code"), first = part(1, 75, ".version first"), second = part(1, 75, ".version second");
  const auto taken = [](const std::string& module, Newer newer = Newer::refuse) {
    auto ptx = selectPtx(bytesOf(module), 90, newer);
    if (!ptx) FAIL(ptx.error().message);
    return *ptx;
  };
  CHECK(taken(linked + first + second) == ".version first\n.version second");
  CHECK(taken(linked + first) == ".version first");
  // A library's part for newer devices alone is left out, where the program's own parts fit.
  const std::string library = part(1, 121, ".version library");
  CHECK(taken(linked + first + library + second, Newer::accept) == ".version first\n.version second");
  CHECK(taken(linked + library + library, Newer::accept) == ".version library\n.version library");
  CHECK(failure(linked + library).find("sm_75, PTX compute_121") != std::string::npos);
  // Each container for itself is found, with what pads between them left out.
  const std::string padded = linked + std::string(24, '\0') + first;
  auto all = containers(bytesOf(padded));
  REQUIRE(all.ok());
  REQUIRE(all->size() == 2);
  CHECK((*all)[0].size() == linked.size());
  CHECK((*all)[1].data() == bytesOf(padded).data() + linked.size() + 24);
}

TEST_CASE("plain PTX passes through, without its NUL") {
  const std::string text = "//\n.version 9.0\n.target sm_80\n";
  auto ptx = selectPtx(bytesOf(text + '\0'), 90);
  REQUIRE(ptx.ok());
  CHECK(*ptx == text);
  CHECK(failure("hello").find("neither a fatbin nor PTX") != std::string::npos);
  CHECK(failure("").find("neither") != std::string::npos);
  CHECK(failure(std::string("\177ELF") + std::string(100, '\0')).find("cubin") != std::string::npos);
}

TEST_CASE("every truncation is refused") {
  const std::string whole = sample("several");
  for (std::size_t bytes = 4; bytes < whole.size(); bytes += 37) {
    INFO(bytes);
    CHECK_FALSE(entries(bytesOf(whole).first(bytes)).ok());
  }
}

TEST_CASE("sizes that lie are refused") {
  EntryHeader entry{};
  entry.kind = 1;
  entry.architecture = 80;
  SECTION("payload beyond the container") {
    std::string module = container(entry, "text");
    const std::uint64_t huge = ~std::uint64_t{0} - 8;
    std::memcpy(module.data() + sizeof(ContainerHeader) + offsetof(EntryHeader, payloadBytes), &huge, sizeof huge);
    CHECK(failure(module).find("are left") != std::string::npos);
  }
  SECTION("header smaller than itself") {
    std::string module = container(entry, "text");
    const std::uint32_t tiny = 0;
    std::memcpy(module.data() + sizeof(ContainerHeader) + offsetof(EntryHeader, headerBytes), &tiny, sizeof tiny);
    CHECK(failure(module).find("are left") != std::string::npos);
  }
  SECTION("image beyond the limit") {
    entry.flags = kFlagZstd;
    entry.imageBytes = kMaxImageBytes + 1;
    CHECK(failure(container(entry, "text")).find("limit 1073741824") != std::string::npos);
  }
  SECTION("compressed bytes beyond the payload") {
    entry.flags = kFlagLz4;
    entry.compressedBytes = 5;
    CHECK(failure(container(entry, "text")).find("5 compressed bytes in a payload of 4") != std::string::npos);
  }
  SECTION("LZ4 that cannot be that small") {
    entry.flags = kFlagLz4;
    entry.imageBytes = kMaxImageBytes;
    CHECK(failure(container(entry, "text")).find("cannot hold") != std::string::npos);
  }
  SECTION("both compressions at once") {
    entry.flags = kFlagLz4 | kFlagZstd;
    CHECK(failure(container(entry, "text")).find("both") != std::string::npos);
  }
}

TEST_CASE("a zstd frame must yield exactly what the header says") {
  const std::string text(100'000, 'x');
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  EntryHeader entry{};
  entry.kind = 1;
  entry.architecture = 80;
  entry.flags = kFlagZstd;
  entry.compressedBytes = static_cast<std::uint32_t>(packed.size());
  for (std::uint64_t says :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{99'999}, std::uint64_t{100'001}, kMaxImageBytes}) {
    INFO(says);
    entry.imageBytes = says;
    CHECK(failure(container(entry, packed)).find("zstd") != std::string::npos);
  }
  entry.imageBytes = text.size();
  auto ptx = selectPtx(bytesOf(container(entry, packed)), 90);
  REQUIRE(ptx.ok());
  CHECK(*ptx == text);
  entry.compressedBytes -= 5;
  CHECK(failure(container(entry, packed)).find("cut off") != std::string::npos);
}
