// Untrusted ring contents, from the tail to the handler. The input is what a client wrote to its ring; the tail is its
// length. Seeds: test/wire/vectors.py --corpus.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

#include "schemas/wire/decode.h"
#include "schemas/wire/describe.h"
#include "schemas/wire/ring_consumer.h"
#include "test/wire/model_session.h"

using namespace rouse::wire;

namespace {

// Whatever is delivered can be put into words.
struct Described {
  ModelSession& session;
  template <class... Arguments>
  DecodeStatus on(const Arguments&... arguments) {
    if (describe(arguments...).empty()) std::abort();
    if constexpr (std::is_void_v<decltype(session.on(arguments...))>) {
      session.on(arguments...);
      return {};
    } else {
      return session.on(arguments...);
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* input, std::size_t size) {
  static const auto buffer = std::make_unique<CommandBuffer>();
  static RingHeader header{};
  const std::size_t published = std::min(size, kRingBytes) & ~(kCommandAlign - 1);
  // No byte more than what is published: the address sanitizer watches that none is read.
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= kCommandAlign);
  const auto data = std::make_unique_for_overwrite<std::byte[]>(published);
  if (published != 0) std::memcpy(data.get(), input, published);
  header.tail.store(published);
  header.head.store(0);

  ModelSession session;
  Described handler{session};
  RingConsumer consumer{header, data.get(), *buffer};
  while (true) {
    const Take take = consumer.next();
    if (take == Take::empty) break;
    if (take == Take::rejected) {
      if (consumer.rejection().message.empty()) std::abort();
      break;
    }
    const DecodeStatus status = decodeAndDispatch(consumer.command(), session, handler);
    if (session.broken()) std::abort();
    if (!status.ok()) {
      if (status.message().empty()) std::abort();
      break;
    }
  }
  return 0;
}
