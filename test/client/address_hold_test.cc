// Pages kept from this process, shared by the variables that touch them.
#include "client-shim/core/address_hold.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>

using rouse::client::AddressHold;

namespace {

constexpr std::uint64_t kPage = 4096;

// Nothing is at these pages: something can be put there.
bool isFree(std::uint64_t page) {
  void* at = reinterpret_cast<void*>(page);
  void* got = mmap(at, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return false;
  munmap(got, kPage);
  return got == at;
}

// The first of four pages where nothing is.
std::uint64_t freePages() {
  void* got = mmap(nullptr, 4 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(got != MAP_FAILED);
  munmap(got, 4 * kPage);
  return reinterpret_cast<std::uint64_t>(got);
}

}  // namespace

TEST_CASE("held pages are taken until the last variable on them is gone") {
  const std::uint64_t base = freePages();
  {
    AddressHold hold;
    CHECK(hold.hold({base + 16, 4}));
    CHECK(hold.hold({base + 100, 2 * kPage}));
    for (int i = 0; i < 3; ++i) CHECK_FALSE(isFree(base + static_cast<std::uint64_t>(i) * kPage));
    CHECK(isFree(base + 3 * kPage));
    hold.release({base + 100, 2 * kPage});
    CHECK_FALSE(isFree(base));
    CHECK(isFree(base + kPage));
    CHECK(hold.hold({base + 2 * kPage, 1}));
    hold.release({base + 16, 4});
    CHECK(isFree(base));
  }
  CHECK(isFree(base + 2 * kPage));
}

TEST_CASE("where the process has memory nothing is held, and nothing else is kept") {
  const std::uint64_t base = freePages();
  void* own = mmap(reinterpret_cast<void*>(base + kPage), kPage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  REQUIRE(own != MAP_FAILED);
  AddressHold hold;
  CHECK_FALSE(hold.hold({base, 3 * kPage}));
  CHECK(isFree(base));
  CHECK(isFree(base + 2 * kPage));
  static_cast<char*>(own)[0] = 1;  // still the process's
  munmap(own, kPage);
  CHECK_FALSE(hold.hold({0, 8}));
  CHECK_FALSE(hold.hold({~0ull - 4, 16}));
}
