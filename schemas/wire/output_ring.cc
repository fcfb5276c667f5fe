#include "schemas/wire/output_ring.h"

#include <cstring>

#include "schemas/base/range.h"

namespace rouse::wire {

bool OutputProducer::write(std::string_view text, bool toStderr) {
  const std::uint64_t step = sizeof(std::uint32_t) + roundUp(text.size(), 4);
  // A head beyond our tail, or further back than the ring is long, is the client's lie: it reads as a full ring.
  const std::uint64_t used = tail_ - header_.outputHead.load(std::memory_order_acquire);
  if (used > kOutputBytes || text.size() > kOutputBytes || step > kOutputBytes - used) {
    header_.outputDropped.store(++dropped_, std::memory_order_relaxed);
    return false;
  }
  const std::uint32_t word = static_cast<std::uint32_t>(text.size()) | (toStderr ? kOutputToStderr : 0);
  // Cursors are multiples of 4, so this word never wraps.
  put(tail_, &word, sizeof(word));
  put(tail_ + sizeof(word), text.data(), text.size());
  tail_ += step;
  header_.outputTail.store(tail_, std::memory_order_release);
  return true;
}

void OutputProducer::put(std::uint64_t at, const void* bytes, std::size_t count) {
  const std::size_t begin = at & (kOutputBytes - 1);
  const std::size_t beforeWrap = kOutputBytes - begin < count ? kOutputBytes - begin : count;
  if (beforeWrap != 0) std::memcpy(output_ + begin, bytes, beforeWrap);
  if (beforeWrap != count) std::memcpy(output_, static_cast<const std::byte*>(bytes) + beforeWrap, count - beforeWrap);
}

}  // namespace rouse::wire
