// A transfer over modelled links: its pieces are given to the copy engines as the model moves their bytes, and it is complete when the
// last has been copied, but not before the model has moved the last byte. Nobody waits: the clock rings.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "server/device/cpu/link_use.h"
#include "server/device/cpu/stream_queue.h"

namespace rouse::cpu {

struct PacedTransfer {
  device::LinkDirection direction;
  std::uint64_t bytes;   // at least one, spread evenly over the pieces
  std::uint64_t pieces;  // 0: all has been copied, and only the model is waited for
  // Copies one, on both copy engines at once; returns how many of its bytes need not have moved after all.
  std::function<std::uint64_t(std::uint64_t piece)> copy;
  // Copying it will take no time: it need not wait for its turn. Null: none is.
  std::function<bool(std::uint64_t piece)> there;
};

class PacedWork final : public Work, public Alarm, public std::enable_shared_from_this<PacedWork> {
 public:
  // due: when it was to begin, if that was a late wake-up ago: in the model it begins then, where it disturbs nobody.
  static void start(std::shared_ptr<StreamQueue> stream, std::int64_t due, PacedTransfer transfer);

  Turn run(Worker& worker) override;
  int priority() const override { return stream_->priority(); }
  void ring() override;

 private:
  PacedWork(std::shared_ptr<StreamQueue> stream, PacedTransfer transfer);
  LinkUse& links() const { return *stream_->context().links; }
  double leftBefore(std::uint64_t piece) const;
  // Gives the engines the pieces whose turn it is when so many bytes are left to move.
  void release(double remaining);

  const std::shared_ptr<StreamQueue> stream_;
  const PacedTransfer transfer_;
  device::FlowId flow_ = 0;      // this and the next: by whoever the clock rings for, one at a time
  std::uint64_t released_ = 0;   // pieces that the engines have been given
  std::atomic<std::int64_t> modelledEnd_{0};
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> spared_{0};  // bytes, not told the model yet
  std::atomic<std::uint64_t> unfinished_;  // pieces, and the model
};

}  // namespace rouse::cpu
