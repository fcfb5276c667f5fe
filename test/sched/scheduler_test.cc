// Events that do not fit, losses, pins.
#include "test/sched/node.h"

namespace rouse::sched {

TEST_CASE("events that do not fit are errors that name what, and change nothing") {
  Node node(kRouse, 1);
  REQUIRE(node.refused(RequestArrived{R(1), F(5)}, 0) == "function 5 is not known");
  REQUIRE(node.refused(FunctionAdded{F(kMostFunctions), bert()}, 0) == "function 131072: there can be 131072");
  node.tell(FunctionAdded{F(0), bert()}, 0);
  REQUIRE(node.refused(FunctionAdded{F(0), bert()}, 0) == "function 0 is known already");
  FunctionSpec wrong = bert();
  wrong.percentile = 1;
  REQUIRE(node.refused(FunctionChanged{F(0), wrong}, 0) == "function 0: percentile must be from 0 to below 1");
  wrong = bert(), wrong.pinned = G(3);
  REQUIRE(node.refused(FunctionAdded{F(1), wrong}, 0) == "function 1: GPU 3 is not known");
  REQUIRE(node.refused(RequestFinished{R(9), ms(1)}, 0) == "request 9 does not run");
  REQUIRE(node.refused(RequestCancelled{R(9)}, 0) == "request 9 is not known");
  REQUIRE(node.refused(ModelArrived{F(0), G(0)}, 0) == "function 0 is not on its way to GPU 0");
  REQUIRE(node.refused(ModelLeft{F(0), G(0)}, 0) == "function 0 is not on GPU 0");
  REQUIRE(node.refused(GpuLost{G(7)}, 0) == "GPU 7 is not there");
  REQUIRE(node.refused(GpuReturned{G(0)}, 0) == "GPU 0 is not lost");
  REQUIRE(node.refused(GpuAdded{G(0), {}}, 0) == "GPU 0 is known already");
  REQUIRE(node.refused(PeerAdded{G(0), {G(7), 1}}, 0) == "GPU 7 is not known");
  REQUIRE(node.refused(PeerAdded{G(0), {G(0), 1}}, 0) == "GPU 0 cannot be its own peer");
  REQUIRE(node.refused(GpuAdded{G(1), {}}, 0) == "GPU 1: its link must have a bandwidth above 0");
  node.tell(RequestArrived{R(1), F(0)}, 0);
  REQUIRE(node.refused(RequestArrived{R(1), F(0)}, 0) == "request 1 is known already");
}

TEST_CASE("a request runs again on another GPU after its executor failed, once, where its function allows that") {
  Node node(kTorpor, 2);
  FunctionSpec spec = resnet();
  spec.retry = true;
  node.tell(FunctionAdded{F(0), spec}, 0);
  node.tell(FunctionAdded{F(1), resnet()}, 0);
  const GpuId first = asRun(node.tell(RequestArrived{R(1), F(0)}, 0).at(0)).gpu;
  auto actions = node.tell(GpuLost{first}, 5);
  REQUIRE(asRun(actions.at(0)).request == R(1));
  const GpuId second = asRun(actions[0]).gpu;
  REQUIRE(second != first);
  actions = node.tell(ExecutorFailed{second}, 10);
  REQUIRE(actions.size() == 1);
  REQUIRE(std::get<Refuse>(actions[0]).reason == Reason::executorFailed);
  REQUIRE(node.refused(RequestFinished{R(1), ms(5)}, 11) == "request 1 does not run");

  asRun(node.tell(RequestArrived{R(2), F(1)}, 20).at(0));  // does not allow it
  REQUIRE(std::get<Refuse>(node.tell(ExecutorFailed{second}, 25).at(0)).request == R(2));

  node.tell(GpuLost{second}, 30);
  REQUIRE(node.tell(RequestArrived{R(3), F(0)}, 40).empty());  // waits for a GPU
  REQUIRE(asRun(node.tell(GpuReturned{first}, 50).at(0)).request == R(3));
}

TEST_CASE("pinned models are never evicted, tied ones run nowhere else") {
  Node node({"fifo", "torpor", "lru", "limits"}, 2, 1500);
  FunctionSpec pinned = bert();
  pinned.pinned = G(0), pinned.tied = G(0);
  node.tell(FunctionAdded{F(0), pinned}, 0);
  node.tell(FunctionAdded{F(1), bert()}, 0);
  node.tell(FunctionAdded{F(2), bert()}, 0);
  REQUIRE(asRun(node.tell(RequestArrived{R(1), F(0)}, 0).at(0)).gpu == G(0));
  node.tell(RequestFinished{R(1), ms(150)}, 150);
  for (unsigned r = 2; r < 6; ++r) {
    const auto actions = node.tell(RequestArrived{R(r), F(1 + r % 2)}, r * 200.0);
    REQUIRE(asRun(actions.back()).gpu == G(1));
    node.tell(RequestFinished{R(r), ms(150)}, r * 200.0 + 150);
  }
  REQUIRE(node.scheduler.state()[F(0)].copyOn(G(0)) != nullptr);
  node.tell(GpuLost{G(0)}, 5000);
  REQUIRE(node.tell(RequestArrived{R(10), F(0)}, 5001).empty());
  REQUIRE(asRun(node.tell(RequestArrived{R(11), F(1)}, 5002).back()).gpu == G(1));
}

TEST_CASE("a removed function's requests are refused, what runs may end, and its number is free again") {
  Node node(kRouse, 1);
  node.tell(FunctionAdded{F(0), densenet()}, 0);
  node.tell(RequestArrived{R(1), F(0)}, 0);
  node.tell(RequestArrived{R(2), F(0)}, 1);
  const auto actions = node.tell(FunctionRemoved{F(0)}, 2);
  REQUIRE(std::get<Refuse>(actions.at(0)).request == R(2));
  REQUIRE(std::get<Refuse>(actions.at(0)).reason == Reason::functionRemoved);
  REQUIRE(node.refused(RequestArrived{R(3), F(0)}, 3) == "function 0 is not known");
  REQUIRE(node.refused(FunctionAdded{F(0), densenet()}, 4) == "function 0 is known already");
  node.tell(RequestFinished{R(1), ms(27)}, 27);
  REQUIRE(node.scheduler.state()[G(0)].used == 0);
  node.tell(FunctionAdded{F(0), densenet()}, 30);
}

TEST_CASE("times are learned: what is told counts until something is measured") {
  Node node(kTorpor, 1);
  FunctionSpec unknown = densenet();
  unknown.run = unknown.hostSwap = unknown.peerSwap = Duration::zero();
  node.tell(FunctionAdded{F(0), unknown}, 0);
  const State& state = node.scheduler.state();
  REQUIRE(state.run(state[F(0)]) == State::kUnknownRun);
  for (unsigned r = 0; r < 5; ++r) node.serve(0, r, r * 100.0, r * 100.0 + (r == 0 ? 60 : 40));
  REQUIRE(state.run(state[F(0)]) == ms(40));
  REQUIRE(state.hostSwap(state[F(0)], state[G(0)]) == ms(60));
}

}  // namespace rouse::sched
