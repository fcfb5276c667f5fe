// Memory behind the chunks: zero when it should be, and no more of it than is used.
#include "server/device/cpu/physical_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

using namespace rouse;
using namespace rouse::cpu;

namespace {

std::uint64_t backedBytes(const PhysicalMemory& memory) {
  struct stat status{};
  REQUIRE(fstat(memory.fd(), &status) == 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

class Mapped {
 public:
  Mapped(const PhysicalMemory& memory, memory::Chunk chunk) {
    void* at = mmap(nullptr, chunk.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd(),
                    static_cast<off_t>(memory.offsetOf(chunk)));
    REQUIRE(at != MAP_FAILED);
    bytes_ = static_cast<std::uint8_t*>(at);
  }
  ~Mapped() { munmap(bytes_, kGranuleBytes); }
  std::uint8_t* bytes() { return bytes_; }

 private:
  std::uint8_t* bytes_;
};

}  // namespace

TEST_CASE("capacity is whole granules, and none of it is there before it is touched") {
  auto memory = PhysicalMemory::create(std::uint64_t{100} * kGranuleBytes + 12345);
  REQUIRE(memory.ok());
  CHECK((*memory)->chunks().size() == 100);
  CHECK(backedBytes(**memory) == 0);
  CHECK_FALSE(PhysicalMemory::create(kGranuleBytes - 1).ok());
}

TEST_CASE("scrubbing zeroes what there is and makes nothing") {
  auto made = PhysicalMemory::create(std::uint64_t{8} * kGranuleBytes);
  REQUIRE(made.ok());
  PhysicalMemory& memory = **made;
  const memory::Chunk touched = memory.chunks()[3], untouched = memory.chunks()[4], ends = memory.chunks()[5];
  {
    Mapped mapped(memory, touched);
    std::memset(mapped.bytes(), 0x77, kGranuleBytes);
    Mapped second(memory, ends);
    second.bytes()[0] = 1;
    second.bytes()[kGranuleBytes / 2] = 1;
    second.bytes()[kGranuleBytes - 1] = 1;
  }
  const std::uint64_t before = backedBytes(memory);
  for (const memory::Chunk chunk : {touched, untouched, ends}) REQUIRE(memory.scrub(chunk).ok());
  CHECK(backedBytes(memory) <= before);
  CHECK(memory.takeKept(touched));
  CHECK_FALSE(memory.takeKept(touched));
  CHECK_FALSE(memory.takeKept(untouched));
  for (const memory::Chunk chunk : {touched, untouched, ends}) {
    Mapped mapped(memory, chunk);
    CHECK(std::all_of(mapped.bytes(), mapped.bytes() + kGranuleBytes, [](std::uint8_t byte) { return byte == 0; }));
  }
}
