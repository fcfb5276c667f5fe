// A daemon for tests: listens on a Unix socket, attaches whoever comes to executor doubles, and knows one module.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client-shim/core/session.h"
#include "schemas/base/cuda_error.h"
#include "test/client/executor_double.h"

namespace rouse::test {

struct ServerSetting {
  std::uint32_t devices = 1;
  std::uint64_t memoryLimit = std::uint64_t{256} << 20;
  std::uint64_t windowBytes = std::uint64_t{1} << 30;
  std::uint64_t hostWindowBytes = std::uint64_t{256} << 20;
  bool spin = true;
  std::uint64_t seed = 1;
  bool wrongWire = false;  // the session segment says another wire hash
  CudaError refusal{};     // answers attach and describe with this error
  std::string token{};     // what attach must bring
  std::uint32_t check = 0;  // as Attached says
};

class FakeServer {
 public:
  explicit FakeServer(const ServerSetting& setting = {});
  // Checks that the client broke no rule.
  ~FakeServer();

  const std::string& socketPath() const { return path_; }
  // The socket's: no client connects behind it.
  void removeFolder() const;
  client::AttachOptions attachOptions() const;
  // Fails the test unless it succeeds.
  std::unique_ptr<client::Session> attach() const;

  ExecutorDouble& executor(std::uint32_t index) { return *executors_[index]; }
  // What it says when it is asked without a session: of each device the bytes that are free, and the nanoseconds that it was busy. How often it was asked.
  std::atomic<std::uint64_t> freeBytes{0}, busyNs{0};
  std::atomic<unsigned> descriptions{0}, attachments{0};
  // Ends the connections with a reason, as for a client that broke the protocol.
  void cutOff(const std::string& reason);
  // Closes them without a word.
  void hangUp();
  std::uint32_t unsupportedCalls(std::uint32_t apiId) const;
  // The bytes of the last module that was offered.
  std::string lastModule() const;

 private:
  void listen();
  void serve(int connection);
  void letGo();
  void attachClient(int connection, std::uint64_t id);
  void describeTo(int connection, std::uint64_t id);

  const ServerSetting setting_;
  std::string folder_, path_;
  int listener_ = -1;
  std::thread listening_;
  std::vector<std::thread> serving_;
  bool ending_ = false;  // the threads are joined
  std::vector<std::unique_ptr<ExecutorDouble>> executors_;
  mutable std::mutex mutex_;
  std::vector<int> connections_;
  wire::OwnedFd sessionFd_;
  std::string lastModule_;
};

// The one that this process's CUDA calls find (ROUSE_SOCKET), with two devices; for as long as the process lives.
FakeServer& poolOfThisProcess();

}  // namespace rouse::test
