// Links that processes share, by a clock that the test sets.
#include "server/device/link_board.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "swap/link_model.h"

using namespace rouse;
using namespace rouse::device;

namespace {

constexpr auto kIn = LinkDirection::toDevice, kOut = LinkDirection::toHost;
constexpr Nanoseconds kBegin = 1'000'000'000'000;
constexpr Nanoseconds kMs = 1'000'000;

// Two pairs of GPUs; 1 GB/s is a byte a nanosecond.
memory::Topology node(const std::string& uplink = "1.0", const std::string& link = "1.0") {
  std::string text;
  for (int plx = 0; plx < 2; ++plx)
    text += "[[switch]]\nname = \"plx" + std::to_string(plx) + "\"\nuplink_gb_per_s = " + uplink + "\n";
  for (int gpu = 0; gpu < 4; ++gpu)
    text += "[[gpu]]\nlink_gb_per_s = " + link + "\nlink_latency_us = 4.0\nswitch = \"plx" + std::to_string(gpu / 2) + "\"\n";
  auto topology = memory::Topology::parse(text, "test");
  if (!topology) FAIL(topology.error().message);
  return *topology;
}

struct Boards {
  explicit Boards(const memory::Topology& topology) {
    auto made = LinkBoard::create(topology);
    if (!made) FAIL(made.error().message);
    file = std::move(*made);
    for (std::uint32_t gpu = 0; gpu < topology.gpus(); ++gpu) gpus.push_back(attach(gpu));
  }
  std::unique_ptr<LinkBoard> attach(std::uint32_t gpu) {
    auto board = LinkBoard::attach(file.get(), gpu);
    if (!board) FAIL(board.error().message);
    return std::move(*board);
  }
  LinkBoard& operator[](std::size_t gpu) { return *gpus[gpu]; }
  wire::OwnedFd file;
  std::vector<std::unique_ptr<LinkBoard>> gpus;
};

}  // namespace

TEST_CASE("a transfer alone takes the path's latency and its bytes") {
  Boards boards(node());
  CHECK(boards[0].bytesPerSecond(kIn) == Approx(1e9));
  CHECK(boards[0].latency(kIn) == 4000);
  const FlowId flow = boards[0].start(kBegin, kIn, 1'000'000);
  REQUIRE(flow != 0);
  CHECK(std::abs(boards[0].whenLeft(kBegin, flow, 0) - (kBegin + 4000 + kMs)) <= 1);
  CHECK(std::abs(boards[0].whenLeft(kBegin, flow, 500'000) - (kBegin + 4000 + kMs / 2)) <= 1);
  CHECK(boards[0].look(kBegin + 4000 + kMs / 4, flow).remaining == Approx(750'000));
  CHECK_FALSE(boards[0].look(kBegin + kMs, flow).ended);
  CHECK(boards[0].look(kBegin + kMs + 4001, flow).ended);
}

TEST_CASE("behind one switch two executors share its uplink, each way for itself; another switch is another") {
  Boards boards(node());
  const FlowId a = boards[0].start(kBegin, kIn, 1'000'000), b = boards[1].start(kBegin, kIn, 1'000'000);
  const FlowId c = boards[2].start(kBegin, kIn, 1'000'000), d = boards[1].start(kBegin, kOut, 1'000'000);
  CHECK(std::abs(boards[0].whenLeft(kBegin, a, 0) - (kBegin + 4000 + 2 * kMs)) <= 2);
  CHECK(std::abs(boards[1].whenLeft(kBegin, b, 0) - (kBegin + 4000 + 2 * kMs)) <= 2);
  CHECK(std::abs(boards[2].whenLeft(kBegin, c, 0) - (kBegin + 4000 + kMs)) <= 2);
  CHECK(std::abs(boards[1].whenLeft(kBegin, d, 0) - (kBegin + 4000 + kMs)) <= 2);
}

TEST_CASE("what one leaves of the uplink the other gets, and who is cancelled leaves all") {
  Boards boards(node("12.0", "12.0"));
  Boards uneven(*memory::Topology::parse("[[switch]]\nname = \"s\"\nuplink_gb_per_s = 12.0\n"
                                         "[[gpu]]\nlink_gb_per_s = 12.0\nswitch = \"s\"\nlink_latency_us = 0.0\n"
                                         "[[gpu]]\nlink_gb_per_s = 3.0\nswitch = \"s\"\nlink_latency_us = 0.0\n",
                                         "test"));
  const FlowId wide = uneven[0].start(kBegin, kIn, 9'000'000), narrow = uneven[1].start(kBegin, kIn, 3'000'000);
  CHECK(std::abs(uneven[0].whenLeft(kBegin, wide, 0) - (kBegin + kMs)) <= 2);
  CHECK(std::abs(uneven[1].whenLeft(kBegin, narrow, 0) - (kBegin + kMs)) <= 2);

  const FlowId a = boards[0].start(kBegin, kIn, 12'000'000), b = boards[1].start(kBegin, kIn, 12'000'000);
  boards[1].cancel(kBegin + 4000 + kMs, b);  // each has moved 6 MB
  CHECK(std::abs(boards[0].whenLeft(kBegin + kMs + 5000, a, 0) - (kBegin + 4000 + kMs + kMs / 2)) <= 2);
  CHECK(boards[1].look(kBegin + kMs + 5000, b).ended);
}

TEST_CASE("bytes that are charged take their share, from when they were, and nobody waits for them") {
  Boards boards(node());
  boards[1].charge(kBegin, kIn, 500'000);
  // They had the link alone for a quarter of a millisecond; a quarter of a megabyte is left.
  const FlowId a = boards[0].start(kBegin + kMs / 4 - 4000, kIn, 1'000'000);
  CHECK(std::abs(boards[0].whenLeft(kBegin + kMs / 4, a, 0) - (kBegin + kMs / 4 + kMs / 4 * 5)) <= 20);
  // Charged while a transfer is under way: seen when it is next looked at.
  boards[1].charge(kBegin + kMs, kIn, 100'000);
  CHECK_FALSE(boards[0].look(kBegin + kMs, a).ended);
  CHECK(std::abs(boards[0].whenLeft(kBegin + kMs, a, 0) - (kBegin + kMs * 6 / 4 + kMs / 10)) <= 20);
}

TEST_CASE("what follows another at once loses nothing by being told late, unless the link was not its own") {
  Boards boards(node());
  const FlowId a = boards[0].start(kBegin + 20'000, kIn, 1'000'000, kBegin);
  CHECK(std::abs(boards[0].whenLeft(kBegin + 20'000, a, 0) - (kBegin + 4000 + kMs)) <= 2);
  const FlowId b = boards[1].start(kBegin + 20'000, kIn, 1'000'000, kBegin);
  CHECK(boards[1].look(kBegin + 24'001, b).remaining == Approx(1'000'000).margin(10));

  // Another was under way when it was due, and is no more.
  const Nanoseconds later = kBegin + 10 * kMs;
  boards[3].start(later, kIn, 10'000);
  const FlowId c = boards[2].start(later + 50'000, kIn, 1'000'000, later + 5'000);
  CHECK(boards[2].look(later + 54'000, c).remaining == Approx(1'000'000).margin(10));
  // What it follows had ended by then.
  const FlowId d = boards[2].start(later + 2 * kMs, kOut, 1'000'000);
  const Nanoseconds end = boards[2].whenLeft(later + 2 * kMs, d, 0);
  const FlowId e = boards[2].start(end + 30'000, kOut, 1'000'000, end);
  CHECK(std::abs(boards[2].whenLeft(end + 30'000, e, 0) - (end + 4000 + kMs)) <= 2);
}

TEST_CASE("an NVLink is a way of its own, each way for itself, and only where there is one") {
  Boards boards(*memory::Topology::parse("[[switch]]\nname = \"s\"\nuplink_gb_per_s = 1.0\n"
                                         "[[gpu]]\nlink_gb_per_s = 1.0\nlink_latency_us = 0.0\nswitch = \"s\"\n"
                                         "[[gpu]]\nlink_gb_per_s = 1.0\nlink_latency_us = 0.0\nswitch = \"s\"\n"
                                         "[[gpu]]\nlink_gb_per_s = 1.0\nlink_latency_us = 0.0\n"
                                         "[[nvlink]]\ngpus = [0, 1]\ngb_per_s = 4.0\nlatency_us = 2.0\n",
                                         "test"));
  CHECK(boards[0].has(kIn));
  CHECK(boards[0].has(fromGpu(1)));
  CHECK(boards[1].has(fromGpu(0)));
  CHECK_FALSE(boards[0].has(fromGpu(2)));
  CHECK_FALSE(boards[0].has(fromGpu(0)));
  CHECK_FALSE(boards[2].has(fromGpu(1)));
  CHECK(boards[0].bytesPerSecond(fromGpu(1)) == Approx(4e9));
  REQUIRE(boards[0].sharedWay());
  REQUIRE(boards[1].sharedWay());
  CHECK(boards[0].sharedWay()->link == boards[1].sharedWay()->link);
  CHECK(boards[0].sharedWay()->bytesPerSecond == Approx(1e9));
  CHECK_FALSE(boards[2].sharedWay());
  CHECK(boards[0].latency(fromGpu(1)) == 2000);
  // Beside transfers from the host, and the other way; two on one link share it.
  const FlowId host = boards[0].start(kBegin, kIn, 1'000'000);
  const FlowId a = boards[0].start(kBegin, fromGpu(1), 4'000'000), back = boards[1].start(kBegin, fromGpu(0), 4'000'000);
  CHECK(std::abs(boards[0].whenLeft(kBegin, host, 0) - (kBegin + kMs)) <= 2);
  CHECK(std::abs(boards[0].whenLeft(kBegin, a, 0) - (kBegin + 2000 + kMs)) <= 2);
  CHECK(std::abs(boards[1].whenLeft(kBegin, back, 0) - (kBegin + 2000 + kMs)) <= 2);
  const FlowId b = boards[0].start(kBegin, fromGpu(1), 4'000'000);
  CHECK(std::abs(boards[0].whenLeft(kBegin, b, 0) - (kBegin + 2000 + 2 * kMs)) <= 4);
  // What came with accesses counts, too.
  boards[1].charge(kBegin + 10 * kMs, fromGpu(0), 4'000'000);
  const FlowId c = boards[1].start(kBegin + 10 * kMs, fromGpu(0), 4'000'000);
  CHECK(std::abs(boards[1].whenLeft(kBegin + 10 * kMs, c, 0) - (kBegin + 12 * kMs)) <= 4000);
}

TEST_CASE("a credit shortens a transfer") {
  Boards boards(node());
  const FlowId a = boards[0].start(kBegin, kIn, 1'000'000);
  boards[0].credit(kBegin + 4000 + kMs / 2, a, 400'000);
  CHECK(std::abs(boards[0].whenLeft(kBegin + kMs, a, 0) - (kBegin + kMs)) <= 4000);
  boards[0].credit(kBegin + 4000 + kMs / 2, a, 400'000);
  CHECK(boards[0].look(kBegin + kMs, a).ended);
}

TEST_CASE("random transfers of four executors end when the simulator's do") {
  const std::uint32_t seed = GENERATE(range(1u, 21u));
  std::mt19937 random(seed);
  const auto topology = node(seed % 2 ? "1.0" : "1.5", seed % 3 ? "1.0" : "0.7");
  Boards boards(topology);
  swap::LinkModel model(topology.links(), kBegin);
  struct Transfer {
    std::size_t gpu;
    FlowId flow;
    Nanoseconds modelled = 0, ended = 0;
  };
  std::map<swap::TransferId, Transfer> all;
  Nanoseconds now = kBegin;
  for (int step = 0; step < 300; ++step) {
    const std::size_t gpu = random() % 4;
    const bool out = random() % 2;
    const std::uint64_t bytes = 1 + random() % 3'000'000;
    const auto path = out ? topology.toHost(gpu) : topology.fromHost(gpu);
    const auto id = model.start(now, path, bytes);
    all[id] = {gpu, boards[gpu].start(now, out ? kOut : kIn, bytes)};
    REQUIRE(all[id].flow != 0);
    const Nanoseconds next = now + random() % (2 * kMs);
    // Executors look when they like, in any order.
    while (now < next) {
      for (auto& [key, transfer] : all)
        if (transfer.ended == 0 && boards[transfer.gpu].look(now, transfer.flow).ended) transfer.ended = now;
      for (const auto& done : model.advance(now)) all.at(done.id).modelled = done.at;
      now = std::min(next, now + kMs / 10);
    }
    if (step % 10 == 0) {
      for (auto& [key, transfer] : all) {
        if (transfer.modelled != 0 || transfer.ended != 0) continue;
        CHECK(boards[transfer.gpu].look(now, transfer.flow).remaining == Approx([&] {
                model.advance(now);
                return model.remainingBytes(key);
              }()).margin(50));
        break;
      }
    }
  }
  for (int round = 0; round < 20'000 && std::ranges::any_of(all, [](auto& each) { return each.second.ended == 0; }); ++round) {
    now += kMs / 10;
    for (auto& [key, transfer] : all)
      if (transfer.ended == 0 && boards[transfer.gpu].look(now, transfer.flow).ended) transfer.ended = now;
    for (const auto& done : model.advance(now)) all.at(done.id).modelled = done.at;
  }
  int compared = 0;
  for (const auto& [key, transfer] : all) {
    if (transfer.modelled == 0) continue;  // ended between two looks of the check above, which took its completion
    CHECK(transfer.ended - transfer.modelled >= -1000);
    CHECK(transfer.ended - transfer.modelled <= kMs / 10 + 1000);
    ++compared;
  }
  CHECK(compared > 200);
}

TEST_CASE("too many transfers at once are told so") {
  Boards boards(node());
  std::vector<FlowId> flows;
  for (std::size_t i = 0; i < kMaxFlows; ++i) flows.push_back(boards[i % 4].start(kBegin, kIn, 1'000'000));
  CHECK(std::ranges::count(flows, FlowId{0}) == 0);
  CHECK(boards[0].start(kBegin, kIn, 1) == 0);
  boards[0].cancel(kBegin, flows[0]);
  CHECK(boards[0].start(kBegin, kIn, 1) != 0);
}

TEST_CASE("an executor that starts anew has nothing under way, and what others have stays") {
  Boards boards(node());
  boards[0].start(kBegin, kIn, 10'000'000);
  const FlowId b = boards[1].start(kBegin, kIn, 1'000'000);
  CHECK(boards[1].whenLeft(kBegin, b, 0) > kBegin + kMs * 3 / 2);
  boards.gpus[0] = boards.attach(0);
  CHECK(std::abs(boards[1].whenLeft(kBegin, b, 0) - (kBegin + 4000 + kMs)) <= 2);
}

TEST_CASE("processes change it at once, some are killed at it, and no other waits or loses a transfer") {
  Boards boards(node());
  std::vector<pid_t> children;
  for (std::uint32_t gpu = 1; gpu < 4; ++gpu) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      auto board = LinkBoard::attach(boards.file.get(), gpu);
      if (!board) _exit(1);
      for (Nanoseconds now = kBegin;; now += 10) {
        const FlowId flow = (*board)->start(now, gpu % 2 ? kIn : kOut, 1000);
        if (flow == 0) continue;
        (*board)->charge(now, kIn, 1);
        (*board)->cancel(now, flow);
      }
    }
    children.push_back(child);
  }
  // One that runs on; those are killed wherever they are just now.
  const FlowId lasting = boards[0].start(kBegin, kIn, std::uint64_t{1} << 40);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const FlowId flow = boards[0].start(kBegin, kOut, 1000);
        if (flow != 0) boards[0].cancel(kBegin, flow);
      }
    });
  }
  for (const pid_t child : children) {
    usleep(20'000);
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
  }
  for (std::thread& thread : threads) thread.join();
  const auto view = boards[0].look(kBegin, lasting);
  CHECK_FALSE(view.ended);
  CHECK(view.remaining > (std::uint64_t{1} << 40) - 1e9);
  for (std::uint32_t gpu = 1; gpu < 4; ++gpu) boards.gpus[gpu] = boards.attach(gpu);
  const FlowId next = boards[2].start(kBegin + 1000 * kMs, kOut, 1'000'000);
  CHECK(std::abs(boards[2].whenLeft(kBegin + 1000 * kMs, next, 0) - (kBegin + 1001 * kMs + 4000)) <= 2);
}

TEST_CASE("rubbish in the shared memory is refused, or counts as no transfers") {
  Boards boards(node());
  boards[0].start(kBegin, kIn, 1'000'000);
  const off_t size = lseek(boards.file.get(), 0, SEEK_END);
  CHECK(ftruncate(boards.file.get(), size / 2) != 0);  // sealed
  auto* memory = static_cast<unsigned char*>(mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED,
                                                   boards.file.get(), 0));
  REQUIRE(memory != MAP_FAILED);
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 2000; ++i) memory[random() % static_cast<unsigned>(size)] = static_cast<unsigned char>(random());
    for (int i = 0; i < 200; ++i) memory[random() % 20'000] = static_cast<unsigned char>(random());
    const Nanoseconds now = kBegin + round * kMs;
    const FlowId flow = boards[0].start(now, kIn, 1000);
    boards[0].look(now, flow);
    (void)LinkBoard::attach(boards.file.get(), 0);
  }
  std::fill_n(memory, 4096, 0);
  const auto none = LinkBoard::attach(boards.file.get(), 0);
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "links: this is no description of links");
  munmap(memory, static_cast<std::size_t>(size));

  Boards two(*memory::Topology::uniform(2, "pcie3x16"));
  const auto absent = LinkBoard::attach(two.file.get(), 2);
  REQUIRE_FALSE(absent);
  CHECK(absent.error().message == "links: there is no GPU 2 among the 2 of the topology");
}
