// A copy, a fill, or the fingerprints of some pages, that several workers share.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>

#include "server/device/cpu/stream_queue.h"
#include "server/device/cpu/transfer.h"

namespace rouse::cpu {

template <class Shape>
class TransferWork final : public Work {
 public:
  TransferWork(const Shape& shape, std::shared_ptr<StreamQueue> stream)
      : shape_(shape), stream_(std::move(stream)), pieces_(piecesOf(shape)), unfinished_(pieces_) {}

  // Beside the worker that starts it.
  std::uint32_t helpers() const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(pieces_, stream_->context().pool.size()) - 1);
  }
  bool shared() const override { return true; }
  int priority() const override { return stream_->priority(); }

  Turn run(Worker& worker) override {
    for (;;) {
      const std::uint64_t piece = next_.fetch_add(1, std::memory_order_relaxed);
      if (piece >= pieces_) return Turn::taken;
      const AddressRange written = destinationOf(shape_, piece);
      stream_->context().prefault->touch(written.base, written.bytes);
      transferPiece(shape_, piece);
      if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        stream_->completed(worker);
        return Turn::taken;
      }
    }
  }

 private:
  const Shape shape_;
  const std::shared_ptr<StreamQueue> stream_;
  const std::uint64_t pieces_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> unfinished_;
};

}  // namespace rouse::cpu
