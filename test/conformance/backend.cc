#include "test/conformance/backend.h"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "memory/address_plan.h"
#include "memory/topology.h"
#include "server/device/link_board.h"
#include "test/cuda-double/double.h"

namespace rouse::conformance {

namespace {

const std::string kBackends = "../lib/rouse-backends/librouse-device-";

// The double counts broken rules of the driver API; a real driver has no such function.
decltype(&rouse_double_violations) violations = nullptr;
decltype(&rouse_double_violation) violation = nullptr;
decltype(&rouse_double_forgive) forgive = nullptr;
decltype(&rouse_double_calls) calls = nullptr;

bool chooseDriver() {
  setenv("ROUSE_DOUBLE_CPU_DEVICE", besideThisProgram(kBackends + "cpu.so").c_str(), 0);
  const char* chosen = getenv("ROUSE_LIBCUDA");
  if (chosen == nullptr && dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    static const std::string twin = besideThisProgram("cuda-double/libcuda.so.1");
    if (!std::filesystem::exists(twin)) return true;
    setenv("ROUSE_LIBCUDA", twin.c_str(), 1);
    chosen = twin.c_str();
  }
  if (chosen == nullptr) return true;
  if (void* library = dlopen(chosen, RTLD_NOW | RTLD_LOCAL); library != nullptr) {
    violations = reinterpret_cast<decltype(violations)>(dlsym(library, "rouse_double_violations"));
    violation = reinterpret_cast<decltype(violation)>(dlsym(library, "rouse_double_violation"));
    forgive = reinterpret_cast<decltype(forgive)>(dlsym(library, "rouse_double_forgive"));
    calls = reinterpret_cast<decltype(calls)>(dlsym(library, "rouse_double_calls"));
  }
  return true;
}

bool isCpu(const std::string& kind) { return kind == "cpu"; }

}  // namespace

std::vector<std::string> kinds() {
  static const bool chosen = chooseDriver();
  (void)chosen;
  const char* named = std::getenv("ROUSE_CONFORMANCE");
  if (named == nullptr) return {"cpu", "cuda"};
  std::vector<std::string> names;
  std::istringstream list(named);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

bool onDouble() {
  (void)kinds();
  return violations != nullptr;
}

unsigned long long callsOnDouble(const char* function) { return onDouble() ? calls(function) : 0; }

bool computesOnProcessors(const std::string& kind) { return isCpu(kind) || onDouble(); }
bool containsFaults(const std::string& kind) { return isCpu(kind); }
bool stopsKernels(const std::string& kind) { return isCpu(kind); }
bool observesAssertions(const std::string& kind) { return isCpu(kind); }
bool sharesMemory(const std::string& kind) { return isCpu(kind); }

std::vector<std::string> kindsThat(bool (*can)(const std::string&), bool yes) {
  std::vector<std::string> found;
  for (const std::string& kind : kinds())
    if (can(kind) == yes) found.push_back(kind);
  return found;
}

bool leftOut(const std::vector<std::string>& kinds) {
  if (!kinds.empty()) return false;
  leaveOut("no back end of this run is of the kind that this shows");
  return true;
}

void leaveOut(const std::string& why) { WARN("left out: " << why); }

std::string besideThisProgram(const std::string& path) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / path).string();
}

std::unique_ptr<memory::Device> open(const std::string& kind, std::uint32_t workers, std::uint64_t memoryBytes,
                                     bool measureLink, std::uint64_t absentBytes) {
  const std::string path = besideThisProgram(kBackends + kind + ".so");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) FAIL(dlerror());
  auto open = reinterpret_cast<memory::OpenDevice>(dlsym(library, memory::kOpenDeviceSymbol));
  REQUIRE(open != nullptr);
  memory::DeviceOptions options;
  options.memoryBytes = memoryBytes;
  options.workers = workers;
  wire::OwnedFd links;
  if (const char* link = std::getenv("ROUSE_CONFORMANCE_LINK"); link != nullptr && isCpu(kind)) {
    const auto topology = memory::Topology::uniform(1, link);
    if (!topology) FAIL(topology.error().message);
    auto board = device::LinkBoard::create(*topology);
    if (!board) FAIL(board.error().message);
    links = std::move(*board);
    options.linksFd = links.get();
  }
  options.measureLink = measureLink;
  options.absentBytes = absentBytes;
  auto device = open(options);
  if (!device) FAIL(device.error().message);
  return std::move(device).value();
}

AddressRange freeAddresses(std::uint64_t bytes) {
  // Where the daemon puts windows, too: nothing else is mapped there by itself, unlike near other mappings, where
  // threads that start would take what looked free.
  static std::uint64_t next = memory::AddressPlan::defaultRange().base;
  // Aligned as the daemon's are, and no smaller: NVIDIA's driver moves what is asked for to the next 32 MiB at least, and puts windows of 128 MiB where it likes (H100,
  // driver 580).
  bytes = roundUp(bytes, memory::kWindowAlignment);
  const AddressRange range{next, bytes};
  next += bytes + memory::kWindowAlignment;
  REQUIRE(memory::AddressPlan::defaultRange().contains(range));
  return range;
}

void Observer::onFault(CudaError error, std::string_view message) {
  std::lock_guard lock(mutex_);
  faults_.emplace_back(error, message);
}

void Observer::onOutput(std::string_view text, bool toStderr) {
  std::lock_guard lock(mutex_);
  output_[toStderr ? 1 : 0] += text;
}

std::vector<std::pair<CudaError, std::string>> Observer::faults() {
  std::lock_guard lock(mutex_);
  return faults_;
}

std::string Observer::output(bool toStderr) {
  std::lock_guard lock(mutex_);
  return output_[toStderr ? 1 : 0];
}

Slots::Slots() {
  void* memory = mmap(nullptr, sizeof(wire::Slot) * 100'000, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  slots_ = static_cast<wire::Slot*>(memory);
}

Slots::~Slots() { munmap(slots_, sizeof(wire::Slot) * 100'000); }

Bench::Bench(const std::string& kind, std::uint32_t workers)
    : device(conformance::open(kind, workers)), nextOfNeighbours_(std::make_shared<std::size_t>(device->chunks().size() / 2)) {
  open();
}

Bench::Bench(Bench& neighbour) : device(neighbour.device), nextChunk_(neighbour.nextOfNeighbours_), nextOfNeighbours_(nextChunk_) { open(); }

void Bench::open() {
  deviceWindow = freeAddresses(std::uint64_t{8} << 30);
  memory::ContextOptions options;
  options.deviceWindow = deviceWindow;
  hostFd = memfd_create("host-window", MFD_CLOEXEC);
  REQUIRE(ftruncate(hostFd, std::int64_t{1} << 30) == 0);
  hostWindow = freeAddresses(std::uint64_t{1} << 30);
  options.hostWindow = hostWindow;
  options.hostFd = hostFd;
  auto made = device->createContext(options, observer);
  if (!made) FAIL(made.error().message);
  context = std::move(made).value();
}

Bench::~Bench() {
  context.reset();
  device.reset();
  close(hostFd);
  if (violations == nullptr || violations() == 0) return;
  for (unsigned i = 0; violation(i) != nullptr; ++i) UNSCOPED_INFO(violation(i));
  CHECK(violations() == 0);
  forgive();
}

std::uint64_t Bench::allocate(std::uint64_t bytes) {
  const std::uint64_t base = deviceWindow.base + nextDevice_;
  const std::size_t count = bytes / kGranuleBytes;
  REQUIRE(*nextChunk_ + count <= device->chunks().size());
  const Status status = context->map(base, device->chunks().subspan(*nextChunk_, count));
  if (!status) FAIL(status.error().message);
  *nextChunk_ += count;
  nextDevice_ += bytes;
  return base;
}

std::uint8_t* Bench::host(std::uint64_t bytes) {
  const std::uint64_t rounded = roundUp(bytes, 4096);
  const AddressRange range{hostWindow.base + nextHost_, rounded};
  nextHost_ += rounded;
  const Status status = context->mapHost(range);
  if (!status) FAIL(status.error().message);
  return reinterpret_cast<std::uint8_t*>(range.base);
}

void Bench::poll() {
  bool waiting = false;
  device->poll(waiting);
}

void Bench::await(std::size_t slot, std::uint64_t value, std::chrono::seconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (int round = 0; slots[slot].value.load() < value; ++round) {
    poll();
    if (round > 1000) std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (std::chrono::steady_clock::now() > end) {
      std::string faults;
      for (const auto& [error, message] : observer.faults()) faults += message + "; ";
      FAIL("slot " << slot << " did not reach " << value << " " << faults);
    }
  }
}

CudaError Bench::finish(memory::Stream& stream) {
  const std::size_t slot = nextSlot_++;
  context->signal(stream, slots[slot], 1, false);
  await(slot);
  return static_cast<CudaError>(slots[slot].result.load());
}

void Bench::write(memory::Stream& stream, std::uint64_t to, const std::vector<std::uint8_t>& bytes) {
  std::uint8_t* from = host(bytes.size());
  std::memcpy(from, bytes.data(), bytes.size());
  context->copy(stream, linear(to, address(from), bytes.size()));
  REQUIRE(finish(stream) == CudaError::success);
}

std::vector<std::uint8_t> Bench::read(memory::Stream& stream, std::uint64_t from, std::uint64_t bytes) {
  std::uint8_t* to = host(bytes);
  context->copy(stream, linear(address(to), from, bytes));
  REQUIRE(finish(stream) == CudaError::success);
  return {to, to + bytes};
}

}  // namespace rouse::conformance
