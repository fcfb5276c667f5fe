// A graph as a device runs it: made of operations and what each comes after, sent to the executor once, launched with one command.
//
// Threads: any; calls of one object are serialised by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "client-shim/core/copy.h"
#include "client-shim/core/launch.h"
#include "client-shim/core/mark.h"
#include "schemas/base/cuda_error.h"
#include "schemas/wire/layout.h"

namespace rouse::client {

class Device;
class Stream;

// Runs on the callback thread. status: success, or the error that the device has latched.
using GraphCall = std::function<void(CudaError status)>;

struct GraphOperation {
  std::vector<std::uint32_t> after;  // numbers of earlier operations
  std::vector<std::byte> command;    // encoded, its stream the legacy one; empty: there is nothing to do
  std::shared_ptr<GraphCall> call;   // instead of a command: the host's
  enum class EventUse : std::uint8_t { none, record, wait } use = EventUse::none;  // instead of both
  std::uint64_t event = 0;                                                         // handle
};

// Appends operations that come after `after` each; `last`: the number of the one that ends it (none were needed: unchanged, and false is
// returned by value of the error only where there is one). Rules and errors are those of launch(), copy() and fill(), addresses being
// looked at now. Pageable memory is read and written when the graph gets there, by the callback thread.
class GraphBuilder {
 public:
  explicit GraphBuilder(Device& device) : device_(device) {}

  using After = std::vector<std::uint32_t>;
  CudaError launch(const After& after, const Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> block,
                   std::uint32_t* last);
  // notSupported: between two devices, or on another device than the graph's. False in *any: there is nothing to copy.
  CudaError copy(const After& after, const CopyShape& shape, CopyKind kind, std::uint32_t* last, bool* any);
  // height rows of `width` elements.
  CudaError fill(const After& after, void* destination, std::uint64_t pitch, std::uint32_t value, std::uint32_t elementBytes,
                 std::uint64_t width, std::uint64_t height, std::uint32_t* last, bool* any);
  // `parameters`: checked by the library that they are of. What memory they name the executor looks at, each time.
  std::uint32_t library(const After& after, std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters);
  std::uint32_t call(const After& after, GraphCall call);
  std::uint32_t event(const After& after, GraphOperation::EventUse use, std::uint64_t handle);
  std::uint32_t junction(const After& after);

  std::vector<GraphOperation> take() { return std::move(operations_); }
  Device& device() const { return device_; }

 private:
  std::uint32_t add(GraphOperation operation);
  template <class Command, class... Payload>
  std::uint32_t command(const After& after, const Command& command, const Payload&... payload);

  Device& device_;
  std::vector<GraphOperation> operations_;
};

class GraphExec {
 public:
  explicit GraphExec(Device& device);
  // Launches that have begun go on.
  ~GraphExec();
  GraphExec(const GraphExec&) = delete;

  Device& device() const { return device_; }

  // What launches run from now on; sent with the next of them. memoryAllocation: too long for a definition (kMaxGraphBytes), too many
  // host functions and events (kMaxGraphSlots), or no slots; nothing has changed then.
  CudaError define(std::vector<GraphOperation> operations);
  // Sends what has not been sent.
  CudaError upload();
  // invalidValue: the stream is of another device, or the device has been reset since the graph was made.
  CudaError launch(Stream& stream);

 private:
  struct Lane {
    std::uint64_t queue = 0;  // of the callback thread's
    Mark reached, returned;   // the last launch's; slot 0: none yet
  };
  struct SlotUse {  // of each SlotSignal and SlotWait, in turn
    enum class Kind : std::uint8_t { reached, returned, record, wait } kind;
    std::uint32_t lane = 0, call = 0;
    std::uint64_t event = 0;
  };
  CudaError send();
  CudaError lanesReady();
  Mark satisfied();

  Device& device_;
  const std::uint64_t id_, incarnation_;
  std::mutex mutex_;
  std::vector<std::byte> definition_;
  bool sent_ = false, everSent_ = false;
  std::vector<SlotUse> uses_;
  std::vector<std::shared_ptr<GraphCall>> calls_;
  std::vector<Lane> lanes_;
  std::vector<std::uint64_t> words_;
  Mark satisfied_;  // always reached
};

}  // namespace rouse::client
