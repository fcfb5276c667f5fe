// A first come, first served queue for each function: so many run, so many wait, nobody longer than they want to.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "server/router/gate.h"

namespace rouse::router {

struct QueueLimits {
  std::uint32_t concurrency = 1;  // at the function at once
  std::uint32_t waiting = 64;
};

class QueueGate : public Gate {
 public:
  explicit QueueGate(boost::asio::io_context&);
  ~QueueGate() override;

  // A function that is not known yet becomes known, and is away.
  void set(const std::string& function, QueueLimits);
  // Those that wait are refused; those that run still leave.
  void forget(const std::string& function);
  enum class Presence : std::uint8_t {
    here,     // requests are admitted
    away,     // it is being started again: requests wait
    stopped,  // they are refused
  };
  void setPresence(const std::string& function, Presence);
  // Everybody is refused from now on.
  void close();

  std::size_t waiting(const std::string& function) const;
  std::size_t running(const std::string& function) const;

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
    QueueLimits limits;
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

  boost::asio::steady_timer timer_;
  Time timerFor_ = Time::max();
  std::map<std::string, Line, std::less<>> lines_;
  std::unordered_map<Ticket, Place> places_;
  std::set<std::pair<Time, Ticket>> ends_;  // of those that wait
  Ticket next_ = 1;
  bool closed_ = false;
};

}  // namespace rouse::router
