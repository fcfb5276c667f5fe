// What a launch waits for while memory arrives, on devices that bring nothing when it is touched.
#include "test/executor/sharing_fixture.h"

namespace rouse::executor {
namespace {

// One session of eight granules, one group each: objects in the first two, none in the third, one in the fourth to sixth.
struct ArrivalFixture : SharingFixture {
  ArrivalFixture() {
    surroundings.plan = swap::PlanKind::granule;
    add(8);
    base = clients[0]->window();
    for (const AddressRange object : {AddressRange{base, kG}, {base + kG, kG}, {base + 3 * kG, 3 * kG}})
      clients[0]->send(wire::Allocated{.base = object.base, .bytes = object.bytes});
    settle();
  }

  // A kernel with a parameter block of 12 bytes.
  void install(bool reachesOnlyParameters) {
    auto image = FakeImage::ofOneKernel(false);
    image->described.kernels[0].reachesOnlyParameters = reachesOnlyParameters;
    sessions[0]->install(1, image);
    clients[0]->send(wire::ModuleBind{.module = {0, 0}, .moduleId = 1}, std::span<const std::uint64_t>());
    settle();
  }

  // The session comes back, touched in the order of its groups, for a launch with this parameter: which group is the last that it waits for, from 1; 0: for none.
  std::size_t launchedBehind(std::uint64_t parameter, std::uint32_t at = 0) {
    sendAway(0);
    clearAway();
    device.recorded.clear();
    device.awaited.clear();
    device.taken.clear();
    device.hold = true;
    std::vector<std::byte> block(12);
    std::memcpy(block.data() + at, &parameter, sizeof parameter);
    clients[0]->send(wire::Launch{.stream = wire::kLegacyStream, .module = {0, 0}, .grid = {1, 1, 1}, .block = {1, 1, 1}},
                     std::span<const std::byte>(block));
    settle();
    REQUIRE(sessions[0]->presence().arriving());
    REQUIRE(count("launch") == 1);
    std::size_t last = 0;
    for (const memory::Event* event : device.awaited) {
      const auto group = std::find(device.recorded.begin(), device.recorded.end(), event);
      REQUIRE(group != device.recorded.end());
      last = std::max(last, static_cast<std::size_t>(group - device.recorded.begin()) + 1);
    }
    device.hold = false;
    settle();
    REQUIRE(here(0));
    return last;
  }

  std::uint64_t base = 0;
};

}  // namespace

TEST_CASE_METHOD(ArrivalFixture, "a kernel that may reach anything waits for everything") {
  install(false);
  CHECK(launchedBehind(base) == 8);
  CHECK(launchedBehind(0) == 8);
}

TEST_CASE_METHOD(ArrivalFixture, "a kernel that reaches what its parameters lead to waits for that") {
  install(true);
  struct Launch {
    std::uint64_t parameter;  // in the window
    std::size_t groups;
    std::uint32_t at = 0;  // in the block
  };
  const Launch one = GENERATE(Launch{512, 1}, Launch{512, 1, 3},
                              Launch{3 * kG + 4096, 6},            // all of an object, wherever in it
                              Launch{2 * kG + 4096, 3},            // of none: what lies there
                              Launch{3 * kG - 4, 6},               // elements from 1
                              Launch{Client::kWindowBytes, 0});    // somewhere else
  CHECK(launchedBehind(base + one.parameter, one.at) == one.groups);
}

// As of addresses that a program has reserved, and maps memory at piece by piece.
TEST_CASE_METHOD(ArrivalFixture, "of an object that is mapped in part, what is mapped without a gap stands for what a parameter leads to") {
  install(true);
  clients[0]->send(wire::MemUnmap{.base = base + 4 * kG, .bytes = kG});
  clients[0]->send(wire::Allocated{.base = base + 6 * kG, .bytes = 40 * kG});
  settle();
  struct Launch {
    std::uint64_t parameter;
    std::size_t groups;  // of granules 0 to 3 and 5 to 7
  };
  const Launch one = GENERATE(Launch{3 * kG + 4096, 4}, Launch{4 * kG + 4096, 0}, Launch{5 * kG, 5},
                              Launch{6 * kG + 4096, 7},    // both of its granules
                              Launch{8 * kG, 7},           // their end
                              Launch{20 * kG + 4096, 0});  // nothing is mapped there
  CHECK(launchedBehind(base + one.parameter) == one.groups);
}

TEST_CASE_METHOD(ArrivalFixture, "an array's end stands for the array") {
  install(true);
  // The second granule comes first.
  clients[0]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = base + kG, .count = 16, .elementBytes = 1});
  settle();
  CHECK(launchedBehind(base + kG + 1024) == 1);
  CHECK(launchedBehind(base + kG) == 2);
}

TEST_CASE_METHOD(ArrivalFixture, "who does not know all objects waits for everything") {
  install(true);
  for (std::uint32_t i = 0; i < kMaxObjects; ++i) {
    clients[0]->send(wire::Allocated{.base = base + 6 * kG + i, .bytes = 1});
    if (i % 256 == 0) settle();
  }
  settle();
  CHECK(launchedBehind(base) == 8);
}

}  // namespace rouse::executor
