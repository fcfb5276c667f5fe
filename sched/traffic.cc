#include "sched/traffic.h"

#include <algorithm>

namespace rouse::sched {

void Traffic::begin(const Transfer& transfer, double uplink, Time now) {
  advance(now);
  uplink_ = uplink;
  transfers_.push_back(transfer);
  longOnes_ += transfer.isLong;
  share();
}

void Traffic::end(FunctionId function, GpuId gpu, Time now) {
  advance(now);
  const auto one = std::find_if(transfers_.begin(), transfers_.end(),
                                [&](const Transfer& t) { return t.function == function && t.gpu == gpu; });
  if (one == transfers_.end()) return;
  longOnes_ -= one->isLong;
  transfers_.erase(one);
  share();
}

Time Traffic::arrival(FunctionId function, GpuId gpu, Time now) const {
  for (const Transfer& one : transfers_)
    if (one.function == function && one.gpu == gpu)
      return one.rate > 0 ? std::max(now, at_ + fromSeconds(one.bytes / one.rate)) : now;
  return now;
}

double Traffic::bytes(Time now) const {
  double sum = 0;
  for (const Transfer& one : transfers_) sum += std::max(0.0, one.bytes - one.rate * seconds(now - at_));
  return sum;
}

void Traffic::advance(Time now) {
  if (now <= at_) return;
  for (Transfer& one : transfers_) one.bytes = std::max(0.0, one.bytes - one.rate * seconds(now - at_));
  at_ = now;
}

void Traffic::share() {
  for (Transfer& one : transfers_) {
    const auto beside = std::count_if(transfers_.begin(), transfers_.end(), [&](const Transfer& t) { return t.gpu == one.gpu; });
    one.rate = std::min(one.link / static_cast<double>(beside), uplink_ / static_cast<double>(transfers_.size()));
  }
}

}  // namespace rouse::sched
