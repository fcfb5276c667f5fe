// A back end under test, and a context in it with memory mapped and slots to signal.
//
// A back end is added in kinds(): its shared object must open, and every case then runs against it too.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "memory/device.h"

namespace rouse::conformance {

// "cuda" runs on the driver that ROUSE_LIBCUDA names or that is installed, else on the double (test/cuda-double) where
// there is one. Of all there are, those that ROUSE_CONFORMANCE names (with commas), where it is set.
std::vector<std::string> kinds();

// What hardware decides. CUDA: a fault ends the work of all contexts of a GPU; a kernel cannot be stopped; the text of
// a failed assertion goes to the process's own output (server/device/cuda/README.md).
bool containsFaults(const std::string& kind);
bool stopsKernels(const std::string& kind);
bool observesAssertions(const std::string& kind);
// Device memory can be read by the test itself.
bool sharesMemory(const std::string& kind);
std::vector<std::string> kindsThat(bool (*can)(const std::string&), bool yes = true);
// True, and said in the report, when there are none: the case has nothing to show then.
bool leftOut(const std::vector<std::string>& kinds);
// Says in the report that this case shows nothing here, and why.
void leaveOut(const std::string& why);

// A file by where it lies relative to this program, in a build folder as in a bundle (tools/bundle).
std::string besideThisProgram(const std::string& path);

// The cuda kind runs on the double.
bool onDouble();
// How often the double's function has been called; 0 elsewhere.
unsigned long long callsOnDouble(const char* function);

// The CPU device, and the double: kernels are not as fast as a GPU's.
bool computesOnProcessors(const std::string& kind);

// GENERATE must stand in the test case itself.
#define EACH_BACKEND() GENERATE(from_range(rouse::conformance::kinds()))

std::unique_ptr<memory::Device> open(const std::string& kind, std::uint32_t workers = 2,
                                     std::uint64_t memoryBytes = std::uint64_t{256} << 20, bool measureLink = false,
                                     std::uint64_t absentBytes = 0);

// Addresses that nothing else of this process uses.
AddressRange freeAddresses(std::uint64_t bytes);

class Observer final : public memory::ContextObserver {
 public:
  void onFault(CudaError error, std::string_view message) override;
  void onOutput(std::string_view text, bool toStderr) override;
  void onProgress() override { progress.fetch_add(1); }

  std::vector<std::pair<CudaError, std::string>> faults();
  std::string output(bool toStderr);
  std::atomic<int> progress{0};

 private:
  std::mutex mutex_;
  std::vector<std::pair<CudaError, std::string>> faults_;
  std::string output_[2];
};

// Slots as they lie in a session segment.
class Slots {
 public:
  Slots();
  ~Slots();
  wire::Slot& operator[](std::size_t index) { return slots_[index]; }

 private:
  wire::Slot* slots_;
};

class Bench {
 public:
  explicit Bench(const std::string& kind, std::uint32_t workers = 2);
  // Another function on the same device.
  explicit Bench(Bench& neighbour);
  ~Bench();

  std::shared_ptr<memory::Device> device;
  Observer observer;
  Slots slots;
  AddressRange deviceWindow, hostWindow;
  int hostFd = -1;
  std::unique_ptr<memory::Context> context;

  // The next `bytes` (whole granules) of the device window, mapped. Fresh chunks each time.
  std::uint64_t allocate(std::uint64_t bytes);
  // Memory of the host window, mapped by device and test.
  std::uint8_t* host(std::uint64_t bytes);
  // Waits, polling as an executor does, until the slot has the value; fails the test when its patience is over.
  void await(std::size_t slot, std::uint64_t value = 1, std::chrono::seconds patience = std::chrono::seconds(10));
  // Signals a fresh slot on the stream and waits for it. Returns its result.
  CudaError finish(memory::Stream& stream);
  void poll();
  // A stream becomes idle soon after its last signal, not with it.
  template <class Idle>
  bool becomesIdle(const Idle& what) {
    for (int round = 0; round < 100'000 && !what.idle(); ++round) {
      poll();
      if (round > 100) usleep(100);
    }
    return what.idle();
  }

  // Plain copies, waited for.
  void write(memory::Stream& stream, std::uint64_t to, const std::vector<std::uint8_t>& bytes);
  std::vector<std::uint8_t> read(memory::Stream& stream, std::uint64_t from, std::uint64_t bytes);

 private:
  void open();

  std::uint64_t nextDevice_ = 0, nextHost_ = 0;
  std::size_t nextSlot_ = 1000;
  // Nobody's chunk is another's as well: neighbours share the second half.
  std::shared_ptr<std::size_t> nextChunk_ = std::make_shared<std::size_t>(0), nextOfNeighbours_;
};

inline memory::CopyShape linear(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  memory::CopyShape shape;
  shape.destination = to;
  shape.source = from;
  shape.width = bytes;
  return shape;
}

inline std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

}  // namespace rouse::conformance
