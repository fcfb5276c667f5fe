// An executor without a daemon. It serves its sessions as before, which need none; looks for another daemon at the adoption socket; tells that what
// it has; and is that one's from then on. What the one before had asked and was not told, nobody awaits any more.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "server/control/peer.h"
#include "server/executor/executor.h"
#include "server/executor/log.h"

namespace rouse::executor {
namespace {

constexpr std::uint64_t kTryNs = 10'000'000;
constexpr std::uint64_t kOfferRequest = 1;

// Nothing: nobody is there, or not yet.
wire::OwnedFd connectTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.data(), path.size());
  wire::OwnedFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  // Whoever is told what sessions have is the user who has started this process.
  const auto peer = channel::peerOf(socket.get());
  if (!peer || peer->uid != ::geteuid()) return {};
  return socket;
}

bool duplicate(int fd, std::vector<wire::OwnedFd>& to) {
  to.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  return static_cast<bool>(to.back());
}

Error noDescriptors() { return {CudaError::systemNotReady, std::string("adoption: descriptors: ") + std::strerror(errno)}; }

}  // namespace

void Executor::loseDaemon(const Error& how) {
  if (stopping_) return;
  if (orphanNs_ == 0) {
    if (how.code != CudaError::success) return fail(how);
    log(LogLevel::info, how.message);
    end(how.message);
    return;
  }
  if (!orphaned()) {
    log(LogLevel::warning, "the daemon is gone (" + how.message + "): sessions are served on, for another daemon to come");
    orphanedAt_ = std::max<std::uint64_t>(steadyNs(), 1);
  }
  broken_.reset();
  if (control_.fd() >= 0) poller_.forget(control_.fd());
  control_ = ControlLink(wire::OwnedFd());
  writeWatched_ = offered_ = false;
  for (Served& served : served_) {
    served.closeRequest.reset();
    served.recalled = false;
  }
  moves_.forget(sharers());
  exports_.clear();
  imports_.clear();
  borrowings_.clear();
  forgetOpenings();
  for (auto& [module, waiters] : loading_) waiters.clear();
  // Isolated executors end with their daemon, and what they had is this device's again.
  for (const auto& guest : guests_) guest->leave();
}

void Executor::seekDaemon() {
  const std::uint64_t now = steadyNs();
  if (now - orphanedAt_ > orphanNs_) {
    end("no daemon has come within " + std::to_string(orphanNs_ / 1'000'000) + " ms");
    log(LogLevel::error, ending_);
    return;
  }
  if (control_.fd() >= 0 || now < triesAt_) return;
  triesAt_ = now + kTryNs;
  wire::OwnedFd socket = connectTo(adoptionSocket_);
  if (!socket) return;
  control_ = ControlLink(std::move(socket));
  offered_ = true;
  Status status = poller_.watchControl(control_.fd());
  if (status) status = offer();
  if (!status) return loseDaemon(status.error());
  writeWatched_ = control_.unsent();
  poller_.wantWrite(control_.fd(), writeWatched_);
}

Status Executor::offer() {
  channel::AdoptionOffer offer{.ready = ready(), .options = description_, .hasStore = static_cast<bool>(storeFile_), .hasLinks = static_cast<bool>(linksFile_)};
  std::vector<wire::OwnedFd> fds;
  if ((storeFile_ && !duplicate(storeFile_.get(), fds)) || (linksFile_ && !duplicate(linksFile_.get(), fds))) return noDescriptors();
  if (Status status = control_.send(0, offer, std::move(fds)); !status) return status;

  channel::Offered told;
  std::set<std::uint64_t> modules;
  for (const Served& served : served_)
    for (const std::uint64_t module : served.session->installed()) modules.insert(module);
  for (const std::uint64_t module : modules) {
    const auto content = contents_.find(module);
    const auto known = images_.find(module);
    const std::shared_ptr<memory::Image> image = known == images_.end() ? nullptr : known->second.lock();
    if (content == contents_.end() || !image) return Error{CudaError::unknown, "adoption: module " + std::to_string(module) + " was not kept"};
    std::vector<wire::OwnedFd> file;
    if (!duplicate(content->second.file.get(), file)) return noDescriptors();
    if (Status status = control_.send(0, channel::HeldModule{{module, image->description()}, content->second.bytes}, std::move(file)); !status) return status;
    ++told.modules;
  }
  for (Served& served : served_) {
    std::vector<wire::OwnedFd> segments;
    auto held = describe(served, segments);
    if (!held) return held.error();
    if (Status status = control_.send(0, *held, std::move(segments)); !status) return status;
    ++told.sessions;
  }
  return control_.send(kOfferRequest, told);
}

Result<channel::HeldSession> Executor::describe(Served& served, std::vector<wire::OwnedFd>& fds) {
  const Keepsake& keepsake = served.keepsake;
  Session& session = *served.session;
  channel::HeldSession held{.open = keepsake.open,
                            .state = session.held(),
                            .fault = session.fault().value_or(Error{CudaError::success, {}}),
                            .modules = session.installed(),
                            .lends = session.lentChunks() != 0,
                            .borrows = session.borrows()};
  held.open.hasProcess = static_cast<bool>(keepsake.process);
  if (!duplicate(keepsake.segment.get(), fds) || !duplicate(session.hostFd(), fds) || !duplicate(keepsake.ring.get(), fds) ||
      !duplicate(session.wakeFd(), fds) || (keepsake.process && !duplicate(keepsake.process.get(), fds)))
    return noDescriptors();
  return held;
}

// False: it is no answer to what was offered.
bool Executor::onOffered(channel::Message& answer) {
  if (answer.id != kOfferRequest) return false;
  if (const auto* refusal = std::get_if<Error>(&answer.body)) {
    end("not adopted: " + refusal->message);
    log(LogLevel::warning, ending_);
    return true;
  }
  if (!std::holds_alternative<channel::Adopted>(answer.body)) return false;
  offered_ = false;
  orphanedAt_ = 0;
  if (answer.fds.size() == 1) ::dup2(answer.fds[0].get(), STDERR_FILENO);
  log(LogLevel::info, "adopted by another daemon");
  return true;
}

}  // namespace rouse::executor
