#include "server/router/history.h"

#include <utility>

namespace rouse::router {
namespace {

// Without half a character at the end: names and messages may be UTF-8.
void cut(std::string& text) {
  if (text.size() <= History::kMostText) return;
  std::size_t end = History::kMostText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  text.shrink_to_fit();
}

}  // namespace

std::string_view name(Step::Kind kind) {
  static constexpr std::array<std::string_view, Step::kKinds> kNames = {"body",  "queued",   "away",    "fetch", "evicted", "run",  "moves",
                                                                        "stays", "admitted", "arrived", "again", "refused", "lost", "head"};
  return kNames[static_cast<std::size_t>(kind)];
}

Story* History::of(std::uint64_t number) {
  if (stories_.empty() || number == 0) return nullptr;
  Story& story = stories_[number % stories_.size()];
  return story.number == number ? &story : nullptr;
}

void History::begin(std::uint64_t number, std::string_view requestId, std::string_view traceparent, std::string_view function, Time arrived,
                    std::chrono::milliseconds deadline) {
  if (stories_.empty()) return;
  Story& story = stories_[number % stories_.size()];
  // What has been allocated for the one before is used again.
  std::vector<Step> steps = std::exchange(story.steps, {});
  steps.clear();
  story = {.number = number, .requestId = std::string(requestId), .trace = traceparent.size() < 35 ? std::string() : std::string(traceparent.substr(3, 32)),
           .function = std::string(function), .arrived = arrived, .since = std::chrono::system_clock::now(), .deadline = deadline, .stages = {}, .steps = std::move(steps)};
  last_ = number;
}

void History::note(std::uint64_t number, Step step) {
  Story* story = of(number);
  if (story == nullptr) return;
  if (story->steps.size() == kMostSteps) {
    ++story->omitted;
    return;
  }
  if (story->steps.size() == story->steps.capacity()) story->steps.reserve(story->steps.empty() ? 8 : kMostSteps);
  if (step.at == Time{}) step.at = std::chrono::steady_clock::now();
  cut(step.text);
  story->steps.push_back(std::move(step));
}

void History::end(std::uint64_t number, Outcome outcome, unsigned status, const Stages& stages, Time admitted,
                  Time now) {
  Story* story = of(number);
  if (story == nullptr) return;
  story->outcome = outcome;
  story->status = status;
  story->stages = stages;
  story->admitted = admitted;
  story->ended = now;
}

}  // namespace rouse::router
