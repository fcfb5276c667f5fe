// Kernels' frames and stacks: more of them than any kernel had before must not wait for other functions' kernels with everybody else.
#include <chrono>

#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

constexpr std::uint32_t kFrameWords = 768;  // frameOf3Kb
constexpr std::uint64_t kStackBytes = 5 << 10;

struct Frames {
  explicit Frames(Bench& bench) : memory(reinterpret_cast<std::uint32_t*>(bench.host(4096))) {
    for (std::uint32_t i = 0; i < 32; ++i) memory[i] = i * 7;
    memory[32] = 0;
  }
  // What sumFrame() adds up, when the last write to a word is the one that stays.
  static std::uint32_t expected() {
    std::uint32_t frame[kFrameWords] = {}, sum = 0;
    for (std::uint32_t i = 0; i < kFrameWords; ++i) frame[i % 32 * 7] = i;
    for (std::uint32_t i = 0; i < kFrameWords; ++i) sum += i < 32 ? frame[i * 7] : 1;
    return sum;
  }
  std::uint64_t order() const { return address(memory); }
  std::uint64_t out() const { return address(memory + 32); }
  std::uint32_t result() const { return memory[32]; }

 private:
  std::uint32_t* memory;
};

}  // namespace

TEST_CASE("more local memory than any kernel had before waits for others' kernels alone") {
  const std::string kind = EACH_BACKEND();
  Bench first(kind, 4), second(first), third(first), fourth(first);
  Kernels ones(first), twos(second), threes(third), fours(fourth);  // before the kernel that runs: a driver may wait for it when code is loaded
  auto one = first.context->createStream(0);
  auto two = second.context->createStream(0);
  auto three = third.context->createStream(0);
  auto four = fourth.context->createStream(0);
  Frames frames(second), same(fourth);
  auto* go = reinterpret_cast<std::uint32_t*>(first.host(4096));
  *go = 0;
  ones.launch(*one, "waitForFlag", {}, address(go), address(go) + 2048);
  twos.launch(*two, "frameOf3Kb", {}, frames.order(), frames.out());
  second.context->signal(*two, second.slots[0], 1, false);
  fours.launch(*four, "frameOf3Kb", {}, same.order(), same.out());  // waits behind, for no more

  // Others' kernels and copies go on, and so does whoever calls.
  auto* word = reinterpret_cast<std::int32_t*>(third.host(4096));
  for (int round = 0; round < 3; ++round) {
    *word = 0;
    threes.launch(*three, "store", {}, address(word));
    REQUIRE(third.finish(*three) == CudaError::success);
    CHECK(*word == 7);
  }
  // So does a stack's limit, by a caller who asks again.
  const auto begin = std::chrono::steady_clock::now();
  Result<bool> set = third.context->setLimit(memory::ContextLimit::stackBytes, kStackBytes);
  REQUIRE(set.ok());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
  CHECK_FALSE(one->idle());

  std::atomic_ref(*go).store(1);
  REQUIRE(first.finish(*one) == CudaError::success);
  second.await(0);
  CHECK(second.slots[0].result.load() == 0);
  CHECK(frames.result() == Frames::expected());
  REQUIRE(fourth.finish(*four) == CudaError::success);
  CHECK(same.result() == Frames::expected());
  for (int round = 0; round < 100'000 && set.ok() && !*set; ++round) {
    third.poll();
    set = third.context->setLimit(memory::ContextLimit::stackBytes, kStackBytes);
    usleep(100);
  }
  REQUIRE(set.ok());
  CHECK(*set);
}

TEST_CASE("a function that waits for local memory can be ended, and holds nobody then") {
  const std::string kind = EACH_BACKEND();
  Bench first(kind, 4), third(first);
  Kernels ones(first), threes(third);
  auto one = first.context->createStream(0);
  auto three = third.context->createStream(0);
  auto* go = reinterpret_cast<std::uint32_t*>(first.host(4096));
  *go = 0;
  {
    Bench second(first);
    Kernels twos(second);
    Frames frames(second);
    auto two = second.context->createStream(0);
    ones.launch(*one, "waitForFlag", {}, address(go), address(go) + 2048);
    twos.launch(*two, "frameOf3Kb", {}, frames.order(), frames.out());
    second.context->cancel();
    CHECK(second.becomesIdle(*two));
  }
  auto* word = reinterpret_cast<std::int32_t*>(third.host(4096));
  *word = 0;
  const auto begin = std::chrono::steady_clock::now();
  threes.launch(*three, "store", {}, address(word));
  REQUIRE(third.finish(*three) == CudaError::success);
  if (!computesOnProcessors(kind)) CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(500));
  CHECK(*word == 7);
  CHECK_FALSE(one->idle());
  std::atomic_ref(*go).store(1);
  REQUIRE(first.finish(*one) == CudaError::success);
  // Nor is it waited for by who needs as much.
  Frames frames(third);
  threes.launch(*three, "frameOf3Kb", {}, frames.order(), frames.out());
  REQUIRE(third.finish(*three) == CudaError::success);
  CHECK(frames.result() == Frames::expected());
}
