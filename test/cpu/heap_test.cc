// Device-side malloc and free.
#include <cstring>
#include <vector>

#include "test/cpu/launcher.h"

using namespace rouse;
using namespace rouse::cpu;

namespace {

struct Pointers {
  void** pointers;
};

void allocate(ThreadContext* thread, const std::byte* parameters) {
  void* block = rouse_cpu_malloc(thread, 100);
  std::memset(block, static_cast<int>(thread->linear), 100);
  as<Pointers>(parameters).pointers[thread->linear] = block;
}

void check(ThreadContext* thread, const std::byte* parameters) {
  auto* bytes = static_cast<unsigned char*>(as<Pointers>(parameters).pointers[thread->linear]);
  for (int i = 0; i < 100; ++i) {
    if (bytes[i] != thread->linear) rouse_cpu_trap(thread, 0);
  }
  rouse_cpu_free(thread, bytes);
  rouse_cpu_free(thread, nullptr);
}

void freeTwice(ThreadContext* thread, const std::byte*) {
  void* block = rouse_cpu_malloc(thread, 1);
  rouse_cpu_free(thread, block);
  rouse_cpu_free(thread, block);
}

}  // namespace

TEST_CASE("blocks outlive the launch that made them") {
  DeviceHeap heap;
  std::vector<void*> pointers(200);
  Launch request;
  request.entry = &allocate;
  request.block = {200, 1, 1};
  request.heap = &heap;
  mustRun(request, Pointers{pointers.data()});
  CHECK(heap.used() == 200 * 112);
  request.entry = &check;
  mustRun(request, Pointers{pointers.data()});
  CHECK(heap.used() == 0);
}

TEST_CASE("a full heap gives null, a freed one memory again") {
  DeviceHeap heap;
  heap.setLimit(1000);
  CHECK(heap.allocate(0) == nullptr);
  CHECK(heap.allocate(1001) == nullptr);
  void* first = heap.allocate(600);
  REQUIRE(first != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 16 == 0);
  CHECK(heap.allocate(600) == nullptr);
  CHECK(heap.release(first));
  CHECK_FALSE(heap.release(first));
  void* second = heap.allocate(600);
  CHECK(second != nullptr);
}

TEST_CASE("freeing twice ends the launch") {
  DeviceHeap heap;
  Launch request;
  request.entry = &freeTwice;
  request.heap = &heap;
  const Error error = run(request, 0);
  CHECK(error.code == CudaError::launchFailure);
  CHECK(error.message.find("free of 0x") != std::string::npos);
}
