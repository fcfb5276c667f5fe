// The client's end of the control socket: one request at a time, blocking. Nothing of Cap'n Proto shows outside.
//
// The daemon may end while the session goes on, which its executors serve: then another one is looked for where the first one was, until it says that
// this is its session now, or that it has none, or time is up. Whoever looks at closed() does that, without waiting; whoever has a request waits.
//
// Threads: any; a request holds the connection until it is answered.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client-shim/core/device_info.h"
#include "client-shim/core/module.h"
#include "schemas/base/result.h"
#include "schemas/wire/ipc_handle.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::client {

struct AttachRequest {
  std::string token, library, program;
  std::uint32_t apiNames = 0;
};

struct Attachment {
  std::uint64_t sessionId = 0;
  AddressRange hostWindow;
  wire::OwnedFd sessionSegment, hostMemory;
  std::string key;              // of the session, for another daemon
  std::uint32_t check = 0;      // reports of invalid accesses to print at most; 0: accesses are not checked
  std::uint32_t orphanMs = 0;   // how long to look for one; 0: the session ends with the connection
  struct Device {
    DeviceInfo info;
    wire::OwnedFd ring, wake;
  };
  std::vector<Device> devices;
};

// Of a process without a session, or beside it: what GPUs it has or would have. control.capnp, Describe.
struct DescribedDevice {
  DeviceInfo info;  // without a window
  std::uint64_t freeBytes = 0, busyNs = 0;
  std::uint32_t pcieGeneration = 0, pcieGenerationAtMost = 0, pcieWidth = 0, pcieWidthAtMost = 0;  // 0: unknown
};

// What a module says of itself; Kernel::module and Variable::address are not filled in.
struct ModuleListing {
  std::uint64_t moduleId = 0;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<Variable> variables;
  std::vector<std::uint32_t> alignments;  // of the variables
};

// Of memory and events of several processes: control.capnp, Ipc and Shared.
enum class IpcAction : std::uint8_t { exportMemory, openMemory, closeMemory, withdraw, exportEvent, openEvent, closeEvent };
struct IpcRequest {
  IpcAction action = IpcAction::exportMemory;
  std::uint32_t deviceIndex = 0;
  AddressRange range{};
  std::uint32_t page = 0;
  wire::IpcHandle handle{};
};
struct IpcAnswer {
  wire::IpcHandle handle{};
  AddressRange range{};
  std::uint32_t page = 0;
  bool inUse = false;
  wire::OwnedFd memory{};
};

class ControlConnection {
 public:
  // noDevice where nobody listens.
  static Result<std::unique_ptr<ControlConnection>> connect(const std::string& socketPath);

  Result<Attachment> attach(const AttachRequest& request);
  // On a connection that is not attached. `sessionId`: of the process, or of the one that it was forked from; 0: none.
  Result<std::vector<DescribedDevice>> describe(const std::string& token, std::uint64_t sessionId);
  // The descriptor is borrowed. As long as the daemon needs to translate the module.
  Result<ModuleListing> loadModule(std::uint32_t deviceIndex, int fd, std::uint64_t offset, std::uint64_t size);

  // The descriptor is borrowed; -1: none. As long as others may need to make room for what is opened.
  Result<IpcAnswer> ipc(const IpcRequest& request, int fd = -1);

  // True once the session is over: the daemon has cut us off, or has gone and there is no other for it. Looks at the socket without waiting, and
  // logs why. Skips the look where a request is under way.
  bool closed();

  // In a forked child: lets go of the parent's socket.
  void abandonInChild();

 private:
  ControlConnection(wire::OwnedFd socket, std::string path) : socket_(std::move(socket)), path_(std::move(path)) {}
  struct Received;
  Status send(const void* words, std::size_t bytes, int fd);
  Result<Received> receive();
  Result<Received> call(const void* words, std::size_t bytes, int fd, std::uint64_t id);
  Result<Received> callOnce(const void* words, std::size_t bytes, int fd, std::uint64_t id);
  bool takeNotice(const Received& received);
  // All with the lock held.
  bool mayReattach() const { return orphanNs_ != 0 && !closed_.load(std::memory_order_relaxed); }
  // The daemon is gone, but not the session.
  void detach(const Error& how);
  // Goes on with looking for another; true: it has the session.
  bool seek();
  bool awaitDaemon();
  void giveUp(const char* why);
  void ask();
  Status checkAnswer();

  wire::OwnedFd socket_;
  const std::string path_;
  std::string key_, token_;
  std::uint64_t sessionId_ = 0;
  std::uint64_t orphanNs_ = 0;
  enum class Link : std::uint8_t { attached, seeking, asked } link_ = Link::attached;
  std::uint64_t detachedAt_ = 0, triedAt_ = 0;  // nanoseconds, of the steady clock
  std::mutex mutex_;
  std::uint64_t lastId_ = 0;
  std::atomic<bool> closed_{false};
};

}  // namespace rouse::client
