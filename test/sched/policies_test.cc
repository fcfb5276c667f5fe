// Each policy by the examples of its source.
#include "test/sched/node.h"

namespace rouse::sched {

TEST_CASE("Algorithm 1: where the model is, else over the fastest NVLink from where it is busy, else from the host") {
  Node node(kTorpor);
  for (unsigned f = 0; f < 8; ++f) node.tell(FunctionAdded{F(f), resnet()}, 0);

  auto actions = node.tell(RequestArrived{R(1), F(0)}, 10);
  REQUIRE(actions.size() == 1);
  const GpuId home = asRun(actions[0]).gpu;
  REQUIRE(asRun(actions[0]).source.kind == Source::Kind::host);
  node.tell(RequestFinished{R(1), ms(25)}, 35);

  // No swapping.
  actions = node.tell(RequestArrived{R(2), F(0)}, 100);
  REQUIRE(asRun(actions[0]).gpu == home);
  REQUIRE(asRun(actions[0]).source.kind == Source::Kind::resident);
  node.tell(RequestFinished{R(2), ms(17)}, 117);

  // Its GPU is busy with another: it comes over the fast NVLink, 0 to 3.
  REQUIRE(home == G(0));
  FunctionSpec here = resnet();
  here.tied = G(0);
  node.tell(FunctionAdded{F(8), here}, 120);
  actions = node.tell(RequestArrived{R(3), F(8)}, 200);
  REQUIRE(asRun(actions[0]).gpu == G(0));
  actions = node.tell(RequestArrived{R(4), F(0)}, 201);
  REQUIRE(asRun(actions[0]).gpu == G(3));
  REQUIRE(asRun(actions[0]).source == Source{Source::Kind::peer, G(0)});
}

TEST_CASE("Algorithm 1: host swaps go where the neighbour loads nothing, then where it loads a light model") {
  Node node(kTorpor);
  for (unsigned f = 0; f < 8; ++f) node.tell(FunctionAdded{F(f), f % 2 == 0 ? bert() : densenet()}, 0);
  const GpuId first = asRun(node.tell(RequestArrived{R(1), F(0)}, 10).at(0)).gpu;    // Bert
  const GpuId second = asRun(node.tell(RequestArrived{R(2), F(1)}, 11).at(0)).gpu;   // DenseNet: behind the other switch
  REQUIRE(index(first) / 2 != index(second) / 2);
  const GpuId third = asRun(node.tell(RequestArrived{R(3), F(2)}, 12).at(0)).gpu;    // Bert: beside the light one
  REQUIRE(index(third) / 2 == index(second) / 2);
  const GpuId fourth = asRun(node.tell(RequestArrived{R(4), F(4)}, 13).at(0)).gpu;   // Bert: any
  REQUIRE(index(fourth) / 2 == index(first) / 2);
  REQUIRE(node.tell(RequestArrived{R(5), F(3)}, 14).empty());                        // all are busy
}

TEST_CASE("Torpor evicts light models first, then heavy ones, the least recently used of each") {
  Node node({"fifo", "torpor", "torpor", "limits"}, 1, 2000);
  node.tell(FunctionAdded{F(0), bert()}, 0);
  node.tell(FunctionAdded{F(1), densenet()}, 0);
  node.tell(FunctionAdded{F(2), densenet()}, 0);
  node.tell(FunctionAdded{F(3), resnet()}, 0);
  node.tell(FunctionAdded{F(4), resnet()}, 0);
  node.serve(0, 1, 0, 150);
  node.serve(1, 2, 200, 230);
  node.serve(2, 3, 300, 330);
  node.serve(1, 4, 400, 430);
  const auto actions = node.tell(RequestArrived{R(5), F(3)}, 500);  // 1640 of 2000 are used, 300 fit
  REQUIRE(actions.size() == 1);
  node.tell(RequestFinished{R(5), ms(25)}, 530);
  const auto more = node.tell(RequestArrived{R(6), F(4)}, 600);
  const Evict& evict = std::get<Evict>(more.at(0));
  REQUIRE(evict.leave.size() == 2);
  REQUIRE(evict.leave[0].function == F(2));
  REQUIRE(evict.leave[1].function == F(1));

  SECTION("LRU takes Bert, which has been used least recently") {
    Node lru({"fifo", "torpor", "lru", "limits"}, 1, 2000);
    for (unsigned f = 0; f < 3; ++f) lru.tell(FunctionAdded{F(f), f == 0 ? bert() : resnet()}, 0);
    lru.tell(FunctionAdded{F(3), resnet()}, 0);
    for (unsigned f = 0; f < 3; ++f) lru.serve(f, f + 1, f * 200.0, f * 200.0 + 150);
    REQUIRE(std::get<Evict>(lru.tell(RequestArrived{R(9), F(3)}, 900).at(0)).leave.at(0).function == F(0));
  }
}

TEST_CASE("required request count: of those that can still comply whoever needs most comes first, and those beyond the threshold last") {
  Node node({"torpor", "torpor", "torpor", "limits"}, 1, 3000);
  for (unsigned f = 0; f < 3; ++f) node.tell(FunctionAdded{F(f), densenet()}, 0);
  unsigned request = 0;
  double now = 0;
  const auto answer = [&](unsigned f, bool inTime) {
    node.tell(RequestArrived{R(++request), F(f)}, now);
    node.tell(RequestFinished{R(request), ms(25), inTime}, now += 25);
  };
  for (int i = 0; i < 50; ++i) answer(0, true);   // to spare
  for (int i = 0; i < 50; ++i) answer(1, i != 0 && i != 1);  // two late: it needs 50 more
  for (int i = 0; i < 50; ++i) answer(2, false);  // 2,450 more
  node.tell(TimerFired{}, now += 5000);
  node.tell(RequestArrived{R(++request), F(0)}, now);  // runs
  for (const unsigned f : {2u, 0u, 1u}) node.tell(RequestArrived{R(1000 + f), F(f)}, now);
  // Alpha is 1 at first, so that all are of high priority: by descending weight.
  REQUIRE(asRun(node.tell(RequestFinished{R(request), ms(25)}, now += 25).at(0)).function == F(2));
  REQUIRE(asRun(node.tell(RequestFinished{R(1002), ms(25), false}, now += 25).at(0)).function == F(1));
  REQUIRE(asRun(node.tell(RequestFinished{R(1001), ms(25)}, now += 25).at(0)).function == F(0));
}

TEST_CASE("earliest deadline first; best effort behind") {
  Node node({"edf", "torpor", "lru", "limits"}, 1, 5000);
  node.tell(FunctionAdded{F(0), bert()}, 0);
  node.tell(FunctionAdded{F(1), densenet()}, 0);
  FunctionSpec effort = densenet();
  effort.strict = false, effort.deadline = ms(1);
  node.tell(FunctionAdded{F(2), effort}, 0);
  node.tell(FunctionAdded{F(3), resnet()}, 0);
  node.tell(RequestArrived{R(1), F(3)}, 0);
  node.tell(RequestArrived{R(2), F(2)}, 1);
  node.tell(RequestArrived{R(3), F(0)}, 2);
  node.tell(RequestArrived{R(4), F(1)}, 3);
  REQUIRE(asRun(node.tell(RequestFinished{R(1), ms(25)}, 25).at(0)).request == R(4));
  REQUIRE(asRun(node.tell(RequestFinished{R(4), ms(25)}, 50).at(0)).request == R(3));
  REQUIRE(asRun(node.tell(RequestFinished{R(3), ms(144)}, 194).at(0)).request == R(2));
}

TEST_CASE("ours fetches while others run, and begins when what is missing arrives in time") {
  Node node(kRouse, 1, 5000);
  node.tell(FunctionAdded{F(0), resnet()}, 0);
  node.tell(FunctionAdded{F(1), bert()}, 0);
  auto actions = node.tell(RequestArrived{R(1), F(1)}, 0);
  REQUIRE(actions.size() == 1);
  REQUIRE(std::get<Fetch>(actions[0]).function == F(1));  // 128 ms of transfer: the GPU stays free
  actions = node.tell(RequestArrived{R(2), F(0)}, 1);
  REQUIRE(std::get<Fetch>(actions.at(0)).function == F(0));
  node.tell(ModelArrived{F(0), G(0)}, 45);
  bool ran = false;
  for (double now = 1; now < 60 && !ran; now += 1)
    for (const Action& action : node.tell(TimerFired{}, std::max(45.0, now))) ran = ran || asRun(action).function == F(0);
  // It may have begun with its ModelArrived; either way it runs, and Bert has not begun yet.
  REQUIRE(node.scheduler.state()[G(0)].running.size() == 1);
  node.tell(RequestFinished{R(2), ms(17)}, 80);
  actions.clear();
  double began = 0;
  for (double now = 81; now < 200 && began == 0; now += 1)
    for (const Action& action : node.tell(TimerFired{}, now)) {
      REQUIRE(asRun(action).request == R(1));
      began = now;
    }
  REQUIRE(began > 90);
  REQUIRE(began < 140);
}

TEST_CASE("ours takes of a large model first what would come while it runs") {
  Node node({"fifo", "torpor", "rouse", "limits"}, 1, 1650);
  node.tell(FunctionAdded{F(0), bert()}, 0);
  node.tell(FunctionAdded{F(1), resnet()}, 0);
  node.serve(0, 1, 0, 150);
  const auto actions = node.tell(RequestArrived{R(2), F(1)}, 200);
  const Evict& evict = std::get<Evict>(actions.at(0));
  REQUIRE(evict.leave.size() == 1);
  REQUIRE(evict.leave[0].function == F(0));
}

TEST_CASE("ours runs it where least has been done lately") {
  Node node(kRouse, 2, 5000);
  for (unsigned f = 0; f < 3; ++f) node.tell(FunctionAdded{F(f), resnet()}, 0);
  const auto place = [&](unsigned request, unsigned function, double when) {
    std::optional<GpuId> gpu;
    for (const Action& action : node.tell(RequestArrived{R(request), F(function)}, when))
      if (const auto* run = std::get_if<Run>(&action)) gpu = run->gpu;
      else if (const auto* fetch = std::get_if<Fetch>(&action)) gpu = fetch->gpu;
    REQUIRE(gpu);
    for (double now = when; node.scheduler.state()[*gpu].running.empty(); now += 1)
      node.tell(now > when + 24 ? Event(ModelArrived{F(function), *gpu}) : Event(TimerFired{}), now);
    node.tell(RequestFinished{R(request), ms(20)}, when + 60);
    return *gpu;
  };
  // Two GPUs on which nothing is and nothing runs do equally well.
  const GpuId first = place(1, 0, 0), second = place(2, 1, 100);
  REQUIRE(first != second);
  REQUIRE(place(3, 0, 200) == first);
  REQUIRE(place(4, 2, 300) == second);
  const State& state = node.scheduler.state();
  REQUIRE(state.loadShare(state[first]) == Approx(1).epsilon(0.01));
}

TEST_CASE("what failed with its executor is let in, goes first, and goes elsewhere where it can") {
  for (const unsigned gpus : {1u, 2u}) {
    Node node(kRouse, gpus, 5000);
    FunctionSpec spec = resnet();
    spec.queueLimit = 1;
    node.tell(FunctionAdded{F(0), spec}, 0);
    const auto again = node.tell(RequestArrived{.id = R(1), .function = F(0), .again = true, .failedOn = G(0)}, 0);
    REQUIRE(std::get<Fetch>(again.at(0)).gpu == G(gpus - 1));  // among equals it would be the first
    node.tell(RequestArrived{.id = R(2), .function = F(0), .again = true, .failedOn = G(0)}, 0);
    REQUIRE(std::holds_alternative<Refuse>(node.tell(RequestArrived{R(3), F(0)}, 0).at(0)));
    REQUIRE(node.scheduler.state()[F(0)].waiting.front() == R(2));
  }
}

TEST_CASE("a way between GPUs that is told of later is used") {
  Node node(kRouse, 1, 5000);
  node.tell(GpuAdded{G(1), {.memoryBytes = 5000, .linkBytesPerSecond = 10470, .switchId = 1}}, 0);
  for (unsigned f = 0; f < 2; ++f) node.tell(FunctionAdded{F(f), resnet()}, 0);
  node.tell(PeerAdded{G(1), {G(0), 25000}}, 0);
  node.tell(PeerAdded{G(1), {G(0), 50000}}, 0);
  REQUIRE(node.scheduler.state().peerRate(node.scheduler.state()[G(1)], G(0)) == 50000);
  REQUIRE(node.scheduler.state()[G(0)].readers == std::vector{G(1)});
}

TEST_CASE("ours moves who waits on the fuller GPU to one that has less to do, not all of them") {
  Node node(kRouse, 1, 5000);
  for (unsigned f = 0; f < 8; ++f) {
    node.tell(FunctionAdded{F(f), resnet()}, 0);
    node.tell(RequestArrived{R(f), F(f)}, 100 * f);
    for (double now = 100 * f; node.scheduler.state()[G(0)].running.empty(); now += 1)
      node.tell(now > 100 * f + 24 ? Event(ModelArrived{F(f), G(0)}) : Event(TimerFired{}), now);
    node.tell(RequestFinished{R(f), ms(20)}, 100 * f + 60);
  }
  node.tell(GpuAdded{G(1), {.memoryBytes = 5000, .linkBytesPerSecond = 10470, .switchId = 1}}, 1000);
  // Always two at a time: one runs, the other one would have to wait. Nobody copies models between the GPUs, and one that has been
  // brought to the other is gone from the first, as in the daemon.
  unsigned moved = 0, number = 100;
  for (double now = 1000; now < 9000; now += 100) {
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned request = ++number;
      const FunctionId f = F((number / 2 + 4 * i) % 8);
      for (const Action& action : node.tell(RequestArrived{R(request), f}, now))
        if (const auto* run = std::get_if<Run>(&action); run != nullptr && run->source.kind == Source::Kind::host) {
          REQUIRE(run->gpu == G(1));
          ++moved;
          node.tell(ModelArrived{f, G(1)}, now);
          node.tell(ModelLeft{f, G(0)}, now);
        }
    }
    for (unsigned g = 0; g < 2; ++g)
      while (!node.scheduler.state()[G(g)].running.empty()) node.tell(RequestFinished{node.scheduler.state()[G(g)].running[0].request, ms(17)}, now + 17);
  }
  REQUIRE(moved >= 3);
  REQUIRE(moved <= 5);
}

TEST_CASE("requests that would be far too late are told so at once, with a time to come back; queues have limits") {
  Node node(kRouse, 1, 5000);
  FunctionSpec spec = densenet();
  spec.concurrency = 1;
  for (unsigned f = 0; f < 20; ++f) node.tell(FunctionAdded{F(f), spec}, 0);
  unsigned refused = 0;
  for (unsigned f = 0; f < 20; ++f)
    for (const Action& action : node.tell(RequestArrived{R(f), F(f)}, 0))
      if (const auto* refuse = std::get_if<Refuse>(&action)) {
        ++refused;
        REQUIRE(refuse->reason == Reason::hopeless);
        REQUIRE(refuse->retryAfter > Duration::zero());
      }
  REQUIRE(refused > 8);
  REQUIRE(refused < 18);

  Node limits(kTorpor, 1, 5000);
  spec.queueLimit = 2;
  limits.tell(FunctionAdded{F(0), spec}, 0);
  for (unsigned r = 0; r < 3; ++r) REQUIRE((r == 0) == !limits.tell(RequestArrived{R(r), F(0)}, 0).empty());
  REQUIRE(std::get<Refuse>(limits.tell(RequestArrived{R(3), F(0)}, 0).at(0)).reason == Reason::queueFull);
}

}  // namespace rouse::sched
