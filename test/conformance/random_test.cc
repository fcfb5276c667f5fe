// Random programs of many streams against a model. Each operation reads and writes regions; the program orders two
// operations that touch the same region by stream order, an event or a slot, as a correct program must, and the result
// must be the serial one.
#include <cstring>
#include <map>
#include <random>

#include "test/conformance/backend.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

constexpr std::uint64_t kRegionBytes = 192 << 10;  // some operations are done at once, some by workers
constexpr std::size_t kRegions = 12;
constexpr std::size_t kStreams = 6;
constexpr std::size_t kSteps = 100, kRounds = 3;
// A step orders at most two regions' readers and writers.
constexpr std::size_t kSlots = kRounds * kSteps * 2 * (kStreams + 1);

struct Region {
  std::size_t lastWriter = kStreams;  // stream; kStreams: none
  std::vector<bool> readers = std::vector<bool>(kStreams, false);
};

class Program {
 public:
  // `slots`: the first of kSlots that nobody else uses.
  Program(Bench& bench, std::uint32_t seed, std::size_t slots) : bench_(bench), random_(seed), nextSlot_(slots) {
    for (std::size_t i = 0; i < kStreams; ++i) {
      streams_.push_back(bench_.context->createStream(0));
      events_.push_back(bench_.context->createEvent());
    }
    base_ = bench_.allocate(roundUp(kRegions * kRegionBytes, kGranuleBytes));
    model_.assign(kRegions * kRegionBytes, 0);
  }

  void step() {
    const std::size_t stream = pick(kStreams);
    const std::size_t to = pick(kRegions);
    const std::uint64_t bytes = pick(3) == 0 ? kRegionBytes : 1 + pick(5000);
    const std::uint64_t offset = pick(kRegionBytes - bytes + 1);
    if (pick(2) == 0) {
      write(stream, to);
      memory::FillShape shape;
      shape.destination = addressOf(to) + offset;
      shape.width = bytes;
      shape.value = static_cast<std::uint32_t>(random_());
      bench_.context->fill(*streams_[stream], shape);
      std::memset(model_.data() + to * kRegionBytes + offset, static_cast<int>(shape.value & 0xff), bytes);
    } else {
      const std::size_t from = (to + 1 + pick(kRegions - 1)) % kRegions;
      read(stream, from);
      write(stream, to);
      bench_.context->copy(*streams_[stream], linear(addressOf(to) + offset, addressOf(from) + offset, bytes));
      std::memcpy(model_.data() + to * kRegionBytes + offset, model_.data() + from * kRegionBytes + offset, bytes);
    }
    if (pick(16) == 0) bench_.poll();
  }

  void check() {
    for (auto& stream : streams_) REQUIRE(bench_.finish(*stream) == CudaError::success);
    CHECK(bench_.becomesIdle(*bench_.context));
    REQUIRE(bench_.read(*streams_[0], base_, model_.size()) == model_);
    CHECK(bench_.observer.faults().empty());
  }

 private:
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  std::uint64_t addressOf(std::size_t region) const { return base_ + region * kRegionBytes; }

  void order(std::size_t before, std::size_t after) {
    if (before == after || before == kStreams) return;
    if (pick(2) == 0) {
      bench_.context->record(*streams_[before], *events_[before]);
      bench_.context->wait(*streams_[after], *events_[before]);
    } else {
      const std::size_t slot = nextSlot_++;
      bench_.context->signal(*streams_[before], bench_.slots[slot], 1, pick(2) == 0);
      bench_.context->waitFor(*streams_[after], bench_.slots[slot], 1);
    }
  }
  void read(std::size_t stream, std::size_t region) {
    order(regions_[region].lastWriter, stream);
    regions_[region].readers[stream] = true;
  }
  void write(std::size_t stream, std::size_t region) {
    order(regions_[region].lastWriter, stream);
    for (std::size_t reader = 0; reader < kStreams; ++reader) {
      if (regions_[region].readers[reader]) order(reader, stream);
      regions_[region].readers[reader] = false;
    }
    regions_[region].lastWriter = stream;
  }

  Bench& bench_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<memory::Stream>> streams_;
  std::vector<std::unique_ptr<memory::Event>> events_;
  std::vector<Region> regions_ = std::vector<Region>(kRegions);
  std::uint64_t base_ = 0;
  std::vector<std::uint8_t> model_;
  std::size_t nextSlot_;
};

}  // namespace

TEST_CASE("random programs of many streams give what they give one after the other") {
  const std::string kind = EACH_BACKEND();
  // A GPU takes seconds to be opened: it is for all of them.
  Bench bench(kind);
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed);
    Program program(bench, seed, 20'000 + seed * kSlots);
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < kSteps; ++i) program.step();
      program.check();
    }
  }
}
