#include "server/router/queue_gate.h"

#include <catch2/catch.hpp>
#include <random>

using namespace rouse::router;
using namespace std::chrono_literals;

namespace {

struct Door {
  boost::asio::io_context io;
  QueueGate gate{io};
  std::map<Ticket, Admission> answers;
  std::vector<Ticket> order;

  Ticket enter(const std::string& function, std::chrono::milliseconds patience = 10s, bool again = false) {
    // The answer may come before the ticket.
    auto ticket = std::make_shared<Ticket>(0);
    std::optional<Admission> early;
    auto answered = std::make_shared<bool>(false);
    const Time now = std::chrono::steady_clock::now();
    *ticket = gate.enter(
        {.function = function, .request = 1, .arrived = now, .deadline = now, .giveUp = now + patience, .again = again},
        [this, ticket, answered, &early](Admission admission) {
          CHECK_FALSE(*answered);
          *answered = true;
          if (*ticket == 0) {
            early = admission;
          } else {
            answers.emplace(*ticket, admission);
            order.push_back(*ticket);
          }
        });
    if (early) {
      answers.emplace(*ticket, *early);
      order.push_back(*ticket);
    }
    return *ticket;
  }
  bool admitted(Ticket ticket) const {
    return answers.contains(ticket) && std::holds_alternative<Admitted>(answers.at(ticket));
  }
  const Refused* refused(Ticket ticket) const {
    return answers.contains(ticket) ? std::get_if<Refused>(&answers.at(ticket)) : nullptr;
  }
  void here(const std::string& function, FunctionTerms limits) {
    gate.set(function, limits);
    gate.setPresence(function, QueueGate::Presence::here);
  }
};

}  // namespace

TEST_CASE("so many run, so many wait, in order") {
  Door door;
  door.here("f", {.concurrency = 2, .waiting = 2});
  const Ticket a = door.enter("f"), b = door.enter("f"), c = door.enter("f"), d = door.enter("f"), e = door.enter("f");
  CHECK((door.admitted(a) && door.admitted(b)));
  CHECK((!door.answers.contains(c) && !door.answers.contains(d)));
  REQUIRE(door.refused(e) != nullptr);
  CHECK(door.refused(e)->reason == RefusalReason::queueFull);
  CHECK(door.refused(e)->retryAfter >= 1s);
  door.gate.leave(a, Outcome::answered);
  CHECK((door.admitted(c) && !door.answers.contains(d)));
  door.gate.cancel(d);
  const Ticket f = door.enter("f");
  door.gate.leave(c, Outcome::failed);
  CHECK((door.admitted(f) && !door.answers.contains(d)));
  CHECK(door.gate.running("f") == 2);
}

TEST_CASE("who comes again goes first, and is not held to the queue's limit") {
  Door door;
  door.here("f", {.concurrency = 1, .waiting = 1});
  const Ticket a = door.enter("f"), b = door.enter("f"), c = door.enter("f", 10s, true);
  CHECK_FALSE(door.answers.contains(c));
  door.gate.leave(a, Outcome::answered);
  CHECK((door.admitted(c) && !door.answers.contains(b)));
}

TEST_CASE("nobody waits longer than they want to") {
  Door door;
  door.here("f", {.concurrency = 1, .waiting = 10});
  const Ticket a = door.enter("f"), b = door.enter("f", 1s), c = door.enter("f", 20ms), d = door.enter("f", 10s);
  door.io.run_for(200ms);
  REQUIRE(door.refused(c) != nullptr);
  CHECK(door.refused(c)->reason == RefusalReason::waitedTooLong);
  CHECK_FALSE(door.answers.contains(b));
  door.io.restart();
  door.io.run_for(1s);
  CHECK(door.refused(b) != nullptr);
  door.gate.leave(a, Outcome::answered);
  CHECK(door.admitted(d));
}

TEST_CASE("a function that is away is waited for; one that is stopped or unknown is not") {
  Door door;
  CHECK(door.refused(door.enter("f"))->reason == RefusalReason::stopped);
  door.gate.set("f", {.concurrency = 1, .waiting = 1});
  const Ticket a = door.enter("f"), b = door.enter("f");
  CHECK_FALSE(door.answers.contains(a));
  CHECK(door.refused(b)->reason == RefusalReason::queueFull);
  door.gate.setPresence("f", QueueGate::Presence::here);
  CHECK(door.admitted(a));
  const Ticket c = door.enter("f");
  door.gate.setPresence("f", QueueGate::Presence::stopped);
  CHECK(door.refused(c)->reason == RefusalReason::stopped);
  CHECK(door.refused(door.enter("f"))->reason == RefusalReason::stopped);
  door.gate.forget("f");
  door.gate.leave(a, Outcome::answered);  // it had been admitted
  CHECK(door.gate.running("f") == 0);
  door.here("f", {.concurrency = 1, .waiting = 1});
  const Ticket d = door.enter("f"), e = door.enter("f");
  CHECK(door.admitted(d));
  door.gate.close();
  CHECK(door.refused(e)->reason == RefusalReason::closing);
  CHECK(door.refused(door.enter("f"))->reason == RefusalReason::closing);
}

TEST_CASE("through random comings and goings everybody is answered once, and the limits hold") {
  std::mt19937 random(7);
  Door door;
  const std::vector<std::string> names = {"a", "b", "c"};
  std::map<std::string, FunctionTerms> limits;
  for (const auto& name : names)
    door.here(name, limits[name] = {.concurrency = static_cast<std::uint32_t>(1 + random() % 3),
                                    .waiting = static_cast<std::uint32_t>(random() % 4)});
  std::map<std::string, std::set<Ticket>> inside;
  std::map<Ticket, std::string> asked;
  std::set<Ticket> cancelled;
  for (int i = 0; i < 20000; ++i) {
    const std::string& name = names[random() % names.size()];
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        asked[door.enter(name, 1h, random() % 10 == 0)] = name;
        break;
      case 3:
      case 4:
        if (!inside[name].empty()) {
          const Ticket ticket = *inside[name].begin();
          inside[name].erase(inside[name].begin());
          door.gate.leave(ticket, Outcome::answered);
        }
        break;
      case 5:
        if (!asked.empty()) {
          const Ticket ticket = std::next(asked.begin(), static_cast<std::ptrdiff_t>(random() % asked.size()))->first;
          if (!door.answers.contains(ticket)) cancelled.insert(ticket);
          door.gate.cancel(ticket);
        }
        break;
      case 6:
        door.gate.setPresence(name, static_cast<QueueGate::Presence>(random() % 2));
        break;
      case 7:
        if (random() % 50 == 0) door.gate.forget(name), door.here(name, limits[name]);
        break;
    }
    for (const auto& [ticket, answer] : door.answers) {
      CHECK_FALSE(cancelled.contains(ticket));
      if (std::holds_alternative<Admitted>(answer)) inside[asked.at(ticket)].insert(ticket);
      asked.erase(ticket);
    }
    door.answers.clear();
    for (const auto& each : names) REQUIRE(door.gate.running(each) == inside[each].size());
    for (const auto& each : names) REQUIRE(inside[each].size() <= 8);
  }
}
