#include "server/functions/lifecycle.h"
#include "server/functions/survivor.h"

#include <catch2/catch.hpp>
#include <random>

using namespace rouse::functions;
using namespace std::chrono_literals;
using Action = Lifecycle::Action;
using State = Lifecycle::State;
using Actions = Lifecycle::Actions;

namespace {

// A world with a clock that is turned by hand.
struct World {
  Lifecycle::Time now{1000s};
  LifecyclePolicy policy;
  Lifecycle life{policy};

  Actions pass(std::chrono::milliseconds time) {
    now += time;
    return life.tick(now);
  }
  // To the next moment that it waits for.
  Actions next() {
    REQUIRE(life.next() != Lifecycle::Time::max());
    now = std::max(now, life.next());
    return life.tick(now);
  }
  void makeReady() {
    if (life.state() == State::stopped) REQUIRE(life.start(now) == Actions{Action::start});
    life.onStarted(now);
    REQUIRE(next() == Actions{Action::check});
    life.onHealth(true, now);
    REQUIRE(life.state() == State::ready);
  }
};

}  // namespace

TEST_CASE("a function is started, looked at until it is well, and then now and again") {
  World w;
  CHECK(w.life.state() == State::stopped);
  CHECK(w.life.start(w.now) == Actions{Action::start});
  w.life.onStarted(w.now);
  CHECK(w.life.state() == State::starting);
  auto before = w.now;
  for (int i = 0; i < 10; ++i) {
    CHECK(w.next() == Actions{Action::check});
    CHECK(w.life.onHealth(false, w.now).empty());
  }
  CHECK(w.now - before > 1s);  // less and less often
  CHECK(w.next() == Actions{Action::check});
  w.life.onHealth(true, w.now);
  CHECK(w.life.state() == State::ready);
  before = w.now;
  CHECK(w.next() == Actions{Action::check});
  CHECK(w.now - before == w.policy.healthInterval);
}

TEST_CASE("one that a daemon finds running is looked at at once, and nobody starts it again") {
  World w;
  CHECK(w.life.onFound(w.now).empty());
  CHECK(w.life.wanted());
  CHECK(w.life.state() == State::starting);
  CHECK(w.pass(0ms) == Actions{Action::check});
  w.life.onHealth(true, w.now);
  CHECK(w.life.state() == State::ready);
  // It is as one that this daemon has started: ended, it is back after its back-off.
  CHECK(w.life.onExited(w.now).empty());
  CHECK(w.life.state() == State::waiting);
  CHECK(w.next() == Actions{Action::start});
  // Its GPU was lost while there was no daemon: that is known before it has answered.
  World lost;
  lost.life.onFound(lost.now);
  CHECK(lost.life.end(lost.now) == Actions{Action::terminate});
  CHECK(lost.life.onExited(lost.now) == Actions{Action::start});
}

TEST_CASE("a process is gone on with while its file says the same of it") {
  FunctionSpec spec{.name = "f", .command = {"/bin/a", "b"}, .environment = {{"A", "1"}}};
  const std::string terms = processTerms(spec);
  FunctionSpec other = spec;
  other.deadline = 7ms;
  other.concurrency = 9;
  other.healthPath = "/";
  CHECK(processTerms(other) == terms);
  const auto differs = [&](auto change) {
    FunctionSpec changed = spec;
    change(changed);
    CHECK(processTerms(changed) != terms);
    CHECK(needsRestart(spec, changed));
  };
  differs([](FunctionSpec& s) { s.command = {"/bin/a", "b", ""}; });
  differs([](FunctionSpec& s) { s.command = {"/bin/ab"}; });
  differs([](FunctionSpec& s) { s.environment["A"] = "2"; });
  differs([](FunctionSpec& s) { s.environment["B"] = ""; });
  differs([](FunctionSpec& s) { s.isolated = true; });
  differs([](FunctionSpec& s) { s.directory = "/tmp"; });
  differs([](FunctionSpec& s) { s.socket = "/tmp"; });
  differs([](FunctionSpec& s) { s.user = "nobody"; });
  differs([](FunctionSpec& s) { s.gpus = 2; });
  differs([](FunctionSpec& s) { s.gpuMemory = 1; });
  differs([](FunctionSpec& s) { s.hostMemory = 1; });
  differs([](FunctionSpec& s) { s.memory = 1; });
  differs([](FunctionSpec& s) { s.cpus = 0.5; });
  differs([](FunctionSpec& s) { s.processes = 1; });
  differs([](FunctionSpec& s) { s.pin = true; });
}

TEST_CASE("one that does not become well in time is ended, and tried again later") {
  World w;
  w.life.start(w.now);
  w.life.onStarted(w.now);
  Actions actions;
  while ((actions = w.next()) == Actions{Action::check}) w.life.onHealth(false, w.now);
  CHECK(actions == Actions{Action::terminate});
  CHECK(w.life.state() == State::stopping);
  CHECK(w.life.onExited(w.now).empty());
  CHECK(w.life.state() == State::waiting);
  CHECK(w.next() == Actions{Action::start});
}

TEST_CASE("back-off doubles up to its limit, and is forgotten after a steady while") {
  World w;
  w.life.start(w.now);
  auto expected = w.policy.firstBackOff;
  for (int i = 0; i < 40; ++i) {
    if (i % 2 == 0) {
      w.life.onStarted(w.now);
      w.life.onExited(w.now);
    } else {
      w.life.onStartFailed(w.now);
    }
    CHECK(w.life.state() == State::waiting);
    const auto before = w.now;
    CHECK(w.next() == Actions{Action::start});
    CHECK(w.now - before == expected);
    expected = std::min(expected * 2, w.policy.mostBackOff);
  }
  w.makeReady();
  w.now += w.policy.steadyAfter;
  w.life.onExited(w.now);
  const auto before = w.now;
  w.next();
  CHECK(w.now - before == w.policy.firstBackOff);
}

TEST_CASE("one that can serve is not waited for as long as one that cannot even begin") {
  World w;
  for (int i = 0; i < 12; ++i) {
    w.makeReady();
    w.life.onExited(w.now);
    const auto before = w.now;
    CHECK(w.next() == Actions{Action::start});
    CHECK(w.now - before <= w.policy.mostAfterReady);
  }
  w.life.onStartFailed(w.now);
  const auto before = w.now;
  w.next();
  CHECK(w.now - before == w.policy.mostBackOff);
}

TEST_CASE("a function that is unwell is doubted at once, and restarted when it stays so") {
  World w;
  w.makeReady();
  CHECK(w.next() == Actions{Action::check});
  CHECK(w.life.onHealth(false, w.now).empty());
  CHECK(w.life.state() == State::doubted);
  CHECK(w.next() == Actions{Action::check});
  w.life.onHealth(true, w.now);
  CHECK(w.life.state() == State::ready);
  for (std::uint32_t i = 1; i <= w.policy.healthFailures; ++i) {
    CHECK(w.next() == Actions{Action::check});
    const Actions actions = w.life.onHealth(false, w.now);
    CHECK(actions == (i == w.policy.healthFailures ? Actions{Action::terminate} : Actions{}));
  }
  w.life.onExited(w.now);
  CHECK(w.life.state() == State::waiting);
}

TEST_CASE("suspicion asks at once, and only once at a time") {
  World w;
  w.makeReady();
  CHECK(w.life.suspect(w.now) == Actions{Action::check});
  CHECK(w.life.state() == State::doubted);
  CHECK(w.life.suspect(w.now).empty());
  w.life.onHealth(true, w.now);
  CHECK(w.life.state() == State::ready);
}

TEST_CASE("stopping asks, then kills; starting meanwhile starts anew") {
  World w;
  w.makeReady();
  CHECK(w.life.stop(w.now) == Actions{Action::terminate});
  CHECK(w.next() == Actions{Action::kill});
  CHECK(w.life.onExited(w.now).empty());
  CHECK(w.life.state() == State::stopped);
  CHECK(w.life.next() == Lifecycle::Time::max());

  w.makeReady();
  w.life.stop(w.now);
  CHECK(w.life.start(w.now).empty());
  CHECK(w.life.onExited(w.now) == Actions{Action::start});

  w.life.onStartFailed(w.now);
  CHECK(w.life.stop(w.now).empty());
  CHECK(w.life.state() == State::stopped);
}

TEST_CASE("a restart, or a lost GPU, has no back-off") {
  World w;
  w.makeReady();
  CHECK((GENERATE(true, false) ? w.life.restart(w.now) : w.life.end(w.now)) == Actions{Action::terminate});
  CHECK(w.life.onExited(w.now) == Actions{Action::start});
  World stopped;
  CHECK(stopped.life.restart(stopped.now) == Actions{Action::start});
  CHECK(stopped.life.end(stopped.now).empty());
}

TEST_CASE("whatever happens, there is one process at a time, and what is wanted comes to be") {
  std::mt19937 random(GENERATE(1, 2, 3, 4, 5));
  World w;
  bool process = false, checking = false;
  const auto act = [&](const Actions& actions) {
    for (const Action action : actions) {
      if (action == Action::start) {
        REQUIRE_FALSE(process);
        if (random() % 4 == 0) {
          w.life.onStartFailed(w.now);
        } else {
          process = true;
          w.life.onStarted(w.now);
        }
      }
      if (action == Action::check) {
        REQUIRE_FALSE(checking);
        checking = true;
      }
      if (action == Action::terminate || action == Action::kill) REQUIRE(process);
    }
  };
  for (int i = 0; i < 20000; ++i) {
    w.now += std::chrono::milliseconds(random() % 300);
    switch (random() % 9) {
      case 0:
        act(w.life.start(w.now));
        break;
      case 1:
        act(w.life.stop(w.now));
        break;
      case 2:
        act(w.life.restart(w.now));
        break;
      case 3:
        if (std::exchange(process, false)) act(w.life.onExited(w.now));
        break;
      case 4:
        act(w.life.suspect(w.now));
        break;
      case 5:
        act(w.life.end(w.now));
        break;
      case 6:
        if (std::exchange(checking, false)) act(w.life.onHealth(random() % 3 != 0, w.now));
        break;
      default:
        act(w.life.tick(w.now));
        break;
    }
    const State state = w.life.state();
    CHECK(process ==
          (state == State::starting || state == State::ready || state == State::doubted || state == State::stopping));
  }
  act(w.life.start(w.now));
  for (int i = 0; i < 1000 && w.life.state() != State::ready; ++i) {
    if (w.life.state() == State::stopping && std::exchange(process, false)) act(w.life.onExited(w.now));
    if (w.life.next() != Lifecycle::Time::max()) act(w.next());
    if (std::exchange(checking, false)) act(w.life.onHealth(true, w.now));
  }
  CHECK(w.life.state() == State::ready);
}
