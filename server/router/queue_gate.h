// A first come, first served queue for each function: so many run, so many wait, nobody longer than they want to.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "server/router/function_gate.h"
#include "server/router/history.h"

namespace rouse::router {

class QueueGate final : public FunctionGate {
 public:
  // `history` outlives it; null: nothing is noted.
  explicit QueueGate(boost::asio::io_context&, History* history = nullptr);
  ~QueueGate() override;

  void set(const std::string& function, const FunctionTerms&) override;
  void forget(const std::string& function) override;
  void setPresence(const std::string& function, Presence) override;
  void close() override;
  std::size_t waiting(const std::string& function) const override;
  std::size_t running(const std::string& function) const override;

  Ticket enter(Entry, std::function<void(Admission)>) override;
  void cancel(Ticket) override;
  void leave(Ticket, Outcome) override;

 private:
  struct Waiting {
    Ticket ticket;
    Time giveUp;
    std::function<void(Admission)> answer;
  };
  struct Line {
    FunctionTerms limits;
    Presence presence = Presence::away;
    bool known = true;
    std::list<Waiting> waiting;
    std::size_t running = 0;
    double meanSeconds = 0;  // of those that left, the latest counting most
  };
  struct Place {
    Line* line;
    bool running;
    std::list<Waiting>::iterator at;  // of those that wait
    Time since;                       // of those that run
  };

  void admit(Line&);
  void refuseAll(Line&, RefusalReason);
  Refused refusal(const Line&, RefusalReason) const;
  void awaitGiveUp();
  void giveUp(Time now);

  History* history_;
  boost::asio::steady_timer timer_;
  Time timerFor_ = Time::max();
  std::map<std::string, Line, std::less<>> lines_;
  std::unordered_map<Ticket, Place> places_;
  std::set<std::pair<Time, Ticket>> ends_;  // of those that wait
  Ticket next_ = 1;
  bool closed_ = false;
};

}  // namespace rouse::router
