#include "sched/scheduler.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

namespace rouse::sched {
namespace {

constexpr std::uint64_t kLeastPart = std::uint64_t{16} << 20;  // that a model gives up: otherwise there would be no end of small ones
constexpr unsigned kStepsPerTurn = 4;
constexpr double kLatencyWeight = 0.1;  // of the newest in the mean

Error unfit(const std::string& what) { return {CudaError::invalidValue, what}; }
std::string name(FunctionId id) { return "function " + std::to_string(index(id)); }
std::string name(GpuId id) { return "GPU " + std::to_string(index(id)); }
std::string name(RequestId id) { return "request " + std::to_string(static_cast<std::uint64_t>(id)); }

Copy* find(Function& f, GpuId gpu) {
  for (Copy& copy : f.copies)
    if (copy.gpu == gpu) return &copy;
  return nullptr;
}

}  // namespace

Scheduler::Scheduler(Policies policies, Settings settings) : policies_(std::move(policies)), settings_(settings) {}

Status Scheduler::step(const Event& event, Time now, Actions& actions) {
  now_ = std::max(now_, now);
  if (Status status = std::visit([&](const auto& one) { return handle(one, actions); }, event); !status) return status;
  if (++steps_ % kStepsPerTurn == 0 && !state_.functions.empty()) {
    turn_ = (turn_ + 1) % state_.functions.size();
    Function& next = state_.functions[turn_];
    if (!next.copies.empty()) rank(next);
  }
  if (const auto due = policies_.queueing->refreshAt(); due && *due <= now_) {
    policies_.queueing->refresh(state_, now_);
    for (Function& one : state_.functions)
      if (one.key) reorder(one);
  }
  dispatch(actions);
  setTimer(actions);
  return {};
}

// Events ---------------------------------------------------------------------------------------------------------------------------

Function* Scheduler::function(FunctionId id) {
  if (sched::index(id) >= state_.functions.size() || !state_.functions[sched::index(id)].known) return nullptr;
  return &state_.functions[sched::index(id)];
}

Gpu* Scheduler::gpu(GpuId id) {
  if (sched::index(id) >= state_.gpus.size() || !state_.gpus[sched::index(id)].known) return nullptr;
  return &state_.gpus[sched::index(id)];
}

Status Scheduler::check(const FunctionSpec& spec, FunctionId id) const {
  if (!(spec.percentile >= 0 && spec.percentile < 1)) return unfit(name(id) + ": percentile must be from 0 to below 1");
  if (spec.deadline <= Duration::zero()) return unfit(name(id) + ": the deadline must be above 0");
  if (spec.concurrency == 0) return unfit(name(id) + ": concurrency must be at least 1");
  for (const auto& where : {spec.pinned, spec.tied})
    if (where && (sched::index(*where) >= state_.gpus.size() || !state_.gpus[sched::index(*where)].known))
      return unfit(name(id) + ": " + name(*where) + " is not known");
  if (spec.pinned && spec.tied && *spec.pinned != *spec.tied)
    return unfit(name(id) + ": pinned to " + name(*spec.pinned) + ", tied to " + name(*spec.tied));
  return {};
}

Status Scheduler::handle(const FunctionAdded& event, Actions&) {
  if (sched::index(event.id) >= kMostFunctions)
    return unfit(name(event.id) + ": there can be " + std::to_string(kMostFunctions));
  if (function(event.id) != nullptr) return unfit(name(event.id) + " is known already");
  if (Status status = check(event.spec, event.id); !status) return status;
  if (sched::index(event.id) >= state_.functions.size()) state_.functions.resize(sched::index(event.id) + 1);
  Function& f = state_.functions[sched::index(event.id)];
  f = Function{};
  f.id = event.id, f.spec = event.spec, f.known = true, f.window = Window(settings_.window);
  return {};
}

Status Scheduler::handle(const FunctionChanged& event, Actions&) {
  Function* f = function(event.id);
  if (f == nullptr || f->leaving) return unfit(name(event.id) + " is not known");
  if (Status status = check(event.spec, event.id); !status) return status;
  for (Copy& copy : f->copies) {
    Gpu& g = state_.gpus[sched::index(copy.gpu)];
    if (event.spec.memoryBytes > f->spec.memoryBytes && g.used - f->spec.memoryBytes + event.spec.memoryBytes > g.spec.memoryBytes)
      return unfit(name(event.id) + ": no room for " + std::to_string(event.spec.memoryBytes) + " bytes on " + name(copy.gpu));
  }
  for (Copy& copy : f->copies) {
    unrank(*f, copy);
    state_.gpus[sched::index(copy.gpu)].used += event.spec.memoryBytes - f->spec.memoryBytes;
  }
  const double before = seconds(state_.run(*f)) * static_cast<double>(f->waiting.size());
  f->spec = event.spec;
  state_.queuedSeconds += seconds(state_.run(*f)) * static_cast<double>(f->waiting.size()) - before;
  for (const RequestId id : f->waiting) {
    Request& request = state_.requests.at(id);
    request.deadline = request.arrived + f->spec.deadline;
  }
  for (Copy& copy : f->copies) rank(*f, copy);
  reorder(*f);
  return {};
}

Status Scheduler::handle(const FunctionRemoved& event, Actions& actions) {
  Function* f = function(event.id);
  if (f == nullptr || f->leaving) return unfit(name(event.id) + " is not known");
  f->leaving = true;
  while (!f->waiting.empty()) {
    const Request request = state_.requests.at(f->waiting.front());
    state_.queuedSeconds -= seconds(state_.run(*f));
    f->waiting.pop_front();
    refuse(request, Reason::functionRemoved, {}, actions);
  }
  reorder(*f);
  if (f->running == 0) forget(*f);
  return {};
}

Status Scheduler::handle(const GpuAdded& event, Actions&) {
  if (sched::index(event.id) >= kMostGpus) return unfit(name(event.id) + ": there can be " + std::to_string(kMostGpus));
  if (gpu(event.id) != nullptr) return unfit(name(event.id) + " is known already");
  if (event.spec.switchId >= kMostGpus)
    return unfit(name(event.id) + ": switch " + std::to_string(event.spec.switchId) + ": there can be " +
                 std::to_string(kMostGpus));
  if (!(event.spec.linkBytesPerSecond > 0)) return unfit(name(event.id) + ": its link must have a bandwidth above 0");
  if (event.spec.slots == 0) return unfit(name(event.id) + ": slots must be at least 1");
  if (sched::index(event.id) >= state_.gpus.size()) state_.gpus.resize(sched::index(event.id) + 1);
  Gpu& g = state_.gpus[sched::index(event.id)];
  g.id = event.id, g.spec = event.spec, g.known = g.present = true;
  state_.slots += g.spec.slots;
  if (!(g.spec.uplinkBytesPerSecond > 0)) g.spec.uplinkBytesPerSecond = g.spec.linkBytesPerSecond;
  if (g.spec.switchId >= state_.traffic.size()) state_.traffic.resize(g.spec.switchId + 1);
  for (Gpu& other : state_.gpus) {
    if (!other.known || other.id == g.id) continue;
    if (state_.peerRate(g, other.id) > 0) other.readers.push_back(g.id);
    if (state_.peerRate(other, g.id) > 0) g.readers.push_back(other.id);
  }
  setIdle(g);
  return {};
}

Status Scheduler::handle(const PeerAdded& event, Actions&) {
  Gpu* g = gpu(event.id);
  Gpu* from = gpu(event.peer.gpu);
  for (const GpuId one : {event.id, event.peer.gpu})
    if (gpu(one) == nullptr) return unfit(name(one) + " is not known");
  if (g == from) return unfit(name(event.id) + " cannot be its own peer");
  if (!(event.peer.bytesPerSecond > 0)) return unfit(name(event.id) + ": the way from its peer must have a bandwidth above 0");
  const auto known = std::ranges::find(g->spec.peers, event.peer.gpu, &Peer::gpu);
  if (known != g->spec.peers.end()) {
    known->bytesPerSecond = event.peer.bytesPerSecond;
  } else {
    g->spec.peers.push_back(event.peer);
    from->readers.push_back(g->id);
  }
  return {};
}

Status Scheduler::handle(const GpuLost& event, Actions& actions) {
  Gpu* g = gpu(event.id);
  if (g == nullptr || !g->present) return unfit(name(event.id) + " is not there");
  g->present = false;
  state_.slots -= g->spec.slots;
  clear(*g, actions);
  return {};
}

Status Scheduler::handle(const GpuReturned& event, Actions&) {
  Gpu* g = gpu(event.id);
  if (g == nullptr || g->present) return unfit(name(event.id) + " is not lost");
  g->present = true;
  state_.slots += g->spec.slots;
  setIdle(*g);
  return {};
}

Status Scheduler::handle(const ExecutorFailed& event, Actions& actions) {
  Gpu* g = gpu(event.gpu);
  if (g == nullptr || !g->present) return unfit(name(event.gpu) + " is not there");
  clear(*g, actions);
  return {};
}

Status Scheduler::handle(const RequestArrived& event, Actions& actions) {
  Function* f = function(event.function);
  if (f == nullptr || f->leaving) return unfit(name(event.function) + " is not known");
  if (state_.requests.contains(event.id)) return unfit(name(event.id) + " is known already");
  f->rate.add(now_);
  if (auto refused = event.again ? std::nullopt : policies_.admission->refuse(state_, *f, event.id, now_)) {
    f->window.add(false, now_);
    actions.emplace_back(*refused);
    return {};
  }
  Request& request = state_.requests[event.id];
  request = {.id = event.id, .function = f->id, .arrived = now_, .deadline = now_ + f->spec.deadline, .number = ++arrivals_, .failedOn = event.failedOn};
  push(*f, request, event.again);
  return {};
}

Status Scheduler::handle(const RequestCancelled& event, Actions&) {
  const auto found = state_.requests.find(event.id);
  if (found == state_.requests.end()) return unfit(name(event.id) + " is not known");
  if (found->second.state == Request::State::runs) return {};
  Function& f = *function(found->second.function);
  std::erase(f.waiting, event.id);
  state_.queuedSeconds -= seconds(state_.run(f));
  state_.requests.erase(found);
  reorder(f);
  rank(f);
  return {};
}

Status Scheduler::handle(const ModelArrived& event, Actions&) {
  Function* f = function(event.function);
  Copy* copy = f == nullptr ? nullptr : find(*f, event.gpu);
  if (copy == nullptr) return unfit(name(event.function) + " is not on its way to " + name(event.gpu));
  if (copy->arriving) arrived(*f, *copy);
  return {};
}

Status Scheduler::handle(const ModelLeft& event, Actions&) {
  Function* f = function(event.function);
  const Copy* copy = f == nullptr ? nullptr : find(*f, event.gpu);
  if (copy == nullptr || copy->arriving) return unfit(name(event.function) + " is not on " + name(event.gpu));
  if (copy->users != 0) return unfit(name(event.function) + " is in use on " + name(event.gpu));
  drop(*f, event.gpu);
  return {};
}

Status Scheduler::handle(const RequestFinished& event, Actions&) {
  const auto found = state_.requests.find(event.id);
  if (found == state_.requests.end() || found->second.state != Request::State::runs) return unfit(name(event.id) + " does not run");
  if (event.run < Duration::zero()) return unfit(name(event.id) + ": it cannot have run for less than no time");
  finish(found->second, event.run, event.ok);
  return {};
}

Status Scheduler::handle(const TimerFired&, Actions&) {
  timer_.reset();
  return {};
}

// Requests -------------------------------------------------------------------------------------------------------------------------

void Scheduler::push(Function& f, const Request& request, bool first) {
  first ? f.waiting.push_front(request.id) : f.waiting.push_back(request.id);
  state_.queuedSeconds += seconds(state_.run(f));
  if (!f.key || first) reorder(f);
  if (f.waiting.size() == 1) rank(f);
}

void Scheduler::refuse(const Request& request, Reason reason, Duration after, Actions& actions) {
  actions.emplace_back(Refuse{request.id, reason, after});
  state_.requests.erase(request.id);
}

void Scheduler::finish(Request& request, Duration run, bool ok) {
  Function& f = *function(request.function);
  Gpu& g = state_.gpus[sched::index(request.gpu)];
  const auto slot = std::ranges::find(g.running, request.id, &Gpu::Slot::request);
  charge(g, run - slot->takes);
  g.running.erase(slot);
  setIdle(g);
  --f.running;
  Copy* copy = find(f, request.gpu);
  if (copy->arriving) arrived(f, *copy);
  --copy->users;
  copy->usedAt = now_;
  copy->used = true;
  const double queued = seconds(state_.run(f));
  if (ok && request.whole) f.run.add(run);
  if (ok && request.source.kind == Source::Kind::host && request.swapsAll) f.hostSwap.add(run);
  if (ok && request.source.kind == Source::Kind::peer) f.peerSwap.add(run);
  state_.queuedSeconds += (seconds(state_.run(f)) - queued) * static_cast<double>(f.waiting.size());
  const double latency = seconds(now_ - request.arrived);
  f.meanLatency = f.meanLatency == 0 ? latency : f.meanLatency + kLatencyWeight * (latency - f.meanLatency);
  f.window.add(ok && now_ <= request.deadline, now_);
  state_.requests.erase(request.id);
  if (f.leaving) {
    if (f.running == 0) forget(f);
    return;
  }
  rank(f);
  reorder(f);
}

// Copies ---------------------------------------------------------------------------------------------------------------------------

Copy& Scheduler::bring(Function& f, Gpu& g, const Decision& decision, Actions& actions) {
  assert(state_.fits(f, g) && State::lacks(f, g.id));
  Copy* copy = find(f, g.id);
  std::uint64_t bytes = f.transferBytes(), needed = f.spec.memoryBytes;
  if (copy == nullptr) {
    g.models.push_back(f.id);
    f.copies.push_back({.gpu = g.id});
    copy = &f.copies.back();
    if (f.key) g.ready.insert({*f.key, f.id});
  } else {
    unrank(f, *copy);
    bytes = needed = std::exchange(copy->missing, 0);
  }
  copy->arriving = true, copy->used = false;
  copy->coming = bytes, copy->source = decision.source, copy->begun = copy->usedAt = now_;
  makeRoom(g, needed, actions);
  g.used += needed;
  rank(f, *copy);

  if (decision.source.kind == Source::Kind::peer) {
    Copy& from = *find(f, decision.source.peer);
    ++from.users;
    rank(f, from);
    copy->arrives = now_ + fromSeconds(static_cast<double>(bytes) / std::max(1.0, state_.peerRate(g, from.gpu)));
  } else {
    state_.traffic[g.spec.switchId].begin({f.id, g.id, static_cast<double>(bytes), g.spec.linkBytesPerSecond, 0, decision.isLong},
                                          g.spec.uplinkBytesPerSecond, now_);
  }
  return *copy;
}

void Scheduler::makeRoom(Gpu& g, std::uint64_t bytes, Actions& actions) {
  Evict evict{g.id, {}};
  while (g.used + bytes > g.spec.memoryBytes && !g.leavers.empty()) {
    Function& f = *function(g.leavers.begin()->function);
    Copy& copy = *find(f, g.id);
    const std::uint64_t lacking = g.used + bytes - g.spec.memoryBytes;
    const std::uint64_t left = f.transferBytes() - std::min(f.transferBytes(), copy.missing);
    std::uint64_t gives = policies_.eviction->gives(state_, f, copy);
    if (gives < left) gives = std::min(gives, wholePieces(std::max(lacking, kLeastPart)));
    if (gives >= left) {
      evict.leave.push_back({f.id, f.size(copy), true});
      drop(f, g.id);
      continue;
    }
    evict.leave.push_back({f.id, gives, false});
    unrank(f, copy);
    copy.missing += gives;
    g.used -= gives;
    rank(f);
    if (f.key) reorder(f);
  }
  if (!evict.leave.empty()) actions.emplace_back(std::move(evict));
}

void Scheduler::arrived(Function& f, Copy& copy) {
  copy.arriving = false;
  copy.coming = 0;
  Gpu& g = state_.gpus[sched::index(copy.gpu)];
  if (copy.source.kind == Source::Kind::peer) {
    if (Copy* from = find(f, copy.source.peer); from != nullptr && from->users != 0) {
      --from->users;
      rank(f, *from);
    }
  } else {
    state_.traffic[g.spec.switchId].end(f.id, g.id, now_);
  }
  rank(f, copy);
}

void Scheduler::drop(Function& f, GpuId where) {
  Gpu& g = state_.gpus[sched::index(where)];
  Copy* copy = find(f, where);
  if (copy->arriving) arrived(f, *copy);
  unrank(f, *copy);
  g.used -= f.size(*copy);
  std::erase(g.models, f.id);
  if (f.key) g.ready.erase({*f.key, f.id});
  f.copies.erase(f.copies.begin() + (copy - f.copies.data()));
  rank(f);
  if (f.key && f.copies.empty()) reorder(f);  // a swap is before it now
}

// An executor has failed, or its GPU: nothing is there any more. What was to come from there will come from the host.
void Scheduler::clear(Gpu& g, Actions& actions) {
  std::vector<RequestId> running;
  for (const Gpu::Slot& slot : std::exchange(g.running, {})) running.push_back(slot.request);
  for (const RequestId id : running) {
    Request& request = state_.requests.at(id);
    Function& f = *function(request.function);
    --f.running;
    --find(f, g.id)->users;
    if (f.spec.retry && !request.retried && !f.leaving) {
      request.state = Request::State::waits;
      request.retried = true;
    } else {
      f.window.add(false, now_);
      refuse(request, Reason::executorFailed, {}, actions);
    }
  }
  const std::vector<FunctionId> models = g.models;
  for (const FunctionId id : models) {
    Function& f = *function(id);
    for (Copy& copy : f.copies)  // nobody copies from here any more
      if (copy.arriving && copy.source == Source{Source::Kind::peer, g.id}) {
        copy.source = {Source::Kind::host, {}};
        const Gpu& to = state_[copy.gpu];
        state_.traffic[to.spec.switchId].begin({f.id, to.id, static_cast<double>(copy.coming), to.spec.linkBytesPerSecond, 0, false},
                                               to.spec.uplinkBytesPerSecond, now_);
      }
    drop(f, g.id);
  }
  for (auto id = running.rbegin(); id != running.rend(); ++id)
    if (const auto again = state_.requests.find(*id); again != state_.requests.end())
      push(*function(again->second.function), again->second, true);
  for (const RequestId id : running)
    if (const auto again = state_.requests.find(id); again != state_.requests.end()) reorder(*function(again->second.function));
  for (const FunctionId id : models)
    if (Function* f = function(id); f != nullptr) {
      reorder(*f);
      if (f->leaving && f->running == 0) forget(*f);
    }
  setIdle(g);
}

// Its process is gone, and its memory with it.
void Scheduler::forget(Function& f) {
  while (!f.copies.empty()) drop(f, f.copies.back().gpu);
  f.known = f.leaving = false;
}

void Scheduler::unrank(Function& f, Copy& copy) {
  if (!copy.counted) return;
  copy.counted = false;
  Gpu& g = state_.gpus[sched::index(copy.gpu)];
  if (copy.held) {
    g.held -= f.size(copy);
  } else {
    g.leavers.erase({copy.rank, f.id});
    setFirst(g);
  }
}

void Scheduler::rank(Function& f, Copy& copy) {
  // What came for a request that waits stays until it has run: otherwise two functions could push each other out for ever.
  const bool awaited = !copy.used && !f.waiting.empty();
  const bool held = copy.users != 0 || copy.arriving || f.spec.pinned == copy.gpu || awaited;
  const Rank rank = held ? Rank{} : policies_.eviction->rank(state_, f, copy, now_);
  if (copy.counted && held == copy.held && (held || rank == copy.rank)) return;
  Gpu& g = state_.gpus[sched::index(copy.gpu)];
  if (copy.counted && !held && !copy.held) {  // from one place to another
    auto place = g.leavers.extract({copy.rank, f.id});
    place.value().rank = copy.rank = rank;
    g.leavers.insert(std::move(place));
    return setFirst(g);
  }
  unrank(f, copy);
  copy.counted = true, copy.held = held, copy.rank = rank;
  if (held) {
    g.held += f.size(copy);
  } else {
    g.leavers.insert({rank, f.id});
    setFirst(g);
  }
}

void Scheduler::setFirst(Gpu& g) {
  if (!g.leavers.empty()) g.leavesFirst = g.leavers.begin()->rank.value;
}

void Scheduler::rank(Function& f) {
  for (Copy& copy : f.copies) rank(f, copy);
}

// GPUs -----------------------------------------------------------------------------------------------------------------------------

void Scheduler::setIdle(Gpu& g) {
  g.free = {};
  if (!g.idle() && !g.running.empty()) g.free = std::ranges::min(g.running, {}, &Gpu::Slot::ends).ends;
  const auto at = std::lower_bound(state_.idle.begin(), state_.idle.end(), g.id);
  const bool in = at != state_.idle.end() && *at == g.id;
  if (g.idle() && !in) state_.idle.insert(at, g.id);
  if (!g.idle() && in) state_.idle.erase(at);
}

void Scheduler::charge(Gpu& g, Duration time) {
  if (state_.recent.over(now_)) {
    const double divisor = state_.recent.renew(now_);
    state_.load = 0;
    for (Gpu& one : state_.gpus) state_.load += one.load /= divisor;
  }
  // What is charged too much is given back when less is known to weigh as much.
  const double before = std::exchange(g.load, std::max(0.0, g.load + seconds(time) * state_.recent.weight(now_)));
  state_.load = std::max(0.0, state_.load + g.load - before);
}

void Scheduler::dispatch(Actions& actions) {
  if (state_.order.empty()) return;
  freshen();
  while (const auto decision = policies_.placement->next(state_, now_)) apply(*decision, actions);
}

void Scheduler::apply(const Decision& decision, Actions& actions) {
  Function& f = *function(decision.function);
  Gpu& g = *gpu(decision.gpu);
  Copy* copy = find(f, g.id);
  if (State::lacks(f, g.id)) copy = &bring(f, g, decision, actions);
  if (decision.kind == Decision::Kind::fetch) {
    reorder(f);
    actions.emplace_back(Fetch{f.id, g.id, decision.source, decision.why});
    return;
  }
  Request& request = state_.requests.at(f.waiting.front());
  f.waiting.pop_front();
  state_.queuedSeconds -= seconds(state_.run(f));
  request.state = Request::State::runs;
  request.gpu = g.id;
  request.source = decision.source;
  request.whole = !copy->arriving;
  request.swapsAll = copy->coming == f.transferBytes();
  Duration takes = state_.run(f);
  if (decision.source.kind == Source::Kind::host) takes = state_.hostSwap(f, g, copy->coming);
  if (decision.source.kind == Source::Kind::peer) takes = state_.peerSwap(f, state_.peerRate(g, decision.source.peer));
  ++f.running;
  ++copy->users;
  copy->used = true;
  copy->usedAt = now_;
  g.running.push_back({request.id, now_ + takes, takes});
  charge(g, takes);
  setIdle(g);
  rank(f);
  reorder(f);
  actions.emplace_back(Run{request.id, f.id, g.id, decision.source, decision.why});
}

void Scheduler::setTimer(Actions& actions) {
  std::optional<Time> wanted = policies_.queueing->refreshAt();
  if (!state_.order.empty())
    if (const auto wake = policies_.placement->wakeAt(); wake && (!wanted || *wake < *wanted)) wanted = wake;
  if (wanted == timer_) return;
  timer_ = wanted;
  actions.emplace_back(SetTimer{wanted});
}

Scheduler::Compliance Scheduler::compliance(Time now) {
  Compliance sum;
  for (Function& f : state_.functions) {
    if (!f.known) continue;
    f.window.advance(now);
    if (f.window.requests() == 0) continue;
    ++sum.asked;
    sum.complying += f.window.complies(f.spec.percentile);
  }
  return sum;
}

}  // namespace rouse::sched
