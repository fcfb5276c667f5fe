#include "server/roused/session_table.h"

#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <thread>

#include "memory/extent_map.h"
#include "schemas/wire/layout.h"
#include "server/control/close_apart.h"
#include "server/roused/descriptors.h"
#include "server/roused/loan.h"
#include "server/roused/session_sleep.h"
#include "server/roused/token_table.h"

namespace rouse::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// Room for freed ranges that may not be used again yet (DESIGN.md, Memory) and for holes: a window is at least this many times
// the limit.
constexpr std::uint64_t kWindowFactor = 2;
// Programs that map memory by themselves (cuMemMap) reserve the GPU's size over and over, for each stream say, to have addresses to grow into: up to
// this many times the limit. Others reserve what suits any GPU, whatever this one has: llama.cpp 32 GiB for each of its contexts. So it is up to the greater
// of the two, and never more than such a part of what addresses are left.
constexpr std::uint64_t kLargestWindowFactor = 16;
constexpr std::uint64_t kRoomyWindowBytes = std::uint64_t{256} << 30;
constexpr std::uint64_t kWindowShare = 128;

Error systemError(const char* what) {
  return {CudaError::systemNotReady, std::string(what) + ": " + std::strerror(errno)};
}

std::size_t usableCores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::size_t>(CPU_COUNT(&set));
  return std::thread::hardware_concurrency();
}

Prospects::Who whoIs(const SessionRequest& request) { return {request.family, request.pid}; }

// The segment is the client's as much as ours: what is read there decides only what that client is told. An error that
// its own kernel ended the executor with says more than that the executor is gone.
void setLost(const wire::SessionSegment& segment, std::size_t device, const Error& reason) {
  wire::DeviceStatus& status = segment.header().devices[device];
  if (!isSticky(static_cast<CudaError>(status.error.load(std::memory_order_acquire)))) {
    std::strncpy(status.message, reason.message.c_str(), sizeof status.message - 1);
    status.message[sizeof status.message - 1] = '\0';
    status.error.store(static_cast<std::uint32_t>(CudaError::devicesUnavailable), std::memory_order_release);
  }
  status.state.store(wire::DeviceState::lost, std::memory_order_release);
}

}  // namespace

SessionTable::SessionTable(boost::asio::io_context& io, DevicePool& pool, ModuleStore& store,
                           std::span<const std::string_view> apiNames)
    : pool_(pool), store_(store), apiNames_(apiNames), callsOfEnded_(apiNames.size()), patience_(io) {}

Session* SessionTable::find(std::uint64_t id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

std::uint64_t SessionTable::loadOf(const ExecutorLink& link) const {
  std::uint64_t load = 0;
  for (const auto& [id, session] : sessions_) {
    for (const Session::Device& device : session->devices) load += device.executor->ordinal() == link.ordinal() ? 1 : 0;
  }
  return load + prospects_.on(link.ordinal(), [this](const Prospects::Who& who) {
           return std::ranges::any_of(sessions_, [&](const auto& entry) { return whoIs(entry.second->who) == who; });
         });
}

// By ordinal, those of the family's oldest process: on a machine that is a program's own, device 0 is one GPU for all its processes. Of one that has none
// yet, what it has been told.
std::vector<std::uint32_t> SessionTable::gpusOf(const SessionRequest& request) {
  std::vector<std::uint32_t> ordinals;
  const auto oldest = std::ranges::find_if(
      sessions_, [&](const auto& entry) { return entry.second->who.family == request.family && entry.second->state != Session::State::closing; });
  if (request.family == 0 || oldest == sessions_.end()) return prospects_.of(whoIs(request));
  for (const Session::Device& device : oldest->second->devices) ordinals.push_back(device.executor->ordinal());
  return ordinals;
}

// Spinning pays while each spinner has a core of its own beside the executors'.
bool SessionTable::spins() const { return attached() + pool_.executors().size() <= usableCores(); }

std::size_t SessionTable::attached() const {
  return waiting_.size() + gathering_ + static_cast<std::size_t>(std::ranges::count_if(sessions_, [](const auto& entry) {
           return entry.second->state != Session::State::closing;
         }));
}

Status SessionTable::assignWindows(Session& session) {
  for (Session::Device& device : session.devices) {
    const std::uint64_t physical = device.executor->properties().memoryBytes;
    const std::uint64_t wanted = session.who.gpuMemory == 0 ? physical : roundUp(session.who.gpuMemory, kGranuleBytes);
    if (wanted > physical) {
      return Error{CudaError::memoryAllocation, std::to_string(wanted) + " bytes of GPU memory were asked for, GPU " +
                                                    std::to_string(device.executor->ordinal()) + " has " +
                                                    std::to_string(physical)};
    }
    device.memoryLimit = wanted;
    const std::uint64_t largest = std::max(wanted * kLargestWindowFactor, kRoomyWindowBytes);
    const std::uint64_t roomy = std::clamp(addresses_.freeBytes() / kWindowShare, wanted * kWindowFactor, largest);
    auto window = addresses_.allocate(std::min(roomy, memory::kMaxWindowBytes));
    if (!window) window = addresses_.allocate(wanted * kWindowFactor);
    if (!window) return std::move(window).error();
    device.window = *window;
  }
  const std::uint64_t hostBytes = roundUp(session.who.hostMemory, kGranuleBytes) + wire::kStagingBytes;
  auto hostWindow = addresses_.allocate(hostBytes);
  if (!hostWindow) return std::move(hostWindow).error();
  session.hostAddresses = *hostWindow;
  session.hostWindow = {hostWindow->base, hostBytes};
  return {};
}

Status SessionTable::prepare(Session& session, const std::vector<ExecutorLink*>& chosen, const Owned& own) {
  for (ExecutorLink* link : chosen) {
    session.devices.push_back({.executor = link, .own = {}, .incarnation = link->incarnation(), .window = {}, .modules = {}, .whenSettled = {}, .loan = {}, .whenLeft = {}, .asleep = {}});
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    session.devices[i].executor = own[i].get();
    session.devices[i].own = own[i];
    session.devices[i].incarnation = own[i]->incarnation();
  }
  if (Status status = assignWindows(session); !status) return status;

  auto segmentFd = wire::SessionSegment::create(session.id, static_cast<std::uint32_t>(session.devices.size()));
  if (!segmentFd) return std::move(segmentFd).error();
  auto segment = wire::SessionSegment::map(segmentFd->get(), wire::ForkedChild::without);
  if (!segment) return std::move(segment).error();
  session.segment = std::move(*segment);
  // Sparse: a page exists once it is touched.
  auto host = wire::createSealedMemfd("rouse-host", session.hostWindow.bytes);
  if (!host) return std::move(host).error();
  std::vector<wire::OwnedFd>& segments = session.segments;
  segments.push_back(std::move(*segmentFd));
  segments.push_back(std::move(*host));
  Opened& opened = session.opened;
  opened.attached.sessionId = session.id;
  opened.attached.hostWindow = session.hostWindow;
  opened.attached.key = session.key;
  opened.attached.check = session.who.check;
  const bool spin = spins();
  for (std::uint32_t index = 0; index < session.devices.size(); ++index) {
    const Session::Device& device = session.devices[index];
    auto ring = wire::RingSegment::create(index);
    if (!ring) return std::move(ring).error();
    wire::OwnedFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return systemError("eventfd");
    segments.push_back(std::move(*ring));
    segments.push_back(std::move(wake));
    opened.attached.devices.push_back({.window = device.window,
                                       .memoryLimit = device.memoryLimit,
                                       .properties = device.executor->properties(),
                                       .spin = spin});
  }
  for (const wire::OwnedFd& fd : segments) {
    auto copy = duplicate(fd);
    if (!copy) return std::move(copy).error();
    opened.fds.push_back(std::move(*copy));
  }
  return {};
}

Result<std::vector<wire::OwnedFd>> SessionTable::segmentsOf(const Session& session, std::uint32_t device) const {
  std::vector<wire::OwnedFd> fds;
  for (const std::size_t which :
       {std::size_t{0}, std::size_t{1}, std::size_t{2} + 2 * device, std::size_t{3} + 2 * device}) {
    auto copy = duplicate(session.segments.at(which));
    if (!copy) return std::move(copy).error();
    fds.push_back(std::move(*copy));
  }
  if (session.who.process) {
    auto copy = duplicate(*session.who.process);
    if (!copy) return std::move(copy).error();
    fds.push_back(std::move(*copy));
  }
  return fds;
}

channel::OpenSession SessionTable::openRequest(const Session& session, std::uint32_t index) const {
  const SessionRequest& who = session.who;
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(session.since.time_since_epoch());
  return {.sessionId = session.id,
          .deviceIndex = index,
          .deviceWindow = session.devices[index].window,
          .hostWindow = session.hostWindow,
          .memoryLimit = session.devices[index].memoryLimit,
          .name = who.name,
          .identity = {.program = who.program,
                       .pid = who.pid,
                       .uid = who.uid,
                       .gpus = static_cast<std::uint32_t>(session.devices.size()),
                       .gpuMemory = who.gpuMemory,
                       .hostMemory = who.hostMemory,
                       .moduleMemory = who.moduleMemory,
                       .supervised = who.supervised,
                       .sinceNs = since.count(),
                       .key = session.key,
                       .hostAddresses = session.hostAddresses,
                       .family = who.family},
          .hasProcess = who.process != nullptr,
          .check = who.check};
}

void SessionTable::open(SessionRequest request, std::function<void(Result<Opened>)> done) {
  const auto until = Clock::now() + request.patience;
  attempt({std::move(request), std::move(done), until});
}

void SessionTable::await(Attempt attempt, const Error& why) {
  if (Clock::now() >= attempt.until) {
    Error error = why;
    if (attempt.request.patience.count() != 0)
      error.message += "; it did not change within " + std::to_string(attempt.request.patience.count()) +
                       " s (functions.attach_wait)";
    return attempt.done(error);
  }
  spdlog::info("process {} ({}) waits to be attached: {}", attempt.request.pid, attempt.request.name, why.message);
  waiting_.push_back(std::move(attempt));
  patience_.expires_at(std::ranges::min(waiting_, {}, &Attempt::until).until);
  patience_.async_wait([this](const boost::system::error_code& error) {
    if (!error) onPoolChanged();
  });
}

void SessionTable::onPoolChanged() {
  patience_.cancel();
  auto waiting = std::exchange(waiting_, {});
  for (Attempt& each : waiting) attempt(std::move(each));
}

void SessionTable::refuseWaiting(const Error& reason) {
  patience_.cancel();
  auto waiting = std::exchange(waiting_, {});
  for (Attempt& each : waiting) each.done(reason);
}

Result<std::vector<ExecutorLink*>> SessionTable::choose(const SessionRequest& request) {
  return pool_.choose(request.gpus, gpusOf(request), [this](const ExecutorLink& link) { return loadOf(link); });
}

Result<std::vector<ExecutorLink*>> SessionTable::foresee(const SessionRequest& request) {
  auto chosen = choose(request);
  // One in a pid namespace that the daemon does not see into is no number that it could be known by.
  if (!chosen || !request.process || (request.family == 0 && request.pid <= 0)) return chosen;
  std::vector<std::uint32_t> ordinals;
  for (const ExecutorLink* link : *chosen) ordinals.push_back(link->ordinal());
  prospects_.keep(whoIs(request), std::move(ordinals), request.process);
  return chosen;
}

void SessionTable::attempt(Attempt attempt) {
  auto chosen = choose(attempt.request);
  if (!chosen) {
    if (chosen.error().code == CudaError::systemNotReady && pool_.mayServe(attempt.request.gpus))
      return await(std::move(attempt), chosen.error());
    return attempt.done(std::move(chosen).error());
  }
  if (attempt.request.isolated) return gather(std::make_shared<Attempt>(std::move(attempt)), std::move(*chosen), {});
  begin(std::move(attempt), *chosen, {});
}

// An executor of its own on each of the GPUs, one after the other.
void SessionTable::gather(const std::shared_ptr<Attempt>& attempt, std::vector<ExecutorLink*> chosen, Owned own) {
  if (own.size() == chosen.size()) return begin(std::move(*attempt), chosen, own);
  const ExecutorLink& gpu = *chosen[own.size()];
  const std::uint64_t physical = gpu.properties().memoryBytes, asked = attempt->request.gpuMemory;
  ++gathering_;
  pool_.isolated().take(gpu.ordinal(), asked == 0 ? physical : std::min(roundUp(asked, kGranuleBytes), physical), nullptr,
                        [this, attempt, chosen, own](Result<std::shared_ptr<ExecutorLink>> taken) mutable {
                          --gathering_;
                          if (taken) {
                            own.push_back(std::move(*taken));
                            return gather(attempt, std::move(chosen), std::move(own));
                          }
                          for (const auto& link : own) pool_.isolated().release(*link);
                          attempt->done(std::move(taken).error());
                        });
}

void SessionTable::begin(Attempt attempt, const std::vector<ExecutorLink*>& chosen, const Owned& own) {
  auto owned = std::make_unique<Session>();
  Session& session = *owned;
  session.id = nextId_++;
  session.who = std::move(attempt.request);
  session.since = std::chrono::system_clock::now();
  session.key = unguessable();
  session.patientUntil = attempt.until;
  session.secondAttempt = attempt.second;
  if (Status status = prepare(session, chosen, own); !status) {
    release(session);
    return attempt.done(status.error());
  }
  session.whenOpen = std::move(attempt.done);
  const std::uint64_t id = session.id;
  sessions_.emplace(id, std::move(owned));

  // One more than is sent: an executor that is down answers before request() returns.
  session.awaited = 1 + session.devices.size();
  for (std::uint32_t index = 0; index < session.devices.size(); ++index) {
    if (Status status = openOn(session, index); !status) opened(id, index, status.error());
  }
  arrived(id);
}

Status SessionTable::openOn(const Session& session, std::uint32_t index) {
  const Session::Device& device = session.devices[index];
  auto fds = segmentsOf(session, index);
  if (!fds) return std::move(fds).error();
  device.executor->request(openRequest(session, index),
                           std::move(*fds), [this, id = session.id, index](Result<channel::Message> answer) {
                             opened(id, index, std::move(answer));
                           });
  return {};
}

void SessionTable::opened(std::uint64_t id, std::uint32_t device, Result<channel::Message> answer) {
  Session* session = find(id);
  std::optional<Error> failure;
  if (!answer) {
    failure = std::move(answer).error();
  } else if (!std::holds_alternative<channel::Ok>(answer->body)) {
    failure =
        Error{CudaError::unknown, "the executor answered openSession with " + std::string(channel::name(answer->body))};
  }
  if (failure) {
    session->devices[device].refused = true;
    const ExecutorLink& executor = *session->devices[device].executor;
    session->lostWhileOpening = session->lostWhileOpening || !executor.serving() ||
                                executor.incarnation() != session->devices[device].incarnation;
    if (!session->failure) session->failure = std::move(failure);
  }
  arrived(id);
}

// One awaited answer less; when there is none left, what was begun is finished.
void SessionTable::arrived(std::uint64_t id) {
  Session* session = find(id);
  if (--session->awaited > 0) return;
  if (session->state == Session::State::opening) {
    const auto done = std::exchange(session->whenOpen, {});
    if (session->failure) {
      const Error failure = *session->failure;
      const bool again = session->lostWhileOpening && !session->secondAttempt && Clock::now() < session->patientUntil;
      Attempt next{session->who, done, session->patientUntil, true};
      close(id);
      return again ? attempt(std::move(next)) : done(failure);
    }
    session->state = Session::State::open;
    if (!pool_.swaps() && !session->who.isolated) session->segments.clear();  // nobody leaves the GPU that serves it
    done(std::exchange(session->opened, {}));
    return changed_();
  }
  if (session->state != Session::State::closing) return;
  release(*session);
  count(*session, callsOfEnded_);
  usage_.ended(id, session->who.name);
  const auto done = std::exchange(session->whenOpen, {});
  sessions_.erase(id);
  if (done) done(Error{CudaError::systemNotReady, "the process ended while it attached"});
}

void SessionTable::close(std::uint64_t id) {
  Session* session = find(id);
  if (session == nullptr || session->state == Session::State::closing) return;
  session->state = Session::State::closing;
  session->contents.clear();
  session->opened = {};
  session->segments.clear();
  for (Session::Device& device : session->devices) device.asleep.reset();
  boost::asio::post(patience_.get_executor(), [this] { changed_(); });  // not under the hands of whoever closes it
  ++session->awaited;
  for (const Session::Device& device : session->devices) {
    if (!device.served()) continue;  // what it held of the session went with it
    ++session->awaited;
    const auto index = static_cast<std::uint32_t>(&device - session->devices.data());
    device.executor->request(channel::CloseSession{id}, {}, [this, id, index](Result<channel::Message> answer) {
      if (!answer && answer.error().code != CudaError::devicesUnavailable) {
        spdlog::error("session {}: an executor could not close it: {}", id, answer.error().message);
      }
      if (answer)
        if (const auto* closed = std::get_if<channel::SessionClosed>(&answer->body)) usage_.seen(id, index, closed->usage);
      arrived(id);
    });
  }
  arrived(id);
}

void SessionTable::note(const ExecutorLink& link, const channel::ExecutorStatus& status) {
  for (const channel::SessionUsage& usage : status.sessions) {
    const Session* session = find(usage.sessionId);
    if (session == nullptr) continue;
    // While it is being moved the one that it comes to says something as well; that is not what it is served by.
    for (std::uint32_t device = 0; device < session->devices.size(); ++device)
      if (session->devices[device].executor == &link && session->devices[device].served()) usage_.seen(usage.sessionId, device, usage);
  }
}

void SessionTable::release(Session& session) {
  const auto free = [this](AddressRange& window) {
    if (window.empty()) return;
    if (Status status = addresses_.free(window); !status) spdlog::error("address window: {}", status.error().message);
    window = {};
  };
  for (Session::Device& device : session.devices) {
    free(device.window);
    if (device.own) pool_.isolated().release(*device.own);
  }
  free(session.hostAddresses);
}

bool SessionTable::mayHold(const Session& session, std::uint64_t bytes, Error& error) const {
  if (bytes <= session.who.moduleMemory && session.moduleBytes <= session.who.moduleMemory - bytes) return true;
  error = {CudaError::memoryAllocation, "modules of " + std::to_string(session.moduleBytes) + " bytes are loaded, " +
                                            std::to_string(bytes) + " more would exceed functions.module_memory of " +
                                            std::to_string(session.who.moduleMemory)};
  return false;
}

void SessionTable::loadModule(std::uint64_t id, const channel::LoadModule& load, wire::OwnedFd file,
                              std::function<void(Result<channel::ModuleInfo>)> done) {
  Session* session = find(id);
  const auto refuse = [&](Error why) {
    channel::closeApart(std::move(file));
    done(std::move(why));
  };
  if (session == nullptr || session->state != Session::State::open) return refuse({CudaError::unknown, "no such session"});
  if (load.deviceIndex >= session->devices.size()) {
    return refuse(Error{CudaError::invalidDevice, "module for device " + std::to_string(load.deviceIndex) +
                                                    ", the session has " + std::to_string(session->devices.size())});
  }
  Error tooMuch;
  if (load.size <= kMaxModuleBytes && !mayHold(*session, load.size, tooMuch)) return refuse(tooMuch);
  store_.intern(
      std::move(file), load.offset, load.size,
      [this, id, device = load.deviceIndex, done = std::move(done)](Result<ModuleContentPtr> content) mutable {
        if (!content) return done(std::move(content).error());
        install(id, device, std::move(*content), std::move(done));
      });
}

void SessionTable::install(std::uint64_t id, std::uint32_t deviceIndex, ModuleContentPtr content,
                           std::function<void(Result<channel::ModuleInfo>)> done) {
  Session* session = find(id);
  if (session == nullptr || session->state != Session::State::open)
    return done(Error{CudaError::unknown, "the session has ended"});
  Session::Device& device = session->devices[deviceIndex];
  if (device.asleep) {
    return wake(id, deviceIndex, [this, id, deviceIndex, content, done](const Status& woken) {
      woken ? install(id, deviceIndex, content, done) : done(woken.error());
    });
  }
  if (device.moving) {
    return device.whenSettled.push_back([this, id, deviceIndex, content, done] { install(id, deviceIndex, content, done); });
  }
  if (!device.served()) return done(Error{CudaError::devicesUnavailable, "the GPU of this session was lost"});
  if (const auto installed = device.modules.find(content->id); installed != device.modules.end())
    return done(installed->second);
  if (session->contents.emplace(content->id, content).second) session->moduleBytes += content->bytes;

  auto fd = duplicate(content->memfd);
  if (!fd) return done(std::move(fd).error());
  std::vector<wire::OwnedFd> fds;
  fds.push_back(std::move(*fd));
  ++device.installing;
  device.executor->request(
      channel::InstallModule{id, content->id, content->bytes}, std::move(fds),
      [this, id, deviceIndex, moduleId = content->id, done = std::move(done)](Result<channel::Message> answer) {
        if (Session* session = find(id)) --session->devices[deviceIndex].installing;
        if (!answer) return done(std::move(answer).error());
        auto* info = std::get_if<channel::ModuleInfo>(&answer->body);
        if (info == nullptr || info->moduleId != moduleId) {
          return done(Error{CudaError::unknown,
                            "the executor answered installModule with " + std::string(channel::name(answer->body))});
        }
        if (Session* session = find(id)) session->devices[deviceIndex].modules.emplace(moduleId, *info);
        done(std::move(*info));
      });
}

void SessionTable::recall(std::uint64_t id) {
  if (Session* session = find(id))
    for (const Session::Device& device : session->devices)
      if (device.loan) device.loan->end();
}

void SessionTable::lose(const Session& session, std::uint32_t device, const Error& reason) {
  setLost(*session.segment, device, reason);
  spdlog::warn("session {} ({}): device {} is lost: {}", session.id, session.who.name, device, reason.message);
}

void SessionTable::markLost(const ExecutorLink& link, const Error& reason) {
  for (const auto& [id, session] : sessions_) {
    for (std::size_t index = 0; index < session->devices.size(); ++index) {
      const Session::Device& device = session->devices[index];
      if (device.executor != &link || device.incarnation != link.incarnation() || !session->segment) continue;
      lose(*session, static_cast<std::uint32_t>(index), reason);
    }
  }
}

void SessionTable::markAllLost(const Error& reason) {
  for (const auto& [id, session] : sessions_) {
    for (std::size_t index = 0; index < session->devices.size(); ++index) setLost(*session->segment, index, reason);
  }
}

void SessionTable::count(const Session& session, std::vector<std::uint64_t>& calls) const {
  const auto& counters = session.segment->header().unsupportedCalls;
  for (std::size_t i = 0; i < std::min(calls.size(), wire::kMaxApiNames); ++i) {
    calls[i] += counters[i].load(std::memory_order_relaxed);
  }
}

std::map<std::string_view, std::uint64_t> SessionTable::unsupportedCalls() const {
  std::vector<std::uint64_t> calls = callsOfEnded_;
  for (const auto& [id, session] : sessions_) count(*session, calls);
  std::map<std::string_view, std::uint64_t> named;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i] != 0) named.emplace(apiNames_[i], calls[i]);
  }
  return named;
}

}  // namespace rouse::daemon
