#include "server/device/link_flows.h"

#include <algorithm>

namespace rouse::device {

Flow* LinkFlows::find(std::uint64_t id) {
  for (Flow& flow : all())
    if (flow.id == id) return &flow;
  return nullptr;
}

bool LinkFlows::add(const Flow& flow) {
  if (count == kMaxFlows) return false;
  flows[count++] = flow;
  return true;
}

void LinkFlows::remove(Flow& flow) { flow = flows[--count]; }

// Progressive filling: the link that gives each of its users least is full with them.
void LinkFlows::share(std::span<const LinkRate> links) {
  double left[kMaxLinks];
  std::uint32_t users[kMaxLinks];
  std::array<std::uint32_t, kMaxLinks> used;
  std::size_t usedCount = 0;
  std::fill_n(users, links.size(), 0u);
  std::array<Flow*, kMaxFlows> open;
  std::size_t openCount = 0;
  for (Flow& flow : all()) {
    flow.rate = 0;
    if (flow.movesAt > now) continue;
    open[openCount++] = &flow;
    for (std::uint32_t i = 0; i < flow.path.count; ++i) {
      const std::uint32_t link = flow.path.links[i];
      if (users[link]++ != 0) continue;
      left[link] = links[link].bytesPerNs;
      used[usedCount++] = link;
    }
  }
  while (openCount != 0) {
    std::uint32_t tightest = 0;
    double least = kNever;
    for (std::size_t i = 0; i < usedCount; ++i) {
      const std::uint32_t link = used[i];
      if (users[link] != 0 && left[link] / users[link] < least) least = left[link] / users[link], tightest = link;
    }
    std::size_t stillOpen = 0;
    for (std::size_t i = 0; i < openCount; ++i) {
      Flow& flow = *open[i];
      const std::uint32_t* const begin = flow.path.links.data();
      const std::uint32_t* const end = begin + flow.path.count;
      if (std::find(begin, end, tightest) == end) {
        open[stillOpen++] = &flow;
        continue;
      }
      flow.rate = least;
      for (const std::uint32_t* link = begin; link != end; ++link) {
        left[*link] = std::max(0.0, left[*link] - least);
        --users[*link];
      }
    }
    openCount = stillOpen;
  }
}

double LinkFlows::nextEvent(Flow*& of) {
  double at = kNever;
  of = nullptr;
  for (Flow& flow : all()) {
    const double event = flow.movesAt > now ? flow.movesAt : flow.remaining <= 0 ? now : now + flow.remaining / flow.rate;
    if (event < at) at = event, of = &flow;
  }
  return at;
}

void LinkFlows::move(double to, const Flow* ends) {
  for (Flow& flow : all()) {
    if (flow.movesAt > now) continue;
    flow.remaining = &flow == ends ? 0 : std::max(0.0, flow.remaining - flow.rate * (to - now));
  }
  now = to;
}

void LinkFlows::progress(std::span<const LinkRate> links, double until) {
  until = std::max(until, now);
  for (;;) {
    share(links);
    Flow* next;
    const double at = nextEvent(next);
    if (at > until) return move(until, nullptr);
    const bool ends = next->movesAt <= now;
    move(std::max(at, now), ends ? next : nullptr);
    if (ends) remove(*next);
  }
}

double LinkFlows::whenLeft(std::span<const LinkRate> links, std::uint64_t id, double remaining) {
  for (;;) {
    share(links);
    Flow* flow = find(id);
    if (flow == nullptr || flow->remaining <= remaining) return now;
    const double reached = flow->movesAt > now ? kNever : now + (flow->remaining - remaining) / flow->rate;
    Flow* next;
    const double at = nextEvent(next);
    if (reached <= at) return reached;
    const bool ends = next->movesAt <= now;
    move(std::max(at, now), ends ? next : nullptr);
    if (ends) remove(*next);
  }
}

}  // namespace rouse::device
