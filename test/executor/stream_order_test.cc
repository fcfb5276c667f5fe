#include "server/executor/stream_order.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace rouse::executor {
namespace {

using Id = StreamOrder::StreamId;
using Action = StreamOrder::Action;
using Actions = StreamOrder::Actions;
constexpr auto kRecord = Action::Kind::record;
constexpr auto kWait = Action::Kind::wait;

// What really happens on the device, as a graph: nodes are operations, records and waits; an edge for each "comes
// after" that streams and events bring about. And what CUDA's rules ask for, found by looking at every pair.
class Model {
 public:
  void stream(Id id, bool nonBlocking) {
    nonBlocking_[id] = nonBlocking;
    tail_.erase(id);
  }

  void act(const Actions& actions) {
    for (const Action& action : actions) {
      if (action.kind == kRecord) {
        recorded_[action.event] = node(action.stream);
      } else {
        REQUIRE(recorded_.count(action.event));
        const std::size_t waiting = node(action.stream);
        if (action.stream == StreamOrder::kJunction) joins_.insert(waits_.size());
        waits_.push_back({recorded_[action.event], waiting});
      }
    }
  }

  void work(Id id) {
    const std::size_t me = node(id);
    const bool blocking = id == StreamOrder::kLegacy || !nonBlocking_[id];
    for (const Operation& earlier : operations_) {
      const bool legacy = earlier.stream == StreamOrder::kLegacy || id == StreamOrder::kLegacy;
      if (earlier.life == life_[id] || earlier.epoch < epoch_ || (legacy && blocking && earlier.blocking))
        required_.push_back({earlier.node, me});
    }
    operations_.push_back({me, id, life_[id], epoch_, blocking});
  }

  void fence() { ++epoch_; }
  void newLife(Id id) { life_[id] = ++lives_; }

  void check() const {
    const Reach actual = reach(waits_, waits_.size());
    for (const auto& [before, after] : required_) REQUIRE(actual[after][before]);

    const Reach asked = reachRequired();
    for (const Operation& before : operations_)
      for (const Operation& after : operations_)
        if (before.node < after.node && actual[after.node][before.node]) REQUIRE(asked[after.node][before.node]);

    // Without any one of the waits something that is asked for would be missing. Only the junction's may turn out to
    // have been for nothing, when a later fence comes before anybody waited for theirs.
    for (std::size_t left = 0; left < waits_.size(); ++left) {
      if (joins_.count(left)) continue;
      const Reach without = reach(waits_, left);
      bool missed = false;
      for (const auto& [before, after] : required_) missed = missed || !without[after][before];
      REQUIRE(missed);
    }
  }

 private:
  struct Operation {
    std::size_t node;
    Id stream;
    int life;
    int epoch;
    bool blocking;
  };
  using Edge = std::pair<std::size_t, std::size_t>;
  using Reach = std::vector<std::vector<bool>>;

  std::size_t node(Id stream) {
    const std::size_t me = nodes_++;
    if (tail_.count(stream)) chain_.push_back({tail_[stream], me});
    tail_[stream] = me;
    return me;
  }

  Reach reach(const std::vector<Edge>& waits, std::size_t skipped) const {
    std::vector<std::vector<std::size_t>> into(nodes_);
    for (const auto& [before, after] : chain_) into[after].push_back(before);
    for (std::size_t i = 0; i < waits.size(); ++i)
      if (i != skipped) into[waits[i].second].push_back(waits[i].first);
    return close(into);
  }
  Reach reachRequired() const {
    std::vector<std::vector<std::size_t>> into(nodes_);
    for (const auto& [before, after] : required_) into[after].push_back(before);
    return close(into);
  }
  Reach close(const std::vector<std::vector<std::size_t>>& into) const {
    Reach result(nodes_, std::vector<bool>(nodes_));
    for (std::size_t i = 0; i < nodes_; ++i)
      for (const std::size_t before : into[i]) {
        result[i][before] = true;
        for (std::size_t j = 0; j < before; ++j)
          if (result[before][j]) result[i][j] = true;
      }
    return result;
  }

  std::size_t nodes_ = 0;
  std::map<Id, std::size_t> tail_;
  std::map<StreamOrder::EventId, std::size_t> recorded_;
  std::map<Id, bool> nonBlocking_;
  std::map<Id, int> life_;
  int lives_ = 0;
  int epoch_ = 0;
  std::vector<Edge> chain_, waits_, required_;
  std::set<std::size_t> joins_;
  std::vector<Operation> operations_;
};

Actions work(StreamOrder& order, Id stream) {
  Actions actions;
  order.beforeWork(stream, actions);
  return actions;
}

}  // namespace

TEST_CASE("programs that use one stream get no actions") {
  Actions actions;
  SECTION("the legacy one") {
    StreamOrder order;
    for (int i = 0; i < 10; ++i) {
      order.beforeWork(StreamOrder::kLegacy, actions);
      if (i % 3 == 0) order.fence(actions);
    }
  }
  SECTION("one of its own") {
    StreamOrder order;
    const Id stream = order.add(GENERATE(false, true), actions);
    for (int i = 0; i < 10; ++i) {
      order.beforeWork(stream, actions);
      if (i % 3 == 0) order.fence(actions);
    }
  }
  REQUIRE(actions.empty());
}

TEST_CASE("the legacy stream and a blocking one alternate") {
  StreamOrder order;
  Actions none;
  const Id a = order.add(false, none);
  REQUIRE(work(order, StreamOrder::kLegacy).empty());
  REQUIRE(work(order, StreamOrder::kLegacy).empty());
  REQUIRE(work(order, a) == Actions{{kRecord, 0, 0}, {kWait, a, 0}});
  REQUIRE(work(order, a).empty());
  REQUIRE(work(order, StreamOrder::kLegacy) == Actions{{kRecord, a, a}, {kWait, 0, a}});
  REQUIRE(work(order, StreamOrder::kLegacy).empty());
}

TEST_CASE("two blocking streams behind one legacy operation share its event") {
  StreamOrder order;
  Actions none;
  const Id a = order.add(false, none), b = order.add(false, none);
  REQUIRE(work(order, StreamOrder::kLegacy).empty());
  REQUIRE(work(order, a) == Actions{{kRecord, 0, 0}, {kWait, a, 0}});
  REQUIRE(work(order, b) == Actions{{kWait, b, 0}});
}

TEST_CASE("non-blocking streams are free") {
  StreamOrder order;
  Actions none;
  const Id a = order.add(true, none);
  REQUIRE(work(order, StreamOrder::kLegacy).empty());
  REQUIRE(work(order, a).empty());
  REQUIRE(work(order, StreamOrder::kLegacy).empty());
  REQUIRE(work(order, a).empty());
}

TEST_CASE("a fence orders non-blocking streams, once") {
  StreamOrder order;
  Actions actions;
  const Id a = order.add(true, actions), b = order.add(true, actions);
  REQUIRE(work(order, a).empty());
  order.fence(actions);
  REQUIRE(actions == Actions{{kRecord, a, StreamOrder::kFenceEvent}});
  actions.clear();
  REQUIRE(work(order, a).empty());
  REQUIRE(work(order, b) == Actions{{kWait, b, StreamOrder::kFenceEvent}});
  REQUIRE(work(order, b).empty());

  order.fence(actions);
  REQUIRE(actions.size() == 5);  // both ends meet in the junction
  actions.clear();
  order.fence(actions);
  order.fence(actions);
  REQUIRE(actions.empty());
}

TEST_CASE("a stream that begins after a fence is behind it") {
  StreamOrder order;
  Actions actions;
  REQUIRE(work(order, StreamOrder::kLegacy).empty());
  order.fence(actions);
  REQUIRE(actions.empty());
  const Id a = order.add(true, actions);
  REQUIRE(actions == Actions{{kRecord, StreamOrder::kLegacy, StreamOrder::kFenceEvent}});
  REQUIRE(work(order, a) == Actions{{kWait, a, StreamOrder::kFenceEvent}});
}

TEST_CASE("what is removed is waited for no more") {
  StreamOrder order;
  Actions actions;
  const Id a = order.add(false, actions);
  REQUIRE(work(order, a).empty());
  order.remove(a);
  REQUIRE(work(order, StreamOrder::kLegacy).empty());
  REQUIRE(order.add(false, actions) == a);
  REQUIRE(work(order, a).size() == 2);
  REQUIRE(order.size() == 2);
}

TEST_CASE("random programs have exactly the order that CUDA's rules ask for, with no wait too many") {
  const auto seed = GENERATE(range(0u, 400u));
  std::mt19937 random(seed);
  StreamOrder order;
  Model model;
  Actions actions;
  std::vector<Id> streams{StreamOrder::kLegacy};
  model.newLife(StreamOrder::kLegacy);
  // All streams are there and have worked before the first fence: the case above is the only one with more order than
  // asked.
  const unsigned count = 1 + random() % 5;
  for (unsigned i = 0; i < count; ++i) {
    const bool nonBlocking = random() % 2;
    const Id id = order.add(nonBlocking, actions);
    REQUIRE(actions.empty());
    streams.push_back(id);
    model.stream(id, nonBlocking);
    model.newLife(id);
  }
  order.beforeWork(StreamOrder::kLegacy, actions);
  model.work(StreamOrder::kLegacy);
  REQUIRE(actions.empty());
  const unsigned fences = random() % 6;
  for (int i = 0; i < 40; ++i) {
    actions.clear();
    if (random() % 16 < fences) {
      order.fence(actions);
      model.act(actions);
      model.fence();
    } else {
      const Id id = streams[random() % streams.size()];
      order.beforeWork(id, actions);
      model.act(actions);
      model.work(id);
    }
  }
  // The junction's waits have a purpose once every stream has gone on.
  for (const Id id : streams) {
    actions.clear();
    order.beforeWork(id, actions);
    model.act(actions);
    model.work(id);
  }
  model.check();
}

}  // namespace rouse::executor
