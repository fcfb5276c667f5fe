// The gate whose order the scheduler decides (sched/): requests of functions that use a GPU are told to it as events, and what it asks for is
// done on the fleet. Functions whose programs use no GPU, or none yet, have a queue each (router/queue_gate.h).
//
// A request is admitted when the scheduler runs it and its function's program is served by the GPU that was chosen; its memory may still be
// arriving. Where a program cannot be taken to that GPU, the request is served where the program is, and the scheduler is told that it can be
// nowhere else. What is asked of executors that die is the router's to notice: the scheduler forgets it.
//
// On the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/scheduler.h"
#include "server/router/history.h"
#include "server/router/queue_gate.h"
#include "server/scheduling/fleet.h"

namespace rouse::scheduling {

class ScheduledGate final : public router::FunctionGate {
 public:
  // `history` outlives it; null: nothing is noted.
  ScheduledGate(boost::asio::io_context&, Fleet&, sched::Policies, router::History* history = nullptr);
  ~ScheduledGate() override;

  // --- Functions
  void set(const std::string& function, const router::FunctionTerms&) override;
  void forget(const std::string& function) override;
  void setPresence(const std::string& function, Presence) override;
  void close() override;
  std::size_t waiting(const std::string& function) const override;
  std::size_t running(const std::string& function) const override;

  // --- The node
  void gpuAdded(std::uint32_t ordinal, const sched::GpuSpec&);
  // This GPU can copy from that one, which is known, too.
  void peerAdded(std::uint32_t ordinal, const sched::Peer&);
  void gpuLost(std::uint32_t ordinal);
  void gpuReturned(std::uint32_t ordinal);
  // Its program uses a GPU, another one than before, or another amount of it; or (nothing) none any more.
  void observe(const std::string& function, std::optional<Whereabouts>);

  // --- Gate
  router::Ticket enter(router::Entry, std::function<void(router::Admission)>) override;
  void cancel(router::Ticket) override;
  void leave(router::Ticket, router::Outcome) override;
  router::Stages stages(router::Ticket) const override;

  // For operators and tests.
  const sched::Scheduler& scheduler() const { return scheduler_; }
  std::uint64_t misfits() const { return misfits_; }  // events that the scheduler did not understand: ours, always a defect

 private:
  struct Function {
    explicit Function(boost::asio::io_context& io) : settling(io) {}
    std::string name;
    router::FunctionTerms terms;
    Presence presence = Presence::away;
    bool known = true;
    boost::asio::steady_timer settling;   // since it was seen without a GPU
    std::optional<sched::FunctionId> id;  // its requests are the scheduler's: its program is there, and uses a GPU
    std::optional<Whereabouts> where;
    bool changed = false;                 // and the scheduler does not know how yet
    bool tied = false;                    // could not be taken elsewhere
    std::optional<router::ModelSource> fetched;  // its model, for the next request that is run
    std::vector<router::Ticket> begun;           // coming, or inside by the scheduler
    std::size_t waiting = 0, running = 0, stays = 0;  // waiting: for the scheduler; stays: all
  };
  // A request, from enter() to leave().
  struct Stay {
    enum class State : std::uint8_t {
      queued,     // in its function's own queue
      scheduled,  // the scheduler has it
      coming,     // it is run, and its program is on its way to be served
      inside,     // admitted
    };
    Function* function = nullptr;
    State state = State::queued;
    router::Entry entry;
    std::function<void(router::Admission)> answer;
    std::optional<router::Ticket> plain;  // the queue's
    router::Stages stages;  // begun: since the scheduler runs it
    bool lost = false;  // the scheduler has forgotten it
  };

  sched::FunctionSpec specOf(const Function&) const;
  void arrange(Function&);
  void change(Function&);
  void unschedule(Function&);
  void reconcile(Function&);
  void dropIfOver(Function&);
  Function* byId(sched::FunctionId);

  void schedule(router::Ticket, Stay&);
  void enterPlain(router::Ticket, Stay&);
  void leftQueue(router::Ticket, const router::Admission&);
  void admit(router::Ticket);
  void refuse(router::Ticket, router::RefusalReason, sched::Duration retryAfter);
  void end(std::unordered_map<router::Ticket, Stay>::iterator, const router::Refused&);
  void turnAway(router::Ticket, router::RefusalReason);
  void withdraw(router::Ticket, const Stay&);
  void awaitGiveUp();
  void giveUp(router::Time now);

  void step(const sched::Event&);
  void carryOut(const sched::Run&);
  void carryOut(const sched::Fetch&);
  void carryOut(const sched::Evict&);
  void carryOut(const sched::Refuse&);
  void carryOut(const sched::SetTimer&);
  void take(Function&, sched::GpuId, const sched::Source&, std::uint64_t request, std::function<void()> served);

  void note(std::uint64_t request, router::Step);
  void noteDecision(std::uint64_t request, router::Step::Kind, sched::FunctionId, sched::GpuId, const sched::Source&, sched::Why);
  std::uint64_t requestFor(const sched::Fetch&, std::span<const sched::Action> following) const;
  void allHere(Function&);

  boost::asio::io_context& io_;
  Fleet& fleet_;
  router::History* history_;
  sched::Scheduler scheduler_;
  router::QueueGate plain_;
  boost::asio::steady_timer timer_, giveUpTimer_;
  router::Time giveUpFor_ = router::Time::max();
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions_;
  std::vector<Function*> byId_;  // null: not the scheduler's any more
  std::set<std::uint32_t> gpus_;
  std::unordered_map<router::Ticket, Stay> stays_;
  std::set<std::pair<router::Time, router::Ticket>> ends_;  // of those that are scheduled or coming
  std::deque<sched::Event> pending_;                        // that came while another was being carried out
  std::vector<router::Step> evicted_;                       // for the run or fetch that follows
  std::uint64_t fetchedFor_ = 0;                            // of the fetch that is being carried out
  bool stepping_ = false, closed_ = false;
  router::Ticket next_ = 1;
  std::uint64_t misfits_ = 0;
};

}  // namespace rouse::scheduling
