// A primary context: streams, registered host memory, and the error that it died of.
#pragma once

#include <cuda.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "memory/device.h"
#include "test/cuda-double/host_thread.h"
#include "test/cuda-double/stream.h"

namespace rouse::cuda_double {

class Gpu;

// A point in a stream. Shared by the event, its record in the queue, and who waits for it.
struct Marker {
  std::atomic<bool> reached{false};
  std::int64_t nanoseconds = 0;  // valid once reached
};

struct Event {
  Context* context;
  unsigned flags;
  std::mutex mutex;
  std::shared_ptr<Marker> latest;  // null: never recorded
};

// Any thread.
class Context final : public memory::ContextObserver {
 public:
  static Result<std::shared_ptr<Context>> create(Gpu& gpu);
  ~Context() override;
  // Ends the streams' threads: queued work that has not begun is dropped, running kernels are stopped. Nothing is
  // pushed after it.
  void stop();

  Gpu& gpu;
  std::unique_ptr<memory::Context> device;  // used under gpu.deviceMutex
  HostThread hostThread;
  std::atomic<std::uint64_t> launches{0};
  std::atomic<std::uint64_t> limits[8]{1024, 1 << 20, 8 << 20};  // by CUlimit; what a driver begins with

  std::shared_ptr<Stream> createStream(int priority);
  // The handle is gone; the stream lives on until its work is done.
  void retire(const std::shared_ptr<Stream>& stream);
  void synchronize();
  // A thread of a kernel may have so much local memory. More than any before: not until all that came before has ended (cuda.h, CU_LIMIT_STACK_SIZE).
  void growLocalMemory(std::uint64_t bytes);
  // Whether queued work of any stream, destroyed ones included, still needs the range.
  bool uses(AddressRange range);

  // The first error is kept. Sticky ones (schemas/base/cuda_error.h) end all work of the context.
  void fail(CUresult result, const std::string& message);
  bool failed() const { return failed_.load(); }
  bool stopping() const { return stopping_.load(); }
  // What a call returns before it does anything. A sticky error stays.
  CUresult takeError();

  // Waits until ready() holds, the context fails, or ends. Polls, too: memory that is written by anybody cannot notify.
  bool waitUntil(const std::function<bool()>& ready);
  void progress();

  CUresult registerHost(AddressRange range);
  CUresult unregisterHost(std::uint64_t base);
  bool isRegistered(AddressRange range);
  std::size_t registeredRanges();

  // What kernels printed appears when the program launches, synchronizes, loads or unloads a module, when a host
  // function begins and when the context ends (Programming Guide, "Formatted output"), and at no other time.
  void flushOutput();

 private:
  explicit Context(Gpu& gpu) : gpu(gpu) {}
  void onFault(CudaError error, std::string_view message) override;
  void onOutput(std::string_view text, bool toStderr) override;
  void onProgress() override {}
  std::vector<std::shared_ptr<Stream>> streams();

  std::atomic<bool> failed_{false}, stopping_{false};
  std::mutex mutex_;
  std::condition_variable progressed_;
  CUresult error_ = CUDA_SUCCESS;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::map<std::uint64_t, std::uint64_t> registered_;
  std::string output_;
};

}  // namespace rouse::cuda_double
