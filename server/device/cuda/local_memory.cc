#include "server/device/cuda/local_memory.h"

#include <algorithm>

#include "server/device/cuda/clock.h"
#include "server/device/cuda/lanes.h"

namespace rouse::cuda {

template <class Which>
void LocalMemory::leave(Which&& which) {
  if (std::erase_if(waiting_, which) != 0 && waiting_.empty()) budget_.end(steadyNs());
}

void LocalMemory::grew(std::uint64_t bytes) {
  if (bytes <= bytes_) return;
  bytes_ = bytes;
  leave([this](const Waiting& waiting) { return waiting.bytes <= bytes_; });
}

bool LocalMemory::holds() const { return !waiting_.empty() && budget_.holds(steadyNs()); }

bool LocalMemory::take(Lanes& who, std::uint64_t bytes) {
  if (bytes <= bytes_) return true;
  if (std::none_of(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) { return waiting.who == &who; })) {
    if (waiting_.empty()) budget_.begin(steadyNs());
    waiting_.push_back({&who, bytes});
    who.watch();
  }
  budget_.renew(steadyNs());
  if (waiting_.front().who != &who) return false;
  bool quiet = true;
  const auto& contexts = who.gpu->contexts;  // all are asked: that makes them tell when they are
  for (std::size_t i = 0; i < contexts.size(); ++i) quiet = contexts[i]->quiet() && quiet;
  // Asking may have found that the GPU is lost, and then nobody waits any more.
  if (!quiet || waiting_.empty() || waiting_.front().who != &who) return false;
  forget(who);
  return true;
}

void LocalMemory::forget(const Lanes& who) {
  leave([&](const Waiting& waiting) { return waiting.who == &who; });
}

}  // namespace rouse::cuda
