#include "server/roused/device_pool.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "memory/start_failure.h"
#include "memory/topology.h"
#include "server/device/link_board.h"
#include "server/roused/host_memory.h"
#include "server/roused/printable.h"
#include "server/roused/service_notify.h"

namespace rouse::daemon {
namespace {

namespace fs = std::filesystem;

// Another driver for the CUDA back end than the installed one (server/device/cuda/driver/load.h): tests run without
// nodes.
constexpr const char* kDriverVariable = "ROUSE_LIBCUDA";
// A bundle is without it, say.
constexpr const char* kNoSubstitute = "; and this installation has no CPU device to use instead";  // and where it would be

// The kernel driver makes one node /dev/nvidiaN for each GPU.
std::uint32_t nvidiaDevices() {
  std::uint32_t count = 0;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/dev", none)) {
    const std::string name = entry.path().filename();
    constexpr std::string_view kPrefix = "nvidia";
    if (name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
        std::all_of(name.begin() + kPrefix.size(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
      ++count;
    }
  }
  return count;
}

bool sameFile(const wire::OwnedFd& a, const wire::OwnedFd& b) {
  struct stat one {}, other {};
  return ::fstat(a.get(), &one) == 0 && ::fstat(b.get(), &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

fs::path backendFile(const std::string& folder, DeviceKind kind) { return fs::path(folder) / ("librouse-device-" + std::string(name(kind)) + ".so"); }

bool backendExists(const std::string& folder, DeviceKind kind) { return fs::exists(backendFile(folder, kind)); }

// In one line: what is missing, and what brings it.
std::string notInstalled(const std::string& folder, DeviceKind kind) {
  return backendFile(folder, kind).string() + " is not there (package " + (kind == DeviceKind::cpu ? "rouse-device-cpu" : "rouse-server") + ", or daemon.backends)";
}

}  // namespace

DevicePool::DevicePool(boost::asio::io_context& io, DevicePoolOptions options, Events events)
    : io_(io),
      options_(std::move(options)),
      events_(std::move(events)),
      isolated_(io, options_.isolated,
                {.onLost =
                     [this](ExecutorLink& link, const Error& reason) {
                       events_.onLost(link, reason);
                       events_.onChanged();
                     },
                 .onSessionFault = [this](std::uint64_t session, const Error& error) { events_.onSessionFault(session, error); },
                 .onMemoryWanted = [this](std::uint64_t session) { events_.onMemoryWanted(session); }}) {}

void DevicePool::start(std::vector<OrphanPtr> orphans, wire::OwnedFd keptStore) {
  orphans_ = std::move(orphans);
  keptStore_ = std::move(keptStore);
  // What was found out when they were started holds on.
  if (options_.kind == DeviceKind::automatic && !orphans_.empty())
    return open(orphans_.front()->offer.options.starts_with(name(DeviceKind::cuda)) ? DeviceKind::cuda : DeviceKind::cpu);
  if (options_.kind != DeviceKind::automatic) return open(options_.kind);
  const std::string missing = !backendExists(options_.backends, DeviceKind::cuda) ? notInstalled(options_.backends, DeviceKind::cuda)
                              : nvidiaDevices() == 0 && std::getenv(kDriverVariable) == nullptr
                                  ? "there is no device node /dev/nvidia*"
                                  : "";
  if (!missing.empty()) {
    if (!backendExists(options_.backends, DeviceKind::cpu)) {
      settled_ = true;
      return boost::asio::post(io_, [this, missing] {
        events_.onStarted(Error{memory::kNoGpu, "no GPU: " + missing + kNoSubstitute + ": " + notInstalled(options_.backends, DeviceKind::cpu)});
      });
    }
    substituted_ = "no GPU: " + missing;
    spdlog::log(options_.kindAsked ? spdlog::level::warn : spdlog::level::info, "using the CPU device: {}",
                substituted_);
  }
  open(missing.empty() ? DeviceKind::cuda : DeviceKind::cpu);
}

// One file for the node, which executors map a part of each: it outlives them. A driver pins it, all of it; the CPU device
// needs no more than what is used.
Status DevicePool::makeHostStore() {
  if (options_.hostStore == 0 || hostStore_) return {};
  takeHostStore();
  if (hostStore_) return {};
  const bool pinned = kind_ == DeviceKind::cuda;
  auto made = memory::PinnedArena::create({.bytes = options_.hostStore, .hugePages = pinned, .present = pinned});
  if (!made) return Error{memory::kNotPinned, "devices.host_store: " + made.error().message};
  if (pinned) spdlog::info("host store: {} bytes on {}", made->bytes(), memory::name(made->pages()));
  hostStore_ = std::move(made).value();
  keepFile(kKeptStore, hostStore_->fd());
  return {};
}

// The one of a daemon before this one, if it is as large as it is to be: that of its executors, else the one that was kept for us.
void DevicePool::takeHostStore() {
  const auto take = [this](wire::OwnedFd& file) {
    if (!file || hostStore_) return;
    auto taken = memory::PinnedArena::adopt(std::move(file), options_.hostStore);
    if (!taken) return spdlog::warn("the host store of the daemon before this one is not used: {}", taken.error().message);
    hostStore_ = std::move(taken).value();
    keepFile(kKeptStore, hostStore_->fd());
  };
  if (!orphans_.empty()) {
    wire::OwnedFd first = std::move(orphans_.front()->store);
    std::erase_if(orphans_, [&](const OrphanPtr& orphan) {
      if (orphan == orphans_.front() || sameFile(first, orphan->store)) return false;
      orphan->refuse("it has another host store than the others");
      return true;
    });
    take(first);
    if (!hostStore_)
      for (const OrphanPtr& orphan : std::exchange(orphans_, {})) orphan->refuse("its host store cannot be used");
  }
  take(keptStore_);
}

// How many GPUs there are; 0: the device says. Where links are modelled, topology_ is what they are.
Result<std::uint32_t> DevicePool::readLinks(std::uint32_t count) {
  if (options_.link.empty() && options_.topology.empty()) return count;
  const bool described = !options_.topology.empty();
  auto topology = described ? memory::Topology::load(options_.topology)
                            : memory::Topology::uniform(std::max(count, 1u), options_.link);
  if (!topology) return Error{CudaError::invalidValue, (described ? "devices.topology: " : "devices.link: ") + topology.error().message};
  if (count > topology->gpus())
    return Error{CudaError::invalidValue, "devices.topology: " + options_.topology + " describes " +
                                              std::to_string(topology->gpus()) + " GPUs, " + std::to_string(count) +
                                              " are to be served"};
  topology_ = std::move(*topology);
  return count != 0 ? count : static_cast<std::uint32_t>(topology_->gpus());
}

// Executors that go on use the one they have.
Status DevicePool::makeLinks() {
  if (!topology_) return {};
  for (const OrphanPtr& orphan : orphans_)
    if (orphan->links && !linkBoard_) linkBoard_ = std::move(orphan->links);
  if (linkBoard_) return {};
  auto board = device::LinkBoard::create(*topology_);
  if (!board) return std::move(board).error();
  linkBoard_ = std::move(*board);
  return {};
}

std::string DevicePool::describeNode(std::uint32_t count) const {
  std::string links = options_.link;
  if (!options_.topology.empty()) {
    std::ifstream file(options_.topology);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    links = options_.topology + " of " + std::to_string(std::hash<std::string>{}(text));
  }
  return std::to_string(count) + " GPUs, links " + (links.empty() ? "as they are" : links);
}

void DevicePool::open(DeviceKind kind) {
  kind_ = kind;
  const bool cpu = kind == DeviceKind::cpu;
  const auto refuse = [this](const Error& error) {
    settled_ = true;
    for (const OrphanPtr& orphan : std::exchange(orphans_, {})) orphan->refuse(error.message);
    boost::asio::post(io_, [this, error] { events_.onStarted(error); });
  };
  const auto modelled = cpu ? readLinks(options_.count) : Result<std::uint32_t>(options_.count);
  if (!modelled) return refuse(modelled.error());
  const std::uint32_t count = *modelled != 0 ? *modelled : cpu ? 1 : std::max(1u, nvidiaDevices());
  heardOf_.assign(count, false);
  problem_.assign(count, "");
  const std::uint64_t part = roundDown(options_.hostStore / count, kGranuleBytes);
  const std::uint64_t memory = options_.memory == 0 && cpu ? defaultGpuMemory(hostMemoryBytes(), count) : options_.memory;
  std::vector<ExecutorOptions> executors;
  for (std::uint32_t ordinal = 0; ordinal < count; ++ordinal)
    executors.push_back({.program = options_.executor,
                         .kind = std::string(name(kind)),
                         .backends = options_.backends,
                         .identity = {.gpu = ordinal},
                         .memory = memory,
                         .workers = options_.workers,
                         .swapPlan = options_.swapPlan,
                         .discardLaunches = options_.discardLaunches,
                         .codeCache = options_.codeCache,
                         .codeCacheBytes = options_.codeCacheBytes,
                         .homesOffset = ordinal * part,
                         .homesBytes = part,
                         .wireHash = options_.wireHash,
                         .adoptionSocket = options_.adoptionSocket,
                         .orphanTimeout = options_.orphanTimeout,
                         .liveness = options_.liveness,
                         .node = describeNode(count),
                         .backOff = options_.backOff,
                         .absent = [this, ordinal] { return isolated_.granted(ordinal); }});
  chooseOrphans(executors);
  if (Status status = makeHostStore(); !status) return refuse(status.error());
  if (Status status = makeLinks(); !status) return refuse(status.error());
  for (ExecutorOptions& executor : executors) {
    executor.homesFd = hostStore_ ? hostStore_->fd() : -1;
    executor.linksFd = linkBoard_.get();
    ExecutorLink::Events events{
        .onReady =
            [this](ExecutorLink& link) {
              spdlog::info("GPU {} serves: {} (executor pid {})", link.ordinal(), link.properties().name, link.pid());
              heardOf_[link.ordinal()] = true;
              problem_[link.ordinal()].clear();
              isolated_.onSharedReady(link);
              events_.onChanged();
              settle();
            },
        .onDown = [this](ExecutorLink& link, bool served, const Error& reason) { onDown(link, served, reason); },
        .onSessionFault = [this](std::uint64_t session,
                                 const Error& error) { events_.onSessionFault(session, error); },
        .onSessionWaits = [this](const channel::SessionWaits& waits) { events_.onSessionWaits(waits); },
        .onMemoryWanted = [this](std::uint64_t session) { events_.onMemoryWanted(session); },
        .onGuest = [this](ExecutorLink& link, const channel::Body& body) { isolated_.onSharedGuest(link, body); }};
    links_.push_back(std::make_unique<ExecutorLink>(io_, executor, std::move(events)));
    isolated_.addGpu(*links_.back(), std::move(executor));
  }
  const bool adopted = adopt();
  for (const auto& link : links_)
    if (!link->serving()) link->start();
  if (adopted) settle();
}

// Those that are what would be started, one for each. The others are told.
void DevicePool::chooseOrphans(const std::vector<ExecutorOptions>& executors) {
  std::set<std::string> taken;
  std::erase_if(orphans_, [&](const OrphanPtr& orphan) {
    const std::string& options = orphan->offer.options;
    const bool known = std::ranges::any_of(executors, [&](const ExecutorOptions& executor) { return executor.describe() == options; });
    std::string why;
    if (orphan->offer.ready.wireHash != options_.wireHash) {
      why = "it speaks another wire than this daemon";
    } else if (!known) {
      why = "it was started as '" + printable(options, 300) + "', which is nothing that this configuration has";
    } else if (orphan->offer.hasStore != (options_.hostStore != 0) || orphan->offer.hasLinks != topology_.has_value()) {
      why = "it does not have the files that it should have";
    } else if (!taken.insert(options).second) {
      why = "another serves in its place";
    }
    if (!why.empty()) orphan->refuse(why);
    return !why.empty();
  });
}

bool DevicePool::adopt() {
  std::vector<AdoptedExecutor> adopted;
  for (const OrphanPtr& orphan : std::exchange(orphans_, {})) {
    ExecutorLink& link = **std::ranges::find(links_, orphan->offer.options, [](const auto& each) { return each->options().describe(); });
    if (Status status = link.adopt(*orphan); status)
      adopted.push_back({&link, orphan});
    else
      orphan->refuse(status.error().message);
  }
  if (adopted.empty()) return false;
  for (const auto& [link, orphan] : adopted) {
    spdlog::info("GPU {} is served on: {} (executor pid {}, which has {} sessions)", link->ordinal(), link->properties().name, link->pid(),
                 orphan->sessions.size());
    heardOf_[link->ordinal()] = true;
  }
  events_.onAdopted(std::move(adopted));
  events_.onChanged();
  return true;
}

void DevicePool::onDown(ExecutorLink& link, bool served, const Error& reason) {
  if (served) {
    spdlog::error("lost: {}", link.problem());
    events_.onLost(link, reason);
    events_.onChanged();
    return;
  }
  if (settled_) return logProblem(link);
  if (firstFailure_.message.empty()) {
    firstFailure_ = {reason.code, link.problem()};
  }
  heardOf_[link.ordinal()] = true;
  settle();
}

// It is tried again and again; each reason is logged once.
void DevicePool::logProblem(const ExecutorLink& link) {
  if (std::exchange(problem_[link.ordinal()], link.problem()) != link.problem())
    spdlog::error("not served: {}", link.problem());
}

void DevicePool::settle() {
  if (settled_ || std::ranges::find(heardOf_, false) != heardOf_.end()) return;
  if (serving() > 0) {
    settled_ = true;
    for (const auto& link : links_)
      if (!link->serving()) logProblem(*link);
    return events_.onStarted({});
  }
  const bool automatic = options_.kind == DeviceKind::automatic && kind_ == DeviceKind::cuda;
  if (automatic && !backendExists(options_.backends, DeviceKind::cpu)) firstFailure_.message += std::string(kNoSubstitute) + ": " + notInstalled(options_.backends, DeviceKind::cpu);
  if (automatic && backendExists(options_.backends, DeviceKind::cpu)) {
    substituted_ = firstFailure_.message;
    spdlog::warn("using the CPU device: {}", substituted_);
    firstFailure_ = {};
    abandoned_ = std::move(links_);
    links_.clear();
    for (const auto& link : abandoned_) link->stop(std::chrono::milliseconds(0), [] {});
    return boost::asio::post(io_, [this] { open(DeviceKind::cpu); });
  }
  settled_ = true;
  events_.onStarted(firstFailure_);
}

void DevicePool::stop(std::chrono::milliseconds grace, std::function<void()> stopped) {
  auto left = std::make_shared<std::size_t>(1 + links_.size() + abandoned_.size());
  const auto one = [left, stopped] {
    if (--*left == 0) stopped();
  };
  isolated_.stop(grace, [this, one] { boost::asio::post(io_, one); });
  for (const auto& link : links_) link->stop(grace, one);
  for (const auto& link : abandoned_) link->stop(grace, one);
}

std::vector<ExecutorLink*> DevicePool::executors() const {
  std::vector<ExecutorLink*> all;
  for (const auto& link : links_) all.push_back(link.get());
  for (const auto& link : isolated_.taken()) all.push_back(link.get());
  return all;
}

std::size_t DevicePool::serving() const {
  return static_cast<std::size_t>(std::ranges::count_if(links_, [](const auto& link) { return link->serving(); }));
}

bool DevicePool::mayServe(std::uint32_t count) const {
  return std::ranges::count_if(links_, [](const auto& link) { return link->serving() || link->returning(); }) >=
         static_cast<std::ptrdiff_t>(count);
}

Result<std::vector<ExecutorLink*>> DevicePool::choose(
    std::uint32_t count, std::span<const std::uint32_t> wanted,
    const std::function<std::uint64_t(const ExecutorLink&)>& load) const {
  if (count > links_.size()) {
    return Error{CudaError::invalidValue,
                 std::to_string(count) + " GPUs were asked for, this pool has " + std::to_string(links_.size())};
  }
  std::vector<ExecutorLink*> candidates;
  for (const auto& link : links_) {
    if (link->serving()) candidates.push_back(link.get());
  }
  if (count > candidates.size()) {
    return Error{CudaError::systemNotReady, std::to_string(count) + " GPUs were asked for, " +
                                                std::to_string(candidates.size()) + " of " +
                                                std::to_string(links_.size()) + " are being served at the moment"};
  }
  std::vector<ExecutorLink*> same;
  for (const std::uint32_t ordinal : wanted) {
    const auto found = std::ranges::find(candidates, ordinal, &ExecutorLink::ordinal);
    if (found != candidates.end()) same.push_back(*found);
  }
  if (same.size() == count && wanted.size() == count) return same;
  std::ranges::stable_sort(candidates, {}, [&](const ExecutorLink* link) { return load(*link); });
  candidates.resize(count);
  return candidates;
}

const channel::SessionUsage* usageOf(const ExecutorStates& executors, const ExecutorLink& link, std::uint64_t session) {
  const auto status = executors.find(&link);
  if (status == executors.end()) return nullptr;
  const auto found = std::ranges::find(status->second.sessions, session, &channel::SessionUsage::sessionId);
  return found == status->second.sessions.end() ? nullptr : &*found;
}

}  // namespace rouse::daemon
