#include "server/executor/executor.h"

#include <sched.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "schemas/wire/commands.h"
#include "schemas/wire/futex.h"
#include "server/executor/log.h"

namespace rouse::executor {
namespace {

// While rings keep the reactor busy it looks at the control socket every so many turns.
constexpr unsigned kTurnsBetweenControl = 64;
// A device that waits for something nobody will wake us for (a slot that a client writes, say).
constexpr std::chrono::nanoseconds kDevicePollNs{1'000'000};
// How often others are told at most that an isolated function is at work.
constexpr std::uint64_t kActiveNs = 100'000'000;
// Without a daemon: between looks for another.
constexpr std::chrono::nanoseconds kSeekNs{10'000'000};

}  // namespace

std::uint64_t steadyNs() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t coarseNs() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

Result<std::unique_ptr<Executor>> Executor::create(std::unique_ptr<memory::Device> device, wire::OwnedFd control,
                                                   const ExecutorOptions& options) {
  Result<PhysicalMemory> memory = PhysicalMemory::create(*device);
  if (!memory) return std::move(memory).error();
  Result<Poller> poller = Poller::create();
  if (!poller) return std::move(poller).error();
  std::unique_ptr<Executor> executor(
      new Executor(std::move(device), std::move(*memory), std::move(*poller), std::move(control), options));
  if (options.homesBytes != 0) {
    wire::OwnedFd file(options.homesFd);
    if (Status status = executor->useHomes(file, options.homesOffset, options.homesBytes); !status) return status.error();
    if (options.orphanNs != 0) executor->storeFile_ = std::move(file);
  }
  if (options.isolated) {
    executor->memory_.promiseElsewhere();
    executor->promises_ = std::make_unique<Promises>([self = executor.get()](std::uint64_t bytes) { self->send(0, channel::PromiseWanted{bytes}); });
    executor->surroundings_.promises = executor->promises_.get();
  }
  if (options.absentBytes != 0) {
    executor->guests_.push_back(std::make_unique<Guest>(Guest::kOthers, executor->memory_, options.isolated));
    executor->guests_.back()->holdAbsent(options.absentBytes);
  }
  if (Status status = executor->poller_.watchControl(executor->control_.fd()); !status) return status.error();
  if (Status status = executor->poller_.watchEvents(executor->flag_.fd()); !status) return status.error();
  executor->send(0, executor->ready());
  return executor;
}

Status Executor::useHomes(const wire::OwnedFd& file, std::uint64_t offset, std::uint64_t bytes) {
  auto homes = Homes::open(*device_, file, offset, bytes, [&flag = flag_] { flag.ring(); });
  if (!homes) return std::move(homes).error();
  homes_ = std::move(*homes);
  surroundings_.homes = homes_.get();
  auto store = StoreView::open(file);
  if (!store) return std::move(store).error();
  store_ = std::move(*store);
  surroundings_.store = store_.get();
  return {};
}

channel::ExecutorReady Executor::ready() const {
  return {.device = device_->properties(), .pid = static_cast<std::uint32_t>(::getpid()), .wireHash = wire::kWireHash};
}

Executor::Executor(std::unique_ptr<memory::Device> device, PhysicalMemory memory, Poller poller, wire::OwnedFd control,
                   const ExecutorOptions& options)
    : device_(std::move(device)),
      memory_(std::move(memory)),
      poller_(std::move(poller)),
      control_(std::move(control)),
      loader_(*device_, flag_, std::max(2u, options.cores)),
      policy_(options.cores, device_->properties().leavesProcessors),
      surroundings_{.device = *device_,
                    .memory = memory_,
                    .progress = flag_,
                    .buffer = buffer_,
                    .plan = options.plan,
                    .discardLaunches = options.discardLaunches,
                    .loader = &loader_},
      adoptionSocket_(options.adoptionSocket),
      description_(options.description),
      orphanNs_(options.orphanNs),
      linksFile_(options.orphanNs != 0 ? options.linksFd : -1) {}

Executor::~Executor() {
  if (homes_) homes_->endReading();
}

Status Executor::run() {
  while (!stopping_) {
    const bool did = turn();
    if (stopping_) break;
    if (did) {
      const std::uint64_t now = steadyNs();
      policy_.worked(now);
      for (const Served& served : served_) served.session->meter(now);
      placed_ = false;
      continue;
    }
    const Rest kind = policy_.next(steadyNs(), anyBusy(), deviceWaiting_);
    if (kind == Rest::spin)
      wire::cpuRelax();
    else if (kind == Rest::yield)
      ::sched_yield();
    else
      rest(kind);
  }
  const std::string& why = failure_ ? ending_ : failure_.error().message;
  for (Served& served : served_) served.session->declareLost("its executor ends: " + why);
  if (!failure_ && !orphaned()) {
    (void)control_.send(0, failure_.error());  // the daemon, if that is still there, says why we end
    // The process may take a while to end, with a driver in it: until then the daemon must not take it for one that
    // serves.
    ::shutdown(control_.fd(), SHUT_RDWR);
  }
  return failure_;
}

bool Executor::turn() {
  if (broken_) {
    readControl();  // what the daemon had sent before holds: it may have told another executor the same
    if (broken_) loseDaemon(*std::exchange(broken_, std::nullopt));
  }
  bool did = flag_.take();
  did = pollSessions() || did;
  if (homes_ || !guests_.empty()) did = share() || did;
  if (homes_) {
    did = homes_->turn() || did;
    if (homes_->anyMerged()) meet();
  }
  if (!imports_.empty()) did = finishImports() || did;
  if (!borrowings_.empty()) did = finishBorrowings() || did;
  if (!openings_.empty()) did = finishOpening() || did;
  deviceWaiting_ = false;
  did = device_->poll(deviceWaiting_) || did;
  // Programs have been told by now; whoever starts this executor again gets a device that works.
  if (Status health = device_->health(); !health) {
    fail(health.error());
    return true;  // no request is answered any more: who waits for one is served by the next executor
  }
  if (turnsToControl_-- == 0) {
    turnsToControl_ = kTurnsBetweenControl;
    // A request is progress: who rests now would not see what it asks of the sessions.
    if (poller_.wait(std::chrono::nanoseconds{0})) did = readControl() || did;
    finishLoads();
    if (orphaned()) seekDaemon();
  }
  if (!did && memory_.scrubbing()) {
    if (Result<bool> scrubbed = memory_.scrubOne(); !scrubbed) fail(scrubbed.error());
    did = true;
  }
  publishMemory();
  return did;
}

bool Executor::pollSessions() {
  bool did = false;
  const std::size_t count = served_.size();
  if (first_ >= count) first_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = first_ + i < count ? first_ + i : first_ + i - count;
    Session& session = *served_[index].session;
    if (!session.poll()) continue;
    did = true;
    clientCore_ = session.clientCore();
  }
  ++first_;
  if (did)
    for (std::size_t index = served_.size(); index-- > 0;) settle(index);
  return did;
}

std::span<Session* const> Executor::sharers() {
  sharers_.clear();
  for (const Served& served : served_) sharers_.push_back(served.session.get());
  return sharers_;
}

bool Executor::share() {
  const std::span<Session* const> sessions = sharers();
  const std::uint64_t now = coarseNs();
  const bool did = moves_.turn(sessions, now, [this](std::uint64_t request, const Status& status) {
    if (const auto exported = exports_.extract(request); !exported.empty() && status)
    {
      Session& session = *find(exported.mapped())->session;
      session.readMeter(steadyNs());
      return send(request, session.freeze());
    }
    // What came tells people what a request waited for.
    if (const auto loaded = loads_.extract(request); !loaded.empty() && status) {
      Session& session = *find(loaded.mapped())->session;
      session.readMeter(steadyNs());
      return send(request, channel::SessionMoved{session.usage()});
    }
    send(request, status ? channel::Body(channel::Ok{}) : channel::Body(status.error()));
  });
  const bool shared = takeTurnsWithGuests(sessions, now);
  if (sharing_.wantsLent()) recallLent();
  if (sharing_.waiting())
    for (const channel::SessionWaits& waits : Sharing::impatient(sessions, now)) send(0, waits);
  return shared || did;
}

bool Executor::takeTurnsWithGuests(std::span<Session* const> sessions, std::uint64_t now) {
  if (guests_.empty()) return sharing_.turn(sessions, now);
  all_.assign(sessions.begin(), sessions.end());
  for (const auto& guest : guests_) all_.push_back(guest.get());
  bool did = sharing_.turn(std::span<Sharer* const>(all_), now);
  const Guest::Told told{.grant = [this](const channel::GuestGrant& grant) { send(0, grant); },
                         .call = [this](const channel::GuestCall& call) { send(0, call); }};
  for (const auto& guest : guests_) {
    const Result<bool> done = guest->turn(sharing_.lackingChunks(), now, told);
    if (!done) fail(done.error());
    did = did || !done || *done;
  }
  std::erase_if(guests_, [this](const std::unique_ptr<Guest>& guest) {
    if (!guest->gone()) return false;
    memory_.release(guest->id());
    return true;
  });
  if (promises_) showActivity(sessions, now);
  return did;
}

void Executor::showActivity(std::span<Session* const> sessions, std::uint64_t now) {
  if (now - shownAt_ < kActiveNs || std::ranges::none_of(sessions, [&](const Session* session) { return session->shares.activeAt > shownAt_; })) return;
  shownAt_ = now;
  send(0, channel::GuestActive{});
}

Guest* Executor::findGuest(std::uint64_t number) {
  const auto found = std::ranges::find(guests_, number, &Guest::number);
  return found == guests_.end() ? nullptr : found->get();
}

void Executor::meet() {
  for (const HomeSharing::Merged& merged : homes_->takeMerged())
    if (Served* served = find(merged.owner); served != nullptr && !served->session->between()) served->session->meet(merged.address);
}

// Tells the daemon what has become of a session.
void Executor::settle(std::size_t index) {
  Served& served = served_[index];
  Session& session = *served.session;
  if (session.fault() && !served.faultTold) {
    served.faultTold = true;
    send(0, channel::SessionFault{session.id(), *session.fault()});
  }
  if (!session.closed() || !served.closeRequest) return;
  const std::uint64_t request = *served.closeRequest;
  pastCommands_ += session.commandsHere();
  pastLaunches_ += session.launchesHere();
  poller_.forget(session.wakeFd());
  if (logs(LogLevel::info)) log(LogLevel::info, "session " + std::to_string(session.id()) + " is closed");
  session.readMeter(steadyNs());
  const channel::SessionClosed closed{session.usage()};
  served_.erase(served_.begin() + static_cast<std::ptrdiff_t>(index));
  std::erase_if(images_, [](const auto& entry) { return entry.second.expired(); });
  std::erase_if(contents_, [this](const auto& entry) { return !images_.contains(entry.first) && !loading_.contains(entry.first); });
  send(request, closed);
}

bool Executor::anyBusy() const {
  return std::any_of(served_.begin(), served_.end(), [](const Served& served) { return served.session->busy(); });
}

void Executor::rest(Rest kind) {
  // While commands are still looked for: moving may take until another thread's time on that core is over.
  if (kind == Rest::sleep && !std::exchange(placed_, true)) return placement_.moveTo(clientCore_);
  // What a sleeper is not told by anybody else: work has come to a point where the device needs to be polled.
  bool awaitsProgress = kind == Rest::sleep && anyBusy();
  for (Served& served : served_) {
    if (!(kind == Rest::nap ? served.session->restNapping() : served.session->restSleeping())) return;
    awaitsProgress = awaitsProgress || served.session->awaitsProgress();
  }
  if (awaitsProgress && !flag_.prepareRest()) return;
  std::optional<std::chrono::nanoseconds> atMost;
  if (kind == Rest::nap)
    atMost = std::chrono::nanoseconds{wire::kNapNs};
  else if (deviceWaiting_ || sharing_.waiting() || moves_.waiting() || !openings_.empty() ||
           std::ranges::any_of(guests_, [](const auto& guest) { return guest->waiting(); }))
    atMost = kDevicePollNs;
  if (orphaned()) atMost = std::min(atMost.value_or(kSeekNs), kSeekNs);
  const bool control = poller_.wait(atMost);
  flag_.endRest();
  if (control) readControl();
  finishLoads();
  if (orphaned()) seekDaemon();
}

void Executor::recallLent() {
  for (Served& served : served_)
    if (served.session->lentChunks() != 0 && !std::exchange(served.recalled, true)) send(0, channel::MemoryWanted{served.session->id()});
}

void Executor::send(std::uint64_t id, const channel::Body& body, std::vector<wire::OwnedFd> fds) {
  if (orphaned() || broken_) return;  // what there is to tell the next daemon will find out
  if (Status status = control_.send(id, body, std::move(fds)); !status) {
    if (orphanNs_ == 0) return fail(status.error());
    broken_ = status.error();  // not here and now: who calls is in the middle of what it does
    return;
  }
  if (control_.unsent() != writeWatched_) {
    writeWatched_ = control_.unsent();
    poller_.wantWrite(control_.fd(), writeWatched_);
  }
}

void Executor::fail(Error error) {
  if (stopping_) return;
  log(LogLevel::error, error.message);
  failure_ = std::move(error);
  stopping_ = true;
}

void Executor::end(std::string why) {
  ending_ = std::move(why);
  stopping_ = true;
}

void Executor::publishMemory() {
  if (memory_.version() == publishedVersion_) return;
  publishedVersion_ = memory_.version();
  for (Served& served : served_) served.session->publishMemory();
}

Executor::Served* Executor::find(std::uint64_t sessionId) {
  const auto served =
      std::find_if(served_.begin(), served_.end(), [&](const Served& each) { return each.session->id() == sessionId; });
  return served == served_.end() ? nullptr : &*served;
}

}  // namespace rouse::executor
