#include "swap/link_model.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace rouse::swap {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

LinkModel::LinkModel(std::span<const memory::Link> links, Nanoseconds now) : origin_(now) {
  for (const memory::Link& link : links) {
    assert(link.bytesPerSecond > 0);
    links_.push_back({link.bytesPerSecond * 1e-9, link.latencySeconds * 1e9, 0});
  }
}

TransferId LinkModel::start(Nanoseconds now, std::span<const memory::LinkId> path, std::uint64_t bytes) {
  progress(since(now));
  Transfer transfer{++last_, {path.begin(), path.end()}, now_, static_cast<double>(bytes), 0, false};
  for (const memory::LinkId link : path) transfer.movesAt += links_.at(link).latency;
  transfers_.push_back(std::move(transfer));
  progress(now_);  // what has no latency moves, and may be complete, at once
  return last_;
}

bool LinkModel::cancel(Nanoseconds now, TransferId id) {
  progress(since(now));
  if (std::erase_if(transfers_, [&](const Transfer& transfer) { return transfer.id == id; }) == 0) return false;
  share();
  return true;
}

std::vector<LinkModel::Completion> LinkModel::advance(Nanoseconds now) {
  progress(since(now));
  return std::exchange(done_, {});
}

std::optional<Nanoseconds> LinkModel::nextCompletion() const {
  if (!done_.empty()) return done_.front().at;
  if (transfers_.empty()) return std::nullopt;
  if (std::all_of(transfers_.begin(), transfers_.end(), [](const Transfer& transfer) { return transfer.moving; })) {
    double first = kNever;
    for (const Transfer& transfer : transfers_) first = std::min(first, now_ + transfer.remaining / transfer.rate);
    return origin_ + static_cast<Nanoseconds>(std::ceil(first));
  }
  LinkModel ahead = *this;  // transfers that begin to move meanwhile change the rates
  while (ahead.done_.empty()) {
    double next = kNever;
    for (const Transfer& transfer : ahead.transfers_)
      next = std::min(next, transfer.moving ? ahead.now_ + transfer.remaining / transfer.rate : transfer.movesAt);
    ahead.progress(next);
  }
  return ahead.done_.front().at;
}

// From event to event: a transfer begins to move, or its last byte has.
void LinkModel::progress(double until) {
  until = std::max(until, now_);
  for (;;) {
    double at = kNever;
    Transfer* next = nullptr;
    for (Transfer& transfer : transfers_) {
      const double event = transfer.moving ? now_ + transfer.remaining / transfer.rate : transfer.movesAt;
      if (event < at) at = event, next = &transfer;
    }
    const double to = std::min(until, std::max(at, now_));
    for (Transfer& transfer : transfers_) {
      if (!transfer.moving || transfer.path.empty()) continue;
      // The one that ends moves all it has left: rounding of times neither loses nor adds a byte.
      const bool ends = &transfer == next && at <= until;
      const double moved = ends ? transfer.remaining : std::min(transfer.remaining, transfer.rate * (to - now_));
      transfer.remaining -= moved;
      for (const memory::LinkId link : transfer.path) links_[link].carried += moved;
    }
    now_ = to;
    if (next == nullptr || at > until) return;
    if (!next->moving && next->remaining > 0 && !next->path.empty()) {
      next->moving = true;
    } else {
      done_.push_back({next->id, origin_ + static_cast<Nanoseconds>(std::ceil(now_))});
      transfers_.erase(transfers_.begin() + (next - transfers_.data()));
    }
    share();
  }
}

void LinkModel::share() {
  std::vector<double> left(links_.size());
  std::vector<std::uint32_t> users(links_.size());
  for (std::size_t link = 0; link < links_.size(); ++link) left[link] = links_[link].capacity;
  std::vector<Transfer*> open;
  for (Transfer& transfer : transfers_) {
    if (!transfer.moving) continue;
    open.push_back(&transfer);
    for (const memory::LinkId link : transfer.path) ++users[link];
  }
  while (!open.empty()) {
    // The link that gives each of its users least is full with them.
    std::size_t tightest = 0;
    double least = kNever;
    for (std::size_t link = 0; link < links_.size(); ++link)
      if (users[link] != 0 && left[link] / users[link] < least) least = left[link] / users[link], tightest = link;
    std::erase_if(open, [&](Transfer* transfer) {
      if (std::find(transfer->path.begin(), transfer->path.end(), tightest) == transfer->path.end()) return false;
      transfer->rate = least;
      for (const memory::LinkId link : transfer->path) {
        left[link] = std::max(0.0, left[link] - least);
        --users[link];
      }
      return true;
    });
  }
}

double LinkModel::rate(TransferId id) const {
  for (const Transfer& transfer : transfers_)
    if (transfer.id == id) return transfer.moving ? transfer.rate * 1e9 : 0;
  return 0;
}

double LinkModel::remainingBytes(TransferId id) const {
  for (const Transfer& transfer : transfers_)
    if (transfer.id == id) return transfer.remaining;
  return 0;
}

}  // namespace rouse::swap
