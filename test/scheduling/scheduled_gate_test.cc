#include "server/scheduling/scheduled_gate.h"

#include <catch2/catch.hpp>
#include <random>
#include <thread>

namespace rouse::scheduling {
namespace {

using namespace std::chrono_literals;
using router::Admission;
using router::Admitted;
using router::Outcome;
using router::RefusalReason;
using router::Refused;
using router::Ticket;
using Presence = router::FunctionGate::Presence;

constexpr std::uint64_t kGB = 1'000'000'000;

// Programs that go wherever they are taken, when they are told to (`hold`: later), unless they are tied.
class FakeFleet final : public Fleet {
 public:
  std::map<std::string, Whereabouts> programs;
  std::vector<std::pair<std::string, std::uint64_t>> released;  // with the bytes, 0: all
  std::vector<std::pair<std::string, std::uint32_t>> taken;
  bool hold = false, busy = false;

  std::optional<Whereabouts> whereIs(const std::string& function) const override {
    const auto found = programs.find(function);
    return found == programs.end() ? std::nullopt : std::optional(found->second);
  }
  void take(const std::string& function, std::uint32_t gpu, Done done) override {
    taken.emplace_back(function, gpu);
    later([this, function, gpu, done = std::move(done)] {
      const auto found = programs.find(function);
      if (found == programs.end()) return done(Error{CudaError::unknown, "it has ended"});
      if (found->second.tied && found->second.gpu != gpu) return done(Error{CudaError::notSupported, "it is tied"});
      if (busy && found->second.gpu != gpu) return done(Error{CudaError::notReady, "it is being taken elsewhere already"});
      found->second.gpu = gpu;
      done({});
    });
  }
  void whenHere(const std::string&, Done done) override {
    later([done = std::move(done)] { done({}); });
  }
  void release(const std::string& function, std::uint64_t bytes) override { released.emplace_back(function, bytes); }

  void goOn() {
    while (!held_.empty()) goOn(0);
  }
  // One of those that are held, if any.
  void goOn(std::size_t which) {
    if (held_.empty()) return;
    const auto at = held_.begin() + static_cast<std::ptrdiff_t>(which % held_.size());
    const auto what = std::move(*at);
    held_.erase(at);
    what();
  }

 private:
  void later(std::function<void()> what) {
    if (!hold) return what();
    held_.push_back(std::move(what));
  }
  std::vector<std::function<void()>> held_;
};

struct Node {
  explicit Node(unsigned gpus = 2, std::uint64_t memory = 4 * kGB, sched::PolicyNames policies = {"fifo", "torpor", "lru", "limits"})
      : gate(io, fleet, sched::makePolicies(policies).value(), &history) {
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      sched::GpuSpec spec;
      spec.memoryBytes = memory;
      spec.linkBytesPerSecond = 10e9;
      spec.switchId = gpu;
      gate.gpuAdded(gpu, spec);
    }
  }
  void add(const std::string& name, std::uint32_t gpu, std::uint64_t bytes = kGB, bool tied = false, const router::FunctionTerms& terms = {}) {
    gate.set(name, terms);
    start(name, gpu, bytes, tied);
  }
  void start(const std::string& name, std::uint32_t gpu, std::uint64_t bytes = kGB, bool tied = false) {
    fleet.programs[name] = {gpu, bytes, tied};
    gate.observe(name, fleet.whereIs(name));
    gate.setPresence(name, Presence::here);
    settle();
  }
  void kill(const std::string& name) {
    fleet.programs.erase(name);
    gate.observe(name, std::nullopt);
    gate.setPresence(name, Presence::away);
    settle();
  }
  struct Request {
    Ticket ticket = 0;
    std::optional<Admission> answer;
    int answers = 0;
    bool inside() const { return answer && std::holds_alternative<Admitted>(*answer); }
    std::optional<std::uint32_t> gpu() const { return std::get<Admitted>(*answer).gpu; }
    RefusalReason reason() const { return std::get<Refused>(*answer).reason; }
  };
  std::shared_ptr<Request> ask(const std::string& name, std::chrono::milliseconds giveUp = 10s, std::optional<std::uint32_t> failedOn = {}) {
    auto request = std::make_shared<Request>();
    const auto now = std::chrono::steady_clock::now();
    history.begin(requests + 1, "r" + std::to_string(requests + 1), "", name, now, 100ms);
    request->ticket = gate.enter({.function = name, .request = ++requests, .arrived = now, .deadline = now + 100ms, .giveUp = now + giveUp, .again = failedOn.has_value(),
                                  .failedOn = failedOn},
                                 [request](Admission admission) {
                                   request->answer = admission;
                                   ++request->answers;
                                 });
    settle();
    return request;
  }
  void leave(const std::shared_ptr<Request>& request) {
    gate.leave(request->ticket, Outcome::answered);
    settle();
  }
  void settle() {
    io.restart();
    io.poll();
  }

  boost::asio::io_context io;
  FakeFleet fleet;
  router::History history{64};
  ScheduledGate gate;
  std::uint64_t requests = 0;
};

}  // namespace

TEST_CASE("a request of a function that uses a GPU is admitted on one, and no GPU has two") {
  Node node;
  for (const char* name : {"a", "b", "c"}) node.add(name, 0);
  const auto a = node.ask("a"), b = node.ask("b"), c = node.ask("c");
  REQUIRE(a->inside());
  REQUIRE(b->inside());
  CHECK(a->gpu() != b->gpu());
  CHECK_FALSE(c->answer);
  CHECK(node.gate.waiting("c") == 1);
  node.leave(a);
  REQUIRE(c->inside());
  node.leave(b);
  node.leave(c);
  CHECK(node.gate.running("c") == 0);
  CHECK(node.gate.misfits() == 0);
}

TEST_CASE("a function without a GPU has a queue of its own") {
  Node node(1);
  node.gate.set("plain", {.concurrency = 2});
  CHECK(node.ask("nobody")->reason() == RefusalReason::stopped);
  const auto early = node.ask("plain");
  CHECK_FALSE(early->answer);  // it is away
  node.gate.setPresence("plain", Presence::here);
  node.settle();
  REQUIRE(early->inside());
  CHECK_FALSE(early->gpu());
  const auto second = node.ask("plain"), third = node.ask("plain");
  CHECK(second->inside());
  CHECK_FALSE(third->answer);
  node.leave(early);
  CHECK(third->inside());
}

TEST_CASE("who has to go for others is released, in the scheduler's order") {
  Node node(1, 2 * kGB);
  for (const char* name : {"a", "b", "c"}) {
    node.add(name, 0);
    node.leave(node.ask(name));
  }
  CHECK(node.fleet.released == std::vector<std::pair<std::string, std::uint64_t>>{{"a", 0}});
  CHECK(node.gate.misfits() == 0);
}

TEST_CASE("who has to give a part is told how much, in whole pieces, and gives the rest when there is no other") {
  constexpr std::uint64_t kModel = 500 * sched::kPieceBytes, kSpare = 3 * sched::kPieceBytes / 2;
  Node node(1, 2 * kModel + kSpare, {"fifo", "rouse", "rouse", "limits"});
  for (const char* name : {"a", "b"}) {
    node.add(name, 0, kModel);
    const auto request = node.ask(name);
    std::this_thread::sleep_for(20ms);  // what would come meanwhile is what it gives first
    node.leave(request);
  }
  CHECK(node.fleet.released.empty());
  node.add("c", 0, kModel);
  node.leave(node.ask("c"));
  REQUIRE(node.gate.misfits() == 0);
  std::map<std::string, std::uint64_t> gave;
  for (const auto& [name, bytes] : node.fleet.released) {
    REQUIRE(name != "c");
    REQUIRE(bytes % sched::kPieceBytes == 0);
    gave[name] = bytes == 0 ? kModel : gave[name] + bytes;
  }
  CHECK(node.fleet.released.front().second != 0);
  std::uint64_t all = 0;
  for (const auto& [name, bytes] : gave) {
    CHECK(bytes <= kModel);
    all += bytes;
  }
  CHECK(all + kSpare >= kModel);
}

TEST_CASE("a program that cannot be taken elsewhere is served where it is, and from then on only there") {
  Node node;
  node.add("busy", 0);
  node.add("tied", 0, kGB, true);
  node.fleet.programs["tied"].tied = false;  // nobody knows it yet
  node.gate.observe("tied", node.fleet.whereIs("tied"));
  node.fleet.programs["tied"].tied = true;
  const auto busy = node.ask("busy");
  const auto first = node.ask("tied");  // GPU 1 is free
  REQUIRE(first->inside());
  CHECK(first->gpu() == 0u);
  CHECK(node.fleet.taken.back() == std::pair(std::string("tied"), 1u));
  node.leave(first);
  const auto second = node.ask("tied");
  CHECK_FALSE(second->answer);  // GPU 0 is not
  node.leave(busy);
  REQUIRE(second->inside());
  CHECK(node.fleet.taken.back() == std::pair(std::string("tied"), 0u));
  node.leave(second);
  CHECK(node.gate.misfits() == 0);
}

TEST_CASE("who cannot be taken elsewhere just now can be, later") {
  Node node;
  node.add("a", 0);
  node.add("b", 0);
  const auto a = node.ask("a");
  node.fleet.busy = true;
  const auto first = node.ask("b");  // GPU 1 is free
  REQUIRE(first->inside());
  CHECK(first->gpu() == 0u);
  node.leave(first);
  node.fleet.busy = false;
  const auto second = node.ask("b");
  REQUIRE(second->inside());
  CHECK(second->gpu() == 1u);
  node.leave(second);
  node.leave(a);
  CHECK(node.gate.misfits() == 0);
}

TEST_CASE("what would be far too late is refused at once, with a time to come back; best effort is not, nor what is tried again") {
  for (const bool strict : {true, false}) {
    Node node(1, 4 * kGB, {});
    for (const char* name : {"a", "b"}) node.add(name, 0, kGB, false, {.waiting = 100, .deadline = 50ms, .strict = strict});
    std::vector<std::shared_ptr<Node::Request>> all;
    for (int i = 0; i < 30; ++i) all.push_back(node.ask(i % 2 == 0 ? "a" : "b"));
    std::size_t refused = 0;
    for (const auto& request : all) {
      if (!request->answer || request->inside()) continue;
      ++refused;
      CHECK(request->reason() == RefusalReason::hopeless);
      CHECK(std::get<Refused>(*request->answer).retryAfter >= 1s);
    }
    CHECK((strict ? refused > 15 : refused == 0));
    const auto again = node.ask("a", 10s, 0);
    CHECK_FALSE((again->answer && !again->inside()));
    node.gate.close();
    for (const auto& request : all)
      if (request->inside()) node.gate.leave(request->ticket, Outcome::answered);
    CHECK(node.gate.misfits() == 0);
  }
}

TEST_CASE("what failed with its executor is tried on another GPU, where there is one") {
  for (const unsigned gpus : {1u, 2u}) {
    Node node(gpus, 4 * kGB, {});
    node.add("a", 0);
    const auto again = node.ask("a", 10s, 0);
    REQUIRE(again->inside());
    CHECK(again->gpu() == gpus - 1);
    node.leave(again);
    CHECK(node.gate.misfits() == 0);
  }
}

TEST_CASE("requests wait while the program is started again, and are not lost") {
  Node node(1);
  node.add("a", 0);
  const auto running = node.ask("a"), waiting = node.ask("a");
  node.kill("a");
  CHECK_FALSE(waiting->answer);
  node.gate.leave(running->ticket, Outcome::failed);
  node.settle();
  CHECK_FALSE(waiting->answer);
  const auto late = node.ask("a");
  CHECK_FALSE(late->answer);
  node.start("a", 0);
  REQUIRE(waiting->inside());
  CHECK_FALSE(late->answer);
  node.leave(waiting);
  REQUIRE(late->inside());
  node.leave(late);
  CHECK(node.gate.misfits() == 0);
}

TEST_CASE("a lost GPU takes no requests, and its requests end with the router") {
  Node node;
  node.add("a", 0);
  const auto first = node.ask("a");
  REQUIRE(first->gpu());
  node.gate.gpuLost(*first->gpu());
  node.settle();
  node.gate.leave(first->ticket, Outcome::failed);
  const auto second = node.ask("a");
  REQUIRE(second->inside());
  CHECK(second->gpu() != first->gpu());
  node.leave(second);
  node.gate.gpuReturned(*first->gpu());
  CHECK(node.gate.misfits() == 0);
}

TEST_CASE("nobody waits longer than they want to, and closing refuses all") {
  Node node(1);
  node.add("a", 0);
  const auto running = node.ask("a");
  const auto brief = node.ask("a", 1ms), patient = node.ask("a");
  node.io.restart();
  node.io.run_for(20ms);
  REQUIRE(brief->answer);
  CHECK(brief->reason() == RefusalReason::waitedTooLong);
  CHECK_FALSE(patient->answer);
  node.gate.close();
  node.settle();
  CHECK(patient->reason() == RefusalReason::closing);
  CHECK(node.ask("a")->reason() == RefusalReason::closing);
  node.leave(running);
  CHECK(node.gate.misfits() == 0);
}

TEST_CASE("whose program is still on its way when time is up is turned away, and the GPU goes on") {
  Node node(1);
  node.add("a", 0);
  node.add("b", 0);
  node.fleet.hold = true;
  const auto brief = node.ask("a", 1ms), other = node.ask("b");
  node.io.restart();
  node.io.run_for(20ms);
  REQUIRE(brief->answer);
  CHECK(brief->reason() == RefusalReason::waitedTooLong);
  node.fleet.goOn();
  node.settle();
  CHECK(brief->answers == 1);
  REQUIRE(other->inside());
  const auto last = node.ask("a");
  node.gate.close();
  node.settle();
  CHECK(last->reason() == RefusalReason::closing);
  node.leave(other);
  CHECK(node.gate.misfits() == 0);
  CHECK(node.gate.scheduler().state().requests.empty());
}

TEST_CASE("a program that grows beyond the room beside others is made room for") {
  Node node(1, 4 * kGB);
  node.add("a", 0, kGB);
  node.add("b", 0, 2 * kGB);
  node.leave(node.ask("a"));
  node.leave(node.ask("b"));
  node.fleet.programs["a"].bytes = 3 * kGB;
  node.gate.observe("a", node.fleet.whereIs("a"));
  const auto a = node.ask("a");
  REQUIRE(a->inside());
  CHECK(node.fleet.released == std::vector<std::pair<std::string, std::uint64_t>>{{"b", 0}});
  // While a request of it runs.
  node.fleet.programs["a"].bytes = 4 * kGB;
  node.gate.observe("a", node.fleet.whereIs("a"));
  node.leave(a);
  const auto again = node.ask("a");
  CHECK(again->inside());
  node.leave(again);
  CHECK(node.gate.misfits() == 0);
}

TEST_CASE("whatever happens, each request is answered at most once, none is forgotten, and no GPU has two") {
  for (const std::string policy : {"rouse", "torpor"}) {
    for (unsigned seed = 0; seed < 60; ++seed) {
      Node node(2, 3 * kGB, {policy, policy, policy, "limits"});
      node.fleet.hold = true;
      std::mt19937 random(seed);
      const auto below = [&](unsigned n) { return random() % n; };
      const auto nameOf = [](unsigned i) { return "f" + std::to_string(i); };
      constexpr unsigned kFunctions = 6;
      for (unsigned i = 0; i < kFunctions; ++i) node.add(nameOf(i), i % 2, kGB / 2 + below(2) * kGB, i == 0);
      std::vector<std::shared_ptr<Node::Request>> all, inside;
      bool present[2] = {true, true};
      for (int i = 0; i < 600; ++i) {
        const std::string name = nameOf(below(kFunctions));
        switch (below(12)) {
          case 0: case 1: case 2: case 3:
            all.push_back(node.ask(name));
            break;
          case 4: case 5:
            if (!inside.empty()) {
              const auto at = inside.begin() + below(static_cast<unsigned>(inside.size()));
              const auto request = *at;
              inside.erase(at);
              node.gate.leave(request->ticket, below(4) == 0 ? Outcome::failed : Outcome::answered);
            }
            break;
          case 6:
            if (!all.empty()) {
              const auto& request = all[below(static_cast<unsigned>(all.size()))];
              if (!request->answer) {
                node.gate.cancel(request->ticket);
                ++request->answers;  // none may come
                request->answer = Refused{};
              }
            }
            break;
          case 7:
            if (node.fleet.programs.contains(name)) {
              node.kill(name);
            } else {
              node.start(name, below(2));
            }
            break;
          case 8: {
            const unsigned gpu = below(2);
            present[gpu] ? node.gate.gpuLost(gpu) : node.gate.gpuReturned(gpu);
            present[gpu] = !present[gpu];
            break;
          }
          case 9:
            if (const auto found = node.fleet.programs.find(name); found != node.fleet.programs.end()) {
              found->second.bytes = kGB / 2 + below(4) * kGB / 2;
              node.gate.observe(name, found->second);
            }
            break;
          default:
            node.fleet.goOn(random());
        }
        node.settle();
        for (const sched::Gpu& gpu : node.gate.scheduler().state().gpus) REQUIRE(gpu.running.size() <= 1);
        for (const auto& request : all) {
          REQUIRE(request->answers <= 1);
          if (request->inside() && request->answers == 1 && std::ranges::find(inside, request) == inside.end()) {
            inside.push_back(request);
            request->answers = -1000;  // seen; another answer is not -1000 any more
          }
        }
      }
      // All is well again: everybody is served.
      for (unsigned gpu = 0; gpu < 2; ++gpu)
        if (!present[gpu]) node.gate.gpuReturned(gpu);
      for (unsigned i = 0; i < kFunctions; ++i)
        if (!node.fleet.programs.contains(nameOf(i))) node.start(nameOf(i), i % 2);
      for (int i = 0; i < 5000; ++i) {
        node.fleet.goOn();
        node.settle();
        bool left = false;
        for (const auto& request : all) {
          if (request->answers == 1 && request->inside()) inside.push_back(request), request->answers = -1000;
          left = left || !request->answer;
        }
        for (const auto& request : std::exchange(inside, {})) node.gate.leave(request->ticket, Outcome::answered);
        node.settle();
        if (!left && node.gate.scheduler().state().requests.empty()) break;
      }
      INFO(policy << " " << seed);
      for (const auto& request : all) CHECK(request->answer);
      for (unsigned i = 0; i < kFunctions; ++i) {
        CHECK(node.gate.waiting(nameOf(i)) == 0);
        CHECK(node.gate.running(nameOf(i)) == 0);
      }
      CHECK(node.gate.scheduler().state().requests.empty());
      CHECK(node.gate.misfits() == 0);
    }
  }
}

// What is told of a request: kinds of steps in order.
TEST_CASE("the story of a request says who left for it, where it went, why, and when its model was there") {
  using Kind = router::Step::Kind;
  Node node(1, 2 * kGB, {"fifo", "torpor", "lru", "limits"});
  node.add("a", 0, kGB);
  node.add("b", 0, kGB);
  node.leave(node.ask("a"));
  node.leave(node.ask("b"));
  node.gate.set("c", {});
  node.fleet.programs["c"] = {0, kGB, false};
  node.gate.observe("c", node.fleet.whereIs("c"));
  node.gate.setPresence("c", Presence::here);
  node.settle();
  const auto c = node.ask("c");
  REQUIRE(c->inside());
  const router::Stages stages = node.gate.stages(c->ticket);
  CHECK(stages.source == router::ModelSource::host);
  CHECK(stages.here >= stages.begun);
  CHECK(stages.begun != router::Time{});
  const router::Story& story = *node.history.find(node.requests);
  std::vector<Kind> kinds;
  for (const router::Step& step : story.steps) kinds.push_back(step.kind);
  CHECK(kinds == std::vector{Kind::queued, Kind::evicted, Kind::run, Kind::arrived});
  CHECK(story.steps[0].count == 0);
  CHECK(story.steps[1].text == "a");
  CHECK(story.steps[1].gpu == 0);
  CHECK(story.steps[1].bytes == kGB);
  CHECK(story.steps[2].source == router::ModelSource::host);
  CHECK(story.steps[2].code == "quiet-link");
  CHECK(story.steps[2].bytes == kGB);
  node.leave(c);
  const auto again = node.ask("c");
  CHECK(node.gate.stages(again->ticket).source == router::ModelSource::resident);
  CHECK(node.history.find(node.requests)->steps.back().code == "resident");
  node.leave(again);
}

TEST_CASE("a model that is fetched for a request that runs while it comes is part of that request's story") {
  using Kind = router::Step::Kind;
  Node node(1, 2 * kGB, {"rouse", "rouse", "rouse", "limits"});
  for (const char* name : {"a", "b"}) {
    node.add(name, 0, kGB);
    node.leave(node.ask(name));
  }
  node.fleet.hold = true;  // it is on its way for a while
  node.gate.set("c", {});
  node.fleet.programs["c"] = {0, kGB, false};
  node.gate.observe("c", node.fleet.whereIs("c"));
  node.gate.setPresence("c", Presence::here);
  const auto c = node.ask("c");
  for (int i = 0; i < 100 && !c->answer; ++i) {
    node.fleet.goOn(0);
    node.settle();
    std::this_thread::sleep_for(5ms);
  }
  node.fleet.goOn();
  node.settle();
  REQUIRE(c->inside());
  CHECK(node.gate.stages(c->ticket).source == router::ModelSource::host);
  std::vector<Kind> kinds;
  for (const router::Step& step : node.history.find(node.requests)->steps) kinds.push_back(step.kind);
  CHECK(std::ranges::count(kinds, Kind::evicted) >= 1);  // each a part, perhaps
  CHECK(std::ranges::count(kinds, Kind::fetch) == 1);
  CHECK(std::ranges::count(kinds, Kind::run) == 1);
  CHECK(std::ranges::count(kinds, Kind::arrived) == 1);
  node.leave(c);
}

TEST_CASE("the story of a request tells of its program's moves, and that it could not move") {
  using Kind = router::Step::Kind;
  Node node(2, 4 * kGB);
  node.add("a", 0);
  node.add("b", 0);
  const auto a = node.ask("a"), b = node.ask("b");  // one on each
  REQUIRE((a->inside() && b->inside()));
  const auto kindsOf = [&](std::uint64_t number) {
    std::vector<Kind> kinds;
    for (const router::Step& step : node.history.find(number)->steps) kinds.push_back(step.kind);
    return kinds;
  };
  const auto moved = kindsOf(1), other = kindsOf(2);
  CHECK(std::ranges::count(moved, Kind::moves) + std::ranges::count(other, Kind::moves) == 1);
  const auto c = node.ask("a");
  CHECK(node.history.find(3)->steps.at(0).count == 1);  // the one at the function
  CHECK_FALSE(c->answer);
  node.leave(a);
  node.leave(b);
  node.leave(c);
}

TEST_CASE("the story of a request says that its function uses no GPU") {
  Node node(1);
  node.gate.set("plain", {});
  node.gate.setPresence("plain", Presence::here);
  const auto one = node.ask("plain");
  REQUIRE(one->inside());
  REQUIRE(node.history.find(1)->steps.size() == 1);
  CHECK(node.history.find(1)->steps[0].kind == router::Step::Kind::away);
  CHECK(node.history.find(1)->steps[0].code == "no-gpu");
  CHECK(node.gate.stages(one->ticket).source == router::ModelSource::none);
  node.leave(one);
}

}  // namespace rouse::scheduling
