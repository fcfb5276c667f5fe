#include "server/roused/isolated_executors.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "server/roused/byte_size.h"
#include "server/roused/descriptors.h"

namespace rouse::daemon {

using channel::GuestAction;

namespace {

constexpr std::size_t kMostQuestions = 1024;  // of one executor at once, and what it gives back, which is asked, too

}  // namespace

IsolatedExecutors::IsolatedExecutors(boost::asio::io_context& io, Options options, Events events)
    : io_(io), options_(options), events_(std::move(events)), timer_(io) {}

IsolatedExecutors::~IsolatedExecutors() = default;

void IsolatedExecutors::addGpu(ExecutorLink& shared, ExecutorOptions like) {
  like.homesBytes = 0;
  // What it has of the GPU's memory only this daemon knows: it ends with it, and its function is started anew.
  like.orphanTimeout = 0;
  like.absent = [] { return std::uint64_t{0}; };
  gpus_.erase(shared.ordinal());  // of another kind of device, which did not open
  gpus_.emplace(shared.ordinal(), Gpu{.shared = &shared,
                                      .like = std::move(like),
                                      .ledger = {},
                                      .policy = SparePolicy(options_.spares),
                                      .executors = {},
                                      .kept = {},
                                      .waiting = {}});
}

std::uint64_t IsolatedExecutors::granted(std::uint32_t gpu) const {
  const auto found = gpus_.find(gpu);
  return found == gpus_.end() ? 0 : found->second.ledger.granted();
}

void IsolatedExecutors::expect() {
  for (auto& [ordinal, gpu] : gpus_) {
    if (gpu.policy.expected()) continue;
    gpu.policy.expect();
    settle(gpu);
  }
}

void IsolatedExecutors::take(std::uint32_t ordinal, std::uint64_t memoryLimit, std::shared_ptr<memory::PinnedArena> homes, Taken done) {
  const auto found = gpus_.find(ordinal);
  if (found == gpus_.end() || stopping_)
    return done(Error{CudaError::devicesUnavailable, "GPU " + std::to_string(ordinal) + " takes no isolated functions now"});
  Gpu& gpu = found->second;
  gpu.policy.expect();
  gpu.waiting.push_back({memoryLimit, std::move(homes), std::move(done)});
  settle(gpu);
}

void IsolatedExecutors::settle(Gpu& gpu) {
  const auto now = Clock::now();
  std::erase_if(ended_, [&](const auto& ended) { return now - ended.first > std::chrono::seconds(1); });
  if (stopping_) return;
  while (!gpu.waiting.empty()) {
    const auto ready = std::ranges::find_if(gpu.executors, [](const auto& entry) { return entry.second.state == State::spare; });
    if (ready == gpu.executors.end()) break;
    Waiting waiting = std::move(gpu.waiting.front());
    gpu.waiting.pop_front();
    handOver(gpu, ready->first, std::move(waiting));
  }
  // What its memory is, and what it is like, the shared one says.
  if (!gpu.shared->serving()) return;
  const auto in = [&](State state) {
    return static_cast<std::uint32_t>(std::ranges::count_if(gpu.executors, [&](const auto& entry) { return entry.second.state == state; }));
  };
  for (auto left = gpu.policy.toStart(in(State::spare), in(State::starting), static_cast<std::uint32_t>(gpu.waiting.size()), now); left > 0; --left)
    start(gpu);
  if (const auto pause = gpu.policy.pause(now); pause.count() != 0) again(pause);
}

void IsolatedExecutors::again(std::chrono::milliseconds pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    for (auto& [ordinal, gpu] : gpus_) settle(gpu);
  });
}

void IsolatedExecutors::start(Gpu& gpu) {
  const std::uint64_t number = next_++;
  ExecutorOptions options = gpu.like;
  options.identity = {.gpu = gpu.shared->ordinal(), .number = number};
  options.memory = gpu.shared->properties().memoryBytes;
  gpu.ledger.setTotal(options.memory);
  ExecutorLink::Events events{
      .onReady = [this, &gpu, number](ExecutorLink&) { onReady(gpu, number); },
      .onDown = [this, &gpu, number](ExecutorLink&, bool served, const Error& reason) { onDown(gpu, number, served, reason); },
      .onSessionFault = [this](std::uint64_t session, const Error& error) { events_.onSessionFault(session, error); },
      .onSessionWaits = [](const channel::SessionWaits&) {},  // it is the shared one's line that it waits in
      .onMemoryWanted = [this](std::uint64_t session) { events_.onMemoryWanted(session); },
      .onGuest = [this, &gpu, number](ExecutorLink&, const channel::Body& body) { onGuest(gpu, number, body); },
      .onGone = [this, &gpu, number](ExecutorLink&) { forget(gpu, number); }};
  Isolated& isolated = gpu.executors[number];
  isolated.link = std::make_shared<ExecutorLink>(io_, std::move(options), std::move(events));
  // It may fail at once, and is forgotten then.
  boost::asio::post(io_, [link = isolated.link] { link->start(); });
}

void IsolatedExecutors::onReady(Gpu& gpu, std::uint64_t number) {
  const auto found = gpu.executors.find(number);
  if (found == gpu.executors.end() || found->second.state != State::starting) return;
  found->second.state = State::spare;
  gpu.policy.came();
  spdlog::debug("{} is ready (pid {})", found->second.link->identity().name(), found->second.link->pid());
  settle(gpu);
}

void IsolatedExecutors::onDown(Gpu& gpu, std::uint64_t number, bool served, const Error& reason) {
  const auto found = gpu.executors.find(number);
  if (found == gpu.executors.end()) return;
  Isolated& isolated = found->second;
  const State before = std::exchange(isolated.state, State::ending);
  if (before == State::taken) {
    spdlog::error("lost: {}", isolated.link->problem());
    const auto link = isolated.link;
    return events_.onLost(*link, reason);
  }
  if (stopping_ || before == State::ending) return;
  spdlog::error("not served: {}", isolated.link->problem());
  gpu.policy.failed(Clock::now());
  if (served) return settle(gpu);
  // Whoever waits for it is told; the next one is tried when it is wanted, or later.
  if (!gpu.waiting.empty()) {
    Waiting waiting = std::move(gpu.waiting.front());
    gpu.waiting.pop_front();
    waiting.done(Error{CudaError::devicesUnavailable, "no executor of its own could be started: " + isolated.link->problem()});
  }
  settle(gpu);
}

void IsolatedExecutors::forget(Gpu& gpu, std::uint64_t number) {
  const auto node = gpu.executors.extract(number);
  if (node.empty()) return;
  node.mapped().link->setGranted(0);
  const std::uint64_t had = gpu.ledger.close(number);
  if (node.mapped().kept) {
    tell(*gpu.shared, {number, GuestAction::wants, 0});
    if (had != 0) tell(*gpu.shared, {number, GuestAction::returned, had});
  } else if (node.mapped().guest) {
    tell(*gpu.shared, {number, GuestAction::gone, 0});
  }
  ended_.emplace_back(Clock::now(), node.mapped().link);
  settle(gpu);
}

// Memory that comes when it is used is counted as it is promised; what has to be there at once, as it is made.
Status IsolatedExecutors::mayPromise(const Isolated& isolated, std::uint64_t bytes) const {
  if (isolated.homes == nullptr || isolated.homesPresent || bytes <= isolated.promised) return {};
  const std::uint64_t given = homeBytes(), more = bytes - isolated.promised;
  if (given <= options_.hostStore && more <= options_.hostStore - given) return {};
  return Error{CudaError::memoryAllocation, "homes for " + formatByteSize(more) + " more of an isolated function: " + formatByteSize(given) + " of " +
                                                formatByteSize(options_.hostStore) + " are given out (executor.host_store)"};
}

std::uint64_t IsolatedExecutors::homeBytes() const {
  std::uint64_t bytes = presentHomes_;
  for (const auto& [ordinal, gpu] : gpus_) {
    const bool present = gpu.like.kind == "cuda";
    for (const auto& [number, isolated] : gpu.executors)
      if (isolated.homes != nullptr && !present && !isolated.kept) bytes += isolated.promised;
    for (const auto& [number, promised] : gpu.kept)
      if (!present) bytes += promised;
  }
  return bytes;
}

Result<std::shared_ptr<memory::PinnedArena>> IsolatedExecutors::makeHomes(std::uint64_t bytes, bool present) {
  bytes = roundUp(bytes, kGranuleBytes);
  if (present && bytes > options_.hostStore - std::min(options_.hostStore, homeBytes()))
    return Error{CudaError::memoryAllocation, "homes for an isolated function's " + formatByteSize(bytes) + " of GPU memory: " +
                                                  formatByteSize(homeBytes()) + " of " + formatByteSize(options_.hostStore) +
                                                  " are given out (executor.host_store); a smaller gpu_memory needs less"};
  auto made = memory::PinnedArena::create({.bytes = bytes, .hugePages = present, .present = present});
  if (!made) return Error{made.error().code, "homes for an isolated function: " + made.error().message};
  if (!present) return std::make_shared<memory::PinnedArena>(std::move(*made));
  presentHomes_ += made->bytes();
  return std::shared_ptr<memory::PinnedArena>(new memory::PinnedArena(std::move(*made)), [this](memory::PinnedArena* arena) {
    presentHomes_ -= arena->bytes();
    delete arena;
  });
}

void IsolatedExecutors::handOver(Gpu& gpu, std::uint64_t number, Waiting waiting) {
  Isolated& isolated = gpu.executors.at(number);
  isolated.state = State::taken;
  const auto link = isolated.link;
  const auto failed = [this, link](const Waiting& waiting, const Error& error) {
    release(*link);
    waiting.done(error);
  };
  gpu.ledger.open(number);
  std::vector<wire::OwnedFd> fds;
  if (options_.hostStore != 0) {
    isolated.homes = waiting.homes;
    isolated.homesPresent = gpu.like.kind == "cuda";
    if (isolated.homes == nullptr) {
      // More than the store holds is promised to nobody.
      const std::uint64_t most = std::max(roundDown(options_.hostStore, kGranuleBytes), kGranuleBytes);
      auto homes = makeHomes(std::min({waiting.memoryLimit, gpu.ledger.total(), most}), isolated.homesPresent);
      if (!homes) return failed(waiting, homes.error());
      isolated.homes = std::move(*homes);
    }
    auto fd = duplicate(isolated.homes->fd());
    if (!fd) return failed(waiting, fd.error());
    fds.push_back(std::move(*fd));
  }
  isolated.guest = true;
  gpu.shared->request(promiseOf(number, 0, isolated), {},
                      [this, &gpu, number, link, failed, fds = std::make_shared<std::vector<wire::OwnedFd>>(std::move(fds)),
                       waiting](const Result<channel::Message>& answer) {
                        if (!answer) return failed(waiting, answer.error());
                        const auto found = gpu.executors.find(number);
                        if (found == gpu.executors.end() || !link->serving())
                          return waiting.done(Error{CudaError::devicesUnavailable, link->identity().name() + " was lost"});
                        if (found->second.homes == nullptr) return waiting.done(link);
                        link->request(channel::AssignHomes{found->second.homes->bytes()}, std::move(*fds),
                                      [link, failed, waiting](const Result<channel::Message>& assigned) {
                                        if (!assigned) return failed(waiting, assigned.error());
                                        waiting.done(link);
                                      });
                      });
}

channel::GuestMemory IsolatedExecutors::promiseOf(std::uint64_t number, std::uint64_t bytes, const Isolated& isolated) const {
  return {number, isolated.homes != nullptr ? GuestAction::visits : GuestAction::stays, bytes};
}

// Nothing is said to a shared executor that does not serve: it hears of all when it does.
void IsolatedExecutors::tell(ExecutorLink& link, const channel::GuestMemory& memory) {
  if (!link.serving()) return;
  link.request(memory, {}, [name = link.identity().name(), memory](const Result<channel::Message>& answer) {
    if (!answer && answer.error().code != CudaError::devicesUnavailable)
      spdlog::debug("{}: guest {}, action {}: {}", name, memory.guest, static_cast<int>(memory.action), answer.error().message);
  });
}

void IsolatedExecutors::onSharedReady(ExecutorLink& shared) {
  const auto found = gpus_.find(shared.ordinal());
  if (found == gpus_.end()) return;
  Gpu& gpu = found->second;
  gpu.ledger.setTotal(shared.properties().memoryBytes);
  std::uint64_t held = 0;
  for (auto& [number, isolated] : gpu.executors) {
    if (isolated.state != State::taken) continue;
    const std::uint64_t granted = gpu.ledger.of(number);
    tell(shared, promiseOf(number, std::max(isolated.promised, granted), isolated));
    if (granted != 0) tell(shared, {number, GuestAction::holds, granted});
    held += granted;
    if (isolated.wanted != 0) tell(shared, {number, GuestAction::wants, isolated.wanted});
    // What its predecessor had asked for.
    tell(*isolated.link, {kOthers, GuestAction::wants, 0});
  }
  for (const auto& [number, promised] : gpu.kept) tell(shared, {number, GuestAction::visits, promised});
  // Those that have gone, or have given some back, since it was started.
  if (shared.absentAtStart() > held) tell(shared, {kOthers, GuestAction::returned, shared.absentAtStart() - held});
  for (auto& [number, isolated] : gpu.executors) askPromise(gpu, number);
  settle(gpu);
}

// An executor tells how much a guest should have at most; the other side hears how much those here should have at least.
std::uint64_t IsolatedExecutors::rest(const Gpu& gpu, std::uint64_t call) const {
  return call > gpu.ledger.total() ? 0 : gpu.ledger.total() - call;
}

void IsolatedExecutors::onSharedGuest(ExecutorLink& shared, const channel::Body& body) {
  const auto here = gpus_.find(shared.ordinal());
  if (here == gpus_.end()) return;
  Gpu& gpu = here->second;
  if (const auto* grant = std::get_if<channel::GuestGrant>(&body)) {
    const auto found = gpu.executors.find(grant->guest);
    // It has ended meanwhile; of what is left of it (keep()) it goes back at once.
    if (found == gpu.executors.end()) return tell(shared, {grant->guest, GuestAction::returned, grant->bytes});
    if (Status status = gpu.ledger.grant(grant->guest, grant->bytes); !status)
      return spdlog::error("{}: {}", shared.identity().name(), status.error().message);
    found->second.link->setGranted(gpu.ledger.of(grant->guest));
    tell(*found->second.link, {kOthers, GuestAction::returned, grant->bytes});
  } else if (const auto* call = std::get_if<channel::GuestCall>(&body)) {
    if (const auto found = gpu.executors.find(call->guest); found != gpu.executors.end())
      tell(*found->second.link, {kOthers, GuestAction::wants, rest(gpu, call->bytes)});
  }
}

void IsolatedExecutors::onGuest(Gpu& gpu, std::uint64_t number, const channel::Body& body) {
  const auto found = gpu.executors.find(number);
  if (found == gpu.executors.end()) return;
  Isolated& isolated = found->second;
  if (const auto* grant = std::get_if<channel::GuestGrant>(&body)) {
    if (Status status = gpu.ledger.giveBack(number, grant->bytes); !status)
      return spdlog::error("{}: {}", isolated.link->identity().name(), status.error().message);
    isolated.link->setGranted(gpu.ledger.of(number));
    tell(*gpu.shared, {number, GuestAction::returned, grant->bytes});
  } else if (const auto* call = std::get_if<channel::GuestCall>(&body)) {
    isolated.wanted = rest(gpu, call->bytes);
    tell(*gpu.shared, {number, GuestAction::wants, isolated.wanted});
  } else if (const auto* promise = std::get_if<channel::PromiseWanted>(&body)) {
    // One that works as it should waits for an answer before it asks for more; whoever does not gets none.
    if (isolated.promises.size() >= kMostQuestions) return spdlog::error("{}: asks for too much at once", isolated.link->identity().name());
    isolated.promises.push_back(promise->bytes);
    askPromise(gpu, number);
  } else if (std::holds_alternative<channel::GuestActive>(body)) {
    tell(*gpu.shared, {number, GuestAction::active, 0});
  }
}

// One after the other, in the order in which they were asked for; while the shared executor is being started again they wait.
void IsolatedExecutors::askPromise(Gpu& gpu, std::uint64_t number) {
  const auto found = gpu.executors.find(number);
  if (found == gpu.executors.end() || found->second.asking || found->second.promises.empty() || !gpu.shared->serving()) return;
  Isolated& isolated = found->second;
  const std::uint64_t bytes = isolated.promises.front();
  if (Status status = mayPromise(isolated, bytes); !status) {
    isolated.promises.pop_front();
    isolated.link->request(channel::Promised{bytes, status}, {}, [](const Result<channel::Message>&) {});
    return askPromise(gpu, number);
  }
  isolated.asking = true;
  gpu.shared->request(promiseOf(number, bytes, isolated), {},
                      [this, &gpu, number, bytes, incarnation = gpu.shared->incarnation()](const Result<channel::Message>& answer) {
                        const auto found = gpu.executors.find(number);
                        if (found == gpu.executors.end()) return;
                        Isolated& isolated = found->second;
                        isolated.asking = false;
                        if (!answer && (!gpu.shared->serving() || gpu.shared->incarnation() != incarnation)) return;  // its successor is asked
                        isolated.promises.pop_front();
                        if (answer) isolated.promised = bytes;
                        isolated.link->request(channel::Promised{bytes, answer ? Status{} : Status{answer.error()}}, {},
                                               [](const Result<channel::Message>&) {});
                        askPromise(gpu, number);
                      });
}

IsolatedExecutors::Isolated* IsolatedExecutors::find(const ExecutorLink& link) {
  const auto gpu = gpus_.find(link.ordinal());
  if (gpu == gpus_.end()) return nullptr;
  const auto found = gpu->second.executors.find(link.identity().number);
  return found == gpu->second.executors.end() ? nullptr : &found->second;
}

void IsolatedExecutors::promise(const ExecutorLink& link, std::uint64_t bytes, std::function<void(Status)> done) {
  Isolated* isolated = find(link);
  if (isolated == nullptr || isolated->state != State::taken)
    return done(Error{CudaError::devicesUnavailable, link.identity().name() + " was lost"});
  const std::uint64_t number = link.identity().number;
  gpus_.at(link.ordinal()).shared->request(promiseOf(number, bytes, *isolated), {},
                                           [this, held = isolated->link, bytes, done = std::move(done)](const Result<channel::Message>& answer) {
                                             if (Isolated* isolated = find(*held); isolated != nullptr && answer) isolated->promised = bytes;
                                             done(answer ? Status{} : Status{answer.error()});
                                           });
}

std::shared_ptr<memory::PinnedArena> IsolatedExecutors::homesOf(const ExecutorLink& link) const {
  const Isolated* isolated = const_cast<IsolatedExecutors*>(this)->find(link);
  return isolated == nullptr ? nullptr : isolated->homes;
}

IsolatedExecutors::Kept IsolatedExecutors::keep(const ExecutorLink& link) {
  Isolated* isolated = find(link);
  if (isolated == nullptr || isolated->homes == nullptr || isolated->state != State::taken) return {};
  Kept kept{isolated->homes, nullptr};
  const std::uint64_t number = link.identity().number;
  Gpu& gpu = gpus_.at(link.ordinal());
  gpu.kept[number] = isolated->promised;
  isolated->kept = true;
  kept.counted = std::shared_ptr<void>(nullptr, [this, &gpu, number](void*) {
    gpu.kept.erase(number);
    const auto found = gpu.executors.find(number);
    if (found != gpu.executors.end()) {
      found->second.kept = false;
    } else if (!stopping_) {
      tell(*gpu.shared, {number, GuestAction::gone, 0});
    }
  });
  release(link);
  return kept;
}

void IsolatedExecutors::release(const ExecutorLink& link) {
  Isolated* isolated = find(link);
  if (isolated == nullptr || isolated->state == State::ending) return;
  isolated->state = State::ending;
  Gpu& gpu = gpus_.at(link.ordinal());
  const auto ending = isolated->link;
  ending->stop(kGrace, [this, &gpu, number = link.identity().number] { forget(gpu, number); });
}

void IsolatedExecutors::stop(std::chrono::milliseconds grace, std::function<void()> stopped) {
  stopping_ = true;
  timer_.cancel();
  auto left = std::make_shared<std::size_t>(1);
  const auto one = [left, stopped] {
    if (--*left == 0) stopped();
  };
  for (auto& [ordinal, gpu] : gpus_) {
    for (auto& waiting : std::exchange(gpu.waiting, {}))
      waiting.done(Error{CudaError::devicesUnavailable, "the daemon is shutting down"});
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, isolated] : gpu.executors) numbers.push_back(number);
    for (const std::uint64_t number : numbers) {
      const auto link = gpu.executors.at(number).link;
      gpu.executors.at(number).state = State::ending;
      ++*left;
      link->stop(grace, [this, one, number, &gpu = gpu] {
        forget(gpu, number);
        one();
      });
    }
  }
  one();
}

std::vector<std::shared_ptr<ExecutorLink>> IsolatedExecutors::taken() const {
  std::vector<std::shared_ptr<ExecutorLink>> found;
  for (const auto& [ordinal, gpu] : gpus_)
    for (const auto& [number, isolated] : gpu.executors)
      if (isolated.state == State::taken) found.push_back(isolated.link);
  return found;
}

IsolatedExecutors::Count IsolatedExecutors::count(std::uint32_t ordinal) const {
  Count count;
  if (const auto gpu = gpus_.find(ordinal); gpu != gpus_.end())
    for (const auto& [number, isolated] : gpu->second.executors) {
      count.taken += isolated.state == State::taken;
      count.spares += isolated.state == State::spare;
      count.starting += isolated.state == State::starting;
    }
  return count;
}

}  // namespace rouse::daemon
