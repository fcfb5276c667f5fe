#include "server/device/cpu/library_work.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "server/device/cpu/library_loader.h"

namespace rouse::cpu {
namespace {

class LibraryWork final : public Work {
 public:
  LibraryWork(std::unique_ptr<library::Job> job, std::shared_ptr<StreamQueue> stream)
      : job_(std::move(job)), stream_(std::move(stream)), pieces_(job_->pieces()), unfinished_(pieces_) {}

  // Beside the worker that starts it.
  std::uint32_t helpers() const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(pieces_, stream_->context().pool.size()) - 1);
  }
  bool shared() const override { return true; }
  int priority() const override { return stream_->priority(); }

  // One piece a turn: others' work comes in between.
  Turn run(Worker& worker) override {
    const std::uint64_t piece = next_.fetch_add(1, std::memory_order_relaxed);
    if (piece >= pieces_) return Turn::taken;
    ContextState& context = stream_->context();
    if (context.dead() == CudaError::success) {
      try {
        job_->run(piece);
      } catch (const library::Failure& failure) {
        context.fault(failure.code, failure.what());
      } catch (const std::exception& failure) {
        context.fault(CudaError::memoryAllocation, std::string("a library's call: ") + failure.what());
      }
    }
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) != 1) return piece + 1 < pieces_ ? Turn::more : Turn::taken;
    if (!goesOn(context)) stream_->completed(worker);
    return Turn::taken;
  }

 private:
  // Nobody looks at the job any more here: the pieces that need those before are work of their own.
  bool goesOn(ContextState& context) {
    if (context.dead() != CudaError::success) return false;
    try {
      if (!job_->advance()) return false;
      auto work = std::make_shared<LibraryWork>(std::move(job_), stream_);
      context.pool.submit(work, work->helpers());
      return true;
    } catch (const library::Failure& failure) {
      context.fault(failure.code, failure.what());
      return false;
    } catch (const std::exception& failure) {
      context.fault(CudaError::memoryAllocation, std::string("a library's call: ") + failure.what());
      return false;
    }
  }

  std::unique_ptr<library::Job> job_;
  const std::shared_ptr<StreamQueue> stream_;
  const std::uint64_t pieces_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> unfinished_;
};

}  // namespace

bool startLibraryCall(const LibraryOperation& operation, const std::shared_ptr<StreamQueue>& stream) {
  ContextState& context = stream->context();
  const auto prepare = preparedBy();
  if (!prepare) {
    context.fault(prepare.error().code, prepare.error().message);
    return false;
  }
  try {
    auto job = (*prepare)(operation.library, operation.function, operation.parameters, context.mapped);
    if (!job) {
      context.fault(job.error().code, job.error().message);
      return false;
    }
    if (*job == nullptr || (*job)->pieces() == 0) return false;
    auto work = std::make_shared<LibraryWork>(std::move(*job), stream);
    context.pool.submit(work, work->helpers());
    return true;
  } catch (const std::bad_alloc&) {
    context.fault(CudaError::memoryAllocation, "a library's call: the machine has no memory for it");
    return false;
  }
}

}  // namespace rouse::cpu
