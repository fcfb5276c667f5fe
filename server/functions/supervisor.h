// All functions of a node: what their files say, and what operators do, made so. Tells the router which there are. On
// the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/functions/files.h"
#include "server/functions/function.h"
#include "server/functions/users.h"
#include "server/router/directory.h"
#include "server/router/function_gate.h"

namespace rouse::functions {

struct SupervisorOptions {
  std::string folder;         // functions.d; empty: there are no functions
  std::string runtimeFolder;  // made if it is missing
  std::string clientLibraries, daemonSocket;
  std::string cgroup;  // functions.cgroup
  UserRange users;     // where roused is root
  bool survive = false;  // as Surroundings has it
};

class Supervisor : public router::Directory {
 public:
  struct Events {
    // As in Surroundings.
    std::function<Result<std::shared_ptr<void>>(const std::string& path, std::optional<User>)> openDoor;
    std::function<std::string(const FunctionSpec&, uid_t)> issueToken;
    std::function<void(const std::string& token)> revokeToken;
    std::function<void(const FunctionSpec&, uid_t, const std::string& token)> restoreToken;
    // A process has been started or found, or has ended.
    std::function<void()> onProcess;
    // It answers requests, for the first time or again.
    std::function<void(const FunctionSpec&)> onReady;
    // Connections to its process are of no use any more.
    std::function<void(const std::string& function)> onProcessGone;
  };
  Supervisor(boost::asio::io_context&, SupervisorOptions, router::FunctionGate&, Events);
  ~Supervisor() override;

  // Processes of a daemon before this one, by their functions' names. Before the first reload(), which goes on with them; it ends those that
  // nobody wants any more.
  void expect(std::map<std::string, Survivor> survivors) { survivors_ = std::move(survivors); }
  // Reads the files, and starts what is new, changes what has changed, stops what is gone. Files that are broken change
  // nothing; what is wrong with them is logged, and returned.
  std::vector<std::string> reload();
  // Everything ends: asked to, and killed after `grace` or its own stop_timeout, whichever is sooner. Processes that reload() has not gone on with are
  // killed at once.
  void stop(std::chrono::milliseconds grace, std::function<void()> stopped);

  enum class Order : std::uint8_t { start, stop, restart };
  Status order(const std::string& function, Order);
  Result<std::string> log(const std::string& function, std::size_t lines) const;

  // Of functions by their sessions' names.
  void onGpuLost(const std::string& function);
  // A connection of the router's failed.
  void onFailure(std::string_view function);

  // router::Directory
  std::shared_ptr<const router::Target> find(std::string_view function) const override;
  bool ready(std::string_view function) const override;
  bool allReady() const override;
  std::uint64_t losses(std::string_view function) const override;

  const std::map<std::string, std::unique_ptr<Function>, std::less<>>& functions() const { return functions_; }
  // Functions that are not there, or are as they were, because their file is broken; with the first error.
  const std::map<std::string, std::string>& broken() const { return broken_; }

 private:
  std::optional<std::string> add(FunctionSpec);
  void endSurvivors(const std::function<std::string(const std::string& name)>& why);
  void onState(const std::string& name);
  Result<std::optional<User>> userFor(const FunctionSpec&, bool& own);
  void maybeStopped();

  boost::asio::io_context& io_;
  SupervisorOptions options_;
  router::FunctionGate& gate_;
  Events events_;
  Surroundings surroundings_;
  UserNumbers numbers_;
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions_;
  std::map<std::string, Function::State> seen_;
  std::map<std::string, std::string> broken_;
  std::map<std::string, FunctionSpec> returning_;  // gone from the files and back while it was still ending
  std::map<std::string, Survivor> survivors_;
  bool stopping_ = false;
  boost::asio::steady_timer grace_;
  std::function<void()> stopped_;
};

}  // namespace rouse::functions
