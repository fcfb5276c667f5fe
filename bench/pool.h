// A pool started for one measurement: a private roused with its executors, stopped with the object.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rouse::bench {

struct PoolOptions {
  bool discardLaunches = false;
  std::string device = "cpu";
  unsigned gpus = 1;
  unsigned functionGpus = 0;  // that each client sees; 0: all
  std::uint64_t memoryBytes = std::uint64_t{512} << 20;  // of each GPU
  std::uint64_t hostStoreBytes = 0;                      // 0: functions keep their GPU
  std::vector<std::string> arguments{};                  // more of them for roused
  std::map<std::string, std::string> functions{};        // name and file of each; with any, there is a router
};

// Processes that are attached and do nothing; they end with the object.
class IdleClients {
 public:
  IdleClients() = default;
  IdleClients(IdleClients&&) = default;
  IdleClients& operator=(IdleClients&&) = delete;
  ~IdleClients();

 private:
  friend class Pool;
  std::vector<pid_t> pids_;
  std::vector<int> stdins_;
};

// A program of the pool that answers each line on its standard input by a line of JSON. Ends with the object.
class Client {
 public:
  Client(Client&&) noexcept;
  Client& operator=(Client&&) = delete;
  ~Client();

  pid_t pid() const { return pid_; }
  // tell() and hear() apart, so that several clients can be at work at once. hear() throws where the client has ended.
  void tell(const std::string& line);
  nlohmann::json hear();
  nlohmann::json ask(const std::string& line) { return tell(line), hear(); }

 private:
  friend class Pool;
  Client(pid_t pid, int in, int out) : pid_(pid), in_(in), out_(out) {}

  pid_t pid_;
  int in_, out_;
  std::string buffer_;
};

class Pool {
 public:
  // Throws with what roused wrote to standard error where it does not start.
  explicit Pool(const PoolOptions& options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Runs `rouse-bench remoting-client WHAT` as a program of this pool and returns what it printed.
  nlohmann::json runClient(const std::string& what) const;

  // Starts `rouse-bench ARGUMENTS` as a program of this pool.
  Client startClient(const std::vector<std::string>& arguments) const;

  // Returns once all of them are attached.
  IdleClients startIdleClients(int count) const;

  // `rouse migrate`, of a client that is attached. Throws with what that says where it is refused.
  void migrate(const Client& client, unsigned gpu) const;

  // `rouse ARGUMENTS` about this pool. Throws with what that says where it fails.
  void tell(std::vector<std::string> arguments) const;

  // What `rouse status --json` says.
  nlohmann::json status() const;

  // Where HTTP is spoken: the router's sockets, and a function's own.
  std::string socket() const { return directory_ / "rouse.sock"; }
  std::string routerSocket() const { return directory_ / "http.sock"; }
  std::uint16_t routerPort() const { return port_; }
  std::uint16_t adminPort() const { return adminPort_; }
  std::string functionSocket(const std::string& name) const { return directory_ / "functions" / name / "own" / "http.sock"; }

  // Processor time used so far by the daemon and its executors.
  double cpuSeconds() const;

 private:
  std::vector<std::string> environment() const;
  // What `rouse ARGUMENTS` about this pool prints. Throws with that where it fails.
  std::string rouse(std::vector<std::string> arguments) const;

  std::filesystem::path directory_;
  std::uint16_t port_ = 0, adminPort_ = 0;
  pid_t daemon_ = -1;
};

// A program that lies beside this one.
std::filesystem::path binaryPath(const std::string& name);

// True if this roused knows the flag with this value: it is asked for both, and for a device that does not exist, so that nothing
// starts.
bool rousedAccepts(const std::string& flag, const std::string& value);

}  // namespace rouse::bench
