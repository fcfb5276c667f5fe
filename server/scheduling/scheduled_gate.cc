#include "server/scheduling/scheduled_gate.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace rouse::scheduling {
namespace {

using router::Admitted;
using router::RefusalReason;
using router::Refused;
using router::Ticket;
using router::Time;
using Kind = router::Step::Kind;

using namespace std::chrono_literals;

constexpr auto kAfterLoss = 200ms;
constexpr std::chrono::milliseconds kLeastRetryAfter = 1000ms, kMostRetryAfter = 30000ms;

Time now() { return std::chrono::steady_clock::now(); }

sched::RequestId requestOf(Ticket ticket) { return sched::RequestId{ticket}; }
Ticket ticketOf(sched::RequestId request) { return static_cast<Ticket>(request); }

router::ModelSource sourceOf(const sched::Source& source) {
  switch (source.kind) {
    case sched::Source::Kind::resident: return router::ModelSource::resident;
    case sched::Source::Kind::host: return router::ModelSource::host;
    case sched::Source::Kind::peer: return router::ModelSource::peer;
  }
  return router::ModelSource::none;
}

RefusalReason reasonOf(sched::Reason reason) {
  switch (reason) {
    case sched::Reason::queueFull: return RefusalReason::queueFull;
    case sched::Reason::hopeless: return RefusalReason::hopeless;
    default: return RefusalReason::stopped;
  }
}

// Why a program could not be taken elsewhere is not over with what is going on just now.
bool isLasting(const Error& error) { return error.code != CudaError::notReady && error.code != CudaError::devicesUnavailable; }

}  // namespace

ScheduledGate::ScheduledGate(boost::asio::io_context& io, Fleet& fleet, sched::Policies policies, router::History* history)
    : io_(io), fleet_(fleet), history_(history), scheduler_(std::move(policies)), plain_(io), timer_(io), giveUpTimer_(io) {}

ScheduledGate::~ScheduledGate() = default;

// Functions ------------------------------------------------------------------------------------------------------------------------

sched::FunctionSpec ScheduledGate::specOf(const Function& f) const {
  sched::FunctionSpec spec{.deadline = f.terms.deadline,
                           .percentile = f.terms.percentile,
                           .memoryBytes = f.where->bytes,
                           .strict = f.terms.strict,
                           .retry = false,  // the router tries again, as another request
                           .concurrency = f.terms.concurrency,
                           .queueLimit = f.terms.waiting};
  const sched::GpuId here{f.where->gpu};
  if (f.terms.pinned) spec.pinned = here;
  if (f.tied || f.where->tied || f.terms.pinned) spec.tied = here;
  return spec;
}

void ScheduledGate::set(const std::string& function, const router::FunctionTerms& terms) {
  auto& f = functions_[function];
  if (!f) f = std::make_unique<Function>(io_);
  f->name = function;
  f->terms = terms;
  plain_.set(function, terms);
  f->known = true;
  if (f->id) change(*f);
}

void ScheduledGate::forget(const std::string& function) {
  const auto found = functions_.find(function);
  if (found == functions_.end()) return;
  Function& f = *found->second;
  f.presence = Presence::stopped;
  unschedule(f);
  plain_.forget(function);
  f.known = false;
  dropIfOver(f);
}

void ScheduledGate::setPresence(const std::string& function, Presence presence) {
  const auto found = functions_.find(function);
  if (found == functions_.end()) return;
  found->second->presence = presence;
  arrange(*found->second);
  plain_.setPresence(function, presence);
}

void ScheduledGate::observe(const std::string& function, std::optional<Whereabouts> where) {
  const auto found = functions_.find(function);
  if (found == functions_.end()) return;
  Function& f = *found->second;
  if (f.where == where) return;
  if (!where || (f.where && f.where->gpu != where->gpu)) f.tied = false;
  const bool lost = f.where && !where;
  f.where = where;
  if (lost && f.presence == Presence::here) {
    // Most often it has ended, and whoever looks after it will say so in a moment.
    plain_.setPresence(function, Presence::away);
    f.settling.expires_after(kAfterLoss);
    f.settling.async_wait([this, function](const boost::system::error_code& error) {
      if (error) return;
      const auto still = functions_.find(function);
      if (still != functions_.end() && still->second->presence == Presence::here) plain_.setPresence(function, Presence::here);
    });
  }
  arrange(f);
}

void ScheduledGate::close() {
  closed_ = true;
  while (!ends_.empty()) turnAway(ends_.begin()->second, RefusalReason::closing);
  plain_.close();
  timer_.cancel();
  giveUpTimer_.cancel();
}

// Its requests go by the scheduler's order as long as its program is there and uses a GPU.
void ScheduledGate::arrange(Function& f) {
  const bool schedulable = f.presence == Presence::here && f.where && gpus_.contains(f.where->gpu);
  if (!schedulable) return unschedule(f);
  if (f.id) return change(f);
  f.id = sched::FunctionId{static_cast<std::uint32_t>(byId_.size())};
  byId_.push_back(&f);
  step(sched::FunctionAdded{*f.id, specOf(f)});
}

// A copy that has grown beyond its GPU's room is no copy; while a request uses it, or where it comes back at once, that is for later.
void ScheduledGate::change(Function& f) {
  reconcile(f);
  f.changed = false;
  const sched::State& state = scheduler_.state();
  for (const sched::Copy& copy : state[*f.id].copies) {
    const sched::Gpu& gpu = state[copy.gpu];
    if (gpu.used - state[*f.id].spec.memoryBytes + f.where->bytes <= gpu.spec.memoryBytes) continue;
    if (copy.users != 0 || copy.arriving) {
      f.changed = true;
      return;
    }
    step(sched::ModelLeft{*f.id, copy.gpu});
    break;  // the copies are others now
  }
  step(sched::FunctionChanged{*f.id, specOf(f)});
}

// Those that wait do so in a queue of its own from now on: its program is being started again, or does without a GPU.
void ScheduledGate::unschedule(Function& f) {
  if (!f.id) return;
  std::vector<Ticket> waiting;
  for (const auto& [ticket, stay] : stays_)
    if (stay.function == &f && stay.state == Stay::State::scheduled) waiting.push_back(ticket);
  std::ranges::sort(waiting);
  for (const Ticket ticket : waiting) step(sched::RequestCancelled{requestOf(ticket)});
  const sched::FunctionId id = *std::exchange(f.id, std::nullopt);
  step(sched::FunctionRemoved{id});
  byId_[sched::index(id)] = nullptr;
  for (const Ticket ticket : waiting) {
    const auto found = stays_.find(ticket);
    if (found == stays_.end()) continue;
    ends_.erase({found->second.entry.giveUp, ticket});
    --f.waiting;
    enterPlain(ticket, found->second);
  }
}

// What the scheduler takes for present where the program is not.
void ScheduledGate::reconcile(Function& f) {
  if (!f.id || !f.where) return;
  std::vector<sched::GpuId> elsewhere;
  for (const sched::Copy& copy : scheduler_.state()[*f.id].copies)
    if (sched::index(copy.gpu) != f.where->gpu && !copy.arriving && copy.users == 0) elsewhere.push_back(copy.gpu);
  for (const sched::GpuId gpu : elsewhere) step(sched::ModelLeft{*f.id, gpu});
}

void ScheduledGate::dropIfOver(Function& f) {
  if (f.known || f.stays != 0) return;
  std::ranges::replace(byId_, &f, nullptr);
  functions_.erase(functions_.find(f.name));
}

// The node -------------------------------------------------------------------------------------------------------------------------

void ScheduledGate::gpuAdded(std::uint32_t ordinal, const sched::GpuSpec& spec) {
  if (!gpus_.insert(ordinal).second) return;
  step(sched::GpuAdded{sched::GpuId{ordinal}, spec});
  for (auto& [name, f] : functions_) arrange(*f);
}

void ScheduledGate::peerAdded(std::uint32_t ordinal, const sched::Peer& peer) { step(sched::PeerAdded{sched::GpuId{ordinal}, peer}); }

// Programs lose what they had there; they are observed to be gone, or elsewhere, by and by.
void ScheduledGate::gpuLost(std::uint32_t ordinal) {
  if (gpus_.contains(ordinal)) step(sched::GpuLost{sched::GpuId{ordinal}});
}

void ScheduledGate::gpuReturned(std::uint32_t ordinal) {
  if (gpus_.contains(ordinal)) step(sched::GpuReturned{sched::GpuId{ordinal}});
}

// Requests -------------------------------------------------------------------------------------------------------------------------

Ticket ScheduledGate::enter(router::Entry entry, std::function<void(router::Admission)> answer) {
  const Ticket ticket = next_++;
  const auto found = functions_.find(entry.function);
  if (closed_ || found == functions_.end() || !found->second->known || found->second->presence == Presence::stopped) {
    answer(Refused{closed_ ? RefusalReason::closing : RefusalReason::stopped, kLeastRetryAfter});
    return ticket;
  }
  Function& f = *found->second;
  ++f.stays;
  Stay& stay = stays_[ticket];
  stay.function = &f;
  stay.entry = std::move(entry);
  stay.answer = std::move(answer);
  if (f.id) {
    schedule(ticket, stay);
  } else {
    enterPlain(ticket, stay);
  }
  return ticket;
}

void ScheduledGate::schedule(Ticket ticket, Stay& stay) {
  stay.state = Stay::State::scheduled;
  Function& f = *stay.function;
  note(stay.entry.request, {.kind = Kind::queued,
                            .count = static_cast<std::uint32_t>(f.waiting + f.running),
                            .all = static_cast<std::uint32_t>(ends_.size())});
  ++f.waiting;
  ends_.emplace(stay.entry.giveUp, ticket);
  sched::RequestArrived arrived{.id = requestOf(ticket), .function = *stay.function->id, .again = stay.entry.again};
  if (stay.entry.failedOn) arrived.failedOn = sched::GpuId{*stay.entry.failedOn};
  step(arrived);
  awaitGiveUp();
}

void ScheduledGate::enterPlain(Ticket ticket, Stay& stay) {
  stay.state = Stay::State::queued;
  const Function& f = *stay.function;
  note(stay.entry.request, {.kind = Kind::away,
                            .count = static_cast<std::uint32_t>(plain_.waiting(f.name) + plain_.running(f.name)),
                            .code = f.presence != Presence::here ? "starting" : "no-gpu"});
  const Ticket plain = plain_.enter(stay.entry, [this, ticket](const router::Admission& admission) {
    // Not under the queue's hands.
    boost::asio::post(io_, [this, ticket, admission] { leftQueue(ticket, admission); });
  });
  stay.plain = plain;
}

void ScheduledGate::leftQueue(Ticket ticket, const router::Admission& admission) {
  const auto found = stays_.find(ticket);
  if (found == stays_.end()) return;  // cancelled meanwhile, and taken out of the queue
  Stay& stay = found->second;
  if (const auto* refused = std::get_if<Refused>(&admission)) return end(found, *refused);
  if (stay.function->id) {
    // Its program has come to use a GPU: the scheduler decides.
    plain_.leave(*std::exchange(stay.plain, std::nullopt), router::Outcome::cancelled);
    return schedule(ticket, stay);
  }
  stay.state = Stay::State::inside;
  ++stay.function->running;
  stay.answer(Admitted{});
}

void ScheduledGate::cancel(Ticket ticket) {
  const auto found = stays_.find(ticket);
  if (found == stays_.end() || found->second.state == Stay::State::inside) return;
  Stay& stay = found->second;
  if (stay.state == Stay::State::queued) {
    plain_.cancel(*stay.plain);
    plain_.leave(*stay.plain, router::Outcome::cancelled);  // where it had been admitted, and the answer was on its way
  } else {
    ends_.erase({stay.entry.giveUp, ticket});
    --stay.function->waiting;
    std::erase(stay.function->begun, ticket);
    withdraw(ticket, stay);
  }
  Function& f = *stay.function;
  stays_.erase(ticket);
  --f.stays;
  dropIfOver(f);
}

void ScheduledGate::leave(Ticket ticket, router::Outcome outcome) {
  const auto found = stays_.find(ticket);
  if (found == stays_.end() || found->second.state != Stay::State::inside) return;
  const Stay stay = std::move(found->second);
  stays_.erase(found);
  Function& f = *stay.function;
  --f.running;
  --f.stays;
  std::erase(f.begun, ticket);
  if (stay.plain) {
    plain_.leave(*stay.plain, outcome);
  } else if (!stay.lost) {
    step(sched::RequestFinished{requestOf(ticket), now() - stay.stages.begun, outcome == router::Outcome::answered});
    f.id && f.changed ? change(f) : reconcile(f);
  }
  dropIfOver(f);
}

void ScheduledGate::end(std::unordered_map<Ticket, Stay>::iterator at, const Refused& refused) {
  const auto answer = std::move(at->second.answer);
  Function& f = *at->second.function;
  if (at->second.state != Stay::State::queued) {
    ends_.erase({at->second.entry.giveUp, at->first});
    --f.waiting;
    std::erase(f.begun, at->first);
  }
  stays_.erase(at);
  --f.stays;
  answer(refused);
  dropIfOver(f);
}

void ScheduledGate::refuse(Ticket ticket, RefusalReason reason, sched::Duration retryAfter) {
  const auto found = stays_.find(ticket);
  if (found == stays_.end()) return;
  if (found->second.state == Stay::State::inside || found->second.state == Stay::State::coming) {
    // Its executor has died under it. Who serves the program finds out, and so does the router.
    found->second.lost = true;
    note(found->second.entry.request, {.kind = Kind::lost, .gpu = found->second.function->where ? found->second.function->where->gpu : router::Step::kNoGpu});
    return;
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(retryAfter);
  end(found, {reason, std::clamp(wait, kLeastRetryAfter, kMostRetryAfter)});
}

// Of those that are scheduled or coming: also while its program is being taken to the GPU on which it was to run.
void ScheduledGate::turnAway(Ticket ticket, RefusalReason reason) {
  withdraw(ticket, stays_.at(ticket));
  end(stays_.find(ticket), {reason, kLeastRetryAfter});
}

// From the scheduler.
void ScheduledGate::withdraw(Ticket ticket, const Stay& stay) {
  if (stay.state == Stay::State::scheduled) step(sched::RequestCancelled{requestOf(ticket)});
  if (stay.state == Stay::State::coming && !stay.lost) step(sched::RequestFinished{requestOf(ticket), {}, false});
}

void ScheduledGate::awaitGiveUp() {
  if (ends_.empty() || closed_) return;
  const Time first = ends_.begin()->first;
  if (giveUpFor_ <= first) return;
  giveUpFor_ = first;
  giveUpTimer_.expires_at(first);
  giveUpTimer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    giveUpFor_ = Time::max();
    giveUp(now());
    awaitGiveUp();
  });
}

void ScheduledGate::giveUp(Time time) {
  while (!ends_.empty() && ends_.begin()->first <= time) {
    turnAway(ends_.begin()->second, RefusalReason::waitedTooLong);
  }
}

// The scheduler --------------------------------------------------------------------------------------------------------------------

void ScheduledGate::step(const sched::Event& event) {
  pending_.push_back(event);
  if (std::exchange(stepping_, true)) return;
  std::vector<sched::Action> actions;
  while (!pending_.empty()) {
    const sched::Event next = std::move(pending_.front());
    pending_.pop_front();
    actions.clear();
    const Status status = scheduler_.step(next, sched::Time(now().time_since_epoch()), actions);
    if (const auto* changed = std::get_if<sched::FunctionChanged>(&next); changed != nullptr && !status) {
      // There is no room for what it takes now: it is tried again when it is used the next time.
      if (Function* f = byId(changed->id)) f->changed = true;
    } else if (!status) {
      ++misfits_;
      spdlog::warn("scheduler: {}", status.error().message);
    }
    for (auto action = actions.begin(); action != actions.end(); ++action) {
      if (const auto* fetch = std::get_if<sched::Fetch>(&*action)) fetchedFor_ = requestFor(*fetch, {action, actions.end()});
      std::visit([this](const auto& one) { carryOut(one); }, *action);
    }
  }
  stepping_ = false;
}

ScheduledGate::Function* ScheduledGate::byId(sched::FunctionId id) {
  return sched::index(id) < byId_.size() ? byId_[sched::index(id)] : nullptr;
}

void ScheduledGate::carryOut(const sched::Run& run) {
  const Ticket ticket = ticketOf(run.request);
  const auto found = stays_.find(ticket);
  Function* f = byId(run.function);
  if (found == stays_.end() || f == nullptr || found->second.state != Stay::State::scheduled) {
    evicted_.clear();
    return step(sched::RequestFinished{run.request, {}, false});
  }
  Stay& stay = found->second;
  stay.state = Stay::State::coming;
  stay.stages = {.source = sourceOf(run.source), .begun = now(), .here = {}};
  const sched::Copy* copy = scheduler_.state()[run.function].copyOn(run.gpu);
  if (run.source.kind == sched::Source::Kind::resident) {
    if (f->fetched) stay.stages.source = *f->fetched;
    if (copy == nullptr || !copy->arriving) stay.stages.here = stay.stages.begun;
  }
  f->fetched.reset();
  f->begun.push_back(ticket);
  const std::uint64_t request = stay.entry.request;
  noteDecision(request, Kind::run, run.function, run.gpu, run.source, run.why);
  take(*f, run.gpu, run.source, request, [this, ticket] { admit(ticket); });
}

void ScheduledGate::carryOut(const sched::Fetch& fetch) {
  Function* f = byId(fetch.function);
  if (f == nullptr) return evicted_.clear();
  f->fetched = sourceOf(fetch.source);
  const std::uint64_t request = fetchedFor_;
  noteDecision(request, Kind::fetch, fetch.function, fetch.gpu, fetch.source, fetch.why);
  take(*f, fetch.gpu, fetch.source, request, [] {});
}

void ScheduledGate::carryOut(const sched::Evict& evict) {
  for (const sched::Leave& leave : evict.leave) {
    const Function* f = byId(leave.function);
    if (f == nullptr || !f->where || f->where->gpu != sched::index(evict.gpu)) continue;
    evicted_.push_back({.kind = Kind::evicted, .gpu = f->where->gpu, .bytes = leave.bytes, .all = leave.whole, .text = f->name});
    fleet_.release(f->name, leave.whole ? 0 : leave.bytes);
  }
}

void ScheduledGate::carryOut(const sched::Refuse& refused) { refuse(ticketOf(refused.request), reasonOf(refused.reason), refused.retryAfter); }

void ScheduledGate::carryOut(const sched::SetTimer& timer) {
  timer_.cancel();
  if (!timer.at || closed_) return;
  timer_.expires_at(Time(std::chrono::duration_cast<Time::duration>(timer.at->time_since_epoch())));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) step(sched::TimerFired{});
  });
}

// `served` is called once: when the program is served by that GPU, or by the one on which it stays.
void ScheduledGate::take(Function& f, sched::GpuId gpu, const sched::Source& source, std::uint64_t request, std::function<void()> served) {
  const auto ordinal = static_cast<std::uint32_t>(sched::index(gpu));
  if (f.where && f.where->gpu != ordinal) note(request, {.kind = Kind::moves, .gpu = ordinal, .from = f.where->gpu});
  const bool comes = source.kind != sched::Source::Kind::resident;
  fleet_.take(f.name, ordinal,
              [this, name = f.name, id = *f.id, gpu, comes, request, served = std::move(served)](const Status& status) {
                Function* g = byId(id);
                if (g != nullptr) {
                  g->where = fleet_.whereIs(name);
                  if (!status && g->where && g->where->gpu != sched::index(gpu)) {
                    spdlog::info("function {}: stays on GPU {}: {}", name, g->where->gpu, status.error().message);
                    note(request, {.kind = Kind::stays, .gpu = g->where->gpu, .text = status.error().message});
                    g->tied = isLasting(status.error());
                    if (g->tied) change(*g);
                  }
                }
                served();
                if (!comes || g == nullptr) return;
                fleet_.whenHere(name, [this, id, gpu, request](const Status& arrived) {
                  if (Function* h = byId(id); h != nullptr && arrived) {
                    const Arrived bytes = fleet_.lastArrival(h->name);
                    note(request, {.kind = Kind::arrived, .gpu = h->where ? h->where->gpu : static_cast<std::uint32_t>(sched::index(gpu)), .bytes = bytes.hostBytes, .peerBytes = bytes.peerBytes});
                    allHere(*h);
                  }
                  // It may have been lost, or sent away, on its way.
                  if (Function* h = byId(id); h != nullptr && scheduler_.state()[id].copyOn(gpu) != nullptr) {
                    step(sched::ModelArrived{id, gpu});
                    h->changed ? change(*h) : reconcile(*h);
                  }
                });
              });
}

// For people -----------------------------------------------------------------------------------------------------------------------

router::Stages ScheduledGate::stages(Ticket ticket) const {
  const auto found = stays_.find(ticket);
  return found == stays_.end() ? router::Stages{} : found->second.stages;
}

void ScheduledGate::allHere(Function& f) {
  const Time time = now();
  for (const Ticket ticket : f.begun)
    if (const auto found = stays_.find(ticket); found != stays_.end() && found->second.stages.here == Time{}) found->second.stages.here = time;
}

// For whom its model is fetched: who is run at once, as parts of it arrive, or waits longest. It may be another one that runs in the end.
std::uint64_t ScheduledGate::requestFor(const sched::Fetch& fetch, std::span<const sched::Action> following) const {
  auto found = stays_.end();
  for (const sched::Action& action : following)
    if (const auto* run = std::get_if<sched::Run>(&action); run != nullptr && run->function == fetch.function && found == stays_.end())
      found = stays_.find(ticketOf(run->request));
  const auto& waiting = scheduler_.state()[fetch.function].waiting;
  if (found == stays_.end() && !waiting.empty()) found = stays_.find(ticketOf(waiting.front()));
  return found == stays_.end() ? 0 : found->second.entry.request;
}

void ScheduledGate::note(std::uint64_t request, router::Step step) {
  if (history_ != nullptr) history_->note(request, std::move(step));
}

void ScheduledGate::noteDecision(std::uint64_t request, router::Step::Kind kind, sched::FunctionId function, sched::GpuId gpu, const sched::Source& source,
                                 sched::Why why) {
  for (router::Step& step : evicted_) note(request, std::move(step));
  evicted_.clear();
  const sched::Copy* copy = scheduler_.state()[function].copyOn(gpu);
  note(request, {.kind = kind,
                 .source = sourceOf(source),
                 .gpu = static_cast<std::uint32_t>(sched::index(gpu)),
                 .from = source.kind == sched::Source::Kind::peer ? static_cast<std::uint32_t>(sched::index(source.peer)) : router::Step::kNoGpu,
                 .bytes = copy == nullptr ? 0 : copy->coming,
                 .code = name(why)});
}

void ScheduledGate::admit(Ticket ticket) {
  const auto found = stays_.find(ticket);
  if (found == stays_.end() || found->second.state != Stay::State::coming) return;
  Stay& stay = found->second;
  ends_.erase({stay.entry.giveUp, ticket});
  --stay.function->waiting;
  ++stay.function->running;
  stay.state = Stay::State::inside;
  std::optional<std::uint32_t> gpu;
  if (stay.function->where) gpu = stay.function->where->gpu;
  stay.answer(Admitted{gpu});
}

std::size_t ScheduledGate::waiting(const std::string& function) const {
  const auto found = functions_.find(function);
  return found == functions_.end() ? 0 : found->second->waiting + plain_.waiting(function);
}

std::size_t ScheduledGate::running(const std::string& function) const {
  const auto found = functions_.find(function);
  return found == functions_.end() ? 0 : found->second->running;
}

}  // namespace rouse::scheduling
