#include "server/functions/function.h"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "schemas/wire/readable.h"
#include "server/functions/client_environment.h"
#include "server/functions/health_check.h"
#include "server/roused/child_process.h"

namespace rouse::functions {
namespace {

using State = Lifecycle::State;

LifecyclePolicy policyOf(const FunctionSpec& spec) {
  LifecyclePolicy policy;
  policy.healthInterval = spec.healthInterval;
  policy.healthFailures = spec.healthFailures;
  policy.startTimeout = spec.startTimeout;
  policy.stopTimeout = spec.stopTimeout;
  return policy;
}

Error failed(const std::string& what) { return {CudaError::systemNotReady, what + ": " + std::strerror(errno)}; }

// A folder of the daemon's, or of the function's; nobody else writes to either.
Status makeFolder(const std::string& path, mode_t mode, const std::optional<User>& owner) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return failed("making " + path);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return Error{CudaError::systemNotReady, path + " is not a folder"};
  if (owner && ::lchown(path.c_str(), owner->uid, owner->gid) != 0) return failed("giving " + path + " to its user");
  if (::chmod(path.c_str(), mode) != 0) return failed("chmod " + path);
  return {};
}

bool anyGpuNode() {
  return ::access("/dev/nvidiactl", F_OK) == 0 || ::access("/dev/nvidia0", F_OK) == 0 ||
         ::access("/dev/dri", F_OK) == 0;
}

}  // namespace

Function::Function(boost::asio::io_context& io, const Surroundings& surroundings, FunctionSpec spec,
                   std::optional<User> user, bool ownUser, Events events)
    : io_(io),
      surroundings_(surroundings),
      spec_(std::move(spec)),
      user_(user),
      ownUser_(ownUser),
      events_(std::move(events)),
      lifecycle_(policyOf(spec_)),
      output_(io, [name = spec_.name](const std::string& line) { spdlog::info("[{}] {}", name, line); }),
      timer_(io),
      exit_(io),
      self_(std::make_shared<Function*>(this)) {
  describe();
}

Function::~Function() {
  *self_ = nullptr;
  killNow();
}

void Function::describe() {
  router::Target target;
  target.name = spec_.name;
  target.socket = spec_.socket.empty() ? ownFolder() + "/http.sock" : spec_.socket;
  target.owner = user_ ? user_->uid : ::geteuid();
  target.deadline = spec_.deadline;
  target.timeout = spec_.timeout;
  target.queueTimeout = spec_.queueTimeout;
  target.maxBody = spec_.maxBody;
  target.retry = spec_.retry;
  target.connections = spec_.concurrency;
  target_ = std::make_shared<const router::Target>(std::move(target));
}

void Function::act(const Lifecycle::Actions& actions) {
  for (const Lifecycle::Action action : actions) {
    switch (action) {
      case Lifecycle::Action::start:
        launch();
        break;
      case Lifecycle::Action::check:
        check();
        break;
      case Lifecycle::Action::terminate:
        signalProcesses(pid_, SIGTERM);
        break;
      case Lifecycle::Action::kill:
        spdlog::warn("function {}: has not ended within {} ms, and is killed", spec_.name, spec_.stopTimeout.count());
        endAll();
        break;
    }
  }
  arm();
  events_.onState();
}

void Function::arm() {
  if (lifecycle_.next() == Lifecycle::Time::max()) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(lifecycle_.next());
  timer_.async_wait([this, self = self_](const boost::system::error_code& error) {
    if (!error && *self != nullptr) act(lifecycle_.tick(now()));
  });
}

void Function::launch() {
  ++starts_;
  if (Status status = tryLaunch(); !status) {
    problem_ = status.error().message;
    output_.note("(rouse) not started: " + problem_);
    spdlog::error("function {}: not started: {}", spec_.name, problem_);
    lifecycle_.onStartFailed(now());
    return;
  }
  since_ = now();
  lifecycle_.onStarted(now());
}

Status Function::makeFolders() {
  const std::optional<User> none;
  if (Status status = makeFolder(surroundings_.runtimeFolder, 0755, none); !status) return status;
  // Only its user gets through to its own folder; what is made here by the daemon no function can replace.
  std::optional<User> group;
  if (user_) group = User{::geteuid(), user_->gid};
  if (Status status = makeFolder(folder(), 0750, group); !status) return status;
  if (Status status = makeFolder(ownFolder(), 0700, user_); !status) return status;
  return makeFolder(folder() + "/dev", 0755, none);
}

Status Function::tryLaunch() {
  if (Status status = makeFolders(); !status) return status;
  notApplied_.clear();
  if (Status status = openDoor(); !status) return status;
  if (!token_.empty()) surroundings_.revokeToken(token_);
  token_ = surroundings_.issueToken(spec_, user_ ? user_->uid : ::geteuid());
  // Of a daemon before this one, which was killed.
  if (ownUser_ && starts_ == 1) killAllOf(*user_);
  // Whoever served there is gone; a server that binds would find its socket in the way.
  if (spec_.socket.empty()) ::unlink(target_->socket.c_str());

  ProcessPlan plan;
  plan.argv = spec_.command;
  plan.environment = environment();
  plan.directory = spec_.directory.empty() ? ownFolder() : spec_.directory;
  plan.user = user_;
  plan.ownUser = ownUser_;
  plan.sharedMemory = spec_.memory;
  plan.processLimit = spec_.processes;
  if (::geteuid() == 0) {
    plan.deviceFolder = folder() + "/dev";
  } else if (anyGpuNode()) {
    notApplied_.push_back("devices (roused is not root: /dev is as its own)");
  }
  plan.survives = surroundings_.survive;
  makeGroup();
  if (group_) plan.joinGroup = group_->joining();
  if (!surroundings_.groups) {
    if (spec_.cpus > 0) notApplied_.push_back("cpus (no control groups: " + surroundings_.noGroups + ")");
    if (spec_.processes != 0 && !ownUser_)
      notApplied_.push_back("processes (no control groups, and no user of its own: " + surroundings_.noGroups + ")");
  }
  // The next best: private memory that a process may write to, each process for itself.
  const bool groupHasMemory =
      group_ && std::ranges::none_of(notApplied_, [](const std::string& what) { return what.starts_with("memory "); });
  if (spec_.memory != 0 && !groupHasMemory) {
    plan.dataLimit = spec_.memory;
    if (!group_)
      notApplied_.push_back("memory (no control groups: " + surroundings_.noGroups +
                            "; RLIMIT_DATA limits each of its processes)");
  }
  auto output = surroundings_.survive ? output_.open(outputPath()) : output_.open();
  if (!output) return output.error();
  plan.output = output->get();
  auto process = startProcess(plan);
  if (!process) return process.error();
  pid_ = process->pid;
  adopted_ = false;
  notApplied_.insert(notApplied_.end(), process->notApplied.begin(), process->notApplied.end());
  for (const std::string& what : notApplied_) spdlog::warn("function {}: not applied: {}", spec_.name, what);
  spdlog::info("function {}: process {} started{}", spec_.name, pid_,
               user_ ? " as user " + std::to_string(user_->uid) : "");
  watch(std::move(process->exit));
  return {};
}

Status Function::openDoor() {
  if (!surroundings_.openDoor || door_) return {};
  auto door = surroundings_.openDoor(folder() + "/rouse.sock", user_);
  if (!door) return door.error();
  door_ = std::move(*door);
  return {};
}

void Function::makeGroup() {
  group_.reset();
  if (!surroundings_.groups) return;
  auto group = ControlGroup::make(*surroundings_.groups, spec_.name, {spec_.memory, spec_.cpus, spec_.processes}, notApplied_);
  if (group)
    group_ = std::move(*group);
  else
    notApplied_.push_back("its control group (" + group.error().message + ")");
}

void Function::watch(wire::OwnedFd process) {
  boost::system::error_code ignored;
  exit_.close(ignored);
  exit_.assign(process.release());
  awaitEnd();
}

void Function::awaitEnd() {
  exit_.async_wait(exit_.wait_read, [this, self = self_](const boost::system::error_code& error) {
    if (error || *self == nullptr || !exit_.is_open()) return;
    if (!wire::readable(exit_.native_handle())) return awaitEnd();
    onExit();
  });
}

Status Function::adopt(Survivor survivor) {
  pid_ = survivor.pid;
  adopted_ = true;
  starts_ = survivor.starts;
  losses_ = survivor.losses;
  Status status;
  if (survivor.uid != (user_ ? user_->uid : ::geteuid())) status = Error{CudaError::invalidValue, "it is another user"};
  if (status && survivor.terms != processTerms(spec_)) status = Error{CudaError::invalidValue, "its file has changed"};
  if (status) status = makeFolders();
  if (status) status = openDoor();
  if (status) status = output_.reopen(outputPath());
  if (!status) {
    endAll();
    pid_ = -1;
    return status;
  }
  makeGroup();  // it is in it already
  token_ = std::move(survivor.token);
  surroundings_.restoreToken(spec_, survivor.uid, token_);
  since_ = now();
  watch(std::move(survivor.process));
  spdlog::info("function {}: process {} goes on", spec_.name, pid_);
  output_.note("(rouse) process " + std::to_string(pid_) + " goes on under another daemon");
  act(lifecycle_.onFound(now()));
  return {};
}

// Nothing of the daemon's own environment but what every program expects to find.
std::vector<std::string> Function::environment() const {
  std::map<std::string, std::string> variables = {
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      // What is allocated is then what is alive, and swapping moves nothing else.
      {"PYTORCH_NO_CUDA_MEMORY_CACHING", "1"},
      {"ROUSE_LOG", "error"},
      {"HOME", ownFolder()},
      {"TMPDIR", ownFolder()},
  };
  for (const char* name : {"LANG", "LC_ALL", "TZ"}) {
    if (const char* value = std::getenv(name)) variables[name] = value;
  }
  for (const auto& [name, value] : spec_.environment) variables[name] = value;
  const auto before = [&](const char* name) {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second : "";
  };
  for (auto& [name, value] : clientEnvironment(surroundings_.clientLibraries, before)) variables[name] = value;
  variables["ROUSE_SOCKET"] = surroundings_.openDoor ? folder() + "/rouse.sock" : surroundings_.daemonSocket;
  variables["ROUSE_TOKEN"] = token_;
  variables["ROUSE_FUNCTION"] = spec_.name;
  variables["ROUSE_FUNCTION_SOCKET"] = target_->socket;
  std::vector<std::string> result;
  for (const auto& [name, value] : variables) result.push_back(name + "=" + value);
  return result;
}

void Function::onExit() {
  boost::system::error_code ignored;
  exit_.close(ignored);
  // What it has started ends with it; as long as it has not been waited for, its number is nobody else's.
  endAll();
  int status = 0;
  if (!adopted_) ::waitpid(pid_, &status, 0);
  const std::string how = adopted_ ? "ended" : daemon::describeExit(status);  // which only its parent is told
  const bool expected = state() == State::stopping;
  spdlog::log(expected ? spdlog::level::info : spdlog::level::warn, "function {}: process {} {}", spec_.name, pid_,
              how);
  output_.note("(rouse) process " + std::to_string(pid_) + " " + how);
  problem_ = expected ? "" : "process " + std::to_string(pid_) + " " + how;
  pid_ = -1;
  since_.reset();
  group_.reset();
  act(lifecycle_.onExited(now()));
  if (leaving_ && state() == State::stopped) events_.onGone();
}

void Function::endAll() {
  if (pid_ < 0) return;
  signalProcesses(pid_, SIGKILL);
  if (group_) group_->kill();
  if (ownUser_ && user_) killAllOf(*user_);
}

void Function::check() {
  checkHealth(io_, target_, spec_.healthPath, spec_.healthTimeout,
              [this, self = self_, start = starts_](std::string problem) {
                if (*self == nullptr) return;
                const bool current = start == starts_ && pid_ > 0;
                const State before = state();
                if (current) problem_ = problem;
                const auto actions = lifecycle_.onHealth(current && problem.empty(), now());
                if (state() == State::ready && before != State::ready) spdlog::info("function {}: ready", spec_.name);
                if (before == State::ready && state() != State::ready)
                  spdlog::warn("function {}: not well: {}", spec_.name, problem);
                act(actions);
              });
}

void Function::gpuLost() {
  ++losses_;
  if (pid_ < 0) return;
  spdlog::warn("function {}: has lost its GPU, and is started anew", spec_.name);
  act(lifecycle_.end(now()));
}

void Function::change(FunctionSpec spec) {
  const bool again = needsRestart(spec_, spec);
  spec_ = std::move(spec);
  lifecycle_.setPolicy(policyOf(spec_));
  describe();
  if (again && (wanted() || state() != State::stopped)) restart();
  events_.onState();
}

void Function::leave() {
  leaving_ = true;
  act(lifecycle_.stop(now()));
  if (state() == State::stopped)
    boost::asio::post(io_, [self = self_] {
      if (*self != nullptr) (*self)->events_.onGone();
    });
}

void Function::killNow() {
  timer_.cancel();
  if (pid_ > 0) {
    boost::system::error_code ignored;
    exit_.close(ignored);
    endAll();
    if (!adopted_) ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  if (!token_.empty()) surroundings_.revokeToken(token_);
  token_.clear();
  door_.reset();
}

}  // namespace rouse::functions
