#include "server/executor/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>

#include "schemas/wire/access_errors.h"
#include "schemas/wire/decode.h"
#include "server/executor/log.h"

namespace rouse::executor {
namespace {

Error refused(std::string message) { return {CudaError::invalidValue, "open session: " + std::move(message)}; }

std::string text(AddressRange range) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "[0x%llx, +%llu)", static_cast<unsigned long long>(range.base),
                static_cast<unsigned long long>(range.bytes));
  return buffer;
}

Status checkWindow(const char* what, AddressRange window, std::uint64_t alignment, std::uint64_t least) {
  if (!isAligned(window.base, alignment) || !isAligned(window.bytes, alignment))
    return refused(std::string(what) + " " + text(window) + ": not a multiple of " + std::to_string(alignment));
  if (window.bytes < least || window.bytes > memory::kMaxWindowBytes || window.end() < window.base)
    return refused(std::string(what) + " " + text(window) + ": between " + std::to_string(least) + " and " +
                   std::to_string(memory::kMaxWindowBytes) + " bytes are possible");
  return {};
}

channel::Place place(Presence::Where where) {
  switch (where) {
    case Presence::Where::here:
      return channel::Place::device;
    case Presence::Where::leaving:
      return channel::Place::leaving;
    case Presence::Where::away:
      return channel::Place::home;
    case Presence::Where::arriving:
      return channel::Place::arriving;
  }
  std::abort();
}

Status checkEventFd(int fd) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
  if (length < 0 || std::string_view(target, static_cast<std::size_t>(length)) != "anon_inode:[eventfd]")
    return refused("the wake descriptor is no eventfd");
  return {};
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const channel::OpenSession& request, std::vector<wire::OwnedFd> fds,
                                               Surroundings& surroundings) {
  if (fds.size() != 4) return refused(std::to_string(fds.size()) + " descriptors, needed are 4");
  if (request.deviceIndex >= wire::kMaxDevices)
    return refused("device index " + std::to_string(request.deviceIndex) + ", the limit is " +
                   std::to_string(wire::kMaxDevices - 1));
  if (Status status = checkWindow("device window", request.deviceWindow, kGranuleBytes, kGranuleBytes); !status)
    return status.error();
  if (Status status = checkWindow("host window", request.hostWindow, wire::kPageBytes, wire::kStagingBytes); !status)
    return status.error();
  if (request.deviceWindow.overlaps(request.hostWindow)) return refused("the windows overlap");

  auto segment = wire::SessionSegment::map(fds[0].get(), wire::ForkedChild::inherits);
  if (!segment) return std::move(segment).error();
  if (Status status = wire::checkSealedMemfd(fds[1].get(), "host window", request.hostWindow.bytes); !status)
    return status.error();
  auto ring = wire::RingSegment::map(fds[2].get(), wire::ForkedChild::inherits);
  if (!ring) return std::move(ring).error();
  if (Status status = ring->checkHeader(request.deviceIndex); !status) return status.error();
  if (Status status = checkEventFd(fds[3].get()); !status) return status.error();

  std::unique_ptr<Session> session(
      new Session(request, std::move(*segment), std::move(*ring), std::move(fds[1]), std::move(fds[3]), surroundings));
  if (Status status = session->createContext(); !status) return status.error();
  if (request.dormant) return session;
  wire::DeviceStatus& device = session->segment_.header().devices[session->deviceIndex_];
  session->publishMemory();
  device.state.store(wire::DeviceState::serving, std::memory_order_release);
  return session;
}

Session::Session(const channel::OpenSession& request, wire::SessionSegment segment, wire::RingSegment ring,
                 wire::OwnedFd host, wire::OwnedFd wake, Surroundings& surroundings)
    : id_(request.sessionId),
      name_(request.name),
      deviceIndex_(request.deviceIndex),
      deviceWindow_(request.deviceWindow),
      hostWindow_(request.hostWindow),
      check_(request.check),
      surroundings_(surroundings),
      segment_(std::move(segment)),
      ring_(std::move(ring)),
      hostFd_(std::move(host)),
      wake_(std::move(wake)),
      consumer_(ring_.header(), ring_.data(), surroundings.buffer),
      latch_(segment_.header().devices[deviceIndex_]),
      output_(ring_.header(), ring_.output()),
      stage_(request.dormant ? Stage::dormant : Stage::serving),
      mute_(request.dormant),
      quota_(roundDown(request.memoryLimit, kGranuleBytes)),
      extents_(deviceWindow_),
      presence_(id_, surroundings.device, surroundings.memory, surroundings.homes, extents_, surroundings.plan) {}

Session::~Session() {
  surroundings_.eventPages -= eventPages_.size();
  copy_.reset();
  if (context_) context_->cancel();
  modules_.clear();
  graphs_.reset();
  streams_.reset();
  presence_.endStream();
  context_.reset();
  presence_.release();
}

Status Session::createContext() {
  auto context = surroundings_.device.createContext(
      {.deviceWindow = deviceWindow_, .hostWindow = hostWindow_, .hostFd = hostFd_.get(), .check = check_}, *this);
  if (!context) return std::move(context).error();
  const AddressRange staging{hostWindow_.base, wire::kStagingBytes};
  if (Status status = (*context)->mapHost(staging); !status) return status;
  hostRanges_.insert(staging);
  context_ = std::move(*context);
  streams_ = std::make_unique<Streams>(*context_);
  graphs_ = std::make_unique<Graphs>(*context_);
  return {};
}

bool Session::poll() {
  const bool settled = stage_ == Stage::serving && (imports_.ending() || held_) && settleSharing();
  return pollWork() || settled;
}

bool Session::pollWork() {
  if (stage_ != Stage::serving) {
    if (stage_ != Stage::closing || !dismantle()) return false;
    stage_ = Stage::closed;
    return true;
  }
  turnOver_ = false;
  copied_ = 0;
  if (presence_.mayCopy()) presence_.noteCopies(*context_);
  if (!presence_.here() || mustLeave()) {
    if (const bool moved = pollElsewhere(); !readsRing()) return moved;
  }
  bool did = streams_->draining() && streams_->collect();
  if (parked()) {
    const bool done = resumeParked();
    did = did || done || turnOver_;
    if (!done) return did;
  }
  const std::uint64_t lastByte = consumer_.taken() + kBurstBytes;
  for (unsigned taken = 0; taken < kBurstCommands && consumer_.taken() < lastByte && !turnOver_ && !fault_; ++taken) {
    const wire::Take take = consumer_.next();
    if (take == wire::Take::empty) break;
    did = true;
    if (take == wire::Take::rejected) {
      reject(consumer_.rejection().message);
      break;
    }
    if (taken == 0) awake();
    tookCommands_ = true;
    if (wire::DecodeStatus status = wire::decodeAndDispatch(consumer_.command(), *this, *this); !status) [[unlikely]]
      reject(status.message());
  }
  if (!fault_ && !parked() && streams_->queuedAbove(kMaxQueuedBytes)) parked_ = Backlog{};
  return did;
}

// On its way from or to the device, or away: its commands wait.
bool Session::pollElsewhere() {
  Result<bool> done = false;
  switch (presence_.where()) {
    case Presence::Where::here:
      // What is parked goes on until it waits for memory, with which it may as well wait elsewhere.
      if (parked() && !std::holds_alternative<Map>(parked_)) return resumeParked();
      if (!context_->idle()) return false;
      savedBefore_ = presence_.savedBytes();
      leavesAt_ = std::chrono::steady_clock::now();
      if (Status status = presence_.beginLeaving(*context_); !status) condemn(status.error());
      return true;
    case Presence::Where::leaving:
      done = presence_.leave(*context_);
      if (done && *done) {
        leaveAsked_ = sentAway_ = false;
        lastSaved_ = presence_.savedBytes() - savedBefore_;
        lastDeparture_ = std::chrono::steady_clock::now() - leavesAt_;
      }
      break;
    case Presence::Where::away:
      if (presence_.fault()) {
        condemn(*presence_.fault());
        return true;
      }
      if (!admitted_ || presence_.waits()) return false;
      presence_.beginArriving(*context_);
      bring();
      return true;
    case Presence::Where::arriving:
      return bring() || presence_.arrive();
  }
  if (!done) condemn(done.error());
  return !done || *done;
}

bool Session::bring() {
  const Result<bool> brought = presence_.bring(*context_);
  if (!brought) condemn(brought.error());
  const bool did = !brought || *brought;
  // Who waits for a mapping has more to take, if that was counted when it was let in: one that has come since was not.
  if (presence_.underWay() && !std::holds_alternative<Map>(parked_)) admitted_ = false;
  return did;
}

bool Session::readsRing() const {
  return !mustLeave() && (presence_.here() || (presence_.arriving() && presence_.underWay()));
}

bool Session::elsewhere() const {
  return presence_.where() == Presence::Where::away ? consumer_.mayHaveMore() : !readsRing();
}

bool Session::quiet() const {
  return stage_ == Stage::serving && !parked() && context_->idle() && !consumer_.mayHaveMore();
}

bool Session::mayLeave() const {
  return presence_.mayLeave() && presence_.here() && stage_ == Stage::serving && !stays() && !mustLeave() &&
         heldChunks() != 0;
}

Status Session::pin() {
  if (Status status = surroundings_.memory.enroll(id_, memory::Tenure::stays); !status) return status;
  pinned_ = true;
  if (presence_.here()) leaveAsked_ = false;
  return {};
}

void Session::unpin() {
  if (!std::exchange(pinned_, false) || held_) return;
  if (!surroundings_.memory.enroll(id_, memory::Tenure::visits)) std::abort();  // which always can be
}

std::uint64_t Session::wantedChunks() const {
  if (stage_ != Stage::serving || admitted_ || mustLeave()) return 0;
  const auto* map = std::get_if<Map>(&parked_);
  const std::uint64_t toMap = map != nullptr ? map->left.bytes / kGranuleBytes : 0;
  if (presence_.here() || presence_.arriving()) return toMap;
  const bool wanted = stays() || summoned_ || parked() || consumer_.mayHaveMore();
  if (presence_.where() != Presence::Where::away || !wanted) return 0;
  return presence_.wantedBytes() / kGranuleBytes + toMap;
}

void Session::awake() {
  if (declared_ == wire::ConsumerState::polling) return;
  consumer_.awake();
  declared_ = wire::ConsumerState::polling;
}

bool Session::resumeParked() {
  if (!resume(limitsLeft_)) return false;
  const bool done = std::visit([this](auto& command) { return resume(command); }, parked_);
  if (done) parked_ = std::monostate{};
  return done;
}

bool Session::resume(Backlog) { return !streams_->queuedAbove(kMaxQueuedBytes / 2); }

void Session::install(std::uint64_t moduleId, std::shared_ptr<memory::Image> image) {
  installed_.insert_or_assign(moduleId, std::move(image));
}

void Session::condemn(Error error) {
  if (fault_) return;
  log(LogLevel::warning, "session " + std::to_string(id_) + " (" + name_ + ") is cut off: " + error.message);
  fault_ = std::move(error);
  stage_ = Stage::condemned;
  if (context_) context_->cancel();
}

void Session::beginClose() {
  if (stage_ == Stage::closed) return;
  stage_ = Stage::closing;
  parked_ = std::monostate{};
}

bool Session::dismantle() {
  copy_.reset();
  if (context_) {
    if (!dismantling_) {
      dismantling_ = true;
      // Without cancel() the destructor below is what ends the work.
      if (context_->cancel() && !context_->idle()) return false;
    } else if (!context_->idle()) {
      return false;
    }
    if (context_->idle()) {
      abandonEvents();
      imports_.clear();  // before what is its own is kept for others: they may have it the other way round
      if (keepsForOthers()) return false;
    }
    modules_.clear();
    graphs_.reset();
    streams_.reset();
    presence_.endStream();
    context_.reset();
    imports_.clear();
    exports_.withdrawAll();
  }
  if (presence_.lentBytes() != 0) {
    presence_.releaseHomes();
    return false;
  }
  dismantling_ = false;
  leaveAsked_ = sentAway_ = admitted_ = held_ = reduced_ = false;
  presence_.release();
  extents_ = memory::ExtentMap(deviceWindow_);
  hostRanges_.clear();
  variableRanges_.clear();
  objects_.clear();
  hostObjects_.clear();
  allObjectsKnown_ = true;
  limits_.clear();
  limitsLeft_.left.clear();
  if (surroundings_.promises != nullptr && quota_.reserved() != 0) surroundings_.promises->less(quota_.reserved());
  quota_.clear();
  return true;
}

bool Session::restNapping() {
  if (stage_ != Stage::serving || parked() || elsewhere() || declared_ != wire::ConsumerState::polling) return true;
  if (!consumer_.prepareNap()) return false;
  declared_ = wire::ConsumerState::napping;
  return true;
}

bool Session::restSleeping() {
  if (stage_ != Stage::serving || parked() || elsewhere()) return true;
  // Declared before: whoever polls the descriptors meanwhile may have taken the wake that belongs to a new command.
  if (declared_ == wire::ConsumerState::asleep) return !consumer_.mayHaveMore();
  if (!consumer_.prepareSleep()) {
    declared_ = wire::ConsumerState::polling;
    return false;
  }
  declared_ = wire::ConsumerState::asleep;
  return true;
}

bool Session::awaitsProgress() const {
  // Who arrives, and has all it needs to go on, is still awaited by whoever lends.
  if (copy_ || presence_.arriving() || imports_.ending()) return true;
  return (stage_ == Stage::serving && (parked() || (elsewhere() && wantedChunks() == 0))) || stage_ == Stage::closing || (streams_ && streams_->draining());
}

void Session::declareLost(std::string_view why) {
  if (mute_) return;
  latch_.latch(CudaError::devicesUnavailable, why);
  segment_.header().devices[deviceIndex_].state.store(wire::DeviceState::lost, std::memory_order_release);
}

void Session::publishMemory() {
  if (mute_) return;
  wire::DeviceStatus& device = segment_.header().devices[deviceIndex_];
  std::uint64_t free = surroundings_.memory.freeBytes(id_);
  if (surroundings_.homes != nullptr) free = std::min(free, surroundings_.homes->promisableBytes());
  device.freeBytes.store(free, std::memory_order_relaxed);
  device.totalBytes.store(surroundings_.memory.totalBytes(), std::memory_order_relaxed);
}

channel::SessionUsage Session::usage() const {
  return {.sessionId = id_,
          .reservedBytes = quota_.reserved(),
          .mappedBytes = quota_.mapped(),
          .hostBytes = hostRanges_.bytes() - std::min(hostRanges_.bytes(), wire::kStagingBytes),
          .commands = consumer_.commands(),
          .launches = launches_,
          .error = static_cast<std::uint32_t>(latch_.last()),
          .residentBytes = presence_.heldBytes(),
          .homeBytes = presence_.homeBytes(),
          .arrivals = presence_.arrivals(),
          .departures = presence_.departures(),
          .savedBytes = presence_.savedBytes(),
          .place = place(presence_.where()),
          .pinned = pinned_,
          .lastSavedBytes = lastSaved_,
          .sharedHomeBytes = presence_.sharedHomeBytes(),
          .restingBytes = presence_.restingBytes(),
          .returnedBytes = presence_.returnedBytes(),
          .sharedBytes = presence_.sharedChunkBytes(),
          .joinedBytes = presence_.joinedBytes(),
          .lastDepartureNs = static_cast<std::uint64_t>(lastDeparture_.count()),
          .peerBytes = presence_.peerBytes(),
          .consumption = meter_.total(),
          .broughtBytes = presence_.broughtBytes()};
}

channel::Held Session::held() const {
  switch (stage_) {
    case Stage::dormant:
      return channel::Held::dormant;
    case Stage::serving:
      return channel::Held::served;
    case Stage::frozen:
      return channel::Held::frozen;
    case Stage::condemned:
      return channel::Held::cutOff;
    case Stage::closing:
    case Stage::closed:
      return channel::Held::closing;
  }
  std::abort();
}

std::vector<std::uint64_t> Session::installed() const {
  std::vector<std::uint64_t> modules;
  for (const auto& [number, image] : installed_) modules.push_back(number);
  return modules;
}

void Session::onFault(CudaError error, std::string_view message) {
  if (!mute_) latch_.latch(error, message);
}

void Session::onOutput(std::string_view text, bool toStderr) {
  const std::lock_guard lock(outputMutex_);
  output_.write(text, toStderr);
}

void Session::onInvalidAccess(std::uint64_t more) {
  wire::accessErrors(segment_.header().devices[deviceIndex_]).fetch_add(more, std::memory_order_release);
}

}  // namespace rouse::executor
