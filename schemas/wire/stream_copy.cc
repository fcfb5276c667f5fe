#include "schemas/wire/stream_copy.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "schemas/base/sanitized.h"

namespace rouse::wire {
namespace {

constexpr std::size_t kLine = 64;

__attribute__((target("avx"))) void copyLines(std::byte* to, const std::byte* from, std::size_t lines) {
  for (; lines >= 4; lines -= 4, to += 4 * kLine, from += 4 * kLine) {
    __m256i part[8];
    for (int i = 0; i < 8; ++i) part[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + i);
    _mm_prefetch(reinterpret_cast<const char*>(from) + 1024, _MM_HINT_NTA);
    _mm_prefetch(reinterpret_cast<const char*>(from) + 1024 + 128, _MM_HINT_NTA);
    for (int i = 0; i < 8; ++i) _mm256_stream_si256(reinterpret_cast<__m256i*>(to) + i, part[i]);
  }
  for (; lines != 0; --lines, to += kLine, from += kLine) {
    for (int i = 0; i < 2; ++i) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to) + i,
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + i));
    }
  }
}

bool usable() {
#if defined(ROUSE_ASAN) || defined(ROUSE_TSAN)
  return false;  // the sanitizers see memmove
#else
  static const bool avx = __builtin_cpu_supports("avx");
  return avx;
#endif
}

}  // namespace

void streamCopy(void* to, const void* from, std::size_t bytes) {
  if (!usable() || bytes < 16 * kLine) {
    std::memmove(to, from, bytes);
    return;
  }
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const std::size_t head = (kLine - reinterpret_cast<std::uintptr_t>(target) % kLine) % kLine;
  std::memcpy(target, source, head);
  const std::size_t lines = (bytes - head) / kLine;
  copyLines(target + head, source + head, lines);
  const std::size_t done = head + lines * kLine;
  std::memcpy(target + done, source + done, bytes - done);
  _mm_sfence();
}

}  // namespace rouse::wire
