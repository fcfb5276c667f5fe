#include "server/functions/supervisor.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <set>

#include "schemas/wire/readable.h"

namespace rouse::functions {
namespace {

using Presence = router::FunctionGate::Presence;

using State = Lifecycle::State;

Presence presenceOf(const Function& function) {
  if (function.state() == State::ready) return Presence::here;
  return function.wanted() ? Presence::away : Presence::stopped;
}

Error unknown(const std::string& name) { return {CudaError::invalidValue, "no function '" + name + "' is configured"}; }

router::FunctionTerms termsOf(const FunctionSpec& spec) {
  return {.concurrency = spec.concurrency,
          .waiting = spec.queueLimit,
          .deadline = spec.deadline,
          .percentile = spec.percentile / 100,
          .strict = spec.strict,
          .pinned = spec.pin};
}

}  // namespace

Supervisor::Supervisor(boost::asio::io_context& io, SupervisorOptions options, router::FunctionGate& gate, Events events)
    : io_(io),
      options_(std::move(options)),
      gate_(gate),
      events_(std::move(events)),
      numbers_(options_.users),
      grace_(io) {
  surroundings_.runtimeFolder = options_.runtimeFolder;
  surroundings_.clientLibraries = options_.clientLibraries;
  surroundings_.daemonSocket = options_.daemonSocket;
  surroundings_.openDoor = events_.openDoor;
  surroundings_.issueToken = events_.issueToken;
  surroundings_.revokeToken = events_.revokeToken;
  surroundings_.restoreToken = events_.restoreToken;
  surroundings_.survive = options_.survive;
}

Supervisor::~Supervisor() { functions_.clear(); }

std::vector<std::string> Supervisor::reload() {
  if (options_.folder.empty() || stopping_) return {};
  FunctionFiles files = readFunctionFiles(options_.folder);
  std::vector<std::string> errors;
  if (!files.unread.empty()) {
    // Nothing is known of any function: all stay as they are.
    spdlog::error("{}", files.unread);
    return {files.unread};
  }
  std::set<std::string> present;
  broken_.clear();
  for (const auto& file : files.broken) {
    present.insert(file.name);
    broken_[file.name] = file.errors.front();
    errors.insert(errors.end(), file.errors.begin(), file.errors.end());
  }
  if (!files.specs.empty() && functions_.empty()) {
    if (auto groups = functionGroups(options_.cgroup)) {
      surroundings_.groups = *groups;
    } else {
      surroundings_.noGroups = groups.error().message;
      spdlog::info("functions have no control groups: {}", groups.error().message);
    }
    if (::geteuid() != 0) spdlog::info("functions run as the daemon's own user, {}: it is not root", ::geteuid());
  }
  for (FunctionSpec& spec : files.specs) {
    present.insert(spec.name);
    const auto found = functions_.find(spec.name);
    if (found == functions_.end()) {
      if (auto error = add(std::move(spec))) errors.push_back(std::move(*error));
    } else if (!find(spec.name)) {
      returning_[spec.name] = std::move(spec);  // it is ending still
    } else if (found->second->spec() != spec) {
      if (spec.user != found->second->spec().user) {
        errors.push_back(options_.folder + "/" + spec.name +
                         ".toml:1: user: changes only when the function is removed and added again");
        broken_[spec.name] = errors.back();
        continue;
      }
      gate_.set(spec.name, termsOf(spec));
      found->second->change(std::move(spec));
      spdlog::info("function {}: changed", found->first);
    }
  }
  for (const auto& [name, function] : functions_) {
    if (present.contains(name)) continue;
    returning_.erase(name);
    gate_.forget(name);
    function->leave();
  }
  endSurvivors([this](const std::string& name) { return broken_.contains(name) ? "its file has a mistake" : "there is no such function"; });
  for (const std::string& error : errors) spdlog::error("{}", error);
  return errors;
}

void Supervisor::endSurvivors(const std::function<std::string(const std::string& name)>& why) {
  for (auto& [name, survivor] : std::exchange(survivors_, {})) {
    spdlog::warn("function {}: process {} of the daemon before this one is ended: {}", name, survivor.pid, why(name));
    if (!wire::readable(survivor.process.get())) signalProcesses(survivor.pid, SIGKILL);
  }
}

Result<std::optional<User>> Supervisor::userFor(const FunctionSpec& spec, bool& own) {
  own = false;
  if (!spec.user.empty()) {
    auto user = findUser(spec.user);
    if (!user) return Error{user.error().code, "user: " + user.error().message};
    if (::geteuid() == 0) return std::optional(*user);
    if (user->uid != ::geteuid())
      return Error{CudaError::notPermitted, "user: roused is not root, and starts functions as its own user only"};
    return std::optional<User>();
  }
  if (::geteuid() != 0) return std::optional<User>();
  const auto uid = numbers_.take(spec.name);
  if (!uid) return Error{CudaError::systemNotReady, "no user number is left for it (functions.users)"};
  own = true;
  return std::optional(User{*uid, *uid});
}

// What is wrong with it; nullopt: it is there.
std::optional<std::string> Supervisor::add(FunctionSpec spec) {
  const std::string name = spec.name;
  bool own = false;
  auto user = userFor(spec, own);
  if (!user) {
    return broken_[name] = options_.folder + "/" + name + ".toml:1: " + user.error().message;
  }
  gate_.set(name, termsOf(spec));
  auto function =
      std::make_unique<Function>(io_, surroundings_, std::move(spec), *user, own,
                                 Function::Events{.onState = [this, name] { onState(name); },
                                                  .onGone =
                                                      [this, name] {
                                                        // Not while it is still at work.
                                                        boost::asio::post(io_, [this, name] {
                                                          functions_.erase(name);
                                                          seen_.erase(name);
                                                          numbers_.giveBack(name);
                                                          if (auto back = returning_.extract(name); back && !stopping_)
                                                            if (const auto error = add(std::move(back.mapped()))) spdlog::error("{}", *error);
                                                          maybeStopped();
                                                        });
                                                      }});
  Function& added = *function;
  functions_[name] = std::move(function);
  seen_[name] = State::stopped;
  if (auto survivor = survivors_.extract(name)) {
    const pid_t pid = survivor.mapped().pid;
    Status status = added.adopt(std::move(survivor.mapped()));
    if (status) return std::nullopt;
    spdlog::warn("function {}: process {} of the daemon before this one is ended: {}", name, pid, status.error().message);
  }
  added.start();
  return std::nullopt;
}

void Supervisor::onState(const std::string& name) {
  const auto found = functions_.find(name);
  if (found == functions_.end()) return;
  const Function& function = *found->second;
  if (events_.onProcess) events_.onProcess();
  const State before = std::exchange(seen_[name], function.state());
  if (before == function.state()) return;
  const bool wasUp = before == State::ready || before == State::doubted;
  const bool isUp = function.state() == State::ready || function.state() == State::doubted;
  if (wasUp && !isUp) events_.onProcessGone(name);
  gate_.setPresence(name, presenceOf(function));
  if (function.state() == State::ready && before == State::starting) events_.onReady(function.spec());
}

Status Supervisor::order(const std::string& name, Order what) {
  const auto found = functions_.find(name);
  if (found == functions_.end() || !find(name)) {
    const auto broken = broken_.find(name);
    return broken == broken_.end() ? unknown(name) : Error{CudaError::invalidValue, broken->second};
  }
  switch (what) {
    case Order::start:
      found->second->start();
      break;
    case Order::stop:
      found->second->stop();
      break;
    case Order::restart:
      found->second->restart();
      break;
  }
  gate_.setPresence(name, presenceOf(*found->second));
  return {};
}

Result<std::string> Supervisor::log(const std::string& name, std::size_t lines) const {
  const auto found = functions_.find(name);
  if (found == functions_.end()) return unknown(name);
  return found->second->output().last(lines);
}

void Supervisor::onGpuLost(const std::string& name) {
  if (const auto found = functions_.find(name); found != functions_.end()) found->second->gpuLost();
}
void Supervisor::onFailure(std::string_view name) {
  if (const auto found = functions_.find(name); found != functions_.end()) found->second->suspect();
}

std::shared_ptr<const router::Target> Supervisor::find(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() || found->second->leaving() ? nullptr : found->second->target();
}
bool Supervisor::ready(std::string_view name) const {
  const auto found = functions_.find(name);
  return found != functions_.end() && found->second->state() == State::ready;
}
bool Supervisor::allReady() const {
  return std::ranges::all_of(
      functions_, [](const auto& entry) { return !entry.second->wanted() || entry.second->state() == State::ready; });
}
std::uint64_t Supervisor::losses(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? 0 : found->second->losses();
}

void Supervisor::stop(std::chrono::milliseconds grace, std::function<void()> stopped) {
  if (std::exchange(stopping_, true)) return;
  stopped_ = std::move(stopped);
  endSurvivors([](const std::string&) { return "the daemon is shutting down"; });
  for (const auto& [name, function] : functions_) function->leave();
  grace_.expires_after(grace);
  grace_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    functions_.clear();
    maybeStopped();
  });
  maybeStopped();
}

void Supervisor::maybeStopped() {
  if (!stopping_ || !functions_.empty() || !stopped_) return;
  grace_.cancel();
  std::exchange(stopped_, {})();
}

}  // namespace rouse::functions
