// Fingerprints of pages: the same on every device, in the order of their stream, of what is mapped only.
#include <cstring>
#include <random>

#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;
using memory::FingerprintKey;
using memory::PageFingerprint;

namespace {

constexpr std::uint64_t kWords = kGranuleBytes / 8;

std::vector<std::uint8_t> bytesOf(const std::vector<std::uint64_t>& words) {
  std::vector<std::uint8_t> bytes(words.size() * 8);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::vector<std::uint8_t> randomPages(std::size_t pages, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(pages * kWords);
  for (auto& word : words) word = random();
  return bytesOf(words);
}

PageFingerprint reference(const FingerprintKey& key, const std::vector<std::uint8_t>& bytes, std::size_t page) {
  const auto all = std::as_bytes(std::span(bytes));
  return memory::plainFingerprintOf(
      key, std::span<const std::byte, kGranuleBytes>(all.data() + page * kGranuleBytes, kGranuleBytes));
}

std::vector<PageFingerprint> prints(Bench& bench, memory::Stream& stream, const FingerprintKey& key, std::uint64_t at,
                                    std::size_t pages) {
  std::vector<PageFingerprint> out(pages);
  const Status status = bench.context->fingerprint(stream, key, {at, pages * kGranuleBytes}, out);
  if (!status) FAIL(status.error().message);
  REQUIRE(bench.finish(stream) == CudaError::success);
  return out;
}

void fill(Bench& bench, memory::Stream& stream, std::uint64_t at, std::uint64_t bytes, std::uint32_t value) {
  memory::FillShape shape;
  shape.destination = at;
  shape.width = bytes / 4;
  shape.value = value;
  shape.elementBytes = 4;
  bench.context->fill(stream, shape);
}

}  // namespace

TEST_CASE("known fingerprints, the same on every device") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  auto stream = bench.context->createStream(0);
  const std::uint64_t page = bench.allocate(kGranuleBytes);
  fill(bench, *stream, page, kGranuleBytes, 0);
  CHECK(prints(bench, *stream, FingerprintKey(0, 0), page, 1)[0] ==
        PageFingerprint{0xf359eb0a98403084, 0x65d6643ee1249f33});
  std::vector<std::uint64_t> counted(kWords);
  for (std::uint64_t i = 0; i < kWords; ++i) counted[i] = i * 0x9e3779b97f4a7c15;
  bench.write(*stream, page, bytesOf(counted));
  CHECK(prints(bench, *stream, FingerprintKey(0x0123456789abcdef, 0xfedcba9876543210), page, 1)[0] ==
        PageFingerprint{0x7c22c2ba5169e08f, 0x6cd782604a0f17c5});
}

TEST_CASE("each page has its own fingerprint, equal pages equal ones, and any bit changes it") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  auto stream = bench.context->createStream(0);
  constexpr std::size_t kPages = 5;
  const FingerprintKey key(1, 2);
  const std::uint64_t base = bench.allocate(kPages * kGranuleBytes);
  std::vector<std::uint8_t> bytes = randomPages(kPages, 3);
  std::memcpy(bytes.data() + 4 * kGranuleBytes, bytes.data() + kGranuleBytes, kGranuleBytes);
  bench.write(*stream, base, bytes);
  const auto all = prints(bench, *stream, key, base, kPages);
  for (std::size_t i = 0; i < kPages; ++i) CHECK(all[i] == reference(key, bytes, i));
  CHECK(all[4] == all[1]);
  CHECK_FALSE(all[0] == all[1]);
  CHECK(prints(bench, *stream, key, base + 2 * kGranuleBytes, 1)[0] == all[2]);
  CHECK_FALSE(prints(bench, *stream, FingerprintKey(1, 3), base, 1)[0] == all[0]);
  std::mt19937_64 random(4);
  for (int flip = 0; flip < 40; ++flip) {
    const std::uint64_t at = flip == 0 ? 0 : flip == 1 ? kGranuleBytes - 1 : random() % kGranuleBytes;
    const auto before = static_cast<std::byte>(bytes[at]);
    const std::byte after = before ^ std::byte{1} << (random() % 8);
    bench.context->copyInline(*stream, base + at, std::span(&after, 1));
    CHECK_FALSE(prints(bench, *stream, key, base, 1)[0] == all[0]);
    bench.context->copyInline(*stream, base + at, std::span(&before, 1));
  }
  CHECK(prints(bench, *stream, key, base, 1)[0] == all[0]);
}

TEST_CASE("a fingerprint is of what is there when its stream gets to it") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  Kernels kernels(bench);
  auto stream = bench.context->createStream(0);
  auto other = bench.context->createStream(0);
  auto event = bench.context->createEvent();
  const FingerprintKey key(7, 8);
  const std::uint64_t page = bench.allocate(kGranuleBytes);
  const std::vector<std::uint8_t> first = randomPages(1, 10), second = randomPages(1, 11);
  std::uint8_t* from = bench.host(2 * kGranuleBytes);
  std::memcpy(from, first.data(), kGranuleBytes);
  std::memcpy(from + kGranuleBytes, second.data(), kGranuleBytes);
  PageFingerprint out[5];
  const AddressRange granule{page, kGranuleBytes};
  const auto take = [&](memory::Stream& on, PageFingerprint& place) {
    REQUIRE(bench.context->fingerprint(on, key, granule, std::span(&place, 1)).ok());
  };
  bench.context->waitFor(*stream, bench.slots[0], 1);  // all of it is queued before any begins
  bench.context->copy(*stream, linear(page, address(from), kGranuleBytes));
  take(*stream, out[0]);
  bench.context->copy(*stream, linear(page, address(from) + kGranuleBytes, kGranuleBytes));
  take(*stream, out[1]);
  kernels.launch(*stream, "store", {{2, 1, 1}, {32, 1, 1}}, page + 4096);
  take(*stream, out[2]);
  bench.context->record(*stream, *event);
  bench.context->wait(*other, *event);
  take(*other, out[3]);
  bench.context->record(*other, *event);
  bench.context->wait(*stream, *event);
  fill(bench, *stream, page, kGranuleBytes, 0x01010101);
  take(*stream, out[4]);
  auto opener = bench.context->createStream(0);
  bench.context->signal(*opener, bench.slots[0], 1, false);
  REQUIRE(bench.finish(*stream) == CudaError::success);
  CHECK(out[0] == reference(key, first, 0));
  CHECK(out[1] == reference(key, second, 0));
  std::vector<std::uint8_t> stored = second;
  const std::int32_t seven = 7;
  for (int i = 0; i < 64; ++i) std::memcpy(stored.data() + 4096 + i * 4, &seven, 4);
  CHECK(out[2] == reference(key, stored, 0));
  CHECK(out[3] == out[2]);
  CHECK(out[4] == reference(key, std::vector<std::uint8_t>(kGranuleBytes, 1), 0));
}

TEST_CASE("fingerprints of a range that is not granules, or not mapped, are refused and nothing is queued") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  auto stream = bench.context->createStream(0);
  const FingerprintKey key(1, 1);
  const std::uint64_t base = bench.allocate(3 * kGranuleBytes);
  std::vector<PageFingerprint> out(8);
  const auto refused = [&](std::uint64_t at, std::uint64_t bytes, std::size_t places) {
    const Status status = bench.context->fingerprint(*stream, key, {at, bytes}, std::span(out.data(), places));
    return !status && status.error().code == CudaError::invalidValue;
  };
  CHECK(refused(base + 4096, kGranuleBytes, 1));
  CHECK(refused(base, kGranuleBytes / 2, 1));
  CHECK(refused(base, 2 * kGranuleBytes, 1));
  CHECK(refused(base, 2 * kGranuleBytes, 3));
  CHECK(refused(base + 3 * kGranuleBytes, kGranuleBytes, 1));
  CHECK(refused(base + 2 * kGranuleBytes, 2 * kGranuleBytes, 2));
  CHECK(refused(bench.hostWindow.base, kGranuleBytes, 1));
  CHECK(refused(bench.deviceWindow.end(), kGranuleBytes, 1));
  REQUIRE(bench.context->unmap({base + kGranuleBytes, kGranuleBytes}).ok());
  CHECK(refused(base, 3 * kGranuleBytes, 3));
  CHECK(bench.context->fingerprint(*stream, key, {base, kGranuleBytes}, std::span(out.data(), 1)).ok());
  CHECK(bench.context->fingerprint(*stream, key, {base, 0}, {}).ok());
  REQUIRE(bench.finish(*stream) == CudaError::success);
  CHECK(bench.observer.faults().empty());
  CHECK(out[1] == PageFingerprint{});
}
