#include "server/roused/function_repository.h"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <map>
#include <utility>

namespace rouse::daemon {
namespace {

Error daemonEnds() { return {CudaError::devicesUnavailable, "the daemon is shutting down"}; }

// What a function's own problem is names paths and numbers of this machine: that is for `rouse ps`.
router::Repository::Model modelOf(const functions::Function& function) {
  using State = functions::Function::State;
  const auto model = [&](std::string_view state, std::string_view reason) { return router::Repository::Model{function.spec().name, state, reason}; };
  switch (function.state()) {
    case State::ready:
      return model("READY", "");
    case State::starting:
      return model("LOADING", "");
    case State::doubted:
      return model("UNAVAILABLE", "a connection or a health check has failed");
    case State::waiting:
      return model("UNAVAILABLE", "it has failed, and is started again");
    case State::stopping:
      return function.wanted() ? model("LOADING", "it is started anew") : model("UNLOADING", "");
    case State::stopped:
      break;
  }
  return model("UNAVAILABLE", "unloaded");
}

}  // namespace

FunctionRepository::FunctionRepository(boost::asio::io_context& io, functions::Supervisor& supervisor, Bring bring)
    : io_(io), supervisor_(supervisor), bring_(std::move(bring)) {}

std::vector<router::Repository::Model> FunctionRepository::models() const {
  std::map<std::string, Model> found;
  for (const auto& [name, error] : supervisor_.broken()) found[name] = {name, "UNAVAILABLE", "its file has a mistake"};
  for (const auto& [name, function] : supervisor_.functions())
    if (!function->leaving()) found[name] = modelOf(*function);
  std::vector<Model> models;
  models.reserve(found.size());
  for (auto& [name, model] : found) models.push_back(std::move(model));
  return models;
}

void FunctionRepository::load(const std::string& function, std::function<void(Status)> done) { order(function, true, std::move(done)); }
void FunctionRepository::unload(const std::string& function, std::function<void(Status)> done) { order(function, false, std::move(done)); }

void FunctionRepository::order(const std::string& function, bool load, std::function<void(Status)> done) {
  if (closed_) return done(daemonEnds());
  if (Status status = supervisor_.order(function, load ? functions::Supervisor::Order::start : functions::Supervisor::Order::stop); !status) return done(std::move(status));
  waiting_.push_back({function, load, std::move(done)});
  look();
}

// Later: whoever tells of a change is in the middle of it.
void FunctionRepository::look() {
  if (waiting_.empty() || std::exchange(looking_, true)) return;
  boost::asio::post(io_, [this] {
    looking_ = false;
    settle();
  });
}

void FunctionRepository::settle() {
  std::vector<std::pair<Waiting, Status>> over;
  std::vector<Waiting> rest;
  for (Waiting& one : std::exchange(waiting_, {})) {
    if (auto status = outcome(one))
      over.emplace_back(std::move(one), std::move(*status));
    else
      rest.push_back(std::move(one));
  }
  waiting_ = std::move(rest);
  for (auto& [one, status] : over) {
    if (one.load && status)
      bring(std::move(one));
    else
      one.done(std::move(status));
  }
}

std::optional<Status> FunctionRepository::outcome(const Waiting& one) const {
  const auto failed = [](std::string what) { return Status(Error{CudaError::systemNotReady, std::move(what)}); };
  const auto found = supervisor_.functions().find(one.function);
  if (found == supervisor_.functions().end() || found->second->leaving())
    return one.load ? failed("it has been removed meanwhile") : Status();
  using State = functions::Function::State;
  const functions::Function& function = *found->second;
  if (one.load != function.wanted()) return failed(one.load ? "it has been stopped meanwhile" : "it has been started again meanwhile");
  if (!one.load) return function.state() == State::stopped ? std::optional(Status()) : std::nullopt;
  if (function.state() == State::ready) return Status();
  if (function.state() != State::waiting) return std::nullopt;
  return failed(function.problem().empty() ? "it was not ready within its start_timeout" : function.problem());
}

// It is ready: what cannot be brought now comes with its first request.
void FunctionRepository::bring(Waiting one) {
  bring_(one.function, [name = one.function, done = std::move(one.done)](const Status& status) {
    if (!status) spdlog::info("function {}: ready, and not brought to a GPU: {}", name, status.error().message);
    done({});
  });
}

void FunctionRepository::close() {
  closed_ = true;
  for (const Waiting& one : std::exchange(waiting_, {})) one.done(daemonEnds());
}

}  // namespace rouse::daemon
