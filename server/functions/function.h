// One function under supervision: its process, and everything that is done about it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/functions/cgroup.h"
#include "server/functions/lifecycle.h"
#include "server/functions/output_log.h"
#include "server/functions/process.h"
#include "server/functions/spec.h"
#include "server/functions/survivor.h"
#include "server/router/directory.h"

namespace rouse::functions {

// The same for all functions; outlives them.
struct Surroundings {
  std::string runtimeFolder;                    // in it, a folder for each function
  std::string clientLibraries;                  // where its libcudart is
  std::optional<std::filesystem::path> groups;  // of control groups; nullopt: none
  std::string noGroups;                         // why
  // A socket of the daemon's at `path` for this user's processes; closed with what is returned. Null: the daemon's own
  // is used.
  std::function<Result<std::shared_ptr<void>>(const std::string& path, std::optional<User>)> openDoor;
  std::string daemonSocket;  // where there are no doors
  std::function<std::string(const FunctionSpec&, uid_t)> issueToken;
  std::function<void(const std::string& token)> revokeToken;
  // Processes go on without the daemon, for the next one to find.
  bool survive = false;
  std::function<void(const FunctionSpec&, uid_t, const std::string& token)> restoreToken;
};

class Function {
 public:
  using State = Lifecycle::State;
  struct Events {
    std::function<void()> onState;  // the state has changed, or the process
    std::function<void()> onGone;   // it was told to leave, and nothing of it is left
  };

  // `user`: nullopt: the daemon's own.
  Function(boost::asio::io_context&, const Surroundings&, FunctionSpec, std::optional<User> user, bool ownUser, Events);
  ~Function();
  Function(const Function&) = delete;

  void start() { act(lifecycle_.start(now())); }
  // Instead: its process runs already. The error says why it cannot be gone on with; then it has been ended, and nothing has been started.
  Status adopt(Survivor);
  void stop() { act(lifecycle_.stop(now())); }
  void restart() { act(lifecycle_.restart(now())); }
  // A connection to it failed.
  void suspect() { act(lifecycle_.suspect(now())); }
  // Its GPU was lost, and its CUDA with it: only a new process has another.
  void gpuLost();
  // Another version of its file; restarted if it has to be.
  void change(FunctionSpec);
  // Stopped for good; onGone.
  void leave();
  // At once, without a word; for a daemon that ends.
  void killNow();

  const FunctionSpec& spec() const { return spec_; }
  const std::shared_ptr<const router::Target>& target() const { return target_; }
  State state() const { return lifecycle_.state(); }
  bool leaving() const { return leaving_; }
  bool wanted() const { return lifecycle_.wanted(); }
  pid_t pid() const { return pid_; }
  const std::string& token() const { return token_; }
  const std::optional<User>& user() const { return user_; }
  std::uint64_t starts() const { return starts_; }
  std::uint64_t losses() const { return losses_; }
  // Why it is not ready; empty: nothing is wrong.
  const std::string& problem() const { return problem_; }
  // What was asked for and could not be done for its process, each with why.
  const std::vector<std::string>& notApplied() const { return notApplied_; }
  std::optional<std::chrono::steady_clock::time_point> runningSince() const { return since_; }
  OutputLog& output() { return output_; }

 private:
  static std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }
  void act(const Lifecycle::Actions&);
  void arm();
  void launch();
  Status tryLaunch();
  Status openDoor();
  void watch(wire::OwnedFd process);
  void awaitEnd();
  void makeGroup();
  Status makeFolders();
  std::vector<std::string> environment() const;
  void onExit();
  void check();
  void endAll();
  void describe();

  std::string folder() const { return surroundings_.runtimeFolder + "/" + spec_.name; }
  std::string outputPath() const { return folder() + "/output"; }
  std::string ownFolder() const { return folder() + "/own"; }

  boost::asio::io_context& io_;
  const Surroundings& surroundings_;
  FunctionSpec spec_;
  std::optional<User> user_;
  bool ownUser_;
  Events events_;
  Lifecycle lifecycle_;
  std::shared_ptr<const router::Target> target_;
  OutputLog output_;
  boost::asio::steady_timer timer_;
  boost::asio::posix::stream_descriptor exit_;
  pid_t pid_ = -1;
  bool adopted_ = false;  // it is no child of ours
  std::optional<ControlGroup> group_;
  std::shared_ptr<void> door_;
  std::string token_;
  std::string problem_;
  std::vector<std::string> notApplied_;
  std::optional<std::chrono::steady_clock::time_point> since_;
  std::uint64_t starts_ = 0, losses_ = 0;
  bool leaving_ = false;
  std::shared_ptr<Function*> self_;  // for answers that outlive it
};

}  // namespace rouse::functions
