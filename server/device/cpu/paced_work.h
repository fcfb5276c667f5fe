// A transfer over modelled links: its pieces are given to the workers as the model moves their bytes, and it is complete when the
// last has been copied, but not before the model has moved the last byte. Nobody waits: the clock rings.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "server/device/cpu/link_use.h"
#include "server/device/cpu/stream_queue.h"

namespace rouse::cpu {

class PacedWork final : public Work, public Alarm, public std::enable_shared_from_this<PacedWork> {
 public:
  // copyPiece(index), on several workers at once, returns how many of the piece's bytes need not have moved after all.
  // `bytes` are spread evenly over the pieces; there is at least one of each.
  static void start(std::shared_ptr<StreamQueue> stream, device::LinkDirection direction, std::uint64_t bytes,
                    std::uint64_t pieces, std::function<std::uint64_t(std::uint64_t)> copyPiece);

  Turn run(Worker& worker) override;
  int priority() const override { return stream_->priority(); }
  void ring() override;

 private:
  PacedWork(std::shared_ptr<StreamQueue> stream, device::LinkDirection direction, std::uint64_t bytes, std::uint64_t pieces,
            std::function<std::uint64_t(std::uint64_t)> copyPiece);
  LinkUse& links() const { return *stream_->context().links; }
  double leftBefore(std::uint64_t piece) const;
  void release(std::uint64_t upTo);

  const std::shared_ptr<StreamQueue> stream_;
  const device::LinkDirection direction_;
  const std::uint64_t bytes_, pieces_;
  const std::function<std::uint64_t(std::uint64_t)> copyPiece_;
  device::FlowId flow_ = 0;      // this and the next: by whoever the clock rings for, one at a time
  std::uint64_t released_ = 0;   // pieces that workers have been given
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> spared_{0};  // bytes, not told the model yet
  std::atomic<std::uint64_t> unfinished_;  // pieces, and the model
};

}  // namespace rouse::cpu
