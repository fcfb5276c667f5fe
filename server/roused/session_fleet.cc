#include "server/roused/session_fleet.h"

#include <algorithm>
#include <utility>

#include "server/roused/gpu_spec.h"
#include "server/roused/migration.h"

namespace rouse::daemon {
namespace {

using scheduling::Whereabouts;

Error notAttached(const std::string& function) { return {CudaError::invalidValue, "no function '" + function + "' is attached"}; }

}  // namespace

SessionFleet::SessionFleet(boost::asio::io_context& io, DevicePool& pool, SessionTable& sessions, std::uint32_t slots, Events events)
    : io_(io), pool_(pool), sessions_(sessions), slots_(slots), events_(std::move(events)), timer_(io) {}

void SessionFleet::start() {
  running_ = true;
  look();
  askExecutors();
}

void SessionFleet::stop() {
  running_ = false;
  timer_.cancel();
}

void SessionFleet::look() {
  if (!running_) return;
  for (const auto& link : pool_.links()) {
    const auto known = gpus_.find(link->ordinal());
    const bool serving = link->serving();
    if (known == gpus_.end()) {
      if (!serving) continue;
      tellOf(*link);
    } else if (std::exchange(known->second, serving) != serving) {
      serving ? events_.onGpuReturned(link->ordinal()) : events_.onGpuLost(link->ordinal());
    }
  }
  tellChanges();
}

void SessionFleet::tellOf(const ExecutorLink& link) {
  std::vector<KnownGpu> known;
  for (const auto& other : pool_.links())
    if (gpus_.contains(other->ordinal()) && std::ranges::find(known, other->ordinal(), &KnownGpu::ordinal) == known.end())
      known.push_back({other->ordinal(), &other->properties()});
  const KnownGpu gpu{link.ordinal(), &link.properties()};
  events_.onGpu(gpu.ordinal, gpuSpec(gpu, known, ways_, slots_));
  gpus_.emplace(gpu.ordinal, true);
  for (const KnownGpu& other : known) {
    if (const auto peer = peerOf(gpu, other)) events_.onPeer(gpu.ordinal, *peer);
    if (const auto peer = peerOf(other, gpu)) events_.onPeer(other.ordinal, *peer);
  }
}

void SessionFleet::askExecutors() {
  if (!running_) return;
  awaited_ = 1;
  const auto arrived = [this] {
    if (--awaited_ != 0 || !running_) return;
    tellChanges();
    timer_.expires_after(kBetweenLooks);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) askExecutors();
    });
  };
  for (ExecutorLink* link : pool_.executors()) {
    if (named_.empty() || !link->serving()) continue;  // without functions nobody is woken
    ++awaited_;
    link->request(channel::ExecutorStatusRequest{}, {}, [this, arrived, asked = link](Result<channel::Message> answer) {
      if (const auto* status = answer ? std::get_if<channel::ExecutorStatus>(&answer->body) : nullptr) {
        sessions_.note(*asked, *status);
        for (const channel::SessionUsage& usage : status->sessions) promised_[usage.sessionId] = usage.reservedBytes;
      }
      arrived();
    });
  }
  arrived();
}

void SessionFleet::tellChanges() {
  std::erase_if(promised_, [&](const auto& entry) { return !sessions_.sessions().contains(entry.first); });
  std::erase_if(brought_, [&](const auto& entry) { return !sessions_.sessions().contains(entry.first); });
  named_.clear();
  for (const auto& [id, session] : sessions_.sessions()) {
    if (!session->who.supervised || session->state != Session::State::open) continue;
    Named& named = named_[session->who.name];
    if (named.sessions++ == 0) named.first = id;
  }
  std::map<std::string, Whereabouts> now;
  for (const auto& [name, named] : named_)
    if (const auto where = whereIs(name)) now.emplace(name, *where);
  const std::map<std::string, Whereabouts> before = std::exchange(told_, now);
  for (const auto& [name, where] : before)
    if (!now.contains(name)) events_.onFunction(name, std::nullopt);
  for (const auto& [name, where] : now)
    if (const auto was = before.find(name); was == before.end() || !(was->second == where)) events_.onFunction(name, where);
}

const Session* SessionFleet::sessionOf(const std::string& function) const {
  const auto named = named_.find(function);
  if (named == named_.end()) return nullptr;
  const auto found = sessions_.sessions().find(named->second.first);
  if (found == sessions_.sessions().end()) return nullptr;
  const Session& session = *found->second;
  return session.state == Session::State::open && !session.devices.empty() && (session.devices.front().served() || session.devices.front().asleep) ? &session
                                                                                                                                : nullptr;
}

std::optional<Whereabouts> SessionFleet::whereIs(const std::string& function) const {
  const Session* session = sessionOf(function);
  if (session == nullptr) return std::nullopt;
  const auto promised = promised_.find(session->id);
  return Whereabouts{.gpu = session->devices.front().executor->ordinal(),
                     .bytes = promised == promised_.end() ? 0 : promised->second,
                     .tied = named_.at(function).sessions > 1 || session->devices.size() > 1 || !pool_.swaps()};
}

void SessionFleet::take(const std::string& function, std::uint32_t gpu, Done done) {
  const Session* session = sessionOf(function);
  if (session == nullptr) return done(notAttached(function));
  const std::uint64_t id = session->id;
  if (session->devices.front().asleep) {
    return sessions_.wake(id, 0, [this, function, gpu, done = std::move(done)](const Status& woken) { woken ? take(function, gpu, done) : done(woken); });
  }
  if (session->devices.front().executor->ordinal() == gpu) {
    load(id);
    return done({});
  }
  // Who is on his way there already is waited for.
  const auto onItsWay = moving_.find(id);
  if (onItsWay != moving_.end() && onItsWay->second.gpu == gpu) return onItsWay->second.waiting.push_back(std::move(done));
  if (gpu >= pool_.links().size()) return done(Error{CudaError::invalidDevice, "there is no GPU " + std::to_string(gpu)});
  ExecutorLink& target = *pool_.links()[gpu];
  if (Status possible = Migration::possible(*session, 0, target); !possible) return done(possible);
  if (onItsWay == moving_.end()) moving_[id].gpu = gpu;
  sessions_.migrate(id, 0, target, [this, id, gpu, done = std::move(done)](const Status& status) {
    std::vector<Done> waiting;
    if (const auto moved = moving_.find(id); moved != moving_.end() && moved->second.gpu == gpu) waiting = std::move(moving_.extract(moved).mapped().waiting);
    if (status) load(id);
    if (running_) tellChanges();
    done(status);
    for (const Done& one : waiting) one(status);
  });
}

// Its answer says that all of it has come. Who is being moved otherwise comes with its first command.
void SessionFleet::load(std::uint64_t id) {
  const auto found = sessions_.sessions().find(id);
  if (!pool_.swaps() || found == sessions_.sessions().end() || !found->second->devices.front().served()) return;
  Coming& coming = coming_[id];
  if (std::exchange(coming.under, true)) return;
  found->second->devices.front().executor->request(channel::MoveSession{id, channel::MoveAction::load}, {},
                                                   [this, id](Result<channel::Message> answer) {
                                                     const auto entry = coming_.extract(id);
                                                     if (entry.empty()) return;
                                                     const Status status = answer ? Status{} : Status{answer.error()};
                                                     if (const auto* moved = answer ? std::get_if<channel::SessionMoved>(&answer->body) : nullptr)
                                                       if (moved->usage.sessionId == id) noteArrival(moved->usage);
                                                     for (const Done& waiting : entry.mapped().waiting) waiting(status);
                                                   });
}

// Since the arrival before; what came in between without being asked for is among it.
void SessionFleet::noteArrival(const channel::SessionUsage& usage) {
  Brought& brought = brought_[usage.sessionId];
  brought.last = {usage.broughtBytes - std::min(usage.broughtBytes, brought.sum.hostBytes), usage.peerBytes - std::min(usage.peerBytes, brought.sum.peerBytes)};
  brought.sum = {usage.broughtBytes, usage.peerBytes};
}

scheduling::Arrived SessionFleet::lastArrival(const std::string& function) const {
  const Session* session = sessionOf(function);
  const auto brought = session == nullptr ? brought_.end() : brought_.find(session->id);
  return brought == brought_.end() ? scheduling::Arrived{} : brought->second.last;
}

void SessionFleet::whenHere(const std::string& function, Done done) {
  const Session* session = sessionOf(function);
  if (session == nullptr) return done(notAttached(function));
  const auto coming = coming_.find(session->id);
  if (coming == coming_.end()) return done({});
  coming->second.waiting.push_back(std::move(done));
}

void SessionFleet::release(const std::string& function, std::uint64_t bytes) {
  const Session* session = sessionOf(function);
  if (session == nullptr || !pool_.swaps() || session->devices.front().asleep) return;
  session->devices.front().executor->request(channel::MoveSession{session->id, channel::MoveAction::unload, bytes}, {},
                                             [](const Result<channel::Message>&) {});
}

}  // namespace rouse::daemon
