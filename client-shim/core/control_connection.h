// The client's end of the control socket: one request at a time, blocking. Nothing of Cap'n Proto shows outside.
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
  struct Device {
    DeviceInfo info;
    wire::OwnedFd ring, wake;
  };
  std::vector<Device> devices;
};

// What a module says of itself; Kernel::module and Variable::address are not filled in.
struct ModuleListing {
  std::uint64_t moduleId = 0;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<Variable> variables;
  std::vector<std::uint32_t> alignments;  // of the variables
};

class ControlConnection {
 public:
  // noDevice where nobody listens.
  static Result<std::unique_ptr<ControlConnection>> connect(const std::string& socketPath);

  Result<Attachment> attach(const AttachRequest& request);
  // The descriptor is borrowed. As long as the daemon needs to translate the module.
  Result<ModuleListing> loadModule(std::uint32_t deviceIndex, int fd, std::uint64_t offset, std::uint64_t size);

  // True once the daemon has closed the connection. Looks at the socket without waiting, and logs why it says it cut us
  // off. Skips the look where a request is under way.
  bool closed();

  // In a forked child: lets go of the parent's socket.
  void abandonInChild();

 private:
  explicit ControlConnection(wire::OwnedFd socket) : socket_(std::move(socket)) {}
  struct Received;
  Status send(const void* words, std::size_t bytes, int fd);
  Result<Received> receive();
  Result<Received> call(const void* words, std::size_t bytes, int fd, std::uint64_t id);
  bool takeNotice(const Received& received);

  wire::OwnedFd socket_;
  std::mutex mutex_;
  std::uint64_t lastId_ = 0;
  std::atomic<bool> closed_{false};
};

}  // namespace rouse::client
