#include "server/router/queue_gate.h"

#include <algorithm>
#include <cmath>

namespace rouse::router {
namespace {

using namespace std::chrono_literals;

constexpr auto kLeastRetryAfter = 1000ms, kMostRetryAfter = 30000ms;
constexpr double kNewest = 0.2;  // weight of the latest in the mean

Time now() { return std::chrono::steady_clock::now(); }

}  // namespace

QueueGate::QueueGate(boost::asio::io_context& io, History* history) : history_(history), timer_(io) {}
QueueGate::~QueueGate() = default;

void QueueGate::set(const std::string& function, const FunctionTerms& limits) {
  Line& line = lines_[function];
  if (!line.known) line.presence = Presence::away;
  line.known = true;
  line.limits = limits;
  admit(line);
}

void QueueGate::forget(const std::string& function) {
  const auto found = lines_.find(function);
  if (found == lines_.end()) return;
  found->second.known = false;
  found->second.presence = Presence::stopped;
  refuseAll(found->second, RefusalReason::stopped);
  // Those that run hold a pointer to it.
  if (found->second.running == 0 && found->second.waiting.empty()) lines_.erase(found);
}

void QueueGate::setPresence(const std::string& function, Presence presence) {
  const auto found = lines_.find(function);
  if (found == lines_.end() || !found->second.known) return;
  found->second.presence = presence;
  if (presence == Presence::stopped) refuseAll(found->second, RefusalReason::stopped);
  admit(found->second);
}

void QueueGate::close() {
  closed_ = true;
  for (auto& [name, line] : lines_) refuseAll(line, RefusalReason::closing);
  timer_.cancel();
}

std::size_t QueueGate::waiting(const std::string& function) const {
  const auto found = lines_.find(function);
  return found == lines_.end() ? 0 : found->second.waiting.size();
}
std::size_t QueueGate::running(const std::string& function) const {
  const auto found = lines_.find(function);
  return found == lines_.end() ? 0 : found->second.running;
}

Ticket QueueGate::enter(Entry entry, std::function<void(Admission)> answer) {
  const Ticket ticket = next_++;
  if (closed_) {
    answer(Refused{RefusalReason::closing, kLeastRetryAfter});
    return ticket;
  }
  const auto found = lines_.find(entry.function);
  if (found == lines_.end() || found->second.presence == Presence::stopped) {
    answer(Refused{RefusalReason::stopped, kLeastRetryAfter});
    return ticket;
  }
  Line& line = found->second;
  if (history_ != nullptr) {
    const auto before = static_cast<std::uint32_t>((entry.again ? 0 : line.waiting.size()) + line.running);
    history_->note(entry.request, {.kind = Step::Kind::queued, .count = before, .all = static_cast<std::uint32_t>(ends_.size())});
  }
  const bool goesAtOnce =
      line.presence == Presence::here && line.waiting.empty() && line.running < line.limits.concurrency;
  if (!goesAtOnce && !entry.again && line.waiting.size() >= line.limits.waiting) {
    answer(refusal(line, RefusalReason::queueFull));
    return ticket;
  }
  const auto at = line.waiting.insert(entry.again ? line.waiting.begin() : line.waiting.end(),
                                      Waiting{ticket, entry.giveUp, std::move(answer)});
  places_.emplace(ticket, Place{&line, false, at, {}});
  ends_.emplace(entry.giveUp, ticket);
  admit(line);
  if (!goesAtOnce) awaitGiveUp();
  return ticket;
}

void QueueGate::cancel(Ticket ticket) {
  const auto place = places_.find(ticket);
  if (place == places_.end() || place->second.running) return;
  ends_.erase({place->second.at->giveUp, ticket});
  place->second.line->waiting.erase(place->second.at);
  places_.erase(place);
}

void QueueGate::leave(Ticket ticket, Outcome) {
  const auto place = places_.find(ticket);
  if (place == places_.end() || !place->second.running) return;
  Line& line = *place->second.line;
  const double seconds = std::chrono::duration<double>(now() - place->second.since).count();
  line.meanSeconds = line.meanSeconds == 0 ? seconds : (1 - kNewest) * line.meanSeconds + kNewest * seconds;
  places_.erase(place);
  --line.running;
  if (!line.known && line.running == 0) {
    std::erase_if(lines_, [&](const auto& entry) { return &entry.second == &line; });
    return;
  }
  admit(line);
}

void QueueGate::admit(Line& line) {
  while (line.presence == Presence::here && !line.waiting.empty() && line.running < line.limits.concurrency) {
    Waiting first = std::move(line.waiting.front());
    line.waiting.pop_front();
    ends_.erase({first.giveUp, first.ticket});
    Place& place = places_.at(first.ticket);
    place.running = true;
    place.since = now();
    ++line.running;
    first.answer(Admitted{});
  }
}

void QueueGate::refuseAll(Line& line, RefusalReason reason) {
  // Answers may enter again: they are not in this list.
  std::list<Waiting> refused = std::move(line.waiting);
  line.waiting.clear();
  for (Waiting& waiting : refused) {
    ends_.erase({waiting.giveUp, waiting.ticket});
    places_.erase(waiting.ticket);
  }
  const Refused answer = refusal(line, reason);
  for (Waiting& waiting : refused) waiting.answer(answer);
}

// As long as those before would take.
Refused QueueGate::refusal(const Line& line, RefusalReason reason) const {
  const double seconds = line.meanSeconds * static_cast<double>(line.waiting.size() + line.running) /
                         std::max<std::uint32_t>(line.limits.concurrency, 1);
  const auto wait = std::chrono::milliseconds(static_cast<std::int64_t>(std::min(seconds, 3600.0) * 1000));
  return {reason, std::clamp<std::chrono::milliseconds>(wait, kLeastRetryAfter, kMostRetryAfter)};
}

void QueueGate::awaitGiveUp() {
  if (ends_.empty() || closed_) return;
  const Time first = ends_.begin()->first;
  if (timerFor_ <= first) return;
  timerFor_ = first;
  timer_.expires_at(first);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    timerFor_ = Time::max();
    giveUp(now());
    awaitGiveUp();
  });
}

void QueueGate::giveUp(Time time) {
  while (!ends_.empty() && ends_.begin()->first <= time) {
    const auto place = places_.find(ends_.begin()->second);
    Line& line = *place->second.line;
    const auto answer = std::move(place->second.at->answer);
    const Refused refused = refusal(line, RefusalReason::waitedTooLong);
    ends_.erase(ends_.begin());
    line.waiting.erase(place->second.at);
    places_.erase(place);
    answer(refused);
  }
}

}  // namespace rouse::router
