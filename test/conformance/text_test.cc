// What kernels print: whose it is, and when it is there.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

constexpr const char* kLost = "text that kernels printed is lost";

std::uint32_t* flag(Bench& bench) {
  auto* word = reinterpret_cast<std::uint32_t*>(bench.host(4096));
  *word = 0;
  return word;
}

void raise(std::uint32_t* flag) { std::atomic_ref(*flag).store(1); }

}  // namespace

TEST_CASE("what the kernels of two functions print goes to each its own, all of it") {
  const std::string kind = EACH_BACKEND();
  Bench first(kind);
  Bench second(first);
  Kernels ones(first), twos(second);
  constexpr int kRounds = 30;
  std::unique_ptr<memory::Stream> streams[] = {first.context->createStream(0), first.context->createStream(0),
                                               second.context->createStream(0), second.context->createStream(0)};
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 2; ++i) {
      ones.launch(*streams[i], "print", {}, std::int32_t{1000 + round});
      twos.launch(*streams[2 + i], "print", {}, std::int32_t{2000 + round});
    }
  }
  for (int i = 0; i < 2; ++i) {
    REQUIRE(first.finish(*streams[i]) == CudaError::success);
    REQUIRE(second.finish(*streams[2 + i]) == CudaError::success);
  }
  for (const auto& [bench, base] : {std::pair{&first, 1000}, std::pair{&second, 2000}}) {
    const std::string text = bench->observer.output(false);
    CHECK(std::count(text.begin(), text.end(), '\n') == 2 * kRounds);
    for (int round = 0; round < kRounds; ++round)
      CHECK(text.find(": " + std::to_string(base + round) + " text\n") != std::string::npos);
    CHECK(bench->observer.output(true).empty());
  }
}

TEST_CASE("text is there with the signal behind it, whatever its stream does next") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  Kernels kernels(bench);
  auto stream = bench.context->createStream(0);
  auto other = bench.context->createStream(0);
  auto event = bench.context->createEvent();
  std::uint32_t* go = flag(bench);
  kernels.launch(*stream, "print", {}, std::int32_t{1});
  bench.context->signal(*stream, bench.slots[0], 1, false);
  bench.context->record(*stream, *event);
  kernels.launch(*stream, "waitForFlag", {}, address(go), address(go) + 2048);
  bench.await(0);
  CHECK(bench.observer.output(false) == "block 0 of 1: 1 text\n");
  // Also of another stream that only waits for the kernel.
  kernels.launch(*other, "print", {}, std::int32_t{2});
  bench.context->record(*other, *event);
  auto third = bench.context->createStream(0);
  bench.context->wait(*third, *event);
  REQUIRE(bench.finish(*third) == CudaError::success);
  CHECK(bench.observer.output(false) == "block 0 of 1: 1 text\nblock 0 of 1: 2 text\n");
  raise(go);
  REQUIRE(bench.finish(*stream) == CudaError::success);
}

TEST_CASE("a kernel that prints and does not end keeps no other function waiting for long, and shows it nothing") {
  const std::string kind = EACH_BACKEND();
  Bench first(kind);
  Bench second(first);
  Kernels ones(first), twos(second);
  auto one = first.context->createStream(0);
  auto two = second.context->createStream(0);
  std::uint32_t* go = flag(first);
  ones.launch(*one, "printAround", {}, address(go), std::int32_t{1111});
  twos.launch(*two, "print", {}, std::int32_t{2222});
  REQUIRE(second.finish(*two) == CudaError::success);
  raise(go);
  REQUIRE(first.finish(*one) == CudaError::success);
  CHECK(first.observer.output(false).find("2222") == std::string::npos);
  CHECK(second.observer.output(false).find("1111") == std::string::npos);
  for (const auto& [bench, whole] : {std::pair<Bench*, std::string>{&first, "before 1111\nafter 1111\n"},
                                     std::pair<Bench*, std::string>{&second, "block 0 of 1: 2222 text\n"}}) {
    // A device that cannot tell whose text it is says that it is lost.
    const bool lost = bench->observer.output(true).find(kLost) != std::string::npos;
    CHECK((lost || bench->observer.output(false) == whole));
  }
  // And it is over.
  const std::string before = first.observer.output(false);
  ones.launch(*one, "print", {}, std::int32_t{3});
  twos.launch(*two, "print", {}, std::int32_t{4});
  REQUIRE(first.finish(*one) == CudaError::success);
  REQUIRE(second.finish(*two) == CudaError::success);
  CHECK(first.observer.output(false) == before + "block 0 of 1: 3 text\n");
  CHECK(second.observer.output(false).ends_with("block 0 of 1: 4 text\n"));
}

TEST_CASE("a function that waits for its turn to print can be ended") {
  const std::string kind = EACH_BACKEND();
  Bench first(kind);
  Kernels ones(first);
  std::uint32_t* go = flag(first);
  // Whatever waits for the kernel that does not end: after this long it does, and what came first is seen below.
  std::mutex mutex;
  std::condition_variable over;
  bool ended = false;
  std::thread helper([&] {
    std::unique_lock lock(mutex);
    over.wait_for(lock, std::chrono::seconds(5), [&] { return ended; });
    raise(go);
  });
  auto one = first.context->createStream(0);
  {
    Bench second(first);
    Kernels twos(second);  // before the other's kernel: a driver may wait for what runs when code is loaded
    ones.launch(*one, "printAround", {}, address(go), std::int32_t{1});
    auto two = second.context->createStream(0);
    twos.launch(*two, "print", {}, std::int32_t{2});
    second.context->cancel();
  }
  const bool alone = std::atomic_ref(*go).load() == 0;
  ones.launch(*one, "print", {}, std::int32_t{3});
  {
    const std::lock_guard lock(mutex);
    ended = true;
  }
  over.notify_all();
  helper.join();
  REQUIRE(first.finish(*one) == CudaError::success);
  CHECK(first.observer.output(false) == "before 1\nafter 1\nblock 0 of 1: 3 text\n");
  CHECK(alone);
}
