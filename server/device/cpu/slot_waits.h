// Streams that wait for slots. A slot may be written by anyone (the client, another executor, this device), so they are
// looked at whenever this device signals a slot and whenever the executor polls; none of them holds a worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "schemas/wire/layout.h"

namespace rouse::cpu {

class ContextState;
class StreamQueue;

// Any thread.
class SlotWaits {
 public:
  // False when the slot has reached the value; otherwise the stream is handed out by takeReady once it has.
  bool waitFor(std::shared_ptr<StreamQueue> stream, const wire::Slot& slot, std::uint64_t value);
  bool empty() const { return count_.load(std::memory_order_seq_cst) == 0; }
  // Streams whose slots have reached their values.
  std::vector<std::shared_ptr<StreamQueue>> takeReady();
  // All streams of a context, whose wait is over for another reason.
  std::vector<std::shared_ptr<StreamQueue>> takeOf(const ContextState& context);

 private:
  struct Wait {
    std::shared_ptr<StreamQueue> stream;
    const wire::Slot* slot;
    std::uint64_t value;
  };
  template <class Condition>
  std::vector<std::shared_ptr<StreamQueue>> take(Condition condition);

  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::vector<Wait> waits_;
};

}  // namespace rouse::cpu
