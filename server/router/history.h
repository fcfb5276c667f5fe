// What became of the last requests: of each its story, for `rouse explain`. A ring of fixed size; whoever takes part in a request notes what
// it does. On the event loop's thread.
//
// Memory: a story is at most kMostBytes, most are a quarter of that.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/router/gate.h"
#include "server/router/outcome.h"

namespace rouse::router {

struct Step {
  enum class Kind : std::uint8_t {
    body,      // its body had been read ahead; bytes
    queued,    // count: of its function's requests before it, those at the function included; all: that wait at the gate
    away,      // its function is being started, or has no program on a GPU: a queue of its own. count as for queued
    fetch,     // its model is brought to gpu, from source; bytes, as far as they are known; code: why there
    evicted,   // for it: `who` gives up bytes on gpu; all: 1 if that is all it has there
    run,       // gpu is given to it; source, bytes, code as for fetch
    moves,     // its program is taken from GPU `from` to gpu
    stays,     // that could not be: gpu is where it is; text: why
    admitted,  // sent on; gpu, if any
    arrived,   // all of its model was there: bytes from the host, peerBytes from other GPUs
    again,     // its function failed, and it is tried once more; text: how
    refused,   // code: why; count: milliseconds after which to come again
    lost,      // gpu's executor failed under it
    head,      // the head of its function's answer came; count: status
  };
  static constexpr std::size_t kKinds = 14;
  static constexpr std::uint32_t kNoGpu = ~std::uint32_t{0};

  Kind kind = Kind::body;
  ModelSource source = ModelSource::none;
  Time at{};
  std::uint32_t gpu = kNoGpu, from = kNoGpu;
  std::uint64_t bytes = 0, peerBytes = 0;
  std::uint32_t count = 0, all = 0;
  std::string_view code{};  // of a constant
  std::string text{};       // the name of a function, or a message; cut to kMostText
};
std::string_view name(Step::Kind);

struct Story {
  std::uint64_t number = 0;  // of the request (Entry::request); 0: none
  std::string requestId, trace;
  std::string function;
  Time arrived{}, ended{};   // ended: not yet where zero
  std::chrono::system_clock::time_point since{};
  std::chrono::milliseconds deadline{};
  Outcome outcome = Outcome::answered;
  unsigned status = 0;       // of the answer; 0: none was sent
  Stages stages;             // of its last try
  Time admitted{};           // to that; zero: never
  std::vector<Step> steps;
  std::uint32_t omitted = 0;  // steps for which there was no room
};

class History {
 public:
  static constexpr std::size_t kMostSteps = 24, kMostText = 96;
  static constexpr std::size_t kMostBytes = sizeof(Story) + 128 + 32 + 64 + kMostSteps * (sizeof(Step) + kMostText + 1);
  static_assert(kMostBytes <= 6 * 1024);
  // Found at most, the newest first: who asks for a request may have used its id for many.
  static constexpr std::size_t kMostFound = 16;

  // The last so many; 0: none.
  explicit History(std::size_t capacity = 0) : stories_(capacity) {}

  // Numbers grow by one.
  void begin(std::uint64_t number, std::string_view requestId, std::string_view traceparent, std::string_view function, Time arrived,
             std::chrono::milliseconds deadline);
  // Nothing for those that are forgotten.
  void note(std::uint64_t number, Step step);
  void end(std::uint64_t number, Outcome, unsigned status, const Stages&, Time admitted, Time now);

  // By request id or trace id; `may`: whether a function's requests are the asker's to see.
  template <class May>
  std::vector<const Story*> find(std::string_view id, May&& may) const {
    std::vector<const Story*> found;
    for (std::uint64_t number = last_; number != 0 && last_ - number < stories_.size() && found.size() < kMostFound; --number) {
      const Story& story = stories_[number % stories_.size()];
      if (story.number == number && (story.requestId == id || story.trace == id) && may(story.function)) found.push_back(&story);
    }
    return found;
  }
  const Story* find(std::uint64_t number) const { return of(number); }
  std::size_t capacity() const { return stories_.size(); }
  std::uint64_t last() const { return last_; }

 private:
  Story* of(std::uint64_t number);
  const Story* of(std::uint64_t number) const { return const_cast<History*>(this)->of(number); }

  std::vector<Story> stories_;
  std::uint64_t last_ = 0;
};

}  // namespace rouse::router
