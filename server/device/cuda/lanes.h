// The streams of one context, and who is told when they get somewhere.
//
// Slots are signalled by this process: the GPU cannot store a result and a time or wake a sleeper. A signal asks for
// its stream's counter; who looks next, executor or watcher, delivers what has been reached. Signals are delivered in
// an order that keeps cause before effect: see deliver().
//
// Locked, all of it, but for the constructor.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "server/device/cuda/bounce.h"
#include "server/device/cuda/device_window.h"
#include "server/device/cuda/host_window.h"
#include "server/device/cuda/lane.h"
#include "server/device/cuda/textures.h"

namespace rouse::cuda {

class FingerprintKernel;
class Watcher;

class Lanes final {
 public:
  Lanes(std::shared_ptr<Gpu> gpu, Watcher& watcher, memory::ContextObserver& observer)
      : gpu(std::move(gpu)), watcher_(watcher), observer_(observer) {}
  // Everything goes back to the driver; the work is done or lost.
  void end();

  const std::shared_ptr<Gpu> gpu;
  // Set up by the context, which also ends them.
  std::unique_ptr<DeviceWindow> deviceWindow;
  std::unique_ptr<HostWindow> hostWindow;
  std::unique_ptr<Bounce> bounce;
  std::shared_ptr<FingerprintKernel> fingerprints;
  std::unique_ptr<Textures> textures;  // null: it has had none
  std::vector<AddressRange> reached;  // of other contexts' memory (memory::Context::reach())
  std::uint64_t maxPitch = 0;
  std::uint32_t maxSharedBytes = 0;

  Result<std::shared_ptr<Lane>> add(int priority);
  void destroy(Lane& lane);

  // Looks at all streams: delivers signals, gives the driver what it can have now. True if anything happened.
  bool look();
  // Work is with the GPU that somebody wants to hear of; held work waits for a slot that others write.
  bool watched() const;
  bool waitsForSlots() const;
  bool idle();
  // No kernel is under way, none that is known of. Marks where one is.
  bool quiet();
  // For finding out that the GPU is lost: a stream with work, or null.
  CUstream anyBusyStream() const;

  // The error that later work meets: the GPU is lost, or the context is being ended.
  CudaError dead() const { return dead_; }
  void die(const Error& error);
  void cancel();
  void report(const Error& error) { observer_.onFault(error.code, error.message); }

  // Gives what finished kernels have printed to the function.
  void fetchText();
  void print(std::string_view text, bool toStderr) { observer_.onOutput(text, toStderr); }

  // --- For lanes
  void active(Lane& lane);
  void watch();  // a counter will move
  void signalled(Lane& lane, std::uint64_t sequence, wire::Slot& slot, std::uint64_t value, bool timestamp);
  void deliver();
  // A stream that will reach the slot's value by itself, and when; null: none is known to.
  struct Promise {
    Lane* lane = nullptr;
    std::uint64_t sequence = 0;
  };
  Promise promised(const wire::Slot& slot, std::uint64_t value) const;
  // Something was given to the driver that held work may have waited for.
  void retry() { retry_ = true; }
  void pump();
  CUevent takeEvent();
  void giveEvent(CUevent event);
  // The stream on which fresh memory is zeroed, and how far it must be before other streams use it. Null: nothing ever
  // was.
  Lane* setup() const { return setup_.get(); }
  std::uint64_t setupSequence() const { return setupSequence_; }
  bool settleMemory();
  static void deliverSlot(wire::Slot& slot, std::uint64_t value, bool timestamp, CudaError result);

 private:
  struct Pending {
    std::shared_ptr<Lane> lane;
    std::uint64_t sequence;
    wire::Slot* slot;
    std::uint64_t value;
    bool timestamp;
    bool reached;
  };
  void forgetText();
  std::uint64_t* takeCounter();
  void reap();

  Watcher& watcher_;
  memory::ContextObserver& observer_;
  CudaError dead_ = CudaError::success;
  std::vector<std::shared_ptr<Lane>> lanes_;
  std::vector<std::shared_ptr<Lane>> active_;  // with work, given or held
  std::deque<Pending> pending_;                // in the order given to the driver
  std::shared_ptr<Lane> setup_;
  std::uint64_t setupSequence_ = 0;
  std::vector<CUevent> events_;
  std::vector<std::unique_ptr<PinnedMemory>> counterPages_;
  std::vector<std::uint64_t*> counters_;
  bool retry_ = false, pumping_ = false, ended_ = false;
};

}  // namespace rouse::cuda
