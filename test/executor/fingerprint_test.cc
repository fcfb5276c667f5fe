// Fingerprints of pages: known answers, and that pages which are alike in many ways have different ones.
#include "memory/fingerprint.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <set>
#include <vector>

using namespace rouse;
using namespace rouse::memory;

namespace {

using Page = std::vector<std::uint64_t>;

Page randomPage(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Page page(kGranuleBytes / 8);
  for (auto& word : page) word = random();
  return page;
}

PageFingerprint of(const FingerprintKey& key, const Page& page) {
  return fingerprintOf(
      key, std::span<const std::byte, kGranuleBytes>(reinterpret_cast<const std::byte*>(page.data()), kGranuleBytes));
}

PageFingerprint plainOf(const FingerprintKey& key, const Page& page) {
  return plainFingerprintOf(
      key, std::span<const std::byte, kGranuleBytes>(reinterpret_cast<const std::byte*>(page.data()), kGranuleBytes));
}

int distance(const PageFingerprint& a, const PageFingerprint& b) {
  return std::popcount(a.low ^ b.low) + std::popcount(a.high ^ b.high);
}

struct Less {
  bool operator()(const PageFingerprint& a, const PageFingerprint& b) const {
    return a.low != b.low ? a.low < b.low : a.high < b.high;
  }
};

}  // namespace

TEST_CASE("SipHash-2-4 with 128 bits is what its authors say") {
  // Key 00 01 … 0f, messages 00 01 … of 8, 16 and 32 bytes; from an implementation that gives the values of the paper's
  // appendix and of the reference implementation's vectors.h.
  const std::uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  const auto eight = fingerprints::sipHash(key, {0x0706050403020100});
  CHECK(eight.low == 0x61f55862baa9623b);
  CHECK(eight.high == 0xb49714f364e2830f);
  const auto more =
      fingerprints::sipHash(key, {0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x1716151413121110, 0x1f1e1d1c1b1a1918});
  CHECK(more.low == 0x3efcea5eca56397c);
  CHECK(more.high == 0x68eb4665559d3e36);
}

TEST_CASE("known fingerprints") {
  // From a program of its own, written after memory/fingerprint_parts.h.
  CHECK(of(FingerprintKey(0, 0), Page(kGranuleBytes / 8)) == PageFingerprint{0xf359eb0a98403084, 0x65d6643ee1249f33});
  Page counted(kGranuleBytes / 8);
  for (std::uint64_t i = 0; i < counted.size(); ++i) counted[i] = i * 0x9e3779b97f4a7c15;
  CHECK(of(FingerprintKey(0x0123456789abcdef, 0xfedcba9876543210), counted) ==
        PageFingerprint{0x7c22c2ba5169e08f, 0x6cd782604a0f17c5});
}

TEST_CASE("the fast way and the plain one agree") {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const FingerprintKey key(seed, ~seed);
    const Page page = randomPage(seed);
    CHECK(of(key, page) == plainOf(key, page));
  }
  const FingerprintKey key(~0ull, ~0ull);
  CHECK(of(key, Page(kGranuleBytes / 8, ~0ull)) == plainOf(key, Page(kGranuleBytes / 8, ~0ull)));
}

TEST_CASE("every bit of a page and of the key changes about half of its fingerprint") {
  const FingerprintKey key(11, 12);
  for (Page page : {randomPage(1), Page(kGranuleBytes / 8)}) {
    const PageFingerprint before = of(key, page);
    std::mt19937_64 random(2);
    double sum = 0;
    int least = 128, most = 0;
    constexpr int kFlips = 3000;
    for (int flip = 0; flip < kFlips; ++flip) {
      // Every word of the first columns of a region once, then anywhere.
      const std::size_t word = flip < 1024 ? static_cast<std::size_t>(flip) * 4 : random() % page.size();
      const std::uint64_t bit = 1ull << random() % 64;
      page[word] ^= bit;
      const int changed = distance(before, of(key, page));
      page[word] ^= bit;
      least = std::min(least, changed);
      most = std::max(most, changed);
      sum += changed;
    }
    // 64 ± 5.7 for random bits: seven of these away, and a mean of 3000.
    CHECK(least > 24);
    CHECK(most < 104);
    CHECK(sum / kFlips == Approx(64).margin(0.6));
    for (int bit = 0; bit < 128; ++bit) {
      const FingerprintKey other(11 ^ (bit < 64 ? 1ull << bit : 0), 12 ^ (bit < 64 ? 0 : 1ull << (bit - 64)));
      const int changed = distance(before, of(other, page));
      CHECK((changed > 24 && changed < 104));
    }
  }
}

TEST_CASE(
    "pages that differ little, regularly, or only in order have different fingerprints, and different halves of them") {
  const FingerprintKey key(5, 6);
  std::set<PageFingerprint, Less> seen;
  std::set<std::uint64_t> halves;
  std::size_t pages = 0;
  const auto add = [&](const Page& page) {
    const PageFingerprint print = of(key, page);
    seen.insert(print);
    halves.insert(print.low);
    halves.insert(print.high);
    ++pages;
  };
  Page page(kGranuleBytes / 8);
  add(page);
  for (std::uint64_t value = 1; value < 300; ++value) add(Page(page.size(), value * 0x0101010101010101));
  for (std::uint64_t value :
       {1ull, 1ull << 31, 1ull << 32, 1ull << 63, 0xffffffffull, ~0ull}) {  // one word, at the borders of all parts
    for (std::size_t at = 0; at < page.size(); at += at < 130 ? 1 : at < 8200 ? 63 : 4095) {
      page[at] = value;
      add(page);
      page[at] = 0;
    }
  }
  const Page base = randomPage(9);
  add(base);
  // Two words, halves of a word, rows, columns, regions change places.
  for (const std::size_t distance :
       {std::size_t{1}, std::size_t{2}, std::size_t{64}, std::size_t{128}, std::size_t{4096}, std::size_t{8192}}) {
    for (std::size_t at = 0; at < 50; ++at) {
      Page swapped = base;
      std::swap(swapped[at * 4099], swapped[at * 4099 + distance]);
      add(swapped);
    }
  }
  for (std::size_t at = 0; at < 50; ++at) {
    Page swapped = base;
    swapped[at * 5003] = std::rotl(swapped[at * 5003], 32);
    add(swapped);
  }
  for (std::size_t i = 1; i < 64; ++i) {
    Page rows = base, columns = base, regions = base;
    std::swap_ranges(rows.begin(), rows.begin() + 64, rows.begin() + static_cast<std::ptrdiff_t>(i) * 64);
    for (std::size_t row = 0; row < 64; ++row) std::swap(columns[row * 64], columns[row * 64 + i]);
    std::swap_ranges(regions.begin(), regions.begin() + 4096, regions.begin() + static_cast<std::ptrdiff_t>(i) * 4096);
    for (const Page* changed : {&rows, &columns, &regions}) add(*changed);
  }
  CHECK(seen.size() == pages);
  CHECK(halves.size() == 2 * pages);
}

TEST_CASE("ranges that are no granules are refused with what is wrong") {
  const AddressRange window{std::uint64_t{1} << 40, 8 * kGranuleBytes};
  CHECK(checkGranules({window.base + kGranuleBytes, 2 * kGranuleBytes}, window, 2).ok());
  CHECK(checkGranules(window, window, 8).ok());
  const auto refused = [&](AddressRange range, std::size_t places) {
    return checkGranules(range, window, places).error().message;
  };
  CHECK(refused({window.base + 4096, kGranuleBytes}, 1).find("not whole granules") != std::string::npos);
  CHECK(refused({window.base, 4096}, 1).find("not whole granules") != std::string::npos);
  CHECK(refused({window.base - kGranuleBytes, 2 * kGranuleBytes}, 2).find("not in the device window") !=
        std::string::npos);
  CHECK(refused({window.base + 7 * kGranuleBytes, 2 * kGranuleBytes}, 2).find("not in the device window") !=
        std::string::npos);
  CHECK(refused({window.base, ~std::uint64_t{0} - kGranuleBytes + 1}, 1).find("not in the device window") !=
        std::string::npos);
  CHECK(refused({window.base, 2 * kGranuleBytes}, 1).find("there is room for 1") != std::string::npos);
}
